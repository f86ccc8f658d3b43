// The figures of the loads: a snapshot, and the updates after it. `src/snapshot.rs` describes them.

// Seconds are kept one by one for this many points; older points are merged in pairs. The page of a
// load of days then has as few points as the server.
const POINTS_MAX = 2400;
const POINTS_FINE = 1200;

// Sums of an interval, and values that are those of its end.
const SUMS = [
  "d",
  "docs",
  "created",
  "updated",
  "deleted",
  "noop",
  "not_found",
  "already_there",
  "conflicting",
  "dropped",
  "redirected",
  "superseded",
  "dead_lettered",
  "unknown",
  "read",
  "sent",
  "req",
  "rejected",
  "retried",
  "lost",
  "ans",
  "wall",
  "took",
];
const LAST = ["plan_bytes", "plan_fly", "lag"];

// The buckets of documents as in the report, with their words and the group of the chart.
const BUCKETS = [
  ["created", "docs_created", "new in the index", "in"],
  ["updated", "docs_updated", "replaced or changed", "in"],
  ["deleted", "docs_deleted", "deleted", "in"],
  ["noop", "docs_noop", "update without a change", "out"],
  ["not_found", "docs_not_found", "delete of an unknown id", "out"],
  ["already_there", "docs_already_there", "already in the index", "out"],
  ["conflicting", "docs_conflicting", "conflict, left out", "out"],
  ["dropped", "docs_dropped", "dropped by a pipeline", "out"],
  ["redirected", "docs_redirected", "in the failure store", "bad"],
  ["superseded", "docs_superseded", "replaced before it was sent", "out"],
  ["dead_lettered", "docs_dead_lettered", "dead letter", "bad"],
  ["unknown", "docs_unknown", "without an answer", "bad"],
];

/** A load of a snapshot. */
function makeLoad(load) {
  for (const point of load.points) setSpan(point);
  load.phases ??= [];
  return load;
}

function setSpan(point) {
  point.start = point.t - point.d;
  point.end = point.t;
}

/** Applies the changes of one second to a load. */
function updateLoad(load, update) {
  load.state = update.state;
  for (const point of update.points ?? []) {
    setSpan(point);
    load.points.push(point);
  }
  if (load.points.length > POINTS_MAX) load.points = thinned(load.points);
  load.decisions.push(...(update.decisions ?? []));
  load.formats.push(...(update.formats ?? []));
  load.decisions = load.decisions.slice(-400);
  load.formats = load.formats.slice(-100);
  load.phases = replaced(load.phases, update.phases, (a, b) => a.t === b.t).slice(-300);
  load.notes = replaced(load.notes, update.notes, (a, b) => a.t === b.t && a.kind === b.kind).slice(-200);
  if (update.errors) load.errors = update.errors;
  if (update.report) load.report = update.report;
}

function replaced(known, news, same) {
  const all = known.slice();
  for (const one of news ?? []) {
    const at = all.findLastIndex((other) => same(one, other));
    if (at < 0) all.push(one);
    else all[at] = one;
  }
  return all;
}

/** Merges the older points in pairs. */
function thinned(points) {
  const fine = points.length - POINTS_FINE;
  const merged = [];
  for (let at = 0; at < fine; at += 2) {
    merged.push(at + 1 < fine ? merge(points[at], points[at + 1]) : points[at]);
  }
  return merged.concat(points.slice(fine));
}

/** One point for two neighbours: sums stay sums. */
function merge(a, b) {
  const both = { t: b.t };
  for (const key of SUMS) {
    const sum = (a[key] ?? 0) + (b[key] ?? 0);
    if (sum > 0) both[key] = sum;
  }
  for (const key of LAST) if (b[key] !== undefined) both[key] = b[key];
  both.mem = Math.max(a.mem ?? 0, b.mem ?? 0);
  both.max = Math.max(a.max ?? 0, b.max ?? 0);
  both.fly = both.d > 0 ? ((a.fly ?? 0) * a.d + (b.fly ?? 0) * b.d) / both.d : 0;
  setSpan(both);
  return both;
}

/** A sum of a point for each second of it. */
function perSecond(key) {
  return (point) => (point.d > 0 ? (point[key] ?? 0) / point.d : 0);
}

/** Documents of a group of buckets for each second. */
function groupPerSecond(group) {
  const keys = BUCKETS.filter((bucket) => bucket[3] === group).map((bucket) => bucket[0]);
  return (point) => (point.d > 0 ? keys.reduce((sum, key) => sum + (point[key] ?? 0), 0) / point.d : 0);
}

/** The last of `marks` that is not after the moment. */
function lastBefore(marks, moment) {
  return marks.findLast((mark) => mark.t <= moment + 0.05);
}

/** The end of what is known of a load, in its own time. */
function endOf(load) {
  return Math.max(load.state?.t ?? 0, load.points.at(-1)?.end ?? 0, load.phases.at(-1)?.t ?? 0);
}
