// Which nodes and edges are drawn, and where.
"use strict";

// Beyond so many edges dagre takes longer than a reader waits; then layers are filled directly.
eog.DAGRE_EDGES = 220;

// The parts of the causal graph that are folded: runs of carriers, which only pass effects on, and
// effects beyond which no alert lies. `open` holds the folds that the reader has opened.
eog.folded = (open) => {
  const { nodes, arrows } = eog.data;
  const causal = arrows.filter((arrow) => arrow.causal);
  const after = new Map(), before = new Map();
  const at = (map, key) => map.get(key) ?? map.set(key, new Set()).get(key);
  for (const { from, to } of causal) {
    at(after, from).add(to);
    at(before, to).add(from);
  }
  const members = new Set(causal.flatMap(({ from, to }) => [from, to]));
  nodes.forEach((node, place) => {
    if (node.role === "cause" || (node.alerts ?? []).length) members.add(place);
  });
  const alerting = [...members].filter((place) => (nodes[place].alerts ?? []).length);
  const leads = new Set(alerting);
  for (const queue = [...alerting]; queue.length; ) {
    for (const cause of before.get(queue.pop()) ?? []) {
      if (!leads.has(cause)) { leads.add(cause); queue.push(cause); }
    }
  }
  const isKept = (place) => nodes[place].role === "cause" || (nodes[place].alerts ?? []).length > 0;
  const group = new Map();
  const root = (place) => { while (group.has(place)) place = group.get(place); return place; };
  const join = (a, b) => { if (root(a) !== root(b)) group.set(root(b), root(a)); };
  const beyond = (place) => !isKept(place) && !leads.has(place);
  for (const { from, to } of causal) {
    const isRun = (place) => !isKept(place) && leads.has(place);
    const only = (set) => set.size === 1;
    if (isRun(from) && isRun(to) && only(after.get(from)) && only(before.get(to))) join(from, to);
    if (beyond(from) && beyond(to)) join(from, to);
  }
  // Those with the same causes and the same effects stand side by side: they are one fold, too.
  const alike = new Map();
  for (const place of members) {
    if (isKept(place) || root(place) !== place) continue;
    const ends = (map) => [...new Set([...(map.get(place) ?? [])].map(root))].sort().join();
    const key = `${beyond(place)}|${ends(before)}|${ends(after)}`;
    if (alike.has(key)) join(alike.get(key), place); else alike.set(key, place);
  }
  const folds = new Map();
  for (const place of members) if (!isKept(place)) {
    const first = root(place);
    folds.set(first, [...(folds.get(first) ?? []), place]);
  }
  const drawn = new Map();
  for (const place of members) drawn.set(place, `n${place}`);
  const boxes = [];
  for (const [first, list] of folds) {
    if (list.length < 2 || open.has(`f${first}`)) continue;
    for (const place of list) drawn.set(place, `f${first}`);
    boxes.push({ id: `f${first}`, fold: list, beyond: beyond(first) });
  }
  for (const [place, id] of drawn) if (id === `n${place}`) boxes.push({ id, place });
  const edges = new Map();
  for (const arrow of causal) {
    const [from, to] = [drawn.get(arrow.from), drawn.get(arrow.to)];
    if (from !== to) edges.set(`${from} ${to}`, { from, to, arrow });
  }
  const canFold = [...folds].filter(([, list]) => list.length > 1).map(([first]) => `f${first}`);
  return { boxes, edges: [...edges.values()], canFold };
};

// Everything that was judged or claimed; with the topology also everything else.
eog.unfolded = (withTopology) => {
  const { nodes, arrows, relations } = eog.data;
  const wanted = (node) => withTopology || node.drawn || node.summary !== undefined;
  const boxes = nodes.map((node, place) => ({ id: `n${place}`, place })).filter((box) => wanted(nodes[box.place]));
  const known = new Set(boxes.map((box) => box.id));
  const edges = new Map();
  for (const [source, target] of relations) {
    const [from, to] = [`n${source}`, `n${target}`];
    if (from !== to && known.has(from) && known.has(to)) edges.set(`${from} ${to}`, { from, to, relation: true });
  }
  for (const arrow of arrows) {
    const [from, to] = [`n${arrow.from}`, `n${arrow.to}`];
    edges.delete(`${to} ${from}`);
    edges.set(`${from} ${to}`, { from, to, arrow });
  }
  return { boxes, edges: [...edges.values()], canFold: [] };
};

// Gives each box a place, and each edge its points.
eog.layout = (picture, down) => {
  for (const box of picture.boxes) Object.assign(box, eog.size(box));
  if (picture.edges.length <= eog.DAGRE_EDGES && picture.boxes.length <= eog.DAGRE_EDGES) eog.withDagre(picture, down);
  else eog.inLayers(picture);
  const right = Math.max(1, ...picture.boxes.map((box) => box.x + box.width / 2));
  const bottom = Math.max(1, ...picture.boxes.map((box) => box.y + box.height / 2));
  return { width: right + 12, height: bottom + 12 };
};

