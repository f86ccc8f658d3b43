// The head of the live page: which load, its phase, the connection, and the controls.

const CONNECTED = {
  live: "live",
  lost: "connection lost, trying again",
  closed: "connection lost; load the page again",
  ended: "ended; nothing changes any more",
};

function makeHead() {
  const name = el("h1", null, "inrush");
  const phase = el("span", { class: "phase" });
  const why = el("span", { class: "why" });
  const link = el("span", { class: "link" }, "connecting");
  // Screen readers hear the phase, and no figures.
  const said = el("p", { class: "unseen", role: "status" });
  const choice = el("div", { class: "choice" });
  const controls = makeControls();
  const node = el(
    "header",
    null,
    el("a", { class: "skip", href: "#main" }, "To the figures"),
    el("div", { class: "title" }, name, phase, why),
    choice,
    el("div", { class: "right" }, link, controls.node),
    said,
  );

  function draw(load, snapshot) {
    const { start, state, report } = load;
    setText(name, start.name || "inrush");
    setText(phase, report ? report.status.replaceAll("_", " ") : state.phase);
    const colour = report
      ? (STATUS_WORDS[report.status] ?? ["", "bad"])[1]
      : state.phase === "paused" || state.phase === "stopping"
        ? "warn"
        : "";
    setAttributes(phase, { class: `phase ${colour}` });
    setText(why, report ? "" : (state.why ?? ""));
    setText(
      said,
      report
        ? `${start.name}: ${(STATUS_WORDS[report.status] ?? [report.status])[0]}`
        : `${start.name}: ${[state.phase, state.why].filter(Boolean).join(", ")}`,
    );
    const share = state.share !== null && state.share !== undefined && !report ? `${formatPercent(state.share)} ` : "";
    document.title = `${share}${start.name} · ${report ? report.status : state.phase} · inrush`;
    controls.draw(load, snapshot);
  }

  function connected(state) {
    setText(link, CONNECTED[state]);
    setAttributes(link, { class: `link ${state}` });
  }

  function choices(loads, chosen, choose) {
    setHidden(choice, loads.length < 2);
    setChildren(choice, loads.map((load) => load.start.name).join("\n"), () => [
      el(
        "label",
        null,
        "Load ",
        el(
          "select",
          { change: (event) => choose(Number(event.target.value)) },
          loads.map((load, at) => el("option", { value: at, selected: at === chosen }, load.start.name)),
        ),
      ),
    ]);
  }

  return { node, draw, connected, choices, title: (words) => setText(name, words), control: controls.allow };
}

/** Pause, resume and stop. They are there only where the server allows them. */
function makeControls() {
  const answer = el("span", { class: "answer", role: "status" });
  const button = (words, act, kind) => el("button", { type: "button", class: kind, click: act }, words);
  const pause = button("Pause", () => send("pause"));
  const resume = button("Resume", () => send("resume"), "main");
  const stop = button("Stop…", () => dialog.showModal(), "danger");
  const dialog = el(
    "dialog",
    { "aria-labelledby": "stop-title" },
    el("h2", { id: "stop-title" }, "Stop the load?"),
    el("p", null, "Requests in flight are waited for. A load with a checkpoint can continue with --resume."),
    el(
      "form",
      { method: "dialog", class: "buttons" },
      el("button", { type: "submit", autofocus: true }, "Go on loading"),
      button(
        "Stop it",
        () => {
          dialog.close();
          send("stop");
        },
        "danger",
      ),
    ),
  );
  const node = el("div", { class: "controls", hidden: true }, pause, resume, stop, answer, dialog);

  async function send(what) {
    setText(answer, "");
    try {
      const reply = await fetch(`/control/${what}`, { method: "POST" });
      if (!reply.ok) setText(answer, `not done: ${reply.status} ${(await reply.text()).slice(0, 200)}`);
    } catch {
      setText(answer, "not done: inrush does not answer");
    }
  }

  function draw(load) {
    // Before the first document the load takes no commands.
    const starts = load.state.phase === "starting";
    for (const one of [pause, resume, stop]) setAttributes(one, { disabled: starts });
    setHidden(pause, load.state.paused_by_hand);
    setHidden(resume, !load.state.paused_by_hand);
  }

  return { node, draw, allow: (allowed) => setHidden(node, !allowed) };
}
