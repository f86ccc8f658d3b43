// The charts of a load.

/** The charts, in their order. */
function loadCharts(getLoad) {
  const load = () => getLoad();
  const some = (key) => load().points.some((point) => point[key] > 0);
  const someOf = (group) => load().points.some((point) => groupPerSecond(group)(point) > 0);
  return [
    phaseChart(load),
    {
      key: "rate",
      title: "Documents a second",
      height: 96,
      format: formatCount,
      axis: formatShort,
      series: [
        { name: "in the index", kind: "stack", colour: "c-in", get: groupPerSecond("in") },
        quietPart("left out", "out", someOf),
        quietPart("not in", "bad", someOf),
      ],
    },
    {
      key: "bytes",
      title: "Bytes a second",
      height: 64,
      bytes: true,
      format: formatBytes,
      axis: formatShortBytes,
      series: [
        { name: "read", kind: "line", colour: "c-read", get: perSecond("read") },
        { name: "sent", kind: "line", colour: "c-sent", get: perSecond("sent") },
      ],
    },
    {
      key: "lag",
      title: "Records behind",
      height: 64,
      format: formatCount,
      axis: formatShort,
      absent: () => !load().points.some((point) => point.lag !== undefined),
      series: [{ kind: "area", colour: "c-wait", get: (point) => point.lag ?? null }],
    },
    {
      key: "size",
      title: "Plan: bytes of a request",
      height: 64,
      bytes: true,
      format: formatSize,
      axis: formatShortBytes,
      series: [{ kind: "step", colour: "c-plan", get: (point) => point.plan_bytes || null }],
      marks: () => decisionMarks(sizeDecisions(load())),
      note: (_, moment) => decisionWords(sizeDecisions(load()), moment),
    },
    {
      key: "flight",
      title: "Plan: requests in flight",
      height: 64,
      least: 2,
      format: (value) => trimmed(value),
      axis: formatShort,
      series: [
        { name: "plan", kind: "step", colour: "c-plan", get: (point) => point.plan_fly || null },
        { name: "in flight", kind: "area", colour: "c-fly", get: (point) => point.fly ?? 0 },
      ],
      marks: () => decisionMarks(flightDecisions(load())),
      note: (_, moment) => decisionWords(flightDecisions(load()), moment),
    },
    {
      key: "latency",
      title: "Time of a request",
      height: 80,
      format: formatMillis,
      axis: (value) => formatMillis(value).replace(".00", "").replace(" ", ""),
      series: [
        {
          name: "server",
          kind: "stack",
          colour: "c-server",
          get: (point) => (point.ans > 0 ? ((point.took ?? 0) / point.ans) * 1000 : null),
        },
        {
          name: "network and queues",
          kind: "stack",
          colour: "c-rest",
          get: (point) =>
            point.ans > 0 ? Math.max(0, ((point.wall ?? 0) - (point.took ?? 0)) / point.ans) * 1000 : null,
        },
      ],
      note: (point) => (point?.max > 0 ? `longest ${formatMillis(point.max * 1000)}` : ""),
    },
    {
      key: "rejections",
      title: "Rejected for load and sent again",
      height: 52,
      format: (value) => `${formatCount(value)}/s`,
      axis: formatShort,
      series: [
        { name: "sent again", kind: "step", colour: "c-again", get: perSecond("retried") },
        { name: "rejected", kind: "step", colour: "c-bad", get: perSecond("rejected") },
      ],
      note: (point) => (point?.lost > 0 ? `${formatCounted(point.lost, "request")} without an answer` : ""),
      marks: () =>
        load()
          .notes.filter((note) => note.kind === "lost" || note.kind === "node_down")
          .map((note) => ({ at: note.t, words: note.text })),
    },
    {
      key: "memory",
      title: "Documents in memory",
      height: 52,
      bytes: true,
      format: formatBytes,
      axis: formatShortBytes,
      series: [{ kind: "area", colour: "c-memory", get: (point) => point.mem ?? 0 }],
      note: () => (load().start?.memory_max > 0 ? `of at most ${formatBytes(load().start.memory_max)}` : ""),
    },
    {
      key: "wire",
      title: "Encoding and compression",
      height: 22,
      bands: () => formatBands(load()),
      note: (_, moment) => formatWords(load(), moment),
      summary: () => `now ${wireOf(load().state)}; ${formatCounted(load().formats.length, "change")}`,
      absent: () => !load().state?.encoding,
    },
  ];
}

/** A group of documents that is mostly small beside those in the index. */
function quietPart(name, group, someOf) {
  const get = groupPerSecond(group);
  return { name, kind: "stack", quiet: true, colour: `c-${group}`, get, absent: () => !someOf(group) };
}

function phaseChart(load) {
  return {
    key: "phases",
    title: "Phase",
    height: 22,
    bands: () => phaseBands(load()),
    note: (_, moment) => phaseWords(load(), moment),
    summary: () => `${load().phases.length} phases and pauses; now ${load().state.phase}`,
  };
}

const PHASE_COLOURS = {
  starting: "b-start",
  loading: "b-load",
  paused: "b-pause",
  stopping: "b-stop",
  "waiting for the source": "b-wait",
  done: "b-done",
};

function phaseBands(load) {
  return load.phases
    .filter((phase) => phase.phase !== "done")
    .map((phase) => ({
      start: phase.t,
      end: phase.until ?? endOf(load),
      colour: PHASE_COLOURS[phase.phase] ?? "b-end",
      words: phase.pause ? `paused: ${phase.pause.replaceAll("_", " ")}` : (phase.step ?? phase.phase),
    }));
}

function phaseWords(load, moment) {
  const phase = moment === null ? load.phases.at(-1) : lastBefore(load.phases, moment);
  return phase ? [phase.phase, phase.why].filter(Boolean).join(": ") : "";
}

function sizeDecisions(load) {
  return load.decisions.filter((mark) => mark.bytes !== mark.from_bytes);
}

function flightDecisions(load) {
  return load.decisions.filter((mark) => mark.fly !== mark.from_fly);
}

function decisionMarks(decisions) {
  return decisions.map((mark) => ({ at: mark.t, words: mark.why }));
}

/** The last decision at a moment, with its reason. */
function decisionWords(decisions, moment) {
  const mark = moment === null ? decisions.at(-1) : lastBefore(decisions, moment);
  return mark ? `${formatClock(mark.t)}: ${mark.why}` : "";
}

function wireOf(state) {
  return [state.encoding, state.compression === "none" ? "" : state.compression].filter(Boolean).join(" ");
}

function formatBands(load) {
  const colour = (format) =>
    `${format.startsWith("smile") ? "b-smile" : "b-json"}${format.includes("gzip") ? " zipped" : ""}`;
  const first = load.formats[0]?.from ?? wireOf(load.state);
  const begun = load.points[0]?.start ?? 0;
  const spans = [{ t: begun, to: first }, ...load.formats];
  return spans.map((span, at) => ({
    start: span.t,
    end: spans[at + 1]?.t ?? endOf(load),
    colour: colour(span.to),
    words: span.to,
  }));
}

function formatWords(load, moment) {
  const mark = moment === null ? load.formats.at(-1) : lastBefore(load.formats, moment);
  return mark ? `${mark.to}: ${mark.why}` : load.formats.length > 0 ? load.formats[0].from : wireOf(load.state);
}