eog.size = (box) => {
  const lines = eog.lines(box);
  return { width: Math.max(...lines.map((line) => line.length)) * 8 + 22, height: 14 + lines.length * 16, lines };
};

eog.lines = (box) => {
  if (box.fold) {
    const what = box.beyond ? ["further effect", "further effects"] : ["carrier", "carriers"];
    return [`+ ${eog.count(box.fold.length, ...what)}`, "unfold"];
  }
  const node = eog.data.nodes[box.place];
  const alerts = node.alerts ?? [];
  const lines = [eog.short(eog.text(node.name)), (node.role === "cause" ? "★ " : "") + node.role];
  if (alerts.length) lines.push(`⚠ ${eog.short(eog.text(alerts[0]), 20)}${alerts.length > 1 ? ` +${alerts.length - 1}` : ""}`);
  return lines;
};

eog.withDagre = (picture, down) => {
  const graph = new vendor.Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 18, ranksep: 46, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of picture.boxes) graph.setNode(box.id, { width: box.width, height: box.height });
  for (const edge of picture.edges) graph.setEdge(edge.from, edge.to);
  vendor.layout(graph);
  for (const box of picture.boxes) Object.assign(box, { x: graph.node(box.id).x, y: graph.node(box.id).y });
  for (const edge of picture.edges) edge.points = graph.edge(edge.from, edge.to).points;
};

// Layers by the longest way from a source, at most so many rows each; neighbours near each other by
// the mean place of those before them.
eog.inLayers = (picture) => {
  const boxes = new Map(picture.boxes.map((box) => [box.id, box]));
  const before = new Map(picture.boxes.map((box) => [box.id, []]));
  const after = new Map(picture.boxes.map((box) => [box.id, []]));
  for (const { from, to } of picture.edges) { before.get(to).push(from); after.get(from).push(to); }
  const layer = new Map(), waiting = new Map(picture.boxes.map((box) => [box.id, before.get(box.id).length]));
  const ready = picture.boxes.filter((box) => !waiting.get(box.id)).map((box) => box.id);
  ready.forEach((id) => layer.set(id, 0));
  const rest = picture.boxes.map((box) => box.id);
  for (let next = 0, other = 0; layer.size < rest.length || next < ready.length; ) {
    if (next === ready.length) {
      while (layer.has(rest[other])) other += 1;
      const known = before.get(rest[other]).filter((id) => layer.has(id)).map((id) => layer.get(id) + 1);
      layer.set(rest[other], known.length ? Math.min(...known) : 0);
      ready.push(rest[other]);
    }
    const id = ready[next++];
    for (const to of after.get(id)) {
      waiting.set(to, waiting.get(to) - 1);
      if (layer.has(to) || waiting.get(to) > 0) continue;
      layer.set(to, Math.min(11, Math.max(...before.get(to).map((from) => layer.get(from) ?? 0)) + 1));
      ready.push(to);
    }
  }
  const layers = [];
  for (const [id, number] of layer) (layers[number] ??= []).push(id);
  const place = new Map();
  layers.forEach((ids) => {
    const mean = (id) => {
      const known = before.get(id).map((from) => place.get(from)).filter((row) => row !== undefined);
      return known.length ? known.reduce((sum, row) => sum + row, 0) / known.length : Infinity;
    };
    ids.sort((a, b) => mean(a) - mean(b) || 0);
    ids.forEach((id, row) => place.set(id, row / ids.length));
  });
  const rows = Math.max(8, Math.ceil(Math.sqrt(picture.boxes.length * 1.2)));
  let x = 12;
  for (const ids of layers.filter(Boolean)) {
    for (let start = 0; start < ids.length; start += rows) {
      const column = ids.slice(start, start + rows).map((id) => boxes.get(id));
      const width = Math.max(...column.map((box) => box.width));
      let y = 12;
      for (const box of column) { box.x = x + width / 2; box.y = y + box.height / 2; y += box.height + 14; }
      x += width + 50;
    }
    x += 30;
  }
  for (const edge of picture.edges) {
    const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
    edge.points = eog.between(from, to);
  }
};

// A straight way from the border of one box to that of another.
eog.between = (from, to) => {
  const border = (box, other) => {
    const [dx, dy] = [other.x - box.x, other.y - box.y];
    const scale = Math.min(box.width / 2 / Math.max(1e-6, Math.abs(dx)), box.height / 2 / Math.max(1e-6, Math.abs(dy)));
    return { x: box.x + dx * scale, y: box.y + dy * scale };
  };
  return [border(from, to), border(to, from)];
};
