// The tree of a search as it stood at a step: it grows with the replay.
"use strict";

// The nodes after a step, each with its children: what entries made, and what they did to them.
eog.grownUntil = (until) => {
  const nodes = new Map();
  eog.data.steps.slice(0, until + 1).forEach((step, at) => {
    for (const { node, below, score, fate } of step.grown ?? []) {
      if (below !== undefined && !nodes.has(node)) {
        nodes.set(node, { id: node, below, at, step, children: [] });
        nodes.get(below)?.children.push(nodes.get(node));
      }
      const known = nodes.get(node);
      if (!known) continue;
      known.last = at;
      if (score !== undefined) known.score = score;
      if (fate !== undefined) known.fate = fate;
    }
  });
  return [...nodes.values()];
};

// `go` leads to a step.
eog.Tree = class {
  constructor(place, go) {
    this.go = go;
    this.svg = eog.svg("svg", { class: "tree", role: "group", "aria-label": "Tree of the search at this step" });
    place.append(eog.el("h3", {}, "Tree of the search"),
      eog.el("p", { class: "note" }, "A node is an evaluated entity, with its score. Enter jumps to its entry."),
      eog.el("div", { class: "scroll tree-view", role: "region", tabindex: 0, "aria-label": "Tree of the search" }, this.svg));
  }

  show(until) {
    const nodes = eog.grownUntil(until), width = 190, height = 46, gap = { x: 16, y: 26 };
    const roots = nodes.filter((node) => !nodes.some((one) => one.children.includes(node)));
    let row = 0, deepest = 0;
    // Leaves one below the other, from left to right by depth; no recursion, a tree may be deep.
    const order = [];
    const left = roots.toReversed().map((node) => ({ node, depth: 0 }));
    while (left.length) {
      const { node, depth } = left.pop();
      Object.assign(node, { x: depth * (width + gap.x), y: row * (height + gap.y / 2) });
      deepest = Math.max(deepest, depth);
      order.push(node);
      if (node.children.length) left.push(...node.children.toReversed().map((child) => ({ node: child, depth: depth + 1 })));
      else row += 1;
    }
    const whole = { width: (deepest + 1) * (width + gap.x) + 8, height: Math.max(1, row) * (height + gap.y / 2) + 8 };
    for (const [name, value] of Object.entries({ ...whole, viewBox: `-4 -4 ${whole.width} ${whole.height}` })) this.svg.setAttribute(name, value);
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.node : null;
    const edges = order.flatMap((node) => node.children.map((child) =>
      eog.svg("path", { class: "edge", d: `M${node.x + width} ${node.y + height / 2}L${child.x} ${child.y + height / 2}` })));
    const boxes = order.map((node) => {
      const name = eog.text(node.step.name), role = eog.ofLabel[node.step.label] ?? "unclear";
      const marks = [node.score === undefined ? null : `score ${node.score}`, node.fate].filter(Boolean).join(", ");
      const isOut = node.fate === "pruned" || node.fate === "cut by the beam";
      return eog.svg("g", { class: `node ${role} ${node.last === until ? "now" : ""} ${isOut ? "out" : ""}`, transform: `translate(${node.x} ${node.y})`, tabindex: 0, role: "button", "data-node": node.id,
        onclick: () => this.go(node.at), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.go(node.at); } } },
        eog.svg("title", {}, `node ${node.id}: ${name}, ${node.step.label}${marks ? `, ${marks}` : ""}`),
        eog.svg("rect", { width, height, rx: 6 }),
        eog.svg("text", { x: 8, y: 19 }, eog.short(name, 21)),
        eog.svg("text", { x: 8, y: 36, class: "sub" }, `${node.id} ${marks}`));
    });
    this.svg.replaceChildren(eog.svg("g", { "aria-hidden": "true" }, edges), ...boxes);
    if (!boxes.length) this.svg.append(eog.svg("text", { x: 4, y: 20 }, "Nothing was evaluated yet."));
    if (focused) boxes.find((box) => box.dataset.node === focused)?.focus({ preventScroll: true });
    const now = order.find((node) => node.last === until);
    // The view follows what happens, without moving the page.
    if (now) Object.assign(this.svg.parentElement, { scrollTop: now.y - 120, scrollLeft: now.x - 200 });
  }
};
