// What happens now: figures, the entries as they come, and what a person may say to it. Events hold data
// alone, and enter the document as text.
"use strict";

eog.live = (place, replay) => {
  const { base, next, status, closes } = JSON.parse(document.getElementById("live-data").textContent);
  const MAX_ROWS = 200;
  let at = next, shown = status, begun = status.ended, source = null;

  const badge = eog.el("span", { class: "badge" });
  const now = eog.el("span", { role: "status", id: "live-now" });
  const notice = eog.el("p", { class: "notice", role: "alert", id: "live-notice" });
  const figures = eog.el("dl", { class: "figures", id: "live-figures" });
  const rows = eog.el("ul", { class: "plain" });
  const log = eog.el("div", { class: "log", role: "log", tabindex: 0, "aria-label": "Ledger entries", id: "live-log" }, rows);
  const origins = eog.el("ul", { class: "plain stated", id: "live-origins" });
  const asked = eog.el("ul", { class: "plain asked", id: "live-questions" });
  const said = eog.el("ul", { class: "plain stated", id: "live-said" });

  // Asks the server for something; gives what is wrong, if anything is.
  const post = async (what, body = {}, done = () => {}) => {
    try {
      const answer = await fetch(`${base}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      if (answer.ok) { done(await answer.json().catch(() => ({}))); return ""; }
      return (await answer.json().catch(() => ({}))).error ?? `the server answered ${answer.status}`;
    } catch {
      return "the server cannot be reached; is eog still running?";
    }
  };
  const ask = async (what, body) => {
    notice.textContent = await post(what, body);
    return !notice.textContent;
  };
  const reload = () => location.reload();

  const stop = eog.button("Stop", () => ask("stop"), { id: "live-stop" });
  const goOn = eog.button("Continue", async () => { if (await ask("go-on")) connect(); }, { id: "live-go-on" });
  const fresh = eog.button("Show the report so far", reload, { id: "live-reload" });

  // What a person knows.
  const names = eog.el("datalist", { id: "live-names" }, eog.data.nodes.slice(0, 2000).map((node) => eog.el("option", { value: eog.text(node.name) })));
  const entity = eog.el("input", { id: "live-entity", list: "live-names", required: true, autocomplete: "off", maxlength: 512 });
  const verdict = eog.el("select", { id: "live-verdict" },
    eog.el("option", { value: "not_cause" }, "Not the cause: continue without it"),
    eog.el("option", { value: "cause" }, "The cause"),
    eog.el("option", { value: "" }, "A remark, which the built-in policy does not read"));
  const text = eog.el("textarea", { id: "live-text", rows: 2, maxlength: 4000 });
  const submit = async (word) => {
    const done = await ask("words", word);
    if (done) connect();
    return done;
  };
  const form = eog.el("form", { class: "say", onsubmit: async (event) => {
    event.preventDefault();
    const word = { entity: entity.value, verdict: verdict.value || null, text: text.value };
    if (await submit(word)) { entity.value = ""; text.value = ""; }
  } },
    eog.el("p", {}, eog.el("label", { for: "live-entity" }, "Entity"), entity, names),
    eog.el("p", {}, eog.el("label", { for: "live-verdict" }, "What you know"), verdict),
    eog.el("p", {}, eog.el("label", { for: "live-text" }, "Why"), text),
    eog.el("p", {}, eog.el("button", { type: "submit", id: "live-submit" }, "Submit")));
  // What was true, once it is known: the investigation becomes a case.
  const field = (id, label, input) => eog.el("p", {}, eog.el("label", { for: id }, label), input);
  const causes = eog.el("input", { id: "live-causes", list: "live-names", autocomplete: "off", maxlength: 2000 });
  const outside = eog.el("input", { id: "live-outside", autocomplete: "off", maxlength: 2000 });
  const quiet = eog.el("input", { id: "live-quiet", type: "checkbox" });
  const by = eog.el("input", { id: "live-by", required: true, autocomplete: "name", maxlength: 200 });
  const note = eog.el("textarea", { id: "live-note", rows: 2, maxlength: 2000 });
  const kept = eog.el("p", { role: "status", id: "live-kept" });
  const listed = (input) => input.value.split(",").map((name) => name.trim()).filter(Boolean);
  const closing = eog.el("details", { id: "live-close" }, eog.el("summary", {}, "Close the incident"),
    eog.el("form", { class: "say", onsubmit: async (event) => {
      event.preventDefault();
      const truth = { by: by.value, note: note.value, causes: listed(causes), not_in_topology: listed(outside), nothing_wrong: quiet.checked };
      kept.textContent = (await post("close", truth, (answer) => { kept.textContent = answer.status; })) || kept.textContent;
    } },
      field("live-causes", "Causes, separated by commas", causes),
      field("live-outside", "Causes outside of the topology", outside),
      field("live-quiet", "Nothing was wrong", quiet),
      field("live-by", "Your name", by),
      field("live-note", "Note", note),
      eog.el("p", {}, eog.el("button", { type: "submit", id: "live-close-button" }, "Close")), kept));
  const prefill = (name) => { entity.value = name; verdict.value = ""; text.focus(); };

  place.append(
    eog.el("div", { class: "live-line" }, badge, now, stop, goOn, fresh),
    notice, figures,
    eog.el("div", { class: "live-grid" },
      eog.el("div", {},
        eog.el("h3", {}, "Current suspect"), origins,
        eog.el("h3", {}, "Deferred: do you know more?"), asked),
      eog.el("div", {},
        eog.el("h3", {}, "Add what you know"),
        shown.takes_words ? form : eog.el("p", { class: "dim" }, "This controller takes no input while it runs. Start again with --cause or --not-cause."),
        eog.el("h3", {}, "Operator input"), said, closing)),
    eog.el("h3", {}, "Ledger entries"), log);

  const left = (used, most) => (most === null || most === undefined ? `${used}` : `${used} of ${most}, ${Math.max(0, most - used)} left`);
  const money = (micro) => `$${(micro / 1e6).toFixed(4)}`;
  const figure = (what, value) => eog.el("div", {}, eog.el("dt", {}, what), eog.el("dd", {}, value));
  const row = (list, rows, none) => list.replaceChildren(...(rows.length ? rows : [eog.el("li", { class: "dim" }, none)]));

  // Lists are made anew only where they changed, so that a button keeps the focus.
  const drawn = {};
  const once = (name, value, draw) => {
    const key = JSON.stringify(value);
    if (drawn[name] === key) return;
    drawn[name] = key;
    draw();
  };

  const show = (state) => {
    shown = state;
    document.getElementById("live-title").textContent = state.running ? "This investigation is running" : "This investigation has ended";
    badge.textContent = state.running ? "running" : "ended";
    badge.className = `badge ${state.running ? "running" : ""}`;
    now.textContent = state.running ? state.now || "starting" : state.why;
    for (const [button, is] of [[stop, state.running], [fresh, state.running], [goOn, !state.running && state.unfinished], [closing, closes && !state.running]]) button.hidden = !is;
    if (!causes.value && !state.running) causes.value = state.origins.join(", ");
    if (state.notice) notice.textContent = state.notice;
    once("figures", [state.entries, state.spent, state.budget], () => {
      const { spent, budget } = state;
      const tokens = spent.usage.tokens_in + spent.usage.tokens_out;
      figures.replaceChildren(
        figure("Entries", state.entries), figure("Evaluations", spent.evaluations), figure("Policy calls", left(spent.hops, budget.hops)),
        figure("Model calls", left(spent.usage.model_calls, budget.model_calls)), figure("Tokens", left(tokens, budget.tokens)),
        figure("Cost", budget.cost_micro_usd ? `${money(spent.usage.cost_micro_usd)} of ${money(budget.cost_micro_usd)}` : money(spent.usage.cost_micro_usd)));
    });
    once("origins", [state.origins, state.takes_words], () => row(origins, state.origins.map((name) => eog.el("li", {},
      eog.el("strong", { class: "name" }, name), " ",
      state.takes_words ? [eog.button("This is the cause", () => submit({ entity: name, verdict: "cause", text: "" }), { "aria-label": `${name}: this is the cause` }), " ",
        eog.button("Not the cause: continue without it", () => submit({ entity: name, verdict: "not_cause", text: "" }), { "aria-label": `${name}: not the cause, continue without it` })] : "")), "none yet"));
    once("questions", [state.questions, state.takes_words], () => row(asked, state.questions.map(([name, why]) => eog.el("li", {},
      eog.el("strong", { class: "name" }, name), `: ${why} `,
      state.takes_words ? eog.button("Answer", () => prefill(name), { "aria-label": `Answer about ${name}` }) : "")), "no questions"));
    once("said", state.words, () => row(said, state.words.map(({ entity, words, text }) => eog.el("li", {}, eog.el("strong", { class: "name" }, entity), `: ${words}${text ? `, ${text}` : ""}`)), "none yet"));
    // A run has ended since this page was made: its report is another one.
    if (state.ended > begun && !state.running) {
      begun = state.ended;
      if (entity.value || text.value) notice.textContent = "The report is ready: reload the page to see it.";
      else reload();
    }
  };

  const grow = (entry) => {
    if (entry.seq < at) return;
    at = entry.seq + 1;
    const words = entry.label ? `${entry.name} ${eog.saidOf[entry.label]}: ${entry.summary}` : entry.words;
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    rows.append(eog.el("li", {}, eog.el("span", { class: "dim" }, `${entry.seq} `), words));
    while (rows.children.length > MAX_ROWS) rows.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
    replay.grow(entry);
  };

  const connect = () => {
    source?.close();
    source = new EventSource(`${base}/events/${at}`);
    source.addEventListener("entry", (event) => grow(JSON.parse(event.data)));
    source.addEventListener("state", (event) => show(JSON.parse(event.data)));
    source.addEventListener("missed", (event) => { notice.textContent = `${event.data} entries were missed: reload the page to see them.`; });
    source.addEventListener("bye", () => { source.close(); now.textContent = "eog has exited; this page is no longer updated"; });
    source.onerror = () => {
      now.textContent = "connection lost";
      // A browser gives up where the server refuses, such as for want of room.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
    };
  };
  for (const step of eog.data.steps.slice(-20)) {
    const words = step.label ? `${eog.text(step.name)} ${eog.saidOf[step.label]}: ${eog.text(step.summary)}` : eog.text(step.words);
    rows.append(eog.el("li", {}, eog.el("span", { class: "dim" }, `${step.seq} `), words));
  }
  show(status);
  connect();
  setTimeout(() => { log.scrollTop = log.scrollHeight; });
};
