// The live page: one connection to the process, and the load that the user has chosen.

/** Shows the loads of the process that serves this page. */
function showLive(body) {
  let snapshot = null;
  let moments = null;
  let alone = null; // The page of segments without a load.
  let chosen = 0;
  let wanted = false;
  const load = () => snapshot?.loads[chosen];
  const page = makeLoadPage(load, makeHead(), () => moments);

  function take(next) {
    snapshot = next;
    snapshot.loads.forEach(makeLoad);
    chosen = Math.min(chosen, Math.max(0, snapshot.loads.length - 1));
    page.head.choices(snapshot.loads, chosen, (at) => {
      chosen = at;
      page.timeline.release();
      draw();
    });
    page.head.control(snapshot.control && !snapshot.ended && snapshot.loads.length > 0);
    takeSegments(snapshot.segments);
    draw();
  }

  function update(changes) {
    if (!snapshot) return;
    snapshot.now = changes.now;
    changes.loads.forEach((change, at) => snapshot.loads[at] && updateLoad(snapshot.loads[at], change));
    takeSegments(changes.segments);
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
      page.head.title(`Segments of ${target}`);
      document.title = `${target} · segments · inrush`;
      setHidden(page.waiting, true);
    }
    alone.add(moment);
  }

  /** Draws once for each frame of the screen, and never while the page is hidden. */
  function draw() {
    if (wanted || document.hidden) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      setHidden(page.waiting, Boolean(load() || alone));
      setHidden(page.main, !load());
      alone?.draw();
      if (load()) page.draw(snapshot);
    });
  }

  document.addEventListener("visibilitychange", draw);
  body.append(page.head.node, page.waiting, page.main);
  setHidden(page.main, true);
  listen(page.head, take, update, (end) => {
    snapshot.ended = true;
    end.reports.forEach((report, at) => {
      if (report && snapshot.loads[at]) snapshot.loads[at].report = report;
    });
    page.head.control(false);
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

/** All parts of a load in their places. */
function makeLoadPage(load, head, moments = () => null) {
  const tiles = makeTiles();
  const timeline = makeTimeline([...loadCharts(load), ...segmentCharts(moments)], load, "over-time", "Over time", [
    makePicture(moments),
  ]);
  const pick = (moment) => timeline.pick(moment);
  const panels = [
    makeResult(),
    makeDocuments(),
    makeErrors(),
    makeDecisions(pick),
    makeEvents(pick),
    makeNodes(),
    makeGuard(),
    makeFacts(),
  ];
  const [result, ...beside] = panels;
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
  const waiting = el("main", { class: "waiting" }, el("p", null, "The load has not begun."));
  function draw(snapshot) {
    const shown = load();
    head?.draw(shown, snapshot);
    tiles.draw(shown);
    for (const one of panels) one.draw(shown);
    timeline.draw();
  }
  return { head, main, waiting, timeline, draw };
}
