// The segments of an index during a load, on a live page and as a recording that is played.
//
// Environment: as of load.mjs, and URL (the OpenSearch itself).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { accessible, during, open, start, startBrowser, startInrush, textOf, until } from "./browser.mjs";

const { INRUSH, TO, URL: url, DATA, WORK, SCREENSHOTS } = process.env;
const INDEX = "page-segments";

async function segmentsOfServer() {
  const listed = await (await fetch(`${url}/_cat/segments/${INDEX}?format=json`)).json();
  return listed.filter((segment) => segment.searchable === "true").length;
}

const browser = await startBrowser();
const flags = ["--recreate", "--yes", "--shards", "2", "--replicas", "0", "--encoding", "json"];
// Recordings are not overwritten, so each run of this test has a folder of its own.
const folder = mkdtempSync(join(WORK, "segments-"));
const [moments, playedPage] = [join(folder, "moments"), join(folder, "segments.html")];
const load = start(["load", DATA, "--index", INDEX, "--to", TO, ...flags]);
try {
  await until(load, "the index", async () => (await fetch(`${url}/${INDEX}`)).ok);
  const watch = await startInrush(["segments", `${url}/${INDEX}`, "--watch", "--record", moments, "--page"]);
  const { page, problems } = await open(browser, watch.url, { colorScheme: "light" });
  await during(watch, page.waitForSelector(".shard-bars"));
  await accessible(page, "the page of segments");
  const { status, err } = await load.ended;
  assert.ok([0, 3].includes(status), err);
  // After the load the page agrees with another answer of the server.
  const shown = () => page.locator(".shard-bars rect:not(.s-deleted):not(.s-new)").evaluateAll((bars) => bars.length);
  await until(watch, "an equal number of segments", async () => (await shown()) === (await segmentsOfServer()));
  assert.match(await textOf(page, "h1"), new RegExp(`^Segments of .*${INDEX}`));
  watch.child.kill("SIGINT");
  await watch.ended;
  await page.waitForFunction(() => document.querySelector(".link")?.textContent.startsWith("ended"));

  const made = spawnSync(INRUSH, ["segments", "--play", moments, "--out", playedPage], {
    cwd: WORK,
    encoding: "utf8",
  });
  assert.equal(made.status, 0, made.stderr);
  const played = await open(browser, pathToFileURL(playedPage).href, { colorScheme: "light" });
  await accessible(played.page, "a recording");
  if (SCREENSHOTS) await played.page.screenshot({ path: join(SCREENSHOTS, "segments.png") });
  await played.page.getByRole("button", { name: "Play" }).click();
  await played.page.waitForFunction(() => document.querySelector(".moment").textContent.includes("held"));
  await played.page.getByRole("button", { name: "Stop" }).click();
  assert.deepEqual([...problems, ...played.problems], []);
} finally {
  load.child.kill();
  await browser.close();
}
console.log("browser: the page of segments agrees with the server, and a recording plays");
