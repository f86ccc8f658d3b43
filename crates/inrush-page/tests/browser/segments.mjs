// The segments of an index during a load, on a live page and as a recording that is played.
//
// Environment: as of load.mjs, and URL (the OpenSearch itself).

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { accessible, open, startBrowser, textOf } from "./browser.mjs";

const { INRUSH, TO, URL: url, DATA, WORK, SCREENSHOTS } = process.env;
const INDEX = "page-segments";

function start(given) {
  const child = spawn(INRUSH, given, { cwd: WORK, stdio: ["ignore", "ignore", "pipe"] });
  child.err = "";
  child.stderr.on("data", (text) => (child.err += text));
  child.ended = new Promise((resolve) => child.on("close", resolve));
  return child;
}

async function until(what, condition) {
  const patience = Date.now() + 300000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    assert.ok(Date.now() < patience, `${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function segmentsOfServer() {
  const listed = await (await fetch(`${url}/_cat/segments/${INDEX}?format=json`)).json();
  return listed.filter((segment) => segment.searchable === "true").length;
}

const browser = await startBrowser();
const flags = ["--recreate", "--yes", "--shards", "2", "--replicas", "0", "--encoding", "json"];
const load = start(["load", DATA, "--index", INDEX, "--to", TO, ...flags]);
try {
  await until("the index", async () => (await fetch(`${url}/${INDEX}`)).ok || load.exitCode !== null);
  const watch = start(["segments", `${url}/${INDEX}`, "--watch", "--record", "moments", "--page"]);
  const address = await until("the page", () => /http:\/\/127\.0\.0\.1:\d+\//.exec(watch.err)?.[0]);
  const { page, problems } = await open(browser, address, { colorScheme: "light" });
  await page.waitForSelector(".shard-bars");
  await accessible(page, "the page of segments");
  assert.ok([0, 3].includes(await load.ended), load.err);
  // After the load the page agrees with another answer of the server.
  const shown = () => page.locator(".shard-bars rect:not(.s-deleted):not(.s-new)").evaluateAll((bars) => bars.length);
  await until("an equal number of segments", async () => (await shown()) === (await segmentsOfServer()));
  assert.match(await textOf(page, "h1"), new RegExp(`^Segments of .*${INDEX}`));
  watch.kill("SIGINT");
  await watch.ended;
  await page.waitForFunction(() => document.querySelector(".link")?.textContent.startsWith("ended"));

  const made = spawnSync(INRUSH, ["segments", "--play", "moments", "--out", "segments.html"], {
    cwd: WORK,
    encoding: "utf8",
  });
  assert.equal(made.status, 0, made.stderr);
  const played = await open(browser, pathToFileURL(join(WORK, "segments.html")).href, { colorScheme: "light" });
  await accessible(played.page, "a recording");
  if (SCREENSHOTS) await played.page.screenshot({ path: join(SCREENSHOTS, "segments.png") });
  await played.page.getByRole("button", { name: "Play" }).click();
  await played.page.waitForFunction(() => document.querySelector(".moment").textContent.includes("held"));
  await played.page.getByRole("button", { name: "Stop" }).click();
  assert.deepEqual([...problems, ...played.problems], []);
} finally {
  load.kill();
  await browser.close();
}
console.log("browser: the page of segments agrees with the server, and a recording plays");
