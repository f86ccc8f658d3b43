// `inrush segments` of an index with 500 shards, on its page and on a terminal.
//
// Environment: INRUSH, WORK, and URL (a server that takes 500 shards).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

import { accessible, during, open, startBrowser, startInrush } from "./browser.mjs";

const { INRUSH, URL: server } = process.env;
const SHARDS = 500;
const DOCS = 20_000;
const [COLUMNS, ROWS] = [100, 40];

async function request(method, path, body, type = "application/json") {
  const reply = await fetch(server + path, { method, headers: { "content-type": type }, body });
  assert.ok(reply.ok, `${path}: ${reply.status}`);
  return reply.json();
}

const settings = { settings: { number_of_shards: SHARDS, number_of_replicas: 0, refresh_interval: "-1" } };
await request("PUT", "/page-shards?timeout=300s", JSON.stringify(settings));
const lines = Array.from({ length: DOCS }, (_, n) => `{"index":{}}\n{"n":${n}}\n`);
await request("POST", "/page-shards/_bulk?refresh=true", lines.join(""), "application/x-ndjson");
const listed = await request("GET", "/_cat/segments/page-shards?format=json");
const used = new Set(listed.map((segment) => segment.shard)).size;
assert.ok(used > SHARDS * 0.9, `${used} shards have documents`);

/** What inrush writes to a terminal of this size. */
function onTerminal(more) {
  const command = `stty cols ${COLUMNS} rows ${ROWS}; ${more.prefix ?? ""} ${INRUSH} segments ${server}/page-shards ${more.flags ?? ""}`;
  const env = { ...process.env, TERM: "xterm", NO_COLOR: "1" };
  const shown = spawnSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8", env });
  return shown.stdout.replaceAll("\r", "");
}

// A picture that is drawn once has the worst shards, and the sums of the others.
const once = onTerminal({}).trimEnd().split("\n");
assert.ok(once.length < 100, `${once.length} lines`);
assert.match(once[1], new RegExp(`^${SHARDS} shards in ${SHARDS} copies: ${listed.length} segments`));
assert.ok(
  once.some((line) => /\d+ more/.test(line)),
  once.join("\n"),
);
// One that is drawn in its place fits the terminal.
const watched = onTerminal({ prefix: "timeout -s INT 5", flags: "--watch" });
const ups = [...watched.matchAll(/\x1b\[(\d+)[AF]/g)].map((found) => Number(found[1]));
assert.ok(ups.length > 0 && ups.every((lines) => lines < ROWS), `${ups}`);
for (const line of [...once, ...watched.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, "").split("\n")])
  assert.ok([...line].length <= COLUMNS, line);
// A file has a line for each copy.
const table = spawnSync(INRUSH, ["segments", `${server}/page-shards`], { encoding: "utf8" });
assert.equal(table.stdout.split("\n").filter((line) => line.startsWith("page-shards ")).length, SHARDS);

const browser = await startBrowser();
const watch = await startInrush(["segments", `${server}/page-shards`, "--watch", "--page"]);
try {
  const { page, problems } = await open(browser, watch.url, { colorScheme: "light" });
  await during(watch, page.waitForSelector(".shard-bars"));
  await during(
    watch,
    page.waitForFunction(
      (words) => document.querySelector(".chart .note")?.textContent.includes(words),
      `${SHARDS} shard copies`,
    ),
  );
  assert.ok((await page.locator(".picture select option").count()) >= SHARDS);
  // A moment is drawn in less time than passes until the next one.
  const drawn = await page.evaluate(async () => {
    const times = [];
    for (let frame = 0; frame < 20; frame += 1) {
      const since = performance.now();
      window.dispatchEvent(new Event("resize"));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - since);
    }
    return times.toSorted((a, b) => a - b)[10];
  });
  assert.ok(drawn < 1000, `${drawn} ms`);
  await accessible(page, "the page of 500 shards");
  assert.deepEqual(problems, []);
} finally {
  watch.child.kill("SIGINT");
  await browser.close();
  await request("DELETE", "/page-shards");
}
console.log(`browser: ${SHARDS} shards fit a terminal of ${COLUMNS} x ${ROWS}, and are on the page`);
