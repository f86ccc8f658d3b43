// A comparison of a source with an index (`inrush verify`). Documents that were looked up count in
// the buckets of a load; here they have the words of a comparison.

const COMPARED_BUCKETS = [
  ["noop", "docs_noop", "equal", "in"],
  ["dropped", "docs_dropped", "only counted", "out"],
  ["not_found", "docs_not_found", "missing in the index", "bad"],
  ["conflicting", "docs_conflicting", "different in the index", "bad"],
  ["dead_lettered", "docs_dead_lettered", "cannot be loaded", "bad"],
];

/** The charts of a comparison, in their order. */
function verifyCharts(load) {
  const some = (key) => load().points.some((point) => point[key] > 0);
  return [
    phaseChart(load),
    {
      key: "rate",
      title: "Documents a second",
      height: 120,
      format: formatCount,
      axis: formatShort,
      series: COMPARED_BUCKETS.map(([key, , name, group], at) => ({
        name,
        kind: "stack",
        quiet: true,
        colour: group === "bad" ? ["c-bad", "c-rest", "c-plan"][at % 3] : `c-${group}`,
        get: perSecond(key),
        absent: () => at > 0 && !some(key),
      })),
    },
    {
      key: "bytes",
      title: "Bytes a second",
      height: 64,
      bytes: true,
      format: formatBytes,
      axis: formatShortBytes,
      series: [{ name: "read", kind: "line", colour: "c-read", get: perSecond("read") }],
    },
  ];
}

/** The figures at the top. */
function makeVerifyTiles() {
  const tiles = makeTileRow(["Rate", "Progress", "Time left", "Compared", "Missing", "Different", "Only in the index"]);
  function draw(load) {
    const { state, start, report } = load;
    const counts = state.counts ?? {};
    const seconds = report?.seconds ?? state.t;
    const rate = report ? counts.docs_read / Math.max(seconds, 0.001) : state.docs_per_second;
    tiles.set(
      0,
      `${formatCount(rate)}/s`,
      report ? "documents, mean of the run" : `documents; ${formatBytes(state.bytes_per_second)}/s read`,
    );
    tiles.setShare(state.share);
    const size = start.bytes_total ? ` of ${formatBytes(start.bytes_total)}` : "";
    const share = state.share === null || state.share === undefined ? NO_VALUE : formatPercent(state.share);
    tiles.set(1, share, `${formatBytes(counts.bytes_read)}${size} read`);
    if (report) tiles.set(2, formatSeconds(seconds), "in all", false, "Time");
    else tiles.set(2, formatSeconds(state.seconds_left ?? NaN), `${formatSeconds(state.t)} so far`, false, "Time left");
    const compared = counts.docs_noop + counts.docs_not_found + counts.docs_conflicting;
    tiles.set(3, formatCount(report?.docs_compared ?? compared), "documents looked up in the index");
    const [missing, different] = [
      report?.docs_missing ?? counts.docs_not_found,
      report?.docs_different ?? counts.docs_conflicting,
    ];
    tiles.set(4, formatCount(missing), "in the source, not in the index", missing > 0);
    tiles.set(5, formatCount(different), "other contents in the index", different > 0);
    tiles.set(
      6,
      formatCount(report?.docs_extra ?? NaN),
      state.ids_read > 0 ? `${formatCounted(state.ids_read, "id")} of the index read` : "found at the end",
      report?.docs_extra > 0,
    );
  }
  return { node: tiles.node, draw };
}

/** The report of a comparison. It is hidden until there is one. */
function makeVerifyResult() {
  const body = el("div");
  const node = panel("result", "Result", body);
  function draw(load) {
    setHidden(node, !load.report);
    if (load.report) setChildren(body, JSON.stringify(load.report), () => comparedWords(load.report));
  }
  return { node, draw };
}

function comparedWords(report) {
  const examples = (kind) => report.examples?.[kind] ?? [];
  const counted = (number) => (number === undefined ? "" : formatCount(number));
  return [
    ...verdictOf(report),
    el(
      "dl",
      { class: "facts" },
      factsOf([
        ["Documents in the source", counted(report.docs_read)],
        ["Documents in the index", counted(report.docs_in_index)],
        ["Replaced by later ones", counted(report.docs_replaced)],
        ["Cannot be loaded", report.docs_rejected > 0 ? counted(report.docs_rejected) : ""],
        ["Sample", counted(report.sample)],
        ["Not proven", (report.not_proven ?? []).join("; ")],
        ["Missing documents", report.missing_file],
      ]),
    ),
    ...[
      ["missing", "Missing"],
      ["different", "Different"],
      ["extra", "Only in the index"],
      ["rejected", "Cannot be loaded"],
    ].map(([kind, title]) => (examples(kind).length > 0 ? exampleList(title, examples(kind)) : null)),
    warningsOf(report),
  ];
}

function exampleList(title, examples) {
  const words = ({ id, routing, source, line, detail }) =>
    [
      id && `id ${id}`,
      routing && `routing ${routing}`,
      source && `${source}${line ? `, line ${formatCount(line)}` : ""}`,
      detail,
    ]
      .filter(Boolean)
      .join("; ");
  return el(
    "div",
    { class: "differences" },
    el("h3", null, `${title}: the first ones`),
    el(
      "ul",
      null,
      examples.map((one) => el("li", null, words(one))),
    ),
  );
}
