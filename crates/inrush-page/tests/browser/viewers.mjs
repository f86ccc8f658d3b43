// Viewers for measurements (bench/page_cost.py): browsers that show the live page of a load.
//
// Usage: viewers.mjs NUMBER. A line of stdin is a command, and has an answer as a line of JSON:
//   open URL   each browser opens the page and shows the load
//   seen       at the end of the load: the documents that each browser shows as settled, and how
//              many updates it got; then the pages are closed

import { createInterface } from "node:readline";

import { open, rows, startBrowser } from "./browser.mjs";

const browsers = await Promise.all(Array.from({ length: Number(process.argv[2]) }, startBrowser));
let pages = [];

/** Counts the updates that the page of this context gets. */
function countPoints() {
  globalThis.points = 0;
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (name, act) {
    const counted = (event) => {
      if (name === "point") globalThis.points += 1;
      act(event);
    };
    return listen.call(this, name, counted);
  };
}

async function show(url) {
  pages = await Promise.all(browsers.map((browser) => open(browser, url, {}, countPoints)));
  await Promise.all(pages.map(({ page }) => page.waitForSelector(".tile")));
  return { open: pages.length };
}

async function seen() {
  const settled = [];
  const points = [];
  for (const { page, problems } of pages) {
    await page.waitForSelector(".verdict");
    settled.push(Number((await rows(page, ".panel.documents")).settled.replaceAll(",", "")));
    points.push(await page.evaluate(() => globalThis.points));
    if (problems.length > 0) throw new Error(problems.join("\n"));
    await page.context().close();
  }
  return { settled, points };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word, url] = line.split(" ");
  console.log(JSON.stringify(await (word === "open" ? show(url) : seen())));
}
await Promise.all(browsers.map((browser) => browser.close()));
