// The ledger step by step: the evaluated entity, its packet and answer, the notified neighbours, the flips.
"use strict";

eog.replay = (place) => {
  const { steps, nodes } = eog.data;
  const placeOf = new Map(nodes.map((node, number) => [node.name, number]));
  let at = 0;
  let last = Math.max(0, steps.length - 1);
  const panel = eog.el("div", { class: "panel", "aria-live": "polite" });
  const slider = eog.el("input", { type: "range", class: "slider", min: 0, max: last, value: 0, "aria-label": "Step of the replay", oninput: () => go(Number(slider.value)) });
  const shown = eog.el("output", { "aria-hidden": "true" });
  const first = eog.button("|◀", () => go(0), { "aria-label": "First step" });
  const back = eog.button("◀", () => go(at - 1), { "aria-label": "Step back" });
  const next = eog.button("▶", () => go(at + 1), { "aria-label": "Step forward" });
  const end = eog.button("▶|", () => go(last), { "aria-label": "Last step" });
  const isFlip = (step) => step.before && step.before !== step.label;
  const flips = steps.map((step, number) => (isFlip(step) ? number : -1)).filter((number) => number >= 0);
  const flip = eog.button("Next flip", () => go(flips.find((number) => number > at) ?? at), { disabled: !flips.length });
  place.append(eog.el("div", { class: "bar" }, first, back, next, end, slider, shown, flip),
    eog.el("p", { class: "note" }, "Keys: left and right arrows step, Home and End jump to the ends, F jumps to the next flip."));
  const canvas = eog.el("div", {});
  const large = nodes.filter((node) => node.drawn || node.summary !== undefined).length > 150;
  const grove = eog.el("div", {});
  place.append(panel, grove, canvas);
  let tree = null;
  // A large drawing costs time: it is made when the reader comes near.
  let drawing = null;
  const draw = () => {
    if (drawing) return;
    drawing = new eog.Drawing(canvas, { modes: ["judged", "topology"], label: "Graph at this step of the replay", short: !large, quiet: true });
    go(at);
  };
  if (!large) setTimeout(draw);
  else new IntersectionObserver((entries, watch) => {
    if (entries.some((entry) => entry.isIntersecting)) { watch.disconnect(); draw(); }
  }, { rootMargin: "300px" }).observe(place);

  const labels = (until) => {
    const labels = new Map();
    for (const step of steps.slice(0, until + 1)) {
      if (step.label) labels.set(placeOf.get(step.name), eog.ofLabel[step.label] ?? "unclear");
    }
    return labels;
  };
  const go = (to) => {
    at = Math.min(last, Math.max(0, to));
    const step = steps[at];
    if (!step) { panel.replaceChildren("The ledger has no entries yet."); return; }
    slider.value = at;
    slider.setAttribute("aria-valuetext", `entry ${step.seq}${step.name === undefined ? "" : `, ${eog.text(step.name)}`}`);
    shown.textContent = `${at + 1} of ${steps.length}`;
    // Not `disabled`: a button that has the focus would lose it, and the keys with it.
    for (const one of [first, back]) one.setAttribute("aria-disabled", at === 0);
    for (const one of [next, end]) one.setAttribute("aria-disabled", at === last);
    panel.replaceChildren(...eog.stepWords(step, at, go));
    // Only searches have a tree.
    if (!tree && step.grown?.length) tree = new eog.Tree(grove, (number) => go(number));
    tree?.show(at);
    drawing?.mark({ now: placeOf.get(step.name), labels: labels(at), messages: (step.notified ?? []).map((name) => placeOf.get(name)), follow: true });
  };
  place.addEventListener("keydown", (event) => {
    // The drawing and the slider have their own arrows.
    if (event.target.closest(".drawing, .tree-view, select, a") || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last, f: flips.find((number) => number > at) ?? at }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  });
  if (steps.some((step) => step.grown?.length)) tree = new eog.Tree(grove, (number) => go(number));
  go(0);
  return {
    // One entry more, as a live page receives it: names and texts stand in it, not their numbers.
    grow: (entry) => {
      const wasLast = at === last;
      const step = eog.numbered(entry);
      if (step.label) step.before = steps.findLast((one) => one.name === step.name && one.label)?.label;
      if (isFlip(step)) { flips.push(steps.length); flip.disabled = false; }
      steps.push(step);
      last = steps.length - 1;
      slider.max = last;
      go(wasLast ? last : at);
    },
  };
};

