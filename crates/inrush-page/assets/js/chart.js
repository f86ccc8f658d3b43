// Charts over time. All charts of a page share one time axis and one cursor (`timeline.js`).
//
// A chart is described by:
//   series   [{name, kind, colour, look, quiet, get(point)}]; kinds: area, line, step, stack (on
//            those before), points (straight from one to the next, each with a ring); looks: dashed,
//            dotted
//   format   a value as words; `axis`: the same in few characters
//   bytes    the scale ends at a power of two; `least`: the least end of the scale
//   bands    spans of time with a colour and words; `marks`: moments with words
//   note     words for a point or a moment; `absent`: there is nothing to draw
//   points   other points than those of the load

const CHART_TOP = 6;
const CHART_BOTTOM = 4;
/** The width of a line, pixels. */
const LINE = 1.5;

/** 1, 2 or 5 times a power of ten, at least `least`. In bytes: a power of two. */
function niceTop(least, bytes) {
  if (!(least > 0)) return 1;
  if (bytes) return 2 ** Math.ceil(Math.log2(least));
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.9999);
}

/** Makes the elements of a chart. */
function makeChart(spec, timeline) {
  const id = `${timeline}-${spec.key}`;
  const svg = svgEl("svg", { class: "plot", role: "img", height: spec.height, "aria-label": spec.title });
  const parts = {
    grid: svgEl("g", { class: "grid" }),
    data: svgEl("g", { class: "data" }),
    marks: svgEl("g", { class: "marks" }),
    axis: svgEl("g", { class: "axis" }),
    cursor: svgEl("line", { class: "cursor", y1: 0, y2: spec.height }),
    dots: svgEl("g", { class: "dots" }),
  };
  svg.append(...Object.values(parts));
  const paths = (spec.series ?? []).map((series) => {
    const filled = series.kind === "area" || series.kind === "stack";
    const area = filled ? svgEl("path", { class: `area ${series.colour}` }) : null;
    const line = svgEl("path", { class: `line ${series.colour} k-${series.kind} ${series.look ?? ""}` });
    parts.data.append(...[area, line].filter(Boolean));
    const dot = svgEl("circle", { class: `dot ${series.colour}`, r: 3 });
    parts.dots.append(dot);
    return { series, area, line, dot };
  });
  const values = (spec.series ?? []).map((series) => {
    const value = el("span", { class: "value" });
    const item = el(
      "span",
      { class: "reading" },
      series.name ? el("span", { class: `swatch ${series.colour}` }) : null,
      series.name ? `${series.name} ` : null,
      value,
    );
    return { item, value };
  });
  const note = el("span", { class: "note" });
  const figure = el(
    "figure",
    { class: `chart ${spec.key}`, "aria-labelledby": id },
    el(
      "figcaption",
      null,
      el("h3", { id }, spec.title),
      el(
        "span",
        { class: "readings" },
        values.map((value) => value.item),
        note,
      ),
    ),
    svg,
  );
  return { spec, figure, svg, parts, paths, values, note, top: 0 };
}

/** Draws a chart. `view`: the part of time, its width, and the points in it. */
function drawChart(chart, shown) {
  const { spec, svg } = chart;
  const own = spec.points?.().filter((point) => point.end >= shown.start && point.start <= shown.end);
  const view = own ? { ...shown, points: own } : shown;
  setAttributes(svg, { width: view.width, viewBox: `0 0 ${view.width} ${spec.height}` });
  if (spec.series) {
    chart.top = topOf(chart, view.points);
    drawScale(chart, view);
    drawSeries(chart, view);
  }
  if (spec.bands) drawBands(chart, view);
  if (spec.marks) drawMarks(chart, view);
  setAttributes(svg, { "aria-label": `${spec.title}: ${spec.summary ? spec.summary(view) : summaryOf(chart, view)}` });
}

