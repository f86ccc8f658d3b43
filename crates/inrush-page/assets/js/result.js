// The end of a load: its report, as `docs/report.md` describes it.

const STATUS_WORDS = {
  complete: ["All documents were indexed", "good"],
  incomplete: ["Some documents were not indexed", "bad"],
  check_failed: ["The documents were indexed, but a check failed", "bad"],
  failed: ["The load failed", "bad"],
  interrupted: ["The load was interrupted", "bad"],
  equal: ["The index holds the documents of the source", "good"],
  different: ["The index does not hold the documents of the source", "bad"],
};

/** The panel with the report. It is hidden until there is one. */
function makeResult() {
  const body = el("div");
  const node = panel("result", "Result", body);
  function draw(load) {
    setHidden(node, !load.report);
    if (load.report) setChildren(body, load.report.run_id, () => resultOf(load.report));
  }
  return { node, draw };
}

/** The elements of a report, besides its counts. */
function resultOf(report) {
  const steps = (report.bake?.steps ?? []).concat(report.finish?.steps ?? []);
  return [
    ...verdictOf(report),
    el(
      "dl",
      { class: "facts" },
      factsOf([
        ["Verified", `${report.verified.state}: ${report.verified.detail}`],
        ["Time", `${formatSeconds(report.seconds)}, ${formatCount(report.docs_per_second)} documents a second`],
        ["Plan", `${report.plan.in_flight} × ${formatSize(report.plan.batch_bytes)}: ${report.plan.why}`],
        ["Encoding", `${report.plan.encoding}, compression ${report.plan.compression}: ${report.plan.wire_why}`],
        ["Settings", report.settings.detail],
        ["Alias", report.swap?.detail],
        [
          "Pauses",
          (report.pauses ?? [])
            .map(
              (pause) =>
                `${pause.kind.replaceAll("_", " ")} ${formatSeconds(pause.seconds)} (${pause.times} ×): ${pause.why}`,
            )
            .join("; "),
        ],
        ["Not done", report.finish?.failure],
        ["Continue with", report.checkpoint ? "--resume" : ""],
      ]),
    ),
    steps.length > 0
      ? el(
          "div",
          { class: "table-holder" },
          table(
            "Steps",
            [
              ["Step", ""],
              ["Time", "n"],
              ["Result", ""],
            ],
            steps.map((step) => [step.step.replaceAll("_", " "), formatSeconds(step.seconds), step.detail]),
            { class: "plain" },
          ),
        )
      : null,
    sizesOf(report),
    warningsOf(report),
  ];
}

/** The result in a sentence, and why. */
function verdictOf(report) {
  const [words, colour] = STATUS_WORDS[report.status] ?? [report.status, "bad"];
  return [
    el("p", { class: `verdict ${colour}` }, words),
    report.failure ? el("p", { class: "warned" }, report.failure) : null,
  ];
}

function warningsOf({ warnings = [] }) {
  if (warnings.length === 0) return null;
  return el(
    "ul",
    { class: "warnings", "aria-label": "Warnings" },
    warnings.map((warning) => el("li", null, warning)),
  );
}

function sizesOf(report) {
  const sizes = Object.entries(report.sizes ?? {});
  if (sizes.length === 0) return null;
  const docs = (size) => (size ? formatCount(size.docs) : "not known");
  const bytes = (size) => (size ? formatBytes(size.primary_bytes) : "");
  return el(
    "div",
    { class: "table-holder" },
    table(
      "Indices before and after",
      [
        ["Index", ""],
        ["Documents before", "n"],
        ["after", "n"],
        ["Primary shards before", "n"],
        ["after", "n"],
      ],
      sizes.map(([name, { before, after }]) => [name, docs(before), docs(after), bytes(before), bytes(after)]),
      { class: "plain" },
    ),
  );
}