// An entry in which names and texts stand, as the data of the page has it.
eog.numbered = (entry) => {
  const places = (eog.places ??= new Map(eog.data.texts.map((text, number) => [text, number])));
  const number = (text) => {
    if (text === null || text === undefined || text === "") return undefined;
    if (!places.has(text)) places.set(text, eog.data.texts.push(text) - 1);
    return places.get(text);
  };
  const { seq, kind, from, label, seen } = entry;
  return {
    seq, kind, from: from ?? undefined, label: label ?? undefined, unshown: seen || undefined,
    words: number(label ? "" : entry.words), name: number(entry.name), why: number(entry.why), changed: number(entry.changed),
    answer: number(entry.answer), summary: number(entry.summary), rule: number(entry.rule),
    claims: entry.claims.map((pair) => pair.map(number)), notified: entry.notified.map(number), queued: entry.queued.map(number), grown: entry.grown,
  };
};

// One step in words.
eog.stepWords = (step, at, go) => {
  const names = (list) => list.slice(0, 12).map(eog.text).join(", ") + (list.length > 12 ? ` and ${list.length - 12} more` : "");
  const rows = [];
  const row = (what, ...said) => rows.push(eog.el("dt", {}, what), eog.el("dd", {}, ...said));
  const link = (seq) => {
    const place = eog.data.steps.findIndex((one) => one.seq === seq);
    return place < 0 ? `entry ${seq}` : eog.button(`entry ${seq}`, () => go(place));
  };
  const head = step.name === undefined ? `Entry ${step.seq}` : `Entry ${step.seq}: ${eog.text(step.name)}`;
  if (eog.text(step.words)) row("Recorded", eog.text(step.words));
  if (step.why !== undefined) row("Reason", eog.text(step.why), " ", step.from > 0 ? link(step.from) : "");
  const inbox = step.label ? eog.inbox(step, at) : [];
  if (inbox.length) row("Messages", `${inbox.slice(0, 8).map((one) => `${eog.text(one.name)} ${eog.saidOf[one.label]} (entry ${one.seq})`).join("; ")}${inbox.length > 8 ? ` and ${inbox.length - 8} more` : ""}`);
  const saw = step.saw ?? [];
  const unshown = step.unshown ? ` (${step.unshown} more in the ledger)` : "";
  if (step.label) row("Evidence", saw.length ? eog.el("details", {}, eog.el("summary", {}, `${eog.count(saw.length + (step.unshown ?? 0), "piece", "pieces")} of evidence${unshown}`), eog.el("ul", { class: "plain" }, saw.map(eog.finding))) : `none on record${unshown}`);
  if (step.answer !== undefined) row("Answer", eog.text(step.answer));
  if (step.label) {
    const flipped = step.before && step.before !== step.label;
    row("Label", flipped ? eog.el("span", { class: "flip" }, `${step.before} → ${step.label} (flipped)`) : step.label,
      `: ${eog.text(step.summary)}`, step.changed === undefined ? "" : eog.el("span", { class: "dim" }, ` (${eog.text(step.changed)})`));
  }
  if ((step.cited ?? []).length) row("Cites", eog.el("details", {}, eog.el("summary", {}, eog.count(step.cited.length, "piece of evidence", "pieces of evidence")), eog.el("ul", { class: "plain" }, step.cited.map(eog.finding))));
  if ((step.claims ?? []).length) row("Claims", eog.el("ul", { class: "plain" }, eog.some(step.claims, 12, ([cause, effect]) => eog.el("li", {}, `${eog.text(cause)} → ${eog.text(effect)}`))));
  if ((step.notified ?? []).length) row("Notified", names(step.notified));
  if ((step.queued ?? []).length) row("Queued", names(step.queued));
  return [eog.el("p", {}, eog.el("strong", { class: "name" }, head)), eog.el("dl", {}, rows)];
};

// The latest message of each neighbour to the entity of a step.
eog.inbox = (step, at) => {
  const senders = new Map();
  for (const earlier of eog.data.steps.slice(0, at)) {
    if ((earlier.notified ?? []).includes(step.name)) senders.set(earlier.name, earlier);
  }
  return [...senders.values()];
};
