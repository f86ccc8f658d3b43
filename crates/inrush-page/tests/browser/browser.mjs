// A browser whose pages are watched: errors on the console and requests to other addresses are
// failures, and axe checks that people with a keyboard or a screen reader can use the page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// The packages are in the cache, not beside this file.
const require = createRequire(join(process.env.INRUSH_NODE_MODULES, "x.js"));
const { chromium } = require("playwright-core");
/** A busy machine loads the flights in minutes. */
const PATIENCE_MS = 300000;
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/**
 * Starts inrush. Returns the process, what it has printed on stderr so far, and its end: its status
 * and what it printed. `env` are further variables.
 */
export function start(given, env = {}) {
  const child = spawn(process.env.INRUSH, given, {
    cwd: process.env.WORK,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const run = { name: `inrush ${given[0]}`, child, err: "", has_ended: false };
  let out = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (run.err += text));
  run.ended = new Promise((resolve) =>
    child.on("close", (status) => {
      run.has_ended = true;
      resolve({ status, out, err: run.err });
    }),
  );
  return run;
}

/** Starts inrush with a page, and waits for the page's address, which is `url` of the result. */
export async function startInrush(given, env = {}) {
  const run = start(given, env);
  run.url = await until(run, "the address of the page", () => /http:\/\/127\.0\.0\.1:\d+\//.exec(run.err)?.[0]);
  return run;
}

/** Waits until `condition` gives something. Fails at once if `run` ends before. */
export async function until(run, what, condition) {
  const patience = Date.now() + PATIENCE_MS;
  for (;;) {
    const over = run.has_ended;
    const found = await condition();
    if (found) return found;
    assert.ok(!over, `${run.name} ended with ${run.child.exitCode} before ${what} came: ${run.err}`);
    assert.ok(Date.now() < patience, `${what} did not come; ${run.name} says: ${run.err}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What `waiting` gives. Fails soon if `run` ends before: a page that is told no more waits long. */
export async function during(run, waiting) {
  const early = run.ended.then(async ({ status, err }) => {
    // The last events may still be on their way to the page.
    await new Promise((resolve) => setTimeout(resolve, 10000).unref());
    throw new Error(`${run.name} ended with ${status}, and the page does not show what was expected: ${err}`);
  });
  return Promise.race([waiting, early]);
}

export async function startBrowser() {
  return chromium.launch({
    executablePath: process.env.INRUSH_CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens `url`, after `before` ran in the page. `problems` stays empty as long as it behaves. */
export async function open(browser, url, options = {}, before = null) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  if (before) await page.addInitScript(before);
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const origin = new URL(url).origin;
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (
      asked.protocol !== "data:" &&
      (asked.origin !== origin || (asked.protocol === "file:" && request.url() !== url))
    )
      problems.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}

/** Fails if axe finds something. */
export async function accessible(page, what) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map(
    (one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`,
  );
  assert.deepEqual(found, [], `axe on ${what}`);
}

/** The text of the element, without spaces around it. */
export async function textOf(page, selector) {
  return (await page.locator(selector).first().textContent()).trim();
}

/** The value of a figure at the top of the page. */
export async function tile(page, title) {
  return (
    await page
      .locator(".tile", { has: page.locator("dt", { hasText: new RegExp(`^${title}$`) }) })
      .locator(".big")
      .textContent()
  ).trim();
}

/** The rows of a panel's table: the first cell as the key, the second one as the value. */
export async function rows(page, selector) {
  const cells = await page
    .locator(`${selector} tbody tr`)
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
  return Object.fromEntries(cells.map(([key, value]) => [key, value]));
}

/** `1,234,567`. */
export function count(number) {
  return number.toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
