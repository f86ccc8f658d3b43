// A sweep: the same documents with many settings. `{about, rounds, groups, cells, now}` as
// `inrush sweep` describes it; the live page and the page beside the runs show the same.

const CELL_WIDTH = 108;
const CELL_HEIGHT = 40;
const HEAT_LEFT = 110;
const HEAT_TOP = 44;
const CURVES_HEIGHT = 260;

/** The page beside the runs. */
function showSweep(body, sweep) {
  const view = makeSweepView();
  document.title = `Sweep of ${sweep.about.cluster} · inrush`;
  body.append(
    el(
      "header",
      null,
      el("a", { class: "skip", href: "#main" }, "To the figures"),
      el("div", { class: "title" }, el("h1", null, `Sweep: ${sweep.about.cluster}`)),
    ),
    el("main", { id: "main" }, view.node),
  );
  view.draw(sweep);
}

/** All parts of a sweep. */
function makeSweepView() {
  const now = el("p", { class: "sweep-now" });
  const about = el("p", { class: "why" });
  const body = el("div", { class: "sweep-parts" });
  const node = el(
    "section",
    { class: "panel sweep", "aria-labelledby": "sweep" },
    el("h2", { id: "sweep" }, "Sweep"),
    about,
    now,
    body,
  );
  let shown = null;
  let curves = [];

  function draw(sweep) {
    shown = sweep;
    setText(about, aboutWords(sweep));
    setHidden(now, !sweep.now);
    if (sweep.now) setText(now, nowWords(sweep.now));
    setChildren(body, JSON.stringify(sweep.cells), () => {
      curves = ["docs", "bytes"].map((unit) => makeCurves(sweep, unit)).filter(Boolean);
      return [
        el(
          "div",
          { class: "sweep-groups" },
          sweep.groups.map((group) => groupOf(sweep, group)),
        ),
        ...curves.map((one) => one.node),
        allCells(sweep),
      ];
    });
    drawCurves();
  }

  function drawCurves() {
    if (!shown) return;
    for (const one of curves) one.draw();
  }

  new ResizeObserver(drawCurves).observe(body);
  return { node, draw };
}

function aboutWords({ about, rounds }) {
  const size = about.source_bytes ? ` (${formatBytes(about.source_bytes)})` : "";
  return (
    `${about.sources.join(", ")}${size}, into ${about.target}. Medians of up to ${formatCounted(rounds, "round")}, each in ` +
    `another random order; a run that took more than ${about.cell_seconds} s was cut off there (its time has a *). ` +
    `inrush ${about.version}.`
  );
}

function nowWords(now) {
  if (now.warming_up) return "Warming up";
  const left = now.seconds_left === null ? "" : `; about ${formatSeconds(now.seconds_left)} left`;
  return `${now.done} of ${formatCounted(now.all, "run")}${left}. Round ${now.round}: ${now.group}: ${now.cell}`;
}

/** The fixed cells of a group that have a result. */
function measured(sweep, group) {
  return sweep.cells.filter((cell) => cell.group === group && cell.result && !isAuto(cell));
}

function isAuto(cell) {
  return cell.batch === null && cell.in_flight === null;
}

/** The verdict and the heat map of a group. */
function groupOf(sweep, group) {
  return el(
    "section",
    { class: "sweep-group" },
    el("h3", null, group.name),
    group.verdict ? el("p", { class: "verdict" }, group.verdict) : null,
    heatMap(sweep, group.name),
  );
}

const inFlightName = (number) => (number === null ? "auto" : formatCount(number));
const batchKey = (batch) => JSON.stringify(batch);
const rateWords = (result) => formatCount(result.median);
const timeWords = (result) => `${formatSeconds(result.seconds)}${result.cut_off > 0 ? "*" : ""}`;