/** The upper end of the scale. It is lowered only when the curve would stay below a third. */
function topOf(chart, points) {
  const { spec } = chart;
  let most = 0;
  for (const point of points) {
    let sum = 0;
    for (const series of spec.series) {
      const value = series.get(point) ?? 0;
      sum = series.kind === "stack" ? sum + value : Math.max(sum, value);
    }
    most = Math.max(most, sum);
  }
  const top = Math.max(niceTop(most * 1.02, spec.bytes), spec.least ?? 0);
  return chart.top >= top && most > chart.top / 3 ? chart.top : top;
}

/** The height of a value. */
function heightOf(chart, value) {
  const { spec, top } = chart;
  return spec.height - CHART_BOTTOM - (value / top) * (spec.height - CHART_TOP - CHART_BOTTOM);
}

function drawScale(chart, view) {
  const { spec, parts, top } = chart;
  const key = `${top} ${view.width} ${view.left} ${view.ticks.map((tick) => tick.x).join(" ")}`;
  setChildren(parts.grid, key, () => [
    ...view.ticks.map((tick) => svgEl("line", { x1: tick.x, x2: tick.x, y1: 0, y2: spec.height, class: "minute" })),
    ...[0, 0.5, 1].map((part) => {
      const y = Math.round(heightOf(chart, top * part)) + 0.5;
      return svgEl("line", { x1: view.left, x2: view.right, y1: y, y2: y, class: part === 0 ? "zero" : "" });
    }),
  ]);
  setChildren(parts.axis, key, () =>
    [0, 0.5, 1]
      .filter((part) => spec.height > 60 || part !== 0.5)
      .map((part) =>
        svgEl(
          "text",
          { x: view.left - 6, y: Math.round(heightOf(chart, top * part)) + (part === 1 ? 6 : part ? 4 : 1) },
          spec.axis(top * part),
        ),
      ),
  );
}

/**
 * Draws the curves. A point covers the time from its `start` to its `end`. Between two points a
 * curve passes through the mean of both; a step does not.
 */
function drawSeries(chart, view) {
  const { spec } = chart;
  const zero = heightOf(chart, 0);
  const below = view.points.map(() => 0);
  chart.paths.forEach(({ series, area, line }, number) => {
    const stacked = series.kind === "stack";
    const values = view.points.map((point) => series.get(point) ?? null);
    const bases = below.slice();
    const tops = values.map((value, at) => (value === null ? null : (stacked ? bases[at] : 0) + value));
    if (stacked) values.forEach((value, at) => (below[at] += value ?? 0));
    // A part of a stack that is 0 has no line, which would hide the one below. A quiet one has none
    // where it is thinner than the line.
    const least = series.quiet ? (LINE / spec.height) * chart.top : 0;
    const shown = values.map((value) => value !== null && !(stacked && number > 0 && value <= least));
    const runs = [[]];
    view.points.forEach((point, at) => {
      if (!shown[at]) runs.push([]);
      else runs.at(-1).push(...placesOf(chart, view, series.kind, at, [tops, bases]));
    });
    const drawn = runs.filter((run) => run.length > 0);
    const rings = series.kind === "points" && !series.look ? drawn.flat().map(ringOf) : [];
    line.setAttribute("d", [...drawn.map((run) => pathOf(run, 1)), ...rings].join(""));
    area?.setAttribute("d", drawn.map((run) => areaOf(run, stacked, zero)).join(""));
  });
}

/** The places of a point on a curve and on the one below it: `[x, y, y below]`. */
function placesOf(chart, view, kind, at, curves) {
  const steps = kind !== "line" && kind !== "area" && kind !== "stack";
  const point = view.points[at];
  const [from, to] = [view.x(point.start), view.x(point.end)];
  const [tops] = curves;
  const [top, base] = curves.map((curve) => (place) => {
    const other = place === at || (tops[place] ?? null) === null ? null : curve[place];
    return heightOf(chart, other === null || steps ? curve[at] : (curve[at] + other) / 2);
  });
  const place = (x, other) => [x, top(other), base(other)];
  if (kind === "points") return [place(from, at)];
  return steps
    ? [place(from, at), place(to, at)]
    : [place(from, at - 1), place((from + to) / 2, at), place(to, at + 1)];
}

