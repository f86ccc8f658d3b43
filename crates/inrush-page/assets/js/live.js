// The live page: one connection to the process, and the load that the user has chosen.

/** Shows the loads of the process that serves this page. */
function showLive(body) {
  let snapshot = null;
  let moments = null;
  let alone = null; // The page of segments without a load.
  let chosen = 0;
  let wanted = false;
  let page = null; // That of the kind of the load.
  let sweep = null;
  const load = () => snapshot?.loads[chosen];
  const head = makeHead();
  const waiting = el("main", { class: "waiting" }, el("p", null, "The load has not begun."));

  function take(next) {
    snapshot = next;
    snapshot.loads.forEach(makeLoad);
    chosen = Math.min(chosen, Math.max(0, snapshot.loads.length - 1));
    head.choices(snapshot.loads, chosen, (at) => {
      chosen = at;
      page?.timeline.release();
      draw();
    });
    head.control(snapshot.control && !snapshot.ended && snapshot.loads.length > 0);
    takeSegments(snapshot.segments);
    takeSweep(snapshot.sweep);
    draw();
  }

  /** Makes the page of this kind of load. */
  function show(kind) {
    if (page?.kind === kind) return;
    page?.main.remove();
    page = makeLoadPage(load, head, () => moments, kind);
    body.append(page.main);
  }

  function takeSweep(runs) {
    if (!runs) return;
    if (!sweep) {
      sweep = makeSweepView();
      head.node.after(el("div", { class: "above" }, sweep.node));
    }
    sweep.draw(runs);
  }

  function update(changes) {
    if (!snapshot) return;
    snapshot.now = changes.now;
    changes.loads.forEach((change, at) => snapshot.loads[at] && updateLoad(snapshot.loads[at], change));
    takeSegments(changes.segments);
    takeSweep(changes.sweep);
    draw();
  }

  /** The browser keeps the history of segments: the process sends each moment once. */
  function takeSegments(moment) {
    if (!moment) return;
    if (load()) {
      moments ??= makeMoments(load().start.began);
      moments.add(moment);
      return;
    }
    if (!alone) {
      const target = moment.target ?? "the index";
      alone = makeSegmentsPage(moment.time / 1000, target);
      body.append(alone.main);
      head.title(`Segments of ${target}`);
      document.title = `${target} · segments · inrush`;
      setHidden(waiting, true);
    }
    alone.add(moment);
  }

  /** Draws once for each frame of the screen, and never while the page is hidden. */
  function draw() {
    if (wanted || document.hidden) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      setHidden(waiting, Boolean(load() || alone));
      alone?.draw();
      if (!load()) return;
      show(load().start.kind ?? "load");
      page.draw(snapshot);
    });
  }

  document.addEventListener("visibilitychange", draw);
  body.append(head.node, waiting);
  listen(head, take, update, (end) => {
    snapshot.ended = true;
    end.reports.forEach((report, at) => {
      if (report && snapshot.loads[at]) snapshot.loads[at].report = report;
    });
    head.control(false);
    draw();
  });
}

/** Receives the events of the server. The browser connects again by itself. */
function listen(head, take, update, end) {
  const events = new EventSource("/events");
  const on = (name, act) =>
    events.addEventListener(name, (event) => {
      head.connected(name === "end" ? "ended" : "live");
      act(JSON.parse(event.data));
    });
  on("snapshot", (snapshot) => {
    take(snapshot);
    if (snapshot.ended) close();
  });
  on("point", update);
  on("end", (reports) => {
    end(reports);
    close();
  });
  events.addEventListener("error", () => head.connected(events.readyState === EventSource.CLOSED ? "closed" : "lost"));
  function close() {
    events.close();
    head.connected("ended");
  }
}

/** All parts of a load, or of a comparison, in their places. */
function makeLoadPage(load, head, moments = () => null, kind = "load") {
  const compares = kind === "verify";
  const tiles = compares ? makeVerifyTiles() : makeTiles();
  const charts = compares ? verifyCharts(load) : [...loadCharts(load), ...segmentCharts(moments)];
  const extras = compares ? [] : [makePicture(moments)];
  const timeline = makeTimeline(charts, load, "over-time", "Over time", extras);
  const pick = (moment) => timeline.pick(moment);
  const [result, ...beside] = compares
    ? [makeVerifyResult(), makeDocuments(COMPARED_BUCKETS, "compared"), makeEvents(pick), makeFacts("This comparison")]
    : [
        makeResult(),
        makeDocuments(),
        makeErrors(),
        makeParts(),
        makeDecisions(pick),
        makeEvents(pick),
        makeNodes(),
        makeGuard(),
        makeFacts(),
      ];
  const main = el(
    "main",
    { id: "main" },
    tiles.node,
    result.node,
    el(
      "div",
      { class: "columns" },
      timeline.node,
      el(
        "div",
        { class: "beside" },
        beside.map((one) => one.node),
      ),
    ),
  );
  function draw(snapshot) {
    const shown = load();
    head?.draw(shown, snapshot);
    for (const one of [tiles, result, ...beside]) one.draw(shown);
    timeline.draw();
  }
  return { kind, main, timeline, draw };
}
