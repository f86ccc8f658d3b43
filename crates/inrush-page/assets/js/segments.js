// The segments of an index over time. Moments are those of `inrush segments` (docs/segments.md).
//
// A row is a copy of a shard, a column a moment, a cell a segment: the older ones below. Its height
// is the logarithm of its size, its red part the share of deleted documents, and cells of one
// merge have one colour.

const MOMENTS_MAX = 900;
// Copies that are drawn with each segment. More are strips whose colour is the number of segments.
const ROWS_MAX = 6;
const ROW_HEIGHT = 96;
const MERGE_COLOURS = 5;

/** Remembers moments; `began` is the time of t = 0, seconds since 1970. */
function makeMoments(began) {
  let all = [];
  function add(moment) {
    const t = moment.time / 1000 - began;
    const last = all.at(-1);
    if (last && moment.time <= last.time) return;
    all.push({ ...moment, t });
    if (all.length > MOMENTS_MAX) all = all.filter((_, at) => at % 2 === 0 || at > all.length - MOMENTS_MAX / 2);
    spans();
  }
  /** A point of the charts covers the time since the moment before. */
  function spans() {
    const [before, now] = [all.at(-2), all.at(-1)];
    now.start = before ? before.t : Math.max(0, now.t - 1);
    now.end = now.t;
    const since = (key) =>
      before && now.activity && before.activity ? Math.max(0, now.activity[key] - before.activity[key]) : 0;
    const seconds = Math.max(0.001, now.end - now.start);
    now.count = now.shards.reduce((sum, shard) => sum + shard.segments.length, 0);
    now.merging = now.shards.reduce(
      (sum, shard) => sum + shard.segments.reduce((bytes, segment) => bytes + (segment.m ? segment.b : 0), 0),
      0,
    );
    now.refreshes = since("refreshes") / seconds;
    now.merged = since("merged_bytes") / seconds;
    now.held =
      since("merge_ms") > 0 ? (since("merge_throttled_ms") + since("merge_stopped_ms")) / since("merge_ms") : 0;
  }
  return { add, all: () => all, last: () => all.at(-1) };
}

/** Charts of merges and refreshes, on the time axis of a load. */
function segmentCharts(moments) {
  const points = () => moments()?.all() ?? [];
  const absent = () => points().length < 2;
  return [
    {
      key: "segments",
      title: "Segments",
      height: 52,
      format: formatCount,
      axis: formatShort,
      points,
      absent,
      series: [{ kind: "step", colour: "c-plan", get: (point) => point.count }],
      note: (point) =>
        [`${formatCounted(point?.shards.length ?? 0, "shard copy").replace("copys", "copies")}`, point?.trouble]
          .filter(Boolean)
          .join("; "),
    },
    {
      key: "merging",
      title: "Merges",
      height: 60,
      bytes: true,
      format: formatBytes,
      axis: formatShortBytes,
      points,
      absent,
      series: [
        { name: "being merged", kind: "step", colour: "c-again", get: (point) => point.merging },
        { name: "merged a second", kind: "area", colour: "c-sent", get: (point) => point.merged },
      ],
      note: (point) =>
        [
          point?.activity ? `${formatCounted(point.activity.merges, "merge")} now` : "",
          point?.held > 0.01 ? `held back ${formatPercent(Math.min(1, point.held))} of the time` : "",
          point?.activity?.throttled ? "indexing is throttled, because merges cannot follow" : "",
        ]
          .filter(Boolean)
          .join("; "),
    },
    {
      key: "refreshes",
      title: "Refreshes a second",
      height: 44,
      least: 1,
      format: (value) => value.toFixed(1),
      axis: formatShort,
      points,
      absent,
      series: [{ kind: "step", colour: "c-read", get: (point) => point.refreshes }],
    },
  ];
}

function shardName(shard) {
  return `${shard.index} ${shard.shard}${shard.primary ? "" : " (replica)"} on ${shard.node}`;
}

/** The copies of a moment, those with the most segments first. */
function worstFirst(shards) {
  return shards
    .slice()
    .sort((a, b) => b.segments.length - a.segments.length || (a.index < b.index ? -1 : 1) || a.shard - b.shard);
}