function ringOf([x, y]) {
  return `M${(x - 3).toFixed(1)} ${y.toFixed(1)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
}

function areaOf(run, stacked, zero) {
  if (!stacked) return `${pathOf(run, 1)}V${zero}H${run[0][0].toFixed(1)}Z`;
  return `${pathOf(run, 1)}${pathOf(run.slice().reverse(), 2).replace("M", "L")}Z`;
}

function pathOf(run, which) {
  return `M${run.map((place) => `${place[0].toFixed(1)} ${place[which].toFixed(1)}`).join("L")}`;
}

/** Bands are spans of time with a colour: `{start, end, colour, words}`. */
function drawBands(chart, view) {
  const bands = chart.spec.bands().filter((band) => band.end >= view.start && band.start <= view.end);
  const key = `${view.width} ${bands.map((band) => `${view.x(band.start).toFixed(1)} ${view.x(band.end).toFixed(1)} ${band.colour} ${band.words}`).join()}`;
  setChildren(chart.parts.data, key, () =>
    bands.map((band) => {
      const [from, to] = [Math.max(view.left, view.x(band.start)), Math.min(view.right, view.x(band.end))];
      const width = Math.max(1, to - from);
      // Seven pixels for a letter: a name that does not fit is left out.
      const fits = band.words.length * 7 + 8 < width;
      return svgEl(
        "g",
        null,
        svgEl("rect", {
          class: `band ${band.colour}`,
          x: from.toFixed(1),
          y: 1,
          width: width.toFixed(1),
          height: chart.spec.height - 2,
          rx: 2,
        }),
        fits
          ? svgEl("text", { class: "band-name", x: (from + 6).toFixed(1), y: chart.spec.height / 2 + 4 }, band.words)
          : null,
      );
    }),
  );
}

/** Marks are moments with words: `{at, words}`. */
function drawMarks(chart, view) {
  const marks = chart.spec.marks().filter((mark) => mark.at >= view.start && mark.at <= view.end);
  const y = chart.spec.height - 3;
  setChildren(chart.parts.marks, `${marks.map((mark) => view.x(mark.at).toFixed(1)).join(" ")}`, () =>
    marks.map((mark) => {
      const x = view.x(mark.at);
      return svgEl("path", { class: "mark", d: `M${x.toFixed(1)} ${y - 7}l4 7h-8z` });
    }),
  );
}

/** Shows the values of one moment beside the title, and the cursor where there is one. */
function readChart(chart, view, point, moment) {
  const { spec, parts, paths, values } = chart;
  const here = moment !== null;
  const x = here ? view.x(moment) : 0;
  setAttributes(parts.cursor, { x1: x, x2: x, class: here ? "cursor" : "cursor none" });
  let below = 0;
  paths.forEach(({ series, dot }, at) => {
    setHidden(values[at].item, Boolean(series.absent?.()));
    const value = point ? series.get(point) : null;
    const known = value !== null && value !== undefined;
    setText(values[at].value, known ? (series.format ?? spec.format)(value) : NO_VALUE);
    const base = series.kind === "stack" ? below : 0;
    if (known && series.kind === "stack") below += value;
    setAttributes(
      dot,
      here && known
        ? { cx: x, cy: heightOf(chart, base + value), class: `dot ${series.colour}` }
        : { class: "dot none" },
    );
  });
  if (spec.note) setText(chart.note, spec.note(point, moment) ?? "");
}

/** The curve in words, for people who do not see it. */
function summaryOf(chart, view) {
  const { spec } = chart;
  return (spec.series ?? [])
    .filter((series) => !series.absent?.())
    .map((series) => {
      const values = view.points.map(series.get).filter((value) => value !== null && value !== undefined);
      if (values.length === 0) return `${series.name ?? ""} no values`;
      const words = series.format ?? spec.format;
      const [least, most] = [Math.min(...values), Math.max(...values)];
      return `${series.name ? `${series.name} ` : ""}at the end ${words(values.at(-1))}, between ${words(least)} and ${words(most)}`;
    })
    .join("; ");
}
