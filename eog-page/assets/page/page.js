// Puts the parts together.
"use strict";

eog.resized = [];
eog.onResize = (draw) => eog.resized.push(draw);
{
  let width = window.innerWidth, timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => eog.resized.forEach((draw) => draw()), 120);
  });
  const at = (id) => document.getElementById(id);
  const drawing = new eog.Drawing(at("graph-view"), { modes: ["causal", "judged", "topology"], label: "Causal graph" });
  eog.onResize(() => drawing.show(drawing.mode));
  eog.timeline(at("timeline-view"));
  if (at("charts-view")) eog.charts(at("charts-view"));
  const replay = eog.replay(at("replay-view"));
  if (at("live-view")) eog.live(at("live-view"), replay);

  // Evidence: search, and copying a query.
  const list = at("evidence-list");
  if (list) {
    const search = at("evidence-search"), rows = [...list.children];
    let words = null;
    search.addEventListener("input", () => {
      words ??= rows.map((row) => row.textContent.toLowerCase());
      const wanted = search.value.toLowerCase();
      let shown = 0;
      rows.forEach((row, number) => { row.hidden = !words[number].includes(wanted); shown += row.hidden ? 0 : 1; });
      at("evidence-count").textContent = `${shown} of ${rows.length}`;
    });
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button.copy");
      if (!button) return;
      eog.copy(button.parentElement.querySelector("code")).then((copied) => {
        button.textContent = copied ? "Copied" : "Marked: press Ctrl+C";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
    });
    // What a search hides must be there for a link that leads to it.
    const find = (event) => {
      const row = /^#f\d+$/.test(location.hash) ? at(location.hash.slice(1)) : null;
      if (!row) return;
      // The browser focused a row that was there before this event: focus may have moved on.
      const focused = event && !row.hidden;
      row.hidden = false;
      row.scrollIntoView({ block: "center" });
      if (!focused) row.focus({ preventScroll: true });
    };
    window.addEventListener("hashchange", find);
    find();
  }
  document.documentElement.classList.add("ready");
}

// Copies a text; where the browser forbids that, marks it.
eog.copy = async (element) => {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
};
