// The pages of other runs than a single load: several outputs, a comparison, a sweep and a bake,
// with a real server.
//
// Environment: as of load.mjs, URL (the server itself) and REPOSITORY (a folder below its
// path.repo).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { accessible, count, during, open, rows, startBrowser, startInrush, textOf, tile } from "./browser.mjs";

const { INRUSH, TO, URL: server, DATA, WORK, REPOSITORY, SCREENSHOTS } = process.env;

function start(...given) {
  return startInrush([...given, "--page", "--json"]);
}

/** Waits in the page of a run. */
function shows(run, page, condition) {
  return during(run, page.waitForFunction(condition));
}

async function picture(page, name) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

async function request(method, path, body) {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(server + path, { method, headers, body: body && JSON.stringify(body) });
  return reply.json();
}

/** One page shows the loads of all outputs. */
async function outputs(browser) {
  const query = (where) => `SELECT * FROM input WHERE ${where}`;
  const output = (index, where) => `[[output]]\nindex = "${index}"\nsql = "${query(where)}"\n`;
  const job = `sources = ["${DATA}"]\nto = ["${TO}"]\nreplicas = 0\nshards = 1\nrecreate = true\nyes = true\n\n`;
  writeFileSync(
    join(WORK, "outputs.toml"),
    job + output("page-jfk", "origin = 'JFK'") + output("page-lga", "origin = 'LGA'"),
  );
  const run = await start("load", "--job", "outputs.toml");
  const { url, ended } = run;
  const { page, problems } = await open(browser, url, { colorScheme: "light" });
  const choice = page.locator(".choice select");
  await shows(run, page, () => document.querySelectorAll(".choice option").length === 2);
  assert.deepEqual(await choice.locator("option").allTextContents(), ["page-jfk", "page-lga"]);
  await shows(run, page, () => document.querySelector(".phase")?.textContent === "loading");
  await accessible(page, "the page of several outputs");
  await choice.selectOption("1");
  const { status, out, err } = await ended;
  assert.ok([0, 3].includes(status), err);
  for (const [at, { output: name, report }] of JSON.parse(out).outputs.entries()) {
    await choice.selectOption(String(at));
    await page.waitForFunction((wanted) => document.querySelector("h1").textContent === wanted, name);
    await page.waitForSelector(".verdict");
    const shown = await rows(page, ".panel.documents");
    assert.equal(shown.settled, count(report.docs_read), name);
    assert.equal(shown["new in the index"], count(report.docs_created), name);
  }
  assert.deepEqual(problems, []);
}

/** A comparison with an index that lacks a document, and has another one changed. */
async function comparison(browser) {
  const ids = ["--index", "page-verified", "--id-from", "position"];
  const load = spawn(
    INRUSH,
    ["load", DATA, ...ids, "--to", server, "--recreate", "--yes", "--replicas", "0", "--quiet"],
    { cwd: WORK },
  );
  assert.ok([0, 3].includes(await new Promise((resolve) => load.on("close", resolve))));
  const { hits } = (await request("GET", "/page-verified/_search?size=3")).hits;
  await request("DELETE", `/page-verified/_doc/${hits[0]._id}`);
  await request("POST", `/page-verified/_update/${hits[1]._id}?refresh=true`, { doc: { carrier: "XX" } });
  const run = await start("verify", DATA, ...ids, "--to", TO);
  const { url, ended } = run;
  const { page, problems } = await open(browser, url, { colorScheme: "light" });
  await shows(run, page, () => Number(document.querySelector("progress")?.value) > 0.5);
  await accessible(page, "the page of a comparison");
  await picture(page, "verify");
  const { status, out, err } = await ended;
  assert.equal(status, 4, err);
  const report = JSON.parse(out);
  await page.waitForSelector(".verdict");
  assert.equal(await textOf(page, "header .phase"), "different");
  assert.equal(await tile(page, "Compared"), count(report.docs_compared));
  assert.equal(await tile(page, "Missing"), count(report.docs_missing));
  assert.equal(await tile(page, "Different"), count(report.docs_different));
  assert.ok((await textOf(page, ".differences")).includes(report.examples.missing[0].id));
  assert.equal((await rows(page, ".panel.documents"))["different in the index"], count(report.docs_different));
  await accessible(page, "the page of a comparison at its end");
  assert.deepEqual(problems, []);
}

