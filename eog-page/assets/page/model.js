// The data of the page and small helpers. Everything from telemetry enters the document as text
// nodes and attributes; nothing is ever parsed as markup.
"use strict";
const eog = {};
document.documentElement.classList.add("scripted");

eog.data = JSON.parse(document.getElementById("data").textContent);
eog.text = (number) => (number === undefined ? "" : eog.data.texts[number]);

// An element with attributes and children. Texts become text nodes.
eog.el = (name, attributes = {}, ...children) =>
  eog.fill(document.createElement(name), attributes, children);
eog.svg = (name, attributes = {}, ...children) =>
  eog.fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
eog.fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};
eog.button = (words, does, more = {}) => eog.el("button", { type: "button", onclick: does, ...more }, words);

eog.iso = (milli) => new Date(milli).toISOString();
eog.clock = (milli) => eog.iso(milli).slice(11, 19) + "Z";
eog.when = (milli) => eog.iso(milli).slice(0, 19).replace("T", " ") + "Z";
eog.span = (from, to) => (from === to ? eog.when(from) : `${eog.when(from)} to ${eog.clock(to)}`);
eog.number = (value) => Number(value.toPrecision(4)).toString();
eog.count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

// The end of a name says most: `shop/Deployment/cart` is shown as `…ployment/cart`.
eog.short = (name, most = 26) => (name.length <= most ? name : "…" + name.slice(name.length - most + 1));

// The first of many, and how many more there are.
eog.some = (list, most, show) => {
  const shown = list.slice(0, most).map(show);
  if (list.length > most) shown.push(eog.el("li", { class: "dim" }, `and ${list.length - most} more`));
  return shown;
};

// A link to the row of a cited finding; text alone where a finding was only seen.
eog.finding = (place) => {
  const finding = eog.data.findings[place];
  const words = `${finding.kind} ${eog.text(finding.name)}: ${eog.text(finding.text)}`;
  if (!finding.cited) return eog.el("li", {}, words);
  return eog.el("li", {}, eog.el("a", { href: `#f${place}` }, finding.id), ` ${words}`);
};

eog.roleWords = {
  cause: "cause", origin: "origin that explains no alert", symptom: "symptom", healthy: "healthy",
  unclear: "deferred", unvisited: "not evaluated",
};
eog.saidOf = { healthy: "is healthy", symptom: "is a symptom", origin: "is an origin", defer: "was deferred" };
eog.ofLabel = { healthy: "healthy", symptom: "symptom", origin: "origin", defer: "unclear" };