/** The picture: it is drawn on the view of a timeline. */
function makePicture(moments) {
  const chosen = el("select", { change: () => redraw() });
  const replicas = el("input", { type: "checkbox", change: () => redraw() });
  const canvas = el("canvas", { role: "img", height: 10 });
  const labels = el("div", { class: "row-names", "aria-hidden": "true" });
  const line = el("div", { class: "canvas-cursor", hidden: true });
  const bars = el("div", { class: "bars" });
  const node = el(
    "section",
    { class: "picture", "aria-labelledby": "picture-title", hidden: true },
    el(
      "div",
      { class: "bar" },
      el("h3", { id: "picture-title" }, "Segments of each shard"),
      el("label", null, "Shards ", chosen),
      el("label", null, replicas, " replicas too"),
      legend(),
    ),
    el("div", { class: "canvas-holder" }, canvas, labels, line),
    bars,
  );
  let view = null;
  let cursor = null;

  function redraw() {
    if (view) draw(view);
    read(cursor);
  }

  /** The copies that are drawn: the chosen one, or all of the last moment. */
  function copies() {
    const last = moments()?.last();
    if (!last) return [];
    const wanted = last.shards.filter((shard) => shard.primary || replicas.checked);
    const one = wanted.filter((shard) => shardName(shard) === chosen.value);
    return one.length > 0 ? one : worstFirst(wanted);
  }

  function draw(next) {
    view = next;
    const last = moments()?.last();
    setHidden(node, !last);
    if (!last) return;
    const names = worstFirst(last.shards).map(shardName);
    const before = chosen.value;
    setChildren(chosen, names.join("\n"), () => [
      el("option", { value: "" }, `all ${formatCount(names.length)}, those with the most segments first`),
      ...names.slice(0, 500).map((name) => el("option", { value: name, selected: name === before }, name)),
    ]);
    paint(canvas, labels, view, moments().all(), copies());
  }

  function read(moment) {
    cursor = moment;
    const all = moments()?.all() ?? [];
    if (all.length === 0 || node.hidden) return;
    const at = moment === null ? all.at(-1) : pointAt(all, moment);
    setHidden(line, moment === null);
    if (moment !== null) line.style.left = `${view.x(moment)}px`;
    drawBars(bars, at, copies().slice(0, ROWS_MAX));
    setAttributes(canvas, { "aria-label": `Segments over time. ${pictureWords(at, copies())}` });
  }

  return { node, draw, read };
}

function legend() {
  const item = (colour, words) => el("span", { class: "reading" }, el("span", { class: `swatch ${colour}` }), words);
  return el(
    "span",
    { class: "readings" },
    item("s-plain", "segment"),
    item("s-new", "not searchable"),
    item("s-merge", "in a merge"),
    item("s-deleted", "deleted documents"),
  );
}

