// Names with markup in them are text: on the page of a report with hostile strings everywhere.
// Environment: INRUSH (the binary) and WORK (a folder).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { accessible, open, startBrowser, textOf } from "./browser.mjs";

const { INRUSH, WORK } = process.env;
const HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--";

const report = {
  status: "incomplete",
  failure: HOSTILE,
  docs_read: 2,
  docs_indexed: 1,
  docs_created: 1,
  docs_dead_lettered: 1,
  docs_unknown: 0,
  bytes_read: 10,
  bytes_sent: 10,
  requests: 1,
  retried_items: 0,
  rejected_items: 0,
  seconds: 1,
  docs_per_second: 2,
  plan: { batch_bytes: 1048576, in_flight: 2, why: HOSTILE, encoding: "json", compression: "none", wire_why: HOSTILE },
  verified: { state: "yes", detail: HOSTILE },
  settings: { restored: "yes", changed: { [HOSTILE]: { from: HOSTILE, to: HOSTILE } }, detail: HOSTILE },
  finish: { steps: [{ step: "green", seconds: 1, detail: HOSTILE }] },
  indices: { [HOSTILE]: {} },
  sizes: { [HOSTILE]: { before: null, after: { docs: 1, primary_bytes: 1 } } },
  pauses: [{ kind: "by_hand", why: HOSTILE, times: 1, seconds: 1 }],
  source_idle_seconds: 0,
  errors: [{ status: 400, type: HOSTILE, reason: HOSTILE, count: 1 }],
  dead_letters: HOSTILE,
  warnings: [HOSTILE],
  sources: [{ name: HOSTILE, docs_settled: 2 }],
  run_id: HOSTILE,
};
writeFileSync(join(WORK, "hostile.json"), JSON.stringify(report));
const made = spawnSync(INRUSH, ["report", "hostile.json", "--out", "hostile.html"], { cwd: WORK, encoding: "utf8" });
assert.equal(made.status, 0, made.stderr);

const browser = await startBrowser();
try {
  const { page, problems } = await open(browser, pathToFileURL(join(WORK, "hostile.html")).href);
  assert.equal(await textOf(page, "h1"), HOSTILE);
  for (const selector of [".panel.result", ".panel.errors", ".panel.guard", ".panel.about"]) {
    assert.ok((await textOf(page, selector)).includes(HOSTILE), selector);
  }
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  await accessible(page, "a report with markup in its names");
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
console.log("browser: names with markup are text");
