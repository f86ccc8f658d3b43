// The panels beside the charts. Each is `{node, draw(load)}`.

function panel(key, title, ...children) {
  const id = `panel-${key}`;
  return el("section", { class: `panel ${key}`, "aria-labelledby": id }, el("h2", { id }, title), ...children);
}

/** A place for a wide table. The keyboard scrolls it, too. */
function scrollable(label) {
  return el("div", { class: "table-holder", tabindex: 0, role: "group", "aria-label": label });
}

/** A row of figures at the top of the page: the second one has a bar for a share. */
function makeTileRow(titles) {
  const tiles = titles.map((title) => {
    const [name, value, more] = [el("dt", null, title), el("dd", { class: "big" }), el("dd", { class: "more" })];
    return { node: el("div", { class: "tile" }, name, value, more), name, value, more };
  });
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Settled share of the sources" });
  tiles[1].node.append(el("dd", { class: "bar-holder" }, bar));
  const node = el(
    "dl",
    { class: `tiles of-${titles.length}`, "aria-label": "Key figures" },
    tiles.map((tile) => tile.node),
  );
  function set(at, value, more, warn = false, title = null) {
    setText(tiles[at].value, value);
    setText(tiles[at].more, more);
    if (title) setText(tiles[at].name, title);
    setAttributes(tiles[at].node, { class: warn ? "tile warn" : "tile" });
  }
  function setShare(share) {
    setHidden(bar, share === null || share === undefined);
    setAttributes(bar, { value: share ?? 0 });
  }
  return { node, set, setShare };
}

/** The figures of a load. */
function makeTiles() {
  const { node, set, setShare } = makeTileRow([
    "Rate",
    "Progress",
    "Time left",
    "Requests",
    "Time of a request",
    "Memory",
    "Rejected",
    "Dead letters",
  ]);
  function draw(load) {
    const { state, start, report } = load;
    const counts = report ?? state.counts ?? {};
    const recent = recentPoint(load, 30);
    if (report) set(0, `${formatCount(report.docs_per_second)}/s`, "documents, mean of the run");
    else set(0, `${formatCount(state.docs_per_second)}/s`, `documents; ${formatBytes(state.bytes_per_second)}/s read`);
    const size = start.bytes_total ? ` of ${formatBytes(start.bytes_total)}` : "";
    set(
      1,
      state.share !== null && state.share !== undefined ? formatPercent(state.share) : formatCount(counts.docs_read),
      `${state.share === null || state.share === undefined ? "documents" : formatCounted(counts.docs_read, "document")}; ${formatBytes(counts.bytes_read)}${size} read`,
    );
    setShare(state.share);
    if (report) set(2, formatSeconds(report.seconds), "in all", false, "Time");
    else set(2, formatSeconds(state.seconds_left ?? NaN), `${formatSeconds(state.t)} so far`, false, "Time left");
    set(
      3,
      report
        ? `${report.plan.in_flight} × ${formatSize(report.plan.batch_bytes)}`
        : `${state.in_flight} × ${formatSize(state.plan_batch_bytes)}`,
      report ? "plan at the end" : `in flight; plan ${state.plan_in_flight}; ${wireOf(state)}`,
    );
    const points = report ? load.points : recent;
    const [ans, wall, took] = ["ans", "wall", "took"].map((key) =>
      points.reduce((sum, point) => sum + (point[key] ?? 0), 0),
    );
    set(
      4,
      ans > 0 ? formatMillis((wall / ans) * 1000) : NO_VALUE,
      ans > 0 ? `${formatMillis((took / ans) * 1000)} of it in the server` : "",
    );
    const held = report ? Math.max(0, ...load.points.map((point) => point.mem ?? 0)) : state.memory_bytes;
    set(
      5,
      report && load.points.length === 0 ? NO_VALUE : formatBytes(held),
      `${report ? "of documents at most" : "documents held"}${start.memory_max ? `, of ${formatSize(start.memory_max)}` : ""}`,
    );
    set(6, formatCount(counts.rejected_items), `documents for load; ${formatCount(counts.retried_items)} sent again`);
    set(
      7,
      formatCount(counts.docs_dead_lettered),
      counts.docs_unknown > 0 ? `and ${formatCount(counts.docs_unknown)} without an answer` : "documents not accepted",
      counts.docs_dead_lettered > 0 || counts.docs_unknown > 0,
    );
  }
  return { node, draw };
}