/** Paints the rows: cells for few copies, strips for the rest. */
function paint(canvas, labels, view, moments, copies) {
  const [cells, strips] = [copies.slice(0, ROWS_MAX), copies.slice(ROWS_MAX)];
  const strip = strips.length > 60 ? 3 : 6;
  const height = cells.length * (ROW_HEIGHT + 16) + strips.length * strip + (strips.length > 0 ? 20 : 0);
  const ratio = window.devicePixelRatio || 1;
  setAttributes(canvas, { width: Math.round(view.width * ratio), height: Math.round(height * ratio) });
  canvas.style.width = `${view.width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, view.width, height);
  const colours = coloursOf(canvas);
  const shown = moments.filter((moment) => moment.end >= view.start && moment.start <= view.end);
  const found = shown.map((moment) => new Map(moment.shards.map((shard) => [shardName(shard), shard])));
  const most = Math.max(
    1,
    ...strips.flatMap((copy) => found.map((of) => of.get(shardName(copy))?.segments.length ?? 0)),
  );
  const names = [];
  cells.forEach((copy, row) => {
    const top = row * (ROW_HEIGHT + 16) + 16;
    names.push([shardName(copy), top - 16]);
    paintCells(
      pen,
      colours,
      view,
      shown,
      found.map((of) => of.get(shardName(copy))),
      top,
    );
  });
  const from = cells.length * (ROW_HEIGHT + 16) + 16;
  if (strips.length > 0)
    names.push([
      `${formatCount(strips.length)} more: darker is more segments, at most ${formatCount(most)}`,
      from - 16,
    ]);
  strips.forEach((copy, row) =>
    shown.forEach((moment, at) => {
      const shard = found[at].get(shardName(copy));
      if (!shard) return;
      pen.globalAlpha = 0.1 + 0.9 * (shard.segments.length / most);
      pen.fillStyle = shard.segments.some((segment) => segment.m) ? colours.merge[0] : colours.plain;
      const [left, width] = columnOf(view, moment);
      pen.fillRect(left, from + row * strip, width, strip - 1);
      pen.globalAlpha = 1;
    }),
  );
  setChildren(labels, JSON.stringify(names), () =>
    names.map(([name, top]) => {
      const label = el("span", null, name);
      label.style.top = `${top}px`;
      return label;
    }),
  );
}

function columnOf(view, moment) {
  const left = Math.max(view.left, view.x(moment.start));
  return [left, Math.max(1, Math.min(view.right, view.x(moment.end)) - left)];
}

/** The height of a segment before the row is scaled. */
function weightOf(segment) {
  return 1 + Math.max(0, Math.log2(segment.b / 1024));
}

function paintCells(pen, colours, view, moments, shards, top) {
  const heights = shards.map((shard) => (shard?.segments ?? []).reduce((sum, segment) => sum + weightOf(segment), 0));
  const scale = ROW_HEIGHT / Math.max(20, ...heights);
  moments.forEach((moment, at) => {
    if (!shards[at]) return;
    const [left, width] = columnOf(view, moment);
    let y = top + ROW_HEIGHT;
    for (const segment of shards[at].segments) {
      const height = weightOf(segment) * scale;
      y -= height;
      const gap = height > 3 ? 1 : 0;
      pen.fillStyle = segment.m
        ? colours.merge[mergeColour(segment.m)]
        : segment.s === false
          ? colours.fresh
          : colours.plain;
      pen.fillRect(left, y, width + 0.3, height - gap);
      const red = (height - gap) * deletedShare(segment);
      if (red > 0) {
        pen.fillStyle = colours.deleted;
        pen.fillRect(left, y, width + 0.3, Math.max(0.7, red));
      }
    }
  });
}

function deletedShare(segment) {
  const all = segment.d + (segment.x ?? 0);
  return all > 0 ? (segment.x ?? 0) / all : 0;
}

/** Segments of one merge have one colour. */
function mergeColour(merge) {
  let sum = 0;
  for (const letter of merge) sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
  return sum % MERGE_COLOURS;
}

function coloursOf(node) {
  const style = getComputedStyle(node);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    plain: colour("--segment"),
    fresh: colour("--segment-new"),
    deleted: colour("--not-in"),
    merge: ["--merge-0", "--merge-1", "--merge-2", "--merge-3", "--merge-4"].map(colour),
  };
}

/** One moment as bars: a bar is a segment, its height the logarithm of its size. */
function drawBars(place, moment, copies) {
  const shards = copies
    .map((copy) => moment.shards.find((shard) => shardName(shard) === shardName(copy)))
    .filter(Boolean);
  setChildren(place, `${moment.time} ${shards.map(shardName).join()}`, () =>
    shards.map((shard) => {
      const sorted = shard.segments
        .slice()
        .sort((a, b) => b.b - a.b)
        .slice(0, 120);
      const most = Math.max(1, ...sorted.map(weightOf));
      const bar = (segment, at) => {
        const height = Math.max(2, (weightOf(segment) / most) * 44);
        const kind = segment.m ? `s-merge-${mergeColour(segment.m)}` : segment.s === false ? "s-new" : "s-plain";
        return svgEl(
          "g",
          null,
          svgEl("title", null, segmentWords(segment)),
          svgEl("rect", { class: kind, x: at * 8, y: (46 - height).toFixed(1), width: 6, height: height.toFixed(1) }),
          deletedShare(segment) > 0
            ? svgEl("rect", {
                class: "s-deleted",
                x: at * 8,
                y: (46 - height).toFixed(1),
                width: 6,
                height: (height * deletedShare(segment)).toFixed(1),
              })
            : null,
        );
      };
      const width = Math.max(8, sorted.length * 8);
      return el(
        "figure",
        { class: "shard-bars" },
        el("figcaption", null, el("strong", null, shardName(shard)), ` ${shardWords(shard)}`),
        svgEl(
          "svg",
          {
            class: "bars-plot",
            width,
            height: 48,
            viewBox: `0 0 ${width} 48`,
            role: "img",
            "aria-label": shardWords(shard),
          },
          sorted.map(bar),
        ),
      );
    }),
  );
}

function segmentName(segment) {
  return `_${segment.g.toString(36)}`;
}

function segmentWords(segment) {
  return [
    segmentName(segment),
    formatBytes(segment.b),
    formatCounted(segment.d, "document"),
    segment.x ? `${formatCount(segment.x)} deleted` : "",
    segment.m ? "in a merge" : "",
    segment.s === false ? "not searchable" : "",
    segment.c === false ? "not committed" : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function shardWords(shard) {
  const sum = (key) => shard.segments.reduce((all, segment) => all + (segment[key] ?? 0), 0);
  const merging = shard.segments.filter((segment) => segment.m).length;
  const [docs, deleted] = [sum("d"), sum("x")];
  return [
    `${formatCounted(shard.segments.length, "segment")}, ${formatBytes(sum("b"))}, ${formatCounted(docs, "document")}`,
    deleted > 0 ? `${formatPercent(deleted / (docs + deleted))} deleted` : "",
    merging > 0 ? `${merging} in a merge` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function pictureWords(moment, copies) {
  return copies
    .slice(0, ROWS_MAX)
    .map((copy) => {
      const shard = moment.shards.find((one) => shardName(one) === shardName(copy));
      return shard ? `${shardName(shard)}: ${shardWords(shard)}` : "";
    })
    .filter(Boolean)
    .join("; ");
}

/** A page of segments alone: as they are now, or a recording that can be played. */
function makeSegmentsPage(began, title, isRecording = false) {
  const moments = makeMoments(began);
  const load = {
    start: { name: title, began },
    state: { t: 0, phase: "" },
    points: [],
    phases: [],
    decisions: [],
    formats: [],
    notes: [],
    isRecording,
  };
  const picture = makePicture(() => moments);
  const timeline = makeTimeline(
    segmentCharts(() => moments),
    () => load,
    "over-time",
    "Over time",
    [picture],
  );
  const trouble = el("p", { class: "warned", role: "status" });
  const advice = el("ul");
  const advised = panel("advice", "To change the segments", advice);
  setHidden(advised, true);
  const main = el("main", { id: "main" }, trouble, timeline.node, advised);
  function add(moment) {
    moments.add(moment);
    load.state.t = moments.last()?.t ?? 0;
    setText(trouble, moment.trouble ?? "");
    setHidden(advised, !(moment.advice?.length > 0));
    setChildren(advice, JSON.stringify(moment.advice), () =>
      (moment.advice ?? []).map((one) => el("li", null, one.text)),
    );
  }
  return { main, add, draw: timeline.draw, pick: timeline.pick, release: timeline.release, end: () => load.state.t };
}

/** The moments of a recording, whose lines have only the copies that changed. */
function momentsOf(lines) {
  const known = new Map();
  const key = (index, shard, node) => JSON.stringify([index, shard, node]);
  return lines.map(({ gone, ...line }) => {
    for (const place of gone ?? []) known.delete(key(...place));
    for (const shard of line.shards ?? []) known.set(key(shard.index, shard.shard, shard.node), shard);
    return { ...line, shards: [...known.values()] };
  });
}

/** Plays a recording that the page has in itself: its header, and its lines. */
function showRecording(body, [{ cluster, target }, ...lines]) {
  const moments = momentsOf(lines);
  const page = makeSegmentsPage((moments[0]?.time ?? 0) / 1000, target, true);
  moments.forEach(page.add);
  let playing = null;
  const button = el(
    "button",
    { type: "button", class: "main", click: () => (playing === null ? play() : stop()) },
    "Play",
  );
  function stop() {
    cancelAnimationFrame(playing);
    playing = null;
    setText(button, "Play");
  }
  /** The whole recording takes 20 s, and a second of it a tenth of a second at most. */
  function play() {
    const [begun, seconds] = [performance.now(), Math.min(20, Math.max(2, page.end() / 10))];
    setText(button, "Stop");
    const step = (now) => {
      const part = Math.min(1, (now - begun) / 1000 / seconds);
      page.pick(part * page.end());
      if (part < 1) playing = requestAnimationFrame(step);
      else stop();
    };
    playing = requestAnimationFrame(step);
  }
  document.title = `${target} · segments · inrush`;
  body.append(
    el(
      "header",
      null,
      el("a", { class: "skip", href: "#main" }, "To the figures"),
      el("div", { class: "title" }, el("h1", null, `Segments of ${target}`), el("span", { class: "why" }, cluster)),
      button,
    ),
    page.main,
  );
  page.draw();
}
