// Curves over length and over depth: means, and their 95 % intervals as bands.
const HEIGHT = 300;
const EDGE = { left: 46, right: 14, top: 30, bottom: 46 };
const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-3.5-3.5h7v7h-7z", "M0-4.8L4.6 3.6H-4.6z", "M0-5L5 0L0 5L-5 0z",
  "M0 4.8L4.6-3.6H-4.6z", "M-4.4-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z", "M-5-2h10v4h-10z", "M-2-5h4v10h-4z",
];
const chosen = new Set(panels.map((_, i) => i).slice(0, 4));
const look = (i) => ({ color: `s${i % 8}`, dash: `d${Math.floor(i / 8) % 4}`, shape: SHAPES[i % 8] });

// Points of one panel: where, what it is called, and its numbers.
function points(panel, over) {
  const numbers = over === "length" ? panel.byLength : panel.byDepth;
  const places = over === "length" ? panel.lengths : panel.depths;
  const labels = over === "length" ? panel.lengthLabels : panel.depthLabels;
  return places.map((x, i) => ({ x, label: labels[i], stat: statOf(numbers[i]) })).filter((point) => point.x !== null);
}

function drawChart(host) {
  const over = host.dataset.over;
  const lines = [...chosen].sort((a, b) => a - b).filter((i) => visible(panels[i])).map((i) => ({ i, points: points(panels[i], over) }));
  const all = lines.flatMap((line) => line.points);
  if (!all.length) {
    host.replaceChildren(node("p", { className: "soft" }, chosen.size && over === "depth" ? "What is chosen has no single depths." : "Choose a line to see its curve."));
    return;
  }
  const width = Math.max(280, Math.min(720, Math.round(host.clientWidth) || 560));
  const xs = all.map((point) => point.x);
  const first = over === "depth" ? 0 : Math.min(...xs);
  const last = over === "depth" ? 100 : Math.max(...xs);
  const log = over === "length" && spreadsLikePowers(xs, first, last);
  const scale = log ? Math.log2 : (x) => x;
  const inner = width - EDGE.left - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const x = (value) => EDGE.left + (last === first ? inner / 2 : (inner * (scale(value) - scale(first))) / (scale(last) - scale(first)));
  const y = (value) => bottom - ((bottom - EDGE.top) * value) / 100;
  const name = over === "length" ? `context length (tokens${log ? ", log scale" : ""})` : "depth (%)";
  const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `Score over ${name}: ${lines.map((line) => panels[line.i].name).join("; ")}` });
  const text = (attributes, words) => svg("text", attributes, words);
  picture.append(text({ class: "title", x: EDGE.left, y: 14 }, `Score over ${over === "length" ? "context length" : "depth"}`));
  for (const value of [0, 20, 40, 60, 80, 100]) {
    picture.append(
      svg("line", { class: value ? "grid" : "axis", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
      text({ x: EDGE.left - 7, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  const ticks = over === "depth" ? [0, 20, 40, 60, 80, 100].map((value) => [value, String(value)]) : [...new Map(all.map((point) => [point.x, point.label]))].sort((a, b) => a[0] - b[0]);
  for (const [value, label] of spaced(ticks, x)) {
    picture.append(
      svg("line", { class: "axis", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
      text({ x: x(value), y: bottom + 18, "text-anchor": "middle" }, label));
  }
  picture.append(
    text({ x: EDGE.left + inner / 2, y: HEIGHT - 6, "text-anchor": "middle" }, name),
    text({ transform: `translate(12 ${(EDGE.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "score (%)"));
  for (const line of lines) picture.append(...bands(line, x, y));
  for (const line of lines) picture.append(...curve(line, x, y, over));
  host.replaceChildren(picture);
}

// Whether lengths stand more evenly on a logarithmic axis: is their median nearer to its middle?
function spreadsLikePowers(xs, first, last) {
  if (first <= 0 || last / first < 4) return false;
  const sorted = [...new Set(xs)].sort((a, b) => a - b);
  const median = (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
  return Math.abs(Math.log(median / first) / Math.log(last / first) - 0.5) < Math.abs((median - first) / (last - first) - 0.5);
}

// As many labels as stand apart; the last always, so that the range can be read.
function spaced(ticks, x) {
  const half = (label) => label.length * 3.6 + 5;
  const kept = [ticks[ticks.length - 1]];
  let free = x(kept[0][0]) - half(kept[0][1]);
  const inOrder = [];
  let used = -Infinity;
  for (const [value, label] of ticks.slice(0, -1)) {
    if (x(value) - half(label) < used || x(value) + half(label) > free) continue;
    inOrder.push([value, label]);
    used = x(value) + half(label);
  }
  return [...inOrder, ...kept];
}

// Neighbouring points with a score (or with an interval, `end` "low"); a length without one interrupts the line.
function stretches(line, end = "mean") {
  const found = [[]];
  for (const point of line.points) {
    if (point.stat && point.stat[end] !== null) found[found.length - 1].push(point);
    else found.push([]);
  }
  return found.filter((stretch) => stretch.length);
}

function bands(line, x, y) {
  return stretches(line, "low").map((stretch) => {
    const up = stretch.map((p) => `${x(p.x).toFixed(1)},${y(p.stat.high).toFixed(1)}`);
    const down = stretch.map((p) => `${x(p.x).toFixed(1)},${y(p.stat.low).toFixed(1)}`).reverse();
    if (stretch.length > 1) return svg("polygon", { class: `band ${look(line.i).color}`, points: [...up, ...down].join(" ") });
    const [p] = stretch;
    return svg("rect", { class: `band ${look(line.i).color}`, x: x(p.x) - 5, width: 10, y: y(p.stat.high), height: y(p.stat.low) - y(p.stat.high) });
  });
}

function curve(line, x, y, over) {
  const { color, dash, shape } = look(line.i);
  const drawn = [];
  for (const stretch of stretches(line)) {
    const path = stretch.map((p) => `${x(p.x).toFixed(1)},${y(p.stat.mean).toFixed(1)}`).join(" ");
    drawn.push(svg("polyline", { class: `line ${color} ${dash}`, points: path }));
    for (const point of stretch) {
      const at = `translate(${x(point.x).toFixed(1)} ${y(point.stat.mean).toFixed(1)})`;
      const hit = svg("circle", { class: "hit", r: 9, transform: at });
      const where = over === "length" ? `length ${integer(point.x)}` : `depth ${point.label} %`;
      hit.addEventListener("pointerenter", () =>
        showTip(hit.getBoundingClientRect(), [panels[line.i].name, where, scoreWords(point.stat), outcomeWords(point.stat)]));
      hit.addEventListener("pointerleave", hideTip);
      if (line.points.length <= 40) drawn.push(svg("path", { class: `dot ${color}`, d: shape, transform: at }));
      drawn.push(hit);
    }
  }
  return drawn;
}

const charts = [...document.querySelectorAll(".chart")];
const drawCharts = () => charts.forEach(drawChart);

function startCurves() {
  const series = byId("series");
  if (!series) return;
  panels.forEach((panel, i) => {
    const { color, dash, shape } = look(i);
    const sample = svg("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" },
      svg("path", { class: `line ${color} ${dash}`, d: "M0 7H34" }), svg("path", { class: `dot ${color}`, d: shape, transform: "translate(17 7)" }));
    const box = node("input", { type: "checkbox", checked: chosen.has(i) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(i);
      else chosen.delete(i);
      drawCharts();
    });
    const label = node("label", {}, box, sample, node("bdi", {}, panel.name));
    label.dataset.panel = i;
    if (panels.length === 1) box.hidden = true;
    series.append(label);
  });
  let width = 0;
  new ResizeObserver(() => {
    const now = charts[0].clientWidth;
    if (now && now !== width) {
      width = now;
      drawCharts();
    }
  }).observe(charts[0]);
  drawCharts();
}