/** The points of the last seconds. */
function recentPoint(load, seconds) {
  const since = endOf(load) - seconds;
  return load.points.filter((point) => point.end > since);
}

/** Documents by bucket. */
function makeDocuments(buckets = BUCKETS, settled = "settled") {
  const body = el("div", { class: "table-holder" });
  function draw(load) {
    const counts = (buckets === BUCKETS && load.report) || load.state.counts || {};
    const rows = buckets.filter(([, key], at) => at === 0 || counts[key] > 0);
    const key = JSON.stringify([
      rows.map((row) => counts[row[1]]),
      counts.docs_read,
      load.state.docs_waiting,
      load.report ? 1 : 0,
    ]);
    setChildren(body, key, () => {
      const shown = rows.map(([, bucket, words, group]) => [
        el("span", null, el("span", { class: `swatch c-${group}` }), words),
        formatCount(counts[bucket]),
        shareOf(counts[bucket], counts.docs_read),
      ]);
      shown.push([el("strong", null, settled), el("strong", null, formatCount(counts.docs_read)), ""]);
      if (!load.report && load.state.docs_waiting > 0)
        shown.push([`read, not ${settled}`, formatCount(load.state.docs_waiting), ""]);
      if (counts.possible_duplicates > 0)
        shown.push(["possible duplicates", formatCount(counts.possible_duplicates), ""]);
      return [
        table(
          "Documents by result",
          [
            ["Result", ""],
            ["Documents", "n"],
            ["Share", "n"],
          ],
          shown,
          { class: "plain" },
        ),
      ];
    });
  }
  return { node: panel("documents", "Documents", body), draw };
}

function shareOf(part, all) {
  return all > 0 && part > 0 ? formatPercent(part / all) : "";
}

/** Dead letters by reason. Groups that a user has opened stay open. */
function makeErrors() {
  const list = el("div", { class: "groups" });
  const none = el("p", { class: "none" }, "No document was refused.");
  const where = el("p", { class: "none" });
  const open = new Set();
  function draw(load) {
    const errors = load.errors ?? load.report?.errors ?? [];
    setHidden(none, errors.length > 0);
    const file = load.report?.dead_letters ?? load.report?.dead_letter_topic;
    setHidden(where, !file);
    if (file) setText(where, `All of them: ${file}`);
    setChildren(list, JSON.stringify(errors), () => errors.map((error) => errorGroup(error, open)));
  }
  return { node: panel("errors", "Dead letters", none, list, where), draw };
}

function errorGroup(error, open) {
  const name = `${error.status} ${error.type} ${error.reason}`;
  const examples = (error.examples ?? []).map((example) =>
    el(
      "li",
      null,
      el("span", { class: "place" }, `${example.source}${example.line ? `, line ${formatCount(example.line)}` : ""}`),
      example.reason && example.reason !== error.reason ? el("span", { class: "why" }, example.reason) : null,
      example.document ? el("code", null, example.document) : null,
    ),
  );
  const remember = (event) => (event.target.open ? open.add(name) : open.delete(name));
  return el(
    "details",
    { open: open.has(name), toggle: remember },
    el(
      "summary",
      null,
      el("span", { class: "count" }, formatCount(error.count)),
      " ",
      el("span", { class: "type" }, `${error.status > 0 ? `${error.status} ` : ""}${error.type}`),
      " ",
      el("span", { class: "reason" }, error.reason),
    ),
    examples.length > 0
      ? el("ol", { class: "examples", "aria-label": "First examples" }, examples)
      : el("p", { class: "none" }, "No example is kept."),
  );
}