/** A sweep on its live page, and the page beside its runs. */
async function sweep(browser) {
  const grid = [
    "--batch-docs",
    "200,1000,5000",
    "--in-flight",
    "1,2",
    "--repeat",
    "1",
    "--warm-up",
    "0",
    "--cell-time",
    "2s",
  ];
  const run = await start("sweep", DATA, ...grid, "--replicas", "0", "--to", server, "--out", "page-sweep");
  const { url, ended } = run;
  const live = await open(browser, url, { colorScheme: "light" });
  await shows(run, live.page, () => document.querySelectorAll(".heat g:not(.heat-0)").length >= 2);
  assert.match(await textOf(live.page, ".sweep-now"), /^\d of 7 runs; about .* left\. Round 1: /);
  await shows(run, live.page, () => document.querySelector(".tile .big").textContent !== "0/s");
  await accessible(live.page, "the live page of a sweep");
  await picture(live.page, "sweep-live");
  const { status, out, err } = await ended;
  assert.equal(status, 0, err);
  const result = JSON.parse(out);
  const { page, problems } = await open(browser, pathToFileURL(join(WORK, "page-sweep", "index.html")).href, {
    colorScheme: "light",
  });
  for (const shown of [live.page, page]) {
    await shown.waitForFunction(() => document.querySelectorAll(".heat g:not(.heat-0)").length === 6);
    const cells = await rows(shown, ".sweep-cells");
    assert.deepEqual(
      Object.keys(cells),
      result.cells.map((cell) => cell.cell),
    );
    const rates = await shown.locator(".heat .rate").allTextContents();
    const fixed = result.cells.filter((cell) => cell.cell !== "auto");
    assert.deepEqual(rates.toSorted(), fixed.map((cell) => count(Math.round(cell.result.median))).toSorted());
    assert.ok((await shown.locator(".chart.over-docs path.line").first().getAttribute("d")).includes("a3 3"));
  }
  // A picture is saved with its colours.
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: /^Save as SVG: Documents a second:/ }).click(),
  ]);
  const saved = readFileSync(await download.path(), "utf8");
  assert.match(saved, /^<svg .*fill="(rgb|color)\(/s);
  await accessible(page, "the page of a sweep");
  assert.deepEqual([...live.problems, ...problems], []);
}

/** A bake: the load into the builder, and the hand-over. */
async function bake(browser) {
  const how = ["--repository-path", REPOSITORY, "--builder-heap", "512m", "--replicas", "0", "--shards", "2"];
  const run = await start("bake", DATA, "--index", "page-baked", "--to", server, ...how);
  const { url, ended } = run;
  const { page, problems } = await open(browser, url, { colorScheme: "light" });
  await shows(run, page, () => document.querySelector(".phase")?.textContent === "loading");
  await shows(run, page, () => document.querySelectorAll(".panel.nodes tbody tr").length === 1);
  assert.match(await textOf(page, ".panel.nodes"), /http:\/\/127\.0\.0\.1:\d+/);
  const { status, out, err } = await ended;
  assert.ok([0, 3].includes(status), err);
  const report = JSON.parse(out);
  await page.waitForSelector(".verdict");
  const shown = await rows(page, ".panel.documents");
  assert.equal(shown["new in the index"], count(report.docs_created));
  assert.equal(await tile(page, "Dead letters"), count(report.docs_dead_lettered));
  const phases = await page.locator(".panel.events .what").allTextContents();
  // The last step, publish, has nothing to wait for here and may end before the page sees it.
  for (const step of ["builder", "create", "snapshot", "restore"]) {
    assert.ok(
      phases.some((phase) => phase.startsWith(`baking: ${step}`)),
      `${step}: ${phases}`,
    );
  }
  assert.ok((await tile(page, "Time of a request")) !== "–");
  await accessible(page, "the page of a bake");
  await picture(page, "bake");
  assert.deepEqual(problems, []);
}

const browser = await startBrowser();
try {
  await outputs(browser);
  await comparison(browser);
  await sweep(browser);
  if (existsSync(REPOSITORY)) await bake(browser);
} finally {
  await browser.close();
}
console.log("browser: the pages of several outputs, a comparison, a sweep and a bake agree with their reports");
