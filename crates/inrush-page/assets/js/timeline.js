// The stacked charts of a load, with one time axis and one cursor.

const GUTTER = 46;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const RANGES = [
  ["all", "All", null],
  ["10m", "10 min", 600],
  ["1m", "1 min", 60],
];

/**
 * Makes the timeline of charts. `getLoad` returns the load that is shown; `extras` are drawn below
 * the charts, on the same axis and with the same cursor.
 */
function makeTimeline(specs, getLoad, id = "over-time", title = "Over time", extras = []) {
  const moment = el("span", { class: "moment" });
  const ranges = RANGES.map(([key, name]) =>
    el(
      "label",
      null,
      el("input", {
        type: "radio",
        name: `${id}-range`,
        value: key,
        checked: key === "all",
        change: () => choose(key),
      }),
      el("span", null, name),
    ),
  );
  const scrub = el("input", {
    type: "range",
    class: "scrub",
    min: 0,
    max: 1,
    step: 0.1,
    "aria-label": "Moment that the charts read",
    input: () => pick(Number(scrub.value)),
  });
  const live = el(
    "button",
    { type: "button", class: "quiet", hidden: true, click: () => release() },
    "Back to the latest",
  );
  const axis = svgEl("svg", { class: "time", height: 18, "aria-hidden": "true" });
  const stack = el("div", { class: "stack" });
  const body = el("div", { class: "table-holder", tabindex: 0, role: "group", "aria-label": "Figures of the charts" });
  const details = el(
    "details",
    { class: "figures", toggle: () => drawTable() },
    el("summary", null, "The charts as a table"),
    body,
  );
  const charts = specs.map((spec) => makeChart(spec, id));
  stack.append(...charts.map((chart) => chart.figure), ...extras.map((extra) => extra.node));
  const node = el(
    "section",
    { class: "timeline", "aria-labelledby": id },
    el(
      "div",
      { class: "bar" },
      el("h2", { id }, title),
      moment,
      live,
      el("fieldset", { class: "ranges" }, el("legend", { class: "unseen" }, "Part of the time"), ranges),
    ),
    stack,
    el("div", { class: "axis-bar" }, axis, scrub),
    details,
  );

  let range = null;
  let cursor = null; // A moment that the user reads; null: the latest one.
  let pinned = false;
  let view = null;

  function choose(key) {
    range = RANGES.find((one) => one[0] === key)[2];
    draw();
  }

  function pick(at) {
    pinned = true;
    cursor = Math.min(at, endOf(getLoad()));
    read();
  }

  function release() {
    pinned = false;
    cursor = null;
    read();
  }

  function hover(event) {
    if (pinned || !view) return;
    const place = event.clientX - stack.getBoundingClientRect().left;
    cursor = place < view.left || place > view.right ? null : Math.min(view.moment(place), endOf(getLoad()));
    read();
  }

  stack.addEventListener("pointermove", hover);
  stack.addEventListener("pointerleave", () => {
    if (!pinned) release();
  });
  stack.addEventListener("click", (event) => {
    if (event.target.closest("label, select, button")) return;
    if (pinned) release();
    else {
      hover(event);
      pinned = cursor !== null;
      read();
    }
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") release();
  });
  new ResizeObserver(() => draw()).observe(stack);

  function draw() {
    const load = getLoad();
    if (!load || stack.clientWidth === 0) return;
    view = viewOf(load, range, stack.clientWidth);
    for (const chart of charts) {
      setHidden(chart.figure, Boolean(chart.spec.absent?.()));
      if (!chart.figure.hidden) drawChart(chart, view);
    }
    for (const extra of extras) extra.draw(view);
    drawAxis(axis, view);
    setAttributes(scrub, { min: view.start.toFixed(1), max: view.end.toFixed(1) });
    read();
    drawTable();
  }

  function read() {
    const load = getLoad();
    if (!view || !load) return;
    const at = cursor ?? endOf(load);
    const point = cursor === null ? load.points.at(-1) : pointAt(load.points, cursor);
    for (const chart of charts) if (!chart.figure.hidden) readChart(chart, view, pointOf(chart, point), cursor);
    for (const extra of extras) extra.read(cursor);
    setText(
      moment,
      cursor === null
        ? isOver(load)
          ? `${formatClock(at)}, the end`
          : `${formatClock(at)}, now`
        : `${formatClock(at)}${load.start?.began ? `, ${wallClock(load.start.began + at)}` : ""}${pinned ? ", held" : ""}`,
    );
    if (document.activeElement !== scrub || cursor === null) scrub.value = at;
    setAttributes(scrub, {
      "aria-valuetext": `${formatClock(at)}: ${charts
        .filter((chart) => !chart.figure.hidden)
        .map(wordsOf)
        .join("; ")}`,
    });
    setHidden(live, !pinned);
  }

  /** The point that a chart reads: of the load, or of the chart's own points. */
  function pointOf(chart, point) {
    const own = chart.spec.points?.();
    if (!own) return point;
    return cursor === null ? own.at(-1) : pointAt(own, cursor);
  }

  /** At most 60 rows: people read them. */
  function drawTable() {
    const load = getLoad();
    if (!details.open || !load) return;
    const each = Math.max(1, Math.ceil(load.points.length / 60));
    const rows = [];
    for (let at = 0; at < load.points.length; at += each)
      rows.push(load.points.slice(at, at + each).reduce((a, b) => merge(a, b)));
    const columns = charts.flatMap((chart) =>
      chart.figure.hidden || chart.spec.points ? [] : chart.paths.map(({ series }) => ({ chart, series })),
    );
    setChildren(body, `${load.points.length} ${endOf(load)}`, () => [
      table(
        "Each row is an interval that ends at this time",
        [
          ["Time", "n"],
          ...columns.map(({ chart, series }) => [
            series.name ? `${chart.spec.title}: ${series.name}` : chart.spec.title,
            "n",
          ]),
        ],
        rows.map((point) => [
          formatClock(point.end),
          ...columns.map(({ chart, series }) => {
            const value = series.get(point);
            return value === null || value === undefined ? NO_VALUE : (series.format ?? chart.spec.format)(value);
          }),
        ]),
      ),
    ]);
  }

  return { node, draw, pick, release };
}

