// A load of real flights into a real server behind a faulty proxy is watched from its begin to its
// end; then its report as a page is read.
//
// Environment: INRUSH (the binary), TO (the proxy), DATA (a CSV file), WORK (a folder), and
// SCREENSHOTS (a folder for new pictures of the docs, or empty).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { accessible, count, during, open, rows, startBrowser, startInrush, textOf, tile } from "./browser.mjs";

const { INRUSH, TO, DATA, WORK, SCREENSHOTS } = process.env;
const SECRET = "a-planted-secret";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Starts a load with a page; returns its address and its end. */
function load(index, ...flags) {
  const given = [
    "load",
    DATA,
    "--index",
    index,
    "--to",
    TO,
    // A server without security ignores user and password.
    "--user",
    "ada",
    "--recreate",
    "--yes",
    "--shards",
    "1",
    "--replicas",
    "0",
    "--encoding",
    "json",
    "--json",
    "--page",
    ...flags,
  ];
  return startInrush(given, { INRUSH_PASSWORD: SECRET });
}

/** A picture of the docs: as much as fits on a small screen. */
async function picture(page, name) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

/** What the page says of a finished load is what its report says. */
async function agrees(page, report, what) {
  const shown = await rows(page, ".panel.documents");
  assert.equal(shown["new in the index"], count(report.docs_created), what);
  assert.equal(shown.settled, count(report.docs_read), what);
  assert.equal(shown["dead letter"] ?? "0", count(report.docs_dead_lettered), what);
  assert.equal(await tile(page, "Rejected"), count(report.rejected_items), what);
  assert.equal(await tile(page, "Dead letters"), count(report.docs_dead_lettered), what);
  assert.equal(await textOf(page, "header .phase"), report.status.replaceAll("_", " "), what);
  const groups = await page.locator(".groups .count").allTextContents();
  assert.deepEqual(
    groups,
    report.errors.map((error) => count(error.count)),
    what,
  );
  assert.match(await textOf(page, ".panel.result"), /holds \d+ documents/, what);
}

async function watched(browser) {
  const run = await load("page-flights", "--report", "flights.html");
  const { url, ended } = run;
  const { page, problems } = await open(browser, url, { colorScheme: "light" });
  const dark = await open(browser, url, { colorScheme: "dark" });
  const phone = await open(browser, url, PHONE);
  // It moves: three figures one after the other, each larger than the one before.
  let before = 0;
  for (let seen = 0; seen < 3; seen += 1) {
    const waiting = page.waitForFunction((least) => {
      const row = [...document.querySelectorAll(".documents tbody tr")].find((one) =>
        one.textContent.startsWith("settled"),
      );
      const settled = Number(row?.children[1].textContent.replaceAll(",", ""));
      return settled > least ? settled : false;
    }, before);
    const more = await during(run, waiting);
    before = await more.jsonValue();
  }
  // Enough of the history for a picture, and one dead letter of the first rows.
  await during(
    run,
    page.waitForFunction(() => Number(document.querySelector("progress").value) > 0.6),
  );
  await during(run, page.locator(".groups summary").first().click());
  await during(run, page.waitForSelector(".chart.segments:not([hidden])"));
  await accessible(page, "the live page");
  await accessible(dark.page, "the live page in the dark");
  await accessible(phone.page, "the live page on a phone");
  await picture(page, "live");
  const stack = await dark.page.locator("div.stack").boundingBox();
  await dark.page.mouse.move(stack.x + stack.width * 0.4, stack.y + 150);
  await picture(dark.page, "live-dark");
  await picture(phone.page, "live-phone");
  assert.equal(await page.locator(".controls").isVisible(), false, "without a token there are no controls");
  await keyboard(page);

  for (const path of ["snapshot", "metrics"]) {
    assert.ok(!(await (await fetch(url + path)).text()).includes(SECRET), path);
  }
  assert.ok(!(await page.content()).includes(SECRET));

  const { status, out, err } = await ended;
  const report = JSON.parse(out);
  assert.equal(status, 3, err);
  assert.ok(report.rejected_items > 0 && report.docs_dead_lettered > 0, "the faults were there");
  for (const shown of [page, dark.page, phone.page]) {
    await shown.waitForSelector(".verdict");
    await agrees(shown, report, "the live page at its end");
    assert.match(await textOf(shown, ".link"), /ended/);
  }
  await accessible(page, "the live page at its end");
  assert.deepEqual([...problems, ...dark.problems, ...phone.problems], []);
  return report;
}