/** Changes of plan, encoding and compression, the newest first. A time moves the cursor there. */
function makeDecisions(pick) {
  const list = el("ol", { class: "log", tabindex: 0, "aria-label": "Decisions, the newest first" });
  const none = el("p", { class: "none" }, "The plan has not changed.");
  function draw(load) {
    const plans = load.decisions.map((mark) => ({
      t: mark.t,
      why: mark.why,
      what: `${mark.from_fly} × ${formatSize(mark.from_bytes)} → ${mark.fly} × ${formatSize(mark.bytes)}`,
    }));
    const formats = load.formats.map((mark) => ({ t: mark.t, why: mark.why, what: `${mark.from} → ${mark.to}` }));
    const all = [...plans, ...formats].sort((a, b) => b.t - a.t).slice(0, 120);
    setHidden(none, all.length > 0);
    setHidden(list, all.length === 0);
    setChildren(list, `${load.start.run_id} ${all.length} ${all[0]?.t}`, () =>
      all.map((mark) => logEntry(mark.t, mark.what, mark.why, "", pick)),
    );
  }
  return { node: panel("decisions", "Decisions of the tuner", none, list), draw };
}

function logEntry(t, what, why, colour, pick) {
  const time = pick
    ? el(
        "button",
        { type: "button", class: "at", click: () => pick(t), "aria-label": `${formatClock(t)}, show in the charts` },
        formatClock(t),
      )
    : el("span", { class: "at" }, formatClock(t));
  return el(
    "li",
    null,
    time,
    el("span", { class: `what ${colour}` }, what),
    why ? el("span", { class: "why" }, why) : null,
  );
}

/** Seconds without a word of a part that are told. */
const SILENT_SECONDS = 15;

const NOTE_WORDS = {
  lost: "request without an answer",
  retried: "request sent again",
  limited: "smaller bodies",
  resent: "documents sent again",
  node_down: "node does not answer",
  node_up: "node answers again",
  source: "source failed",
};

/** Phases, pauses and incidents, the newest first. */
function makeEvents(pick) {
  const list = el("ol", { class: "log", tabindex: 0, "aria-label": "Phases, pauses and incidents, the newest first" });
  function draw(load) {
    const phases = load.phases.map((phase) => ({
      t: phase.t,
      why: phase.why,
      what: `${phase.pause ? `paused (${phase.pause.replaceAll("_", " ")})` : [phase.phase, phase.step].filter(Boolean).join(": ")}${phase.until ? `, ${formatSeconds(phase.until - phase.t)}` : ""}`,
      colour: phase.pause || phase.phase === "stopping" ? "warned" : "",
    }));
    const notes = load.notes.map((note) => ({
      t: note.t,
      why: note.text,
      colour: note.kind === "node_up" ? "" : "warned",
      what: `${NOTE_WORDS[note.kind] ?? note.kind}${note.times > 1 ? `, ${formatCount(note.times)} times until ${formatClock(note.last)}` : ""}`,
    }));
    const all = [...phases, ...notes].sort((a, b) => b.t - a.t).slice(0, 120);
    setChildren(list, JSON.stringify(all), () =>
      all.map((one) => logEntry(one.t, one.what, one.why, one.colour, pick)),
    );
  }
  return { node: panel("events", "Phases, pauses and incidents", list), draw };
}

/** The nodes of the cluster. */
function makeNodes() {
  const body = scrollable("Nodes");
  function draw(load) {
    const nodes = load.state.nodes ?? [];
    setChildren(body, JSON.stringify(nodes), () => [
      table(
        "Nodes that get requests",
        [
          ["Node", ""],
          ["Documents", "n"],
          ["Time", "n"],
          ["Server", "n"],
          ["Rejected", "n"],
          ["Lost", "n"],
        ],
        nodes.map((node) => [
          el(
            "span",
            { class: "node" },
            node.name,
            el("span", { class: node.healthy ? "good" : "warned" }, node.healthy ? "answers" : "does not answer"),
          ),
          formatCount(node.docs),
          formatMillis((node.mean ?? NaN) * 1000),
          formatMillis((node.took ?? NaN) * 1000),
          formatCount(node.rejected),
          formatCount(node.lost),
        ]),
        { class: "plain" },
      ),
    ]);
  }
  return { node: panel("nodes", "Nodes", body), draw };
}