/** Different values, in the order of the cells. */
function distinct(values) {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Documents a second by batch and requests in flight. Darker is more, on the scale of all groups. */
function heatMap(sweep, group) {
  const fixed = sweep.cells.filter((cell) => cell.group === group && !isAuto(cell) && cell.batch !== null);
  const top = Math.max(0, ...sweep.cells.map((cell) => cell.result?.median ?? 0));
  if (fixed.length === 0 || top <= 0) return null;
  const batches = distinct(fixed.map((cell) => cell.batch));
  const columns = distinct(fixed.map((cell) => cell.in_flight));
  const rates = measured(sweep, group).map((cell) => cell.result.median);
  const [best, worst] = [Math.max(...rates), Math.min(...rates)];
  const [width, height] = [HEAT_LEFT + columns.length * CELL_WIDTH + 10, HEAT_TOP + batches.length * CELL_HEIGHT + 6];
  const title = `Documents a second: ${group}`;
  const svg = svgEl("svg", {
    class: "plot heat",
    role: "img",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-label": `${title}. The same figures are in the table of all cells.`,
  });
  const words = (x, y, anchor, text, kind) => svgEl("text", { x, y, "text-anchor": anchor, class: kind ?? "" }, text);
  svg.append(words(HEAT_LEFT + (columns.length * CELL_WIDTH) / 2, 14, "middle", "requests in flight"));
  columns.forEach((column, at) =>
    svg.append(words(HEAT_LEFT + (at + 0.5) * CELL_WIDTH, HEAT_TOP - 10, "middle", inFlightName(column))),
  );
  batches.forEach((batch, row) => {
    const y = HEAT_TOP + row * CELL_HEIGHT;
    svg.append(words(HEAT_LEFT - 8, y + 24, "end", batch.label));
    columns.forEach((column, at) => {
      const cell = fixed.find((one) => batchKey(one.batch) === batchKey(batch) && one.in_flight === column);
      svg.append(heatCell(cell?.result, [HEAT_LEFT + at * CELL_WIDTH, y], top, [best, worst]));
    });
  });
  return figureOf(svg, title);
}

function heatCell(result, [x, y], top, [best, worst]) {
  const share = result ? result.median / top : 0;
  const mark = !result ? "" : result.median === best ? " best" : result.median === worst ? " worst" : "";
  // Ten steps, each a class of the style sheet.
  const step = result ? Math.max(1, Math.round(share * 10)) : 0;
  const middle = x + (CELL_WIDTH - 3) / 2;
  return svgEl(
    "g",
    { class: `heat-${step}${mark}` },
    svgEl("rect", { x, y, width: CELL_WIDTH - 3, height: CELL_HEIGHT - 3, rx: 2 }),
    svgEl(
      "text",
      { x: middle, y: y + 17, "text-anchor": "middle", class: "rate" },
      result ? rateWords(result) : "no result",
    ),
    result ? svgEl("text", { x: middle, y: y + 31, "text-anchor": "middle" }, timeWords(result)) : null,
  );
}

/** Documents a second over the size of a batch, with the best number of requests in flight for it. */
function makeCurves(sweep, unit) {
  const size = (cell) => cell.batch?.[unit] ?? null;
  const sizes = distinct(sweep.cells.filter((cell) => size(cell) !== null).map((cell) => cell.batch));
  if (sizes.length < 2) return null;
  const of = (group, batch) =>
    measured(sweep, group)
      .filter((cell) => batchKey(cell.batch) === batchKey(batch))
      .map((cell) => cell.result)
      .reduce((best, one) => (best && best.median >= one.median ? best : one), null);
  const points = sizes
    .sort((a, b) => a[unit] - b[unit])
    .map((batch) => ({ start: batch[unit], end: batch[unit], label: batch.label, batch }));
  const series = sweep.groups.flatMap(({ name }, at) => {
    const auto = sweep.cells.find((cell) => cell.group === name && isAuto(cell))?.result;
    const one = { kind: "points", colour: `run-${at % 6}` };
    return [
      { ...one, name, get: (point) => of(name, point.batch)?.median ?? null },
      { ...one, name: "best run", look: "dashed", get: (point) => of(name, point.batch)?.best ?? null },
      ...(auto ? [{ ...one, name: "auto", look: "dotted", get: () => auto.median }] : []),
    ];
  });
  const what = unit === "docs" ? "documents of a request" : "bytes of a request";
  const spec = {
    key: `over-${unit}`,
    title: `Documents a second over ${what}`,
    height: CURVES_HEIGHT,
    format: formatCount,
    axis: formatShort,
    series,
  };
  const chart = makeChart(spec, "sweep");
  const axis = svgEl("svg", { class: "time", height: 18, "aria-hidden": "true" });
  chart.figure.append(axis, saveButtons(chart.svg, spec.title));
  function draw() {
    const width = chart.figure.clientWidth;
    if (width === 0) return;
    const view = sizesView(points, width);
    drawChart(chart, view);
    drawAxis(axis, view);
    readChart(chart, view, null, null);
    // The figure of a curve is its highest value.
    chart.values.forEach(({ value }, at) => {
      const all = points.map(series[at].get).filter((one) => one !== null);
      setText(value, all.length > 0 ? formatCount(Math.max(...all)) : NO_VALUE);
    });
  }
  return { node: chart.figure, draw };
}

/** Sizes on an axis of logarithms. Labels that would overlap are left out. */
function sizesView(points, width) {
  const [left, right] = [GUTTER, width - 24];
  const [first, last] = [points[0].start, points.at(-1).start];
  const x = (size) => left + (Math.log(size / first) / Math.log(last / first)) * (right - left);
  const ticks = [];
  for (const point of points) {
    const place = Math.round(x(point.start)) + 0.5;
    if (ticks.length === 0 || place - ticks.at(-1).x >= 64)
      ticks.push({ at: point.start, x: place, words: point.label });
  }
  return { start: first, end: last, left, right, width, x, ticks, points };
}

/** Every figure of every cell. */
function allCells(sweep) {
  const several = sweep.groups.length > 1;
  const known = (value, digits) => (value === null || value === undefined ? NO_VALUE : value.toFixed(digits));
  const rows = sweep.cells.map(({ group, name, result }) => {
    const title = several ? `${group}: ${name}` : name;
    if (!result) return [title, "0", "no result", ...Array(8).fill("")];
    return [
      title,
      `${result.runs}${result.failed > 0 ? ` (${result.failed} failed)` : ""}`,
      ...[result.median, result.best, result.worst].map(formatCount),
      `${known(result.seconds, 1)}${result.cut_off > 0 ? "*" : ""}`,
      known(result.seconds_to_searchable, 1),
      known(result.client_cpu_seconds, 1),
      known(result.server_cpu_seconds, 1),
      formatCount(result.rejected_items),
      known(result.segments, 0),
    ];
  });
  const holder = scrollable("All cells");
  const columns = [
    "Runs",
    "Docs/s, median",
    "best",
    "worst",
    "Seconds",
    "to searchable",
    "Client CPU s",
    "Server CPU s",
    "Rejected",
    "Segments",
  ];
  holder.append(table("All cells", [["Cell", ""], ...columns.map((name) => [name, "n"])], rows, { class: "plain" }));
  return el(
    "section",
    { class: "sweep-cells" },
    el("h3", null, "All cells"),
    holder,
    el("p", { class: "none" }, "Every run is in runs.csv."),
  );
}

function figureOf(svg, title) {
  return el("figure", { class: "sweep-figure", tabindex: 0, "aria-label": title }, svg, saveButtons(svg, title));
}

/** Buttons that save a picture as SVG, or as a PNG of twice its size. */
function saveButtons(svg, title) {
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const save = (href, ending) => el("a", { href, download: `${name}.${ending}` }).click();
  const button = (words, act) =>
    el("button", { type: "button", class: "quiet", click: act, "aria-label": `${words}: ${title}` }, words);
  return el(
    "div",
    { class: "save" },
    button("Save as SVG", () => save(`data:image/svg+xml,${encodeURIComponent(pictureOf(svg))}`, "svg")),
    button("Save as PNG", () => {
      const image = new Image();
      image.addEventListener("load", () => {
        const canvas = el("canvas", { width: image.width * 2, height: image.height * 2 });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(canvas.toDataURL("image/png"), "png");
      });
      image.src = `data:image/svg+xml,${encodeURIComponent(pictureOf(svg))}`;
    }),
  );
}

// What a picture takes from the style sheet.
const LOOKS = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-size",
  "font-family",
  "font-weight",
  "text-anchor",
  "visibility",
];

/** A picture as a file of its own. */
function pictureOf(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((node, at) => {
    const look = getComputedStyle(node);
    for (const name of LOOKS) to[at].setAttribute(name, look.getPropertyValue(name));
    to[at].removeAttribute("class");
  });
  const ground = svgEl("rect", {
    width: "100%",
    height: "100%",
    fill: getComputedStyle(document.body).backgroundColor,
  });
  copy.prepend(ground);
  copy.setAttribute("xmlns", SVG);
  return new XMLSerializer().serializeToString(copy);
}