/** The slider moves the cursor by the keyboard, and says what it reads. */
async function keyboard(page) {
  const slider = page.locator("input.scrub");
  await slider.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  assert.match(await slider.getAttribute("aria-valuetext"), /^0:00: Phase .*Documents a second/);
  assert.match(await textOf(page, ".moment"), /held/);
  await page.keyboard.press("Escape");
  assert.match(await textOf(page, ".moment"), /now/);
}

async function reportPage(browser, report) {
  const file = join(WORK, "flights.html");
  assert.ok(!readFileSync(file, "utf8").includes(SECRET), "the report has no secret");
  const { page, problems } = await open(browser, pathToFileURL(file).href, { colorScheme: "light" });
  await agrees(page, report, "the report as a page");
  assert.match(await textOf(page, ".repeat pre"), /^inrush load .*flights\.csv --index page-flights/);
  assert.ok(
    (await page.locator(".chart.rate path.line").first().getAttribute("d")).length > 100,
    "the history is in the page",
  );
  await accessible(page, "the report as a page");
  await picture(page, "report");

  // Two runs side by side: the page, and what the load printed.
  writeFileSync(join(WORK, "flights.json"), JSON.stringify(report));
  const made = spawn(INRUSH, ["report", "flights.html", "flights.json", "flights.html", "--out", "compared.html"], {
    cwd: WORK,
    stdio: "inherit",
  });
  assert.equal(await new Promise((resolve) => made.on("close", resolve)), 0);
  const compared = await open(browser, pathToFileURL(join(WORK, "compared.html")).href, { colorScheme: "light" });
  assert.equal(await compared.page.locator(".compared thead th").count(), 4);
  assert.equal((await rows(compared.page, ".compared"))["Documents in the index"], count(report.docs_indexed));
  await accessible(compared.page, "the comparison");
  await compared.page.locator(".run-choice select").selectOption("1");
  assert.equal((await rows(compared.page, ".panel.documents")).settled, count(report.docs_read));
  assert.deepEqual([...problems, ...compared.problems], []);
}

/** With a token a viewer pauses, resumes and stops the load. */
async function controlled(browser) {
  const token = "a-token-of-the-browser-test-0123456789";
  writeFileSync(join(WORK, "token"), token, { mode: 0o600 });
  const run = await load("page-controlled", "--page-token-file", "token");
  const { url, ended } = run;
  const refused = await fetch(url);
  assert.equal(refused.status, 401);
  const { page, problems } = await open(browser, `${url}?token=${token}`);
  assert.ok(!page.url().includes(token), "the token leaves the address line");
  const phase = (name) =>
    during(
      run,
      page.waitForFunction((wanted) => document.querySelector(".phase")?.textContent === wanted, name),
    );
  await phase("loading");
  await page.getByRole("button", { name: "Pause" }).click();
  await phase("paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await phase("loading");
  await page.getByRole("button", { name: "Stop…" }).click();
  await accessible(page, "the dialog");
  await page.getByRole("button", { name: "Go on loading" }).click();
  await page.getByRole("button", { name: "Stop…" }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  const { status, out } = await ended;
  assert.equal(status, 130);
  const report = JSON.parse(out);
  assert.equal(report.pauses[0].kind, "by_hand");
  await page.waitForSelector(".verdict");
  assert.equal((await rows(page, ".panel.documents")).settled, count(report.docs_read));
  assert.deepEqual(problems, []);
}

const browser = await startBrowser();
try {
  const report = await watched(browser);
  await reportPage(browser, report);
  await controlled(browser);
} finally {
  await browser.close();
}
console.log("browser: the page of a load, its report and its controls agree with the load");
