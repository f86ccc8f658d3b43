// The report as a page: one run, or several side by side. The page has the figures in itself:
// `{runs: [{name, report, load, made}]}`, where `load` is the history, if the run kept one.

/** Shows the runs of a report. */
function showReport(body, { runs }) {
  const place = el("div");
  if (runs.length === 1) {
    body.append(reportHead(runs[0]), place);
    showRun(place, runs[0], true);
    return;
  }
  const loads = runs.map(loadOfRun);
  const choose = (at) => showRun(place, runs[at], false);
  const choice = el(
    "label",
    { class: "run-choice" },
    "Details of ",
    el(
      "select",
      { change: (event) => choose(Number(event.target.value)) },
      runs.map((run, at) => el("option", { value: at }, run.name)),
    ),
  );
  document.title = `${runs.length} runs · inrush`;
  body.append(
    el(
      "header",
      null,
      el("a", { class: "skip", href: "#main" }, "To the figures"),
      el("div", { class: "title" }, el("h1", null, `${runs.length} runs side by side`)),
    ),
    el("main", { id: "main" }, comparison(runs), overlay(runs, loads), el("div", { class: "choose" }, choice), place),
  );
  choose(0);
}

function reportHead(run) {
  const { start, report } = loadOfRun(run);
  const [, colour] = STATUS_WORDS[report.status] ?? ["", "bad"];
  document.title = `${start.name} · ${report.status} · inrush`;
  return el(
    "header",
    null,
    el("a", { class: "skip", href: "#main" }, "To the figures"),
    el(
      "div",
      { class: "title" },
      el("h1", null, start.name),
      el("span", { class: `phase ${colour}` }, report.status.replaceAll("_", " ")),
      el("span", { class: "why" }, run.made?.ended ? `ended ${new Date(run.made.ended * 1000).toLocaleString()}` : ""),
    ),
  );
}

/** Shows one run in `place`. `alone`: it is the whole page. */
function showRun(place, run, alone) {
  const load = loadOfRun(run);
  const page = makeLoadPage(() => load, null);
  const main = alone ? page.main : el("div", null, ...page.main.childNodes);
  main.querySelector(".beside").append(...[run.doctor && doctorPanel(run), repeatPanel(run)].filter(Boolean));
  for (const [kind, absent] of [
    [".timeline", load.points.length === 0],
    [".decisions", load.points.length === 0],
    [".events", load.phases.length === 0],
    [".nodes", !(load.state.nodes?.length > 0)],
  ])
    setHidden(main.querySelector(kind), absent);
  setAttributes(main.querySelector(".columns"), { class: load.points.length === 0 ? "columns no-history" : "columns" });
  place.replaceChildren(main);
  page.draw({});
}

/** A load as the live page has it. Without a history only its report is known. */
function loadOfRun(run) {
  if (run.shown) return run.shown;
  const { report } = run;
  const load = run.load
    ? makeLoad(run.load)
    : {
        start: {
          name: Object.keys(report.indices ?? {}).join(", ") || run.name,
          run_id: report.run_id,
          sources: (report.sources ?? []).map((source) => source.name),
        },
        state: { t: report.seconds, phase: "done", counts: report, nodes: [] },
        points: [],
        decisions: [],
        formats: [],
        phases: [],
        notes: [],
        errors: report.errors ?? [],
      };
  load.report = report;
  run.shown = load;
  return load;
}

/** The findings of `inrush doctor` at the end of the run. */
function doctorPanel(run) {
  const { findings, not_checked: missing } = run.doctor;
  const finding = (one) =>
    el(
      "li",
      null,
      el("strong", null, one.what),
      el("p", { class: "why" }, `${one.evidence} (${one.confidence})`),
      el("p", null, one.fix),
    );
  return panel(
    "doctor",
    "What slows loading down",
    findings.length > 0
      ? el("ol", null, findings.map(finding))
      : el("p", { class: "none" }, "The doctor found nothing."),
    missing.length > 0 ? el("p", { class: "none" }, `Not checked: ${missing.join("; ")}`) : null,
  );
}

/** How the run was made, and how to make it again. */
function repeatPanel(run) {
  const made = run.made ?? {};
  return panel(
    "repeat",
    "To repeat this run",
    made.command
      ? el("pre", { tabindex: 0, "aria-label": "Command" }, el("code", null, made.command))
      : el("p", { class: "none" }, "The report has no command line: write it with --report."),
    el(
      "dl",
      { class: "facts" },
      factsOf([
        ["inrush", made.inrush],
        ["Cluster", run.load?.start.cluster],
        ["Client", made.system],
        ["Folder", made.folder],
        ["Ended", made.ended ? new Date(made.ended * 1000).toLocaleString() : ""],
        ["Run", run.report.run_id],
      ]),
    ),
  );
}