/** The parts of a load that is spread over several processes. It is hidden where there are none. */
function makeParts() {
  const body = scrollable("Parts");
  const more = el("p", { class: "none" });
  const node = panel("parts", "Parts", body, more);
  function draw(load) {
    const { parts = [], parts_more: others = 0 } = load.state;
    setHidden(node, parts.length === 0);
    setHidden(more, others === 0);
    setText(more, `and ${formatCounted(others, "more part")}, which have ended`);
    setChildren(body, JSON.stringify(parts), () => [
      table(
        "Parts of the job, those that run first",
        [
          ["Part", ""],
          ["Documents", "n"],
          ["Rate", "n"],
          ["Rejected", "n"],
          ["Dead letters", "n"],
        ],
        parts.map((part) => [
          el("span", { class: "node" }, part.name, el("span", { class: "why" }, wordsOfPart(part))),
          formatCount(part.docs),
          part.phase === "done" ? "" : `${formatCount(part.docs_per_second)}/s`,
          formatCount(part.rejected),
          formatCount(part.dead_lettered),
        ]),
        { class: "plain" },
      ),
    ]);
  }
  return { node, draw };
}

function wordsOfPart(part) {
  const flies = part.in_flight > 0 ? `, ${part.in_flight} in flight` : "";
  const silent = part.silent > SILENT_SECONDS ? ` (no word for ${formatSeconds(part.silent)})` : "";
  return [part.host, part.phase + flies + silent].filter(Boolean).join(": ");
}

const GUARD_WORDS = {
  off: "No settings are changed.",
  changed: "These settings are changed for the load.",
  yes: "The settings are restored.",
  unchanged: "No settings were changed.",
  "passed on": "Another load restores the settings.",
  no: "Settings are not restored.",
};

/** The settings guard. */
function makeGuard() {
  const words = el("p");
  const detail = el("p", { class: "why" });
  const body = scrollable("Changed settings");
  function draw(load) {
    const report = load.report?.settings;
    const guard = report
      ? { state: report.restored, changed: report.changed, detail: report.detail }
      : (load.state.guard ?? {});
    setText(words, GUARD_WORDS[guard.state] ?? guard.state ?? "");
    setAttributes(words, { class: guard.state === "no" ? "warned" : "" });
    setText(detail, guard.detail ?? "");
    const changed = Object.entries(guard.changed ?? {});
    setChildren(body, JSON.stringify(changed), () =>
      changed.length === 0
        ? []
        : [
            table(
              "Changed settings",
              [
                ["Setting", ""],
                ["Before", ""],
                ["During the load", ""],
              ],
              changed.map(([name, { from, to }]) => [el("code", null, name), from ?? "not set", to]),
              { class: "plain" },
            ),
          ],
    );
  }
  return { node: panel("guard", "Settings of the index", words, body, detail), draw };
}

/** The facts of a load that do not change. */
function makeFacts(title = "This load") {
  const list = el("dl", { class: "facts" });
  function draw(load) {
    const { start } = load;
    setChildren(list, JSON.stringify(start), () =>
      factsOf([
        [
          "Sources",
          (start.sources ?? []).join(", ") +
            (start.sources_more > 0 ? ` and ${formatCount(start.sources_more)} more` : ""),
        ],
        ["Cluster", start.cluster],
        ["Size", start.bytes_total ? formatBytes(start.bytes_total) : "not known"],
        ["Began", start.began ? new Date(start.began * 1000).toLocaleString() : ""],
        ["Run", start.run_id],
        ["Plan", planWords(start)],
      ]),
    );
  }
  return { node: panel("about", title, list), draw };
}

function planWords(start) {
  const bounds =
    start.batch_bytes && start.in_flight
      ? `: ${formatSize(start.batch_bytes[0])} to ${formatSize(start.batch_bytes[1])}, ${start.in_flight[0]} to ${start.in_flight[1]} in flight`
      : "";
  return start.controller ? `${start.controller}${bounds}` : "";
}

function factsOf(pairs) {
  return pairs.filter(([, words]) => words).flatMap(([name, words]) => [el("dt", null, name), el("dd", null, words)]);
}
