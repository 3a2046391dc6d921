// Alerts, changes, onsets and events on one axis of time, a lane for each kind.
"use strict";

eog.lanes = [["alert", "Alerts"], ["change", "Changes"], ["onset", "Onsets"], ["event", "Events"]];

eog.timeline = (place) => {
  const { marks, window: [start, end] } = eog.data;
  const panel = eog.el("div", { class: "panel", role: "status" }, "Select a mark to see its details. Arrow keys move to the next.");
  if (!marks.length) {
    place.append(eog.el("p", {}, "The evidence has no times."));
    return;
  }
  // What is far outside of the window would press everything else together; it is listed, and
  // stands at the edge.
  const margin = (end - start) * 0.5;
  const near = marks.filter((mark) => mark.from >= start - margin && mark.from <= end + margin);
  const low = Math.min(start, ...near.map((mark) => mark.from)), high = Math.max(end, ...near.map((mark) => mark.from));
  const svg = eog.svg("svg", { role: "group", "aria-label": "Timeline" });
  const table = eog.timeTable(marks);
  place.append(svg, panel, table);
  if (eog.data.unmarked) place.append(eog.el("p", { class: "note" }, `${eog.data.unmarked} earlier changes are not drawn; the table of hypotheses has them.`));
  let chosen = 0;
  const ordered = [...marks].sort((a, b) => a.from - b.from);
  let elements = [];
  const draw = () => {
    const width = Math.max(300, place.clientWidth), left = width < 500 ? 66 : 84, right = 16;
    const x = (milli) => left + ((Math.min(high, Math.max(low, milli)) - low) / Math.max(1, high - low)) * (width - left - right);
    const parts = [];
    let top = 8;
    const rows = new Map();
    for (const [kind, words] of eog.lanes) {
      const own = ordered.filter((mark) => mark.kind === kind);
      if (!own.length) continue;
      // Marks that would lie on each other stand below each other, in at most six rows.
      const last = [];
      for (const mark of own) {
        let row = last.findIndex((at) => x(mark.from) - at > 13);
        if (row < 0) row = Math.min(last.length, 5);
        last[row] = x(mark.from);
        rows.set(mark, top + 10 + row * 15);
      }
      parts.push(eog.svg("text", { x: 0, y: top + 15, class: "sub" }, words));
      top += last.length * 15 + 14;
      parts.push(eog.svg("line", { x1: 0, x2: width, y1: top - 4, y2: top - 4, class: "grid" }));
    }
    const ticks = eog.ticks(low, high, Math.max(2, Math.floor((width - left) / 110)));
    for (const tick of ticks) {
      parts.push(eog.svg("line", { x1: x(tick), x2: x(tick), y1: 4, y2: top, class: "grid" }),
        eog.svg("text", { x: x(tick), y: top + 16, "text-anchor": "middle", class: "sub" }, eog.tickWords(tick, ticks)));
    }
    parts.push(eog.svg("line", { x1: left, x2: width - right, y1: top, y2: top, class: "axis" }));
    elements = ordered.map((mark, number) => eog.mark(mark, number, x, rows.get(mark), number === chosen, choose));
    svg.replaceChildren(...parts, ...elements);
    svg.setAttribute("viewBox", `0 0 ${width} ${top + 24}`);
    svg.setAttribute("height", top + 24);
  };
  const choose = (number, isFocus) => {
    elements[chosen]?.setAttribute("tabindex", "-1");
    elements[chosen]?.classList.remove("chosen");
    chosen = number;
    elements[chosen].setAttribute("tabindex", "0");
    elements[chosen].classList.add("chosen");
    if (isFocus) elements[chosen].focus({ preventScroll: true });
    const mark = ordered[number];
    const more = mark.finding === undefined ? "" : eog.el("ul", { class: "plain" }, eog.finding(mark.finding));
    panel.replaceChildren(eog.el("p", {}, eog.markWords(mark)), more);
  };
  svg.addEventListener("keydown", (event) => {
    const to = { ArrowRight: chosen + 1, ArrowDown: chosen + 1, ArrowLeft: chosen - 1, ArrowUp: chosen - 1, Home: 0, End: ordered.length - 1 }[event.key];
    if (to === undefined && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(Math.min(ordered.length - 1, Math.max(0, to ?? chosen)), true);
  });
  draw();
  eog.onResize(draw);
};

eog.shapes = { alert: "M0 -7L7 6L-7 6Z", change: "M0 -7L7 0L0 7L-7 0Z", onset: "M-6 -6L6 -6L6 6L-6 6Z", event: "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0 -6 0Z" };

eog.markWords = (mark) => `${eog.span(mark.from, mark.to)}  ${mark.kind} on ${eog.text(mark.name)}: ${eog.text(mark.text)}`;

eog.mark = (mark, number, x, y, isFirst, choose) => {
  const words = eog.markWords(mark);
  const [from, to] = [x(mark.from), x(mark.to)];
  return eog.svg("g", { class: "mark", role: "button", tabindex: isFirst ? 0 : -1, "aria-label": words, onclick: () => choose(number, true), onfocus: () => choose(number) },
    eog.svg("title", {}, words),
    to - from > 3 ? eog.svg("line", { x1: from, x2: to, y1: y, y2: y, class: mark.kind }) : null,
    eog.svg("path", { d: eog.shapes[mark.kind], class: mark.kind, transform: `translate(${from} ${y})` }));
};

// Round moments between two.
eog.ticks = (low, high, most) => {
  const minute = 60000;
  const steps = [1000, 5000, 10000, 30000, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, 60 * minute, 120 * minute, 360 * minute, 720 * minute, 1440 * minute];
  const step = steps.find((one) => (high - low) / one <= most) ?? Math.ceil((high - low) / most / (1440 * minute)) * 1440 * minute;
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
  return ticks;
};
eog.tickWords = (tick, ticks) => {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 0;
  if (step >= 86400000) return eog.iso(tick).slice(5, 10);
  return step < 60000 && step ? eog.iso(tick).slice(11, 19) : eog.iso(tick).slice(11, 16);
};

// The same as a list, for people who read it; made when it is opened.
eog.timeTable = (marks) => {
  const row = (mark) => eog.el("tr", {}, eog.el("td", {}, eog.el("time", {}, eog.span(mark.from, mark.to))), eog.el("td", {}, mark.kind),
    eog.el("td", { class: "name" }, eog.text(mark.name)), eog.el("td", {}, eog.text(mark.text)));
  const head = ["When (UTC)", "Kind", "Entity", "What"].map((words) => eog.el("th", { scope: "col" }, words));
  const body = eog.el("tbody");
  const open = () => { if (!body.firstChild) body.append(...[...marks].sort((a, b) => a.from - b.from).map(row)); };
  return eog.el("details", { ontoggle: open }, eog.el("summary", {}, `As a table (${eog.count(marks.length, "moment", "moments")})`),
    eog.el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Timeline as a table" },
      eog.el("table", {}, eog.el("thead", {}, eog.el("tr", {}, head)), body)));
};