// Figures of a comparison: name, value, words, and whether more or less is better.
const COMPARED = [
  ["Result", (report) => report.status.replaceAll("_", " ")],
  ["Time", (report) => report.seconds, formatSeconds, "less"],
  ["Documents a second", (report) => report.docs_per_second, formatCount, "more"],
  ["Documents read", (report) => report.docs_read, formatCount],
  ["Documents in the index", (report) => report.docs_indexed, formatCount],
  ["Dead letters", (report) => report.docs_dead_lettered, formatCount],
  ["Without an answer", (report) => report.docs_unknown, formatCount],
  ["Rejected for load", (report) => report.rejected_items, formatCount, "less"],
  ["Sent again", (report) => report.retried_items, formatCount, "less"],
  ["Bytes read", (report) => report.bytes_read, formatBytes],
  ["Bytes sent", (report) => report.bytes_sent, formatBytes],
  ["Requests", (report) => report.requests, formatCount],
  ["Plan at the end", (report) => `${report.plan.in_flight} × ${formatSize(report.plan.batch_bytes)}`],
  ["Encoding", (report) => `${report.plan.encoding}, ${report.plan.compression}`],
  ["Pauses", (report) => (report.pauses ?? []).reduce((sum, pause) => sum + pause.seconds, 0), formatSeconds],
  ["Source idle", (report) => report.source_idle_seconds, formatSeconds],
  [
    "Index after",
    (report) => Object.values(report.sizes ?? {}).reduce((sum, size) => sum + (size.after?.primary_bytes ?? 0), 0),
    formatBytes,
  ],
  ["Verified", (report) => report.verified.state],
];

/** The figures of all runs: a row for each figure, and a column for each run. */
function comparison(runs) {
  const rows = COMPARED.map(([name, value, words, better]) => {
    const values = runs.map((run) => value(run.report));
    const best =
      better && new Set(values).size > 1 ? (better === "more" ? Math.max(...values) : Math.min(...values)) : null;
    return [
      name,
      ...values.map((one, at) => {
        const ratio = better && at > 0 && values[0] > 0 ? ` (× ${(one / values[0]).toFixed(2)})` : "";
        const text = `${words ? words(one) : one}${ratio}`;
        return one === best
          ? el("strong", { class: "good" }, text, el("span", { class: "unseen" }, ", the best"))
          : text;
      }),
    ];
  });
  const how = [
    ["inrush", (run) => run.made?.inrush],
    ["Cluster", (run) => run.load?.start.cluster],
    ["Client", (run) => run.made?.system],
    ["Command", (run) => run.made && el("code", null, run.made.command)],
  ];
  for (const [name, value] of how) {
    const values = runs.map((run) => value(run) ?? "");
    if (values.some(Boolean)) rows.push([name, ...values]);
  }
  const holder = scrollable("Figures of the runs");
  holder.append(
    table(
      "Figures of the runs; × compares with the first run",
      [["Figure", ""], ...runs.map((run) => [run.name, "run"])],
      rows,
      { class: "plain compared" },
    ),
  );
  return el(
    "section",
    { class: "panel", "aria-labelledby": "compared" },
    el("h2", { id: "compared" }, "Figures"),
    holder,
  );
}

/** Charts with a curve for each run that has a history, over the time since its begin. */
function overlay(runs, loads) {
  const shown = runs.map((run, at) => ({ run, load: loads[at], at })).filter(({ load }) => load.points.length > 0);
  if (shown.length < 2) return null;
  const end = Math.max(...shown.map(({ load }) => endOf(load)));
  const step = Math.max(1, end / 600);
  const points = [];
  for (let at = 0; at < end; at += step) {
    const of = shown.map(({ load }) => (at > endOf(load) ? null : pointAt(load.points, at + step / 2)));
    points.push({ t: at + step, d: step, of });
  }
  const all = makeLoad({ points, report: {}, state: { t: end } });
  const series = (get) =>
    shown.map(({ run, at }, index) => ({
      name: run.name,
      kind: "line",
      colour: `run-${at % 6}`,
      get: (point) => (point.of[index] ? get(point.of[index]) : null),
    }));
  const latency = (point) => (point.ans > 0 ? ((point.wall ?? 0) / point.ans) * 1000 : null);
  const timeline = makeTimeline(
    [
      {
        key: "rate",
        title: "Documents a second",
        height: 140,
        format: formatCount,
        axis: formatShort,
        series: series(perSecond("docs")),
      },
      {
        key: "flight",
        title: "Requests in flight",
        height: 72,
        format: (value) => trimmed(value),
        axis: formatShort,
        series: series((point) => point.fly ?? 0),
      },
      {
        key: "size",
        title: "Plan: bytes of a request",
        height: 72,
        bytes: true,
        format: formatSize,
        axis: formatShortBytes,
        series: series((point) => point.plan_bytes || null),
      },
      {
        key: "latency",
        title: "Time of a request",
        height: 72,
        format: formatMillis,
        axis: formatMillis,
        series: series(latency),
      },
    ],
    () => all,
    "runs-over-time",
    "Runs over time",
  );
  requestAnimationFrame(timeline.draw);
  return timeline.node;
}
