// A load of twelve hours in a few seconds: the browser keeps a bounded history and stays below
// 60 MB. The server is a stand-in, whose events are those of `src/snapshot.rs`.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { accessible, count, open, rows, startBrowser, textOf } from "./browser.mjs";

const SECONDS = 12 * 3600;
const HEAP_MAX = 60e6;
const crate = new URL("../../", import.meta.url);
const file = (name) => readFileSync(new URL(name, crate), "utf8");

/** The script as `src/assets.rs` joins it. */
function script() {
  const parts = [...file("src/assets.rs").matchAll(/include_str!\("\.\.\/(assets\/js\/[^"]+)"\)/g)].map((found) =>
    file(found[1]),
  );
  return `(() => {\n"use strict";\n${parts.join("")}})();\n`;
}

function stateAt(t) {
  const docs = t * 1000;
  return {
    t,
    phase: "loading",
    why: "",
    paused_by_hand: false,
    counts: {
      docs_read: docs,
      docs_created: docs,
      bytes_read: t * 2e5,
      rejected_items: t,
      retried_items: t,
      docs_dead_lettered: 0,
    },
    docs_per_second: 1000,
    bytes_per_second: 2e5,
    share: t / SECONDS,
    seconds_left: SECONDS - t,
    docs_waiting: 5,
    in_flight: 4,
    plan_batch_bytes: 4 << 20,
    plan_in_flight: 4,
    memory_bytes: 1 << 20,
    encoding: "json",
    compression: "none",
    nodes: [
      { name: "http://node:9200", healthy: true, docs, requests: t, rejected: t, lost: 0, mean: 0.05, took: 0.04 },
    ],
    guard: { state: "off" },
  };
}

function pointAt(t) {
  return {
    t,
    d: 1,
    docs: 1000,
    created: 1000,
    read: 2e5,
    sent: 25e4,
    req: 10,
    ans: 10,
    wall: 0.5 + (t % 7) / 10,
    took: 0.4,
    max: 0.2,
    rejected: 1,
    retried: 1,
    mem: 1 << 20,
    fly: 4,
    plan_bytes: 4 << 20,
    plan_fly: 4,
  };
}

async function events(response) {
  const send = async (name, data) => {
    if (!response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)) await once(response, "drain");
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  const start = {
    name: "hours",
    run_id: "1",
    began: 1.8e9,
    sources: ["a"],
    bytes_total: SECONDS * 2e5,
    controller: "auto",
    batch_bytes: [1, 2],
    in_flight: [1, 2],
  };
  await send("snapshot", {
    version: 1,
    inrush: "0",
    now: 0,
    control: false,
    ended: false,
    loads: [
      {
        start,
        state: stateAt(0),
        points: [],
        decisions: [],
        formats: [],
        phases: [{ t: 0, until: null, phase: "loading" }],
        notes: [],
        errors: [],
      },
    ],
  });
  for (let t = 1; t <= SECONDS; t += 1) {
    const decisions =
      t % 60 === 0
        ? [{ t, from_bytes: 1 << 20, from_fly: 4, bytes: 2 << 20, fly: 4, why: `larger requests are faster at ${t}` }]
        : [];
    const notes = t % 300 === 0 ? [{ t, kind: "lost", text: "connection closed", times: 1, last: t }] : [];
    await send("point", { now: t, loads: [{ state: stateAt(t), points: [pointAt(t)], decisions, notes }] });
    // The browser draws between the events, as it does in hours.
    if (t % 400 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const server = createServer((request, response) => {
  const files = { "/": ["text/html", "assets/index.html"], "/page.css": ["text/css", "assets/page.css"] };
  if (request.url === "/events") events(response);
  else if (request.url === "/page.js") response.writeHead(200, { "content-type": "text/javascript" }).end(script());
  else if (files[request.url])
    response.writeHead(200, { "content-type": files[request.url][0] }).end(file(files[request.url][1]));
  else response.writeHead(404).end();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const browser = await startBrowser();
try {
  const { page, problems } = await open(browser, `http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(
    (all) => [...document.querySelectorAll(".documents tbody td")].some((cell) => cell.textContent === all),
    count(SECONDS * 1000),
    { timeout: 120000 },
  );
  assert.equal((await rows(page, ".panel.documents")).settled, count(SECONDS * 1000));
  assert.match(await textOf(page, ".moment"), /^12:00:00/);
  // Sums stay sums when points are merged: the rate is 1,000 in each row of the table.
  await page.locator(".figures summary").click();
  await page.waitForSelector(".figures tbody tr");
  const rates = await page.locator(".figures tbody tr td:nth-child(2)").allTextContents();
  assert.ok(rates.length > 20 && rates.length <= 61 && rates.every((rate) => rate === "1,000"), rates.join(" "));
  const tools = await page.context().newCDPSession(page);
  await tools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await tools.send("Runtime.getHeapUsage");
  assert.ok(usedSize < HEAP_MAX, `${usedSize} bytes in the browser`);
  await accessible(page, "the page after hours");
  assert.deepEqual(problems, []);
  console.log(`browser: ${SECONDS} s of a load take ${(usedSize / 1e6).toFixed(1)} MB`);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
