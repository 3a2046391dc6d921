// A drawing of the graph: layered, with zoom and pan, by mouse, touch and keys.
"use strict";

// `options`: modes (which pictures can be chosen), label (for screen readers), onChoose.
eog.Drawing = class {
  constructor(place, options) {
    this.options = options;
    this.mode = options.modes[0];
    this.open = new Set();
    this.marks = { now: null, labels: null, messages: [] };
    this.svg = eog.svg("svg", { class: `drawing ${options.short ? "short" : ""}`, role: "group", "aria-label": options.label });
    this.panel = eog.el("div", { class: "panel", role: "status" }, "Select an entity to see its details.");
    this.foldButton = eog.button("Unfold all", () => this.unfoldAll());
    const chosen = eog.el("select", { onchange: (event) => this.show(event.target.value) },
      options.modes.map((mode) => eog.el("option", { value: mode }, eog.modes[mode])));
    const label = eog.el("label", {}, "Show ", chosen);
    place.append(
      eog.el("div", { class: "bar" }, options.modes.length > 1 ? label : null,
        eog.button("+", () => this.zoom(1.3), { "aria-label": "Zoom in" }),
        eog.button("−", () => this.zoom(1 / 1.3), { "aria-label": "Zoom out" }),
        eog.button("Fit", () => this.fit()), this.foldButton),
      this.svg,
      eog.legend(),
      options.quiet ? "" : this.panel);
    this.listen();
    this.show(this.mode);
  }

  show(mode) {
    this.mode = mode;
    this.picture = mode === "causal" ? eog.folded(this.open) : eog.unfolded(mode === "topology");
    this.foldButton.hidden = !this.picture.canFold.length;
    const isOpen = this.picture.canFold.length && this.picture.canFold.every((fold) => this.open.has(fold));
    this.foldButton.textContent = isOpen ? "Fold" : "Unfold all";
    this.whole = eog.layout(this.picture, window.innerWidth < 640);
    this.draw();
    this.fit();
  }

  unfoldAll() {
    const { canFold } = this.picture;
    if (canFold.every((fold) => this.open.has(fold))) this.open.clear();
    else canFold.forEach((fold) => this.open.add(fold));
    this.show(this.mode);
  }

  draw() {
    const edges = this.picture.edges.map((edge) => this.edge(edge));
    this.nodes = new Map(this.picture.boxes.map((box) => [box.id, this.node(box)]));
    this.messages = eog.svg("g", { "aria-hidden": "true" });
    this.svg.replaceChildren(
      eog.svg("g", { "aria-hidden": "true" }, edges.flat()), this.messages, ...this.nodes.values());
    const first = this.picture.boxes.find((box) => !box.fold && eog.data.nodes[box.place].role === "cause") ?? this.picture.boxes[0];
    if (first) this.rove(first.id);
    else this.svg.append(eog.svg("text", { x: 20, y: 30 }, "Nothing to draw: no origin, claim or alert."));
    this.mark(this.marks);
  }

  edge({ points, arrow, relation }) {
    const path = points.map(({ x, y }, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const kind = relation ? "relation" : arrow.causal ? "" : "aside";
    const line = eog.svg("path", { d: path, class: `edge ${kind}` });
    if (relation) return [line];
    line.append(eog.svg("title", {}, `because ${eog.text(arrow.because)}; seen as ${eog.text(arrow.seen)}`));
    return [line, eog.tip(points, "tip")];
  }

  node(box) {
    const lines = box.lines.map((line, i) =>
      eog.svg("text", { x: box.x, y: box.y - box.height / 2 + 19 + i * 16, "text-anchor": "middle", class: i ? "sub" : "" }, line));
    const data = box.fold ? null : eog.data.nodes[box.place];
    const label = box.fold
      ? `${box.lines[0].slice(2)}: ${box.fold.slice(0, 12).map((place) => eog.text(eog.data.nodes[place].name)).join(", ")}. Press Enter to unfold.`
      : `${eog.text(data.name)}, ${eog.roleWords[data.role]}${(data.alerts ?? []).length ? `, alerts: ${data.alerts.map(eog.text).join(", ")}` : ""}`;
    return eog.svg("g", {
      class: `node ${box.fold ? "fold" : data.role}`, role: "button", tabindex: -1,
      onclick: () => this.choose(box), onfocus: () => this.rove(box.id), "data-id": box.id,
    }, eog.svg("title", {}, label), eog.svg("rect", {
      x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height, rx: 6,
    }), lines);
  }

  // One node can be reached by Tab; arrows lead to the others.
  rove(id) {
    if (this.roving) this.nodes.get(this.roving)?.setAttribute("tabindex", "-1");
    this.roving = id;
    this.nodes.get(id).setAttribute("tabindex", "0");
  }

  choose(box) {
    if (box.fold) {
      this.open.add(box.id);
      this.show(this.mode);
      const first = `n${box.fold[0]}`;
      this.rove(first);
      this.nodes.get(first).focus();
      return;
    }
    this.svg.querySelector(".chosen")?.classList.remove("chosen");
    this.nodes.get(box.id).classList.add("chosen");
    this.options.onChoose?.(box.place);
    this.panel.replaceChildren(...eog.about(box.place));
  }

  fit() {
    // As high as the picture needs, within what the screen has room for.
    const most = Math.min(window.innerHeight * 0.75, this.options.short ? 360 : 560);
    const across = this.svg.getBoundingClientRect().width || 800;
    const wanted = this.whole.height * Math.min(1.2, Math.max(0.55, across / this.whole.width)) + 16;
    this.svg.style.height = `${Math.round(Math.min(most, Math.max(130, wanted)))}px`;
    const room = this.svg.getBoundingClientRect();
    const width = Math.max(this.whole.width, Math.min(room.width || 800, this.whole.height * 3));
    // Never larger than life, and never so small that nothing can be read.
    const scale = Math.min(1.2, Math.max(0.25, Math.min((room.width || 800) / width, (room.height || 400) / this.whole.height)));
    const w = (room.width || 800) / scale, h = (room.height || 400) / scale;
    this.view = { x: Math.min(0, (this.whole.width - w) / 2), y: Math.min(0, (this.whole.height - h) / 2), w, h };
    if (this.whole.width > w || this.whole.height > h) {
      const box = this.picture.boxes.find((one) => one.id === this.roving);
      if (box) this.reveal(box);
    }
    this.applyView();
  }

  zoom(factor, at) {
    const { x, y, w, h } = this.view;
    const centre = at ?? { x: x + w / 2, y: y + h / 2 };
    const width = Math.min(this.whole.width * 6 + 800, Math.max(120, w / factor)), ratio = width / w;
    this.view = { x: centre.x - (centre.x - x) * ratio, y: centre.y - (centre.y - y) * ratio, w: width, h: h * ratio };
    this.applyView();
  }

  pan(dx, dy) {
    this.view.x += dx * this.view.w;
    this.view.y += dy * this.view.h;
    this.applyView();
  }

  reveal(box) {
    const { x, y, w, h } = this.view, edge = 12;
    const inside = (at, size, from, room) =>
      at - size / 2 < from + edge ? at - size / 2 - edge : at + size / 2 > from + room - edge ? at + size / 2 - room + edge : from;
    this.view.x = inside(box.x, box.width, x, w);
    this.view.y = inside(box.y, box.height, y, h);
    this.applyView();
  }

  applyView() {
    const { x, y, w, h } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
  }

  // What a step of the replay shows: labels as they were, who is judged, which messages fly.
  mark(marks) {
    this.marks = marks;
    const byPlace = new Map(this.picture.boxes.filter((box) => !box.fold).map((box) => [box.place, box]));
    if (marks.labels) {
      for (const [place, box] of byPlace) {
        const role = marks.labels.get(place) ?? "unvisited";
        const element = this.nodes.get(box.id);
        element.setAttribute("class", `node ${role} ${place === marks.now ? "now" : ""}`);
        const line = element.querySelectorAll("text")[1];
        if (line) line.textContent = role;
        element.querySelector("title").textContent = `${eog.text(eog.data.nodes[place].name)}, ${eog.roleWords[role]}`;
      }
    }
    const now = byPlace.get(marks.now);
    const flying = now ? marks.messages.map((place) => byPlace.get(place)).filter((box) => box && box !== now) : [];
    this.messages.replaceChildren(...flying.flatMap((to) => {
      const points = eog.between(now, to);
      const [a, b] = points;
      return [eog.svg("path", { d: `M${a.x} ${a.y}L${b.x} ${b.y}`, class: "edge message" }), eog.tip(points, "tip message")];
    }));
    if (now && marks.follow) this.reveal(now);
  }

  listen() {
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, this.at(event));
    }, { passive: false });
    this.svg.addEventListener("dblclick", (event) => this.zoom(1.5, this.at(event)));
    let held = null;
    this.svg.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".node")) held = { x: event.clientX, y: event.clientY };
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!held) return;
      const room = this.svg.getBoundingClientRect();
      this.pan((held.x - event.clientX) / room.width, (held.y - event.clientY) / room.height);
      held = { x: event.clientX, y: event.clientY };
    });
    for (const end of ["pointerup", "pointerleave", "pointercancel"]) this.svg.addEventListener(end, () => { held = null; });
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  at(event) {
    const room = this.svg.getBoundingClientRect(), { x, y, w, h } = this.view;
    return { x: x + ((event.clientX - room.left) / room.width) * w, y: y + ((event.clientY - room.top) / room.height) * h };
  }

  key(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const box = this.picture.boxes.find((one) => one.id === this.roving);
    if (event.ctrlKey || event.altKey || event.metaKey || !box) return;
    if (ways[event.key] && event.shiftKey) this.pan(ways[event.key][0] * 0.15, ways[event.key][1] * 0.15);
    else if (ways[event.key]) this.step(box, ways[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.choose(box);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  // The nearest box in a direction: far away across it counts double.
  step(from, [dx, dy]) {
    let best = null;
    for (const box of this.picture.boxes) {
      const along = (box.x - from.x) * dx + (box.y - from.y) * dy;
      const across = Math.abs((box.x - from.x) * dy) + Math.abs((box.y - from.y) * dx);
      if (box === from || along <= 1) continue;
      const far = along + 2 * across;
      if (!best || far < best.far) best = { box, far };
    }
    if (!best) return;
    this.rove(best.box.id);
    this.nodes.get(best.box.id).focus({ preventScroll: true });
    this.reveal(best.box);
  }
};

eog.modes = { causal: "cause to alerts", judged: "involved or evaluated entities", topology: "the whole topology" };

eog.tip = (points, kind) => {
  const [a, b] = points.slice(-2);
  const angle = (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI;
  return eog.svg("path", { class: kind, d: "M0 0L-9 -4.5L-9 4.5Z", transform: `translate(${b.x} ${b.y}) rotate(${angle})` });
};

eog.legend = () => eog.el("ul", { class: "legend", "aria-label": "Legend" },
  ["★ cause: thick border", "origin that is not named", "symptom", "healthy", "dashed border: deferred or not evaluated", "⚠ alert", "+ folded"]
    .map((words) => eog.el("li", {}, words)));

// What is known of an entity, for the panel below the drawing.
eog.about = (place) => {
  const node = eog.data.nodes[place];
  const steps = eog.data.steps.filter((step) => step.name === node.name && step.label);
  const evidence = node.cited ?? [];
  return [
    eog.el("p", {}, eog.el("strong", { class: "name" }, eog.text(node.name)), ` ${eog.roleWords[node.role]}`),
    node.summary === undefined ? "" : eog.el("p", {}, eog.text(node.summary)),
    (node.alerts ?? []).length ? eog.el("p", {}, `⚠ ${node.alerts.map(eog.text).join(", ")}`) : "",
    evidence.length ? eog.el("ul", { class: "plain" }, eog.some(evidence, 8, eog.finding)) : "",
    steps.length ? eog.el("p", { class: "dim" }, `evaluated in ${eog.count(steps.length, "entry", "entries")}: ${steps.slice(0, 12).map((step) => step.seq).join(", ")}`) : "",
  ];
};