/** What a chart reads at the moment, in words. */
function wordsOf(chart) {
  const readings = chart.values.map(({ item }) => item.textContent).join(", ");
  return `${chart.spec.title} ${[readings, chart.note.textContent].filter(Boolean).join(", ")}`;
}

/** The part of time that is shown, and how it is placed. */
function viewOf(load, range, width) {
  const now = endOf(load);
  const done = isOver(load);
  // While the load runs, the end is rounded up, so that the curves do not creep each second.
  const room = done ? Math.max(now, 1) : Math.ceil(Math.max(now, 20) / stepOf(now / 12)) * stepOf(now / 12);
  const [start, end] =
    range === null || now <= range
      ? [0, range === null ? room : Math.min(range, Math.max(room, 20))]
      : [now - range, now];
  const [left, right] = [GUTTER, width - 10];
  const x = (moment) => left + ((moment - start) / (end - start)) * (right - left);
  const step = STEPS.find((seconds) => (seconds / (end - start)) * (right - left) >= 64) ?? STEPS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) ticks.push({ at, x: Math.round(x(at)) + 0.5 });
  const points = load.points.filter((point) => point.end >= start && point.start <= end);
  return {
    start,
    end,
    left,
    right,
    width,
    x,
    ticks,
    points,
    moment: (place) => start + ((place - left) / (right - left)) * (end - start),
  };
}

function stepOf(least) {
  return STEPS.find((step) => step >= least) ?? STEPS.at(-1);
}

function drawAxis(axis, view) {
  setAttributes(axis, { width: view.width, viewBox: `0 0 ${view.width} 18` });
  setChildren(axis, view.ticks.map((tick) => `${tick.at} ${tick.x}`).join() + view.width, () =>
    view.ticks.map((tick) => {
      const anchor = tick.x > view.right - 20 ? "end" : "middle";
      return svgEl("text", { x: tick.x, y: 13, "text-anchor": anchor }, tick.words ?? formatClock(tick.at));
    }),
  );
}

/** Whether nothing more comes. */
function isOver(load) {
  return Boolean(load.report ?? load.isRecording);
}

/** The point that covers a moment. */
function pointAt(points, moment) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].end >= moment) high = middle;
    else low = middle + 1;
  }
  return points[low];
}

/** The time of day, as the viewer's place has it. */
function wallClock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}
