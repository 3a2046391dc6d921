// The measured series that findings cite, each with its baseline, its onset and the changes.
"use strict";

eog.charts = (place) => {
  place.classList.add("charts");
  const drawn = eog.data.charts.map((chart) => {
    const finding = eog.data.findings[chart.finding];
    const words = `${eog.text(finding.text)}${chart.onset ? `; onset ${eog.span(...chart.onset)}` : ""}${chart.usual ? `; normally ${eog.number(chart.usual[0])} ± ${eog.number(chart.usual[1])}` : ""}`;
    const figure = eog.el("figure", {});
    const canvas = eog.el("div", { role: "img", "aria-label": `${eog.text(chart.metric)} of ${eog.text(chart.name)}: ${words}` });
    figure.append(
      eog.el("figcaption", {}, eog.el("strong", { class: "name" }, eog.text(chart.name)), ` ${eog.text(chart.metric)}${eog.text(chart.unit) ? ` (${eog.text(chart.unit)})` : ""}`),
      canvas,
      eog.el("p", { class: "dim note" }, words, " ", eog.el("a", { href: `#f${chart.finding}` }, finding.id)));
    place.append(figure);
    return { chart, canvas };
  });
  // One after the other, so that the page answers in between.
  const draw = (one) => {
    one.plot?.destroy();
    one.plot = eog.plot(one.chart, one.canvas);
  };
  const waiting = [...drawn];
  const next = () => {
    if (waiting.length) { draw(waiting.shift()); setTimeout(next); }
  };
  next();
  const again = () => drawn.filter((one) => one.plot).forEach(draw);
  eog.onResize(again);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
};

eog.plot = (chart, canvas) => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const seconds = chart.at.map((milli) => milli / 1000);
  const [centre, limit] = chart.usual ?? [];
  const values = chart.usual ? [...chart.values, centre - limit, centre + limit] : chart.values;
  let low = Math.min(...values), high = Math.max(...values);
  if (low === high) { low -= 1; high += 1; }
  const pad = (high - low) * 0.08;
  const changes = eog.data.marks.filter((mark) => mark.kind === "change" && mark.name === chart.name);
  const causes = eog.data.marks.filter((mark) => mark.kind === "change" && mark.finding !== undefined);
  const shown = [...new Set([...changes, ...causes])].slice(0, 12);
  const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") }, font: "11px sans-serif" };
  const before = (plot) => {
    const { ctx, bbox: { left, top, width, height } } = plot;
    const x = (milli) => Math.min(left + width, Math.max(left, plot.valToPos(milli / 1000, "x", true)));
    ctx.save();
    if (chart.usual) {
      const [a, b] = [plot.valToPos(centre + limit, "y", true), plot.valToPos(centre - limit, "y", true)];
      ctx.fillStyle = colour("band");
      ctx.fillRect(left, a, width, b - a);
      ctx.strokeStyle = colour("band-line");
      ctx.setLineDash([2, 3]);
      ctx.strokeRect(left, plot.valToPos(centre, "y", true), width, 0);
    }
    if (chart.onset) {
      const [a, b] = chart.onset.map(x);
      ctx.fillStyle = colour("alert");
      ctx.globalAlpha = 0.35;
      ctx.fillRect(a - 1, top, Math.max(3, b - a + 2), height);
      ctx.globalAlpha = 1;
    }
    ctx.strokeStyle = colour("cause");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    for (const change of shown) {
      const at = plot.valToPos(change.from / 1000, "x", true);
      if (at < left || at > left + width) continue;
      ctx.beginPath();
      ctx.moveTo(at, top);
      ctx.lineTo(at, top + height);
      ctx.stroke();
    }
    ctx.restore();
  };
  canvas.replaceChildren();
  return new vendor.uPlot({
    width: Math.max(220, canvas.clientWidth), height: 170, legend: { show: false }, cursor: { show: false }, tzDate: (at) => vendor.uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    scales: { y: { range: [low - pad, high + pad] } },
    series: [{}, { stroke: colour("series"), width: 1.6, points: { show: chart.at.length < 60, size: 4 } }],
    axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => eog.iso(tick * 1000).slice(11, 16)) }, { ...axis, size: 56, values: (_, ticks) => ticks.map(eog.number) }],
    hooks: { drawClear: [before] },
  }, [seconds, chart.values], canvas);
};
