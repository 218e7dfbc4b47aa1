// The page's own script: the heatmaps as grids, the trials of a cell, the curves, the filters.
// Every text of a model or a user goes into the page as a text node, never as markup.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const { panels, outcomes, stats, values } = data;
  const status = byId("status");
  document.documentElement.classList.add("js");

  // ---------------------------------------------------------------- building blocks

  function node(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  function svg(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const integer = (value) => value.toLocaleString("en-US");
  const percent = (value) => (value === 0 || value === 100 ? String(value) : value.toFixed(1));
  const depthWords = (panel, row) => (panel.depths[row] === null ? "all depths" : `depth ${panel.depthLabels[row]} %`);

  // A number into `stats` to an object; null for a cell that never ran.
  function statOf(number) {
    if (number < 0) return null;
    const [n, mean, low, high, counts] = stats[number];
    return { n, mean, low, high, count: (name) => counts[outcomes.indexOf(name)] || 0 };
  }

  const trialsIn = (stat) => outcomes.reduce((sum, name) => sum + stat.count(name), 0);

  function scoreWords(stat) {
    if (stat.mean === null) return "no score, n = 0";
    return `score ${percent(stat.mean)} % (95 % interval ${percent(stat.low)}–${percent(stat.high)}), n = ${integer(stat.n)}`;
  }

  const outcomeWords = (stat) =>
    outcomes.filter((name) => stat.count(name)).map((name) => `${integer(stat.count(name))} ${name}`).join(" · ");

  // ---------------------------------------------------------------- tooltip

  const tip = byId("tip");

  function showTip(box, lines) {
    const [head, ...rest] = lines.filter(Boolean);
    tip.replaceChildren(node("p", {}, node("strong", {}, head)), ...rest.map((line) => node("p", {}, line)));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), document.documentElement.clientWidth - width - 8);
    const above = box.top - height - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  // A cell that came into view by the keyboard keeps its tooltip; it moves along.
  function afterScroll() {
    const td = document.activeElement.closest("table.heat td");
    if (td && !tip.hidden) describe(td);
    else hideTip();
  }

  // ---------------------------------------------------------------- heatmaps

  let hovered = null;
  let pointer = {};

  // Where a cell of a heatmap stands; row -1 is the means.
  function placeOf(td) {
    const table = td.closest("table.heat");
    const means = td.parentElement.classList.contains("means");
    return { panel: Number(table.dataset.panel), column: td.cellIndex - 1, row: means ? -1 : td.parentElement.sectionRowIndex };
  }

  function statAt({ panel, column, row }) {
    return statOf(row < 0 ? panels[panel].byLength[column] : panels[panel].cells[row][column]);
  }

  function cellLines(place) {
    const panel = panels[place.panel];
    const where = `length ${integer(panel.lengths[place.column])} · ${place.row < 0 ? "mean of all depths" : depthWords(panel, place.row)}`;
    const stat = statAt(place);
    return stat === null ? [where, "not run"] : [where, scoreWords(stat), outcomeWords(stat)];
  }

  function describe(td) {
    const lines = cellLines(placeOf(td));
    td.setAttribute("aria-label", lines.join(", "));
    showTip(td.getBoundingClientRect(), lines);
  }

  // One cell of each heatmap is in the tab order; arrow keys move it.
  function focusCell(td) {
    const table = td.closest("table.heat");
    for (const old of table.querySelectorAll("td[tabindex]")) old.removeAttribute("tabindex");
    td.tabIndex = 0;
    td.focus();
    td.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function neighbour(td, event) {
    const rows = [...td.closest("table.heat").querySelectorAll("tr:has(td)")];
    let row = rows.indexOf(td.parentElement);
    let column = td.cellIndex;
    const last = { row: rows.length - 1, column: td.parentElement.cells.length - 1 };
    switch (event.key) {
      case "ArrowLeft": column -= 1; break;
      case "ArrowRight": column += 1; break;
      case "ArrowUp": row -= 1; break;
      case "ArrowDown": row += 1; break;
      case "Home": column = 1; if (event.ctrlKey) row = 0; break;
      case "End": column = last.column; if (event.ctrlKey) row = last.row; break;
      default: return null;
    }
    return rows[Math.min(Math.max(row, 0), last.row)].cells[Math.min(Math.max(column, 1), last.column)];
  }

  function startHeatmap(table) {
    const cellIn = (event) => event.target.closest("td");
    table.setAttribute("role", "grid");
    table.setAttribute("aria-readonly", "true");
    table.tBodies[0].rows[0].cells[1].tabIndex = 0;
    table.addEventListener("pointermove", (event) => {
      // Browsers also send this when the page moves under a pointer that rests.
      if (event.screenX === pointer.x && event.screenY === pointer.y) return;
      pointer = { x: event.screenX, y: event.screenY };
      if (!cellIn(event)) hideTip();
      else if (tip.hidden || cellIn(event) !== hovered) describe(cellIn(event));
      hovered = cellIn(event);
    });
    table.addEventListener("pointerleave", hideTip);
    table.addEventListener("focusin", (event) => cellIn(event) && describe(cellIn(event)));
    table.addEventListener("focusout", hideTip);
    table.addEventListener("click", (event) => {
      const td = cellIn(event);
      if (!td) return;
      focusCell(td);
      openPane(td);
    });
    table.addEventListener("keydown", (event) => {
      const td = cellIn(event);
      if (!td || event.altKey || event.metaKey) return;
      const next = neighbour(td, event);
      if (next) focusCell(next);
      else if (event.key === "Enter" || event.key === " ") openPane(td);
      else return;
      event.preventDefault();
    });
  }

  // ---------------------------------------------------------------- trials of a cell

  const pane = byId("pane");
  const paneBody = byId("pane-body");
  const title = byId("pane-title");
  let opener = null;

  // Rows by panel, column and row of their cell; made when first needed.
  let index = null;
  function trialsAt({ panel, column, row }) {
    if (index === null) {
      index = new Map();
      for (const each of data.rows) {
        const key = each.slice(0, 3).join();
        if (!index.has(key)) index.set(key, []);
        index.get(key).push(each);
      }
    }
    return (index.get([panel, column, row].join()) || []).map(trialOf);
  }

  function trialOf(row) {
    const trial = {};
    data.shared.forEach((name, i) => { trial[name] = values[row[3 + i]]; });
    data.own.forEach((name, i) => { trial[name] = row[3 + data.shared.length + i]; });
    return trial;
  }

  // A text, or its beginning, the number of characters left out, and its end.
  function textParts(value) {
    if (!Array.isArray(value)) return [String(value)];
    const [head, cut, tail] = value;
    return [head, node("mark", { className: "cut" }, `… ${integer(cut)} characters left out …`), tail];
  }

  const part = (heading, ...children) => [node("h4", {}, heading), ...children];
  const block = (value) => node("pre", { dir: "auto", tabIndex: 0 }, ...textParts(value));
  const prose = (value) => node("div", { className: "text", dir: "auto" }, ...textParts(value));
  // JSON, laid out where it is whole.
  function facts(value) {
    try {
      return block(JSON.stringify(JSON.parse(value), null, 2));
    } catch {
      return block(value);
    }
  }
  const nothing = (words) => node("div", { className: "empty" }, words);

  function badge(outcome) {
    const kind = outcome === "found" ? "good" : ["invalid", "error", "censored", "skipped", "partial"].includes(outcome) ? "void" : "bad";
    return node("span", { className: `badge ${kind}` }, outcome);
  }

  function nameOf(value, panel, place, trial) {
    if (!Array.isArray(value) || typeof value[1] === "number") return value;
    const [before, between, after] = value;
    const cell = `-len${panel.lengths[place.column]}-depth${panel.depthLabels[place.row]}-`;
    return `${before}${cell}${between}-r${trial.repeat}${after}`;
  }

  function factList(facts) {
    const list = node("dl", {});
    for (const [name, value] of facts) {
      if (value === null || value === undefined || value === "") continue;
      list.append(node("dt", {}, name), node("dd", {}, ...textParts(value)));
    }
    return list;
  }

  function needleTable(needles) {
    if (!needles.length) return null;
    const cells = (tag, items) => items.map((item) => node(tag, {}, ...(item === null ? ["–"] : textParts(item))));
    const heads = ["needle", "requested %", "achieved %", "tokens before", "tokens"];
    return node("table", {},
      node("thead", {}, node("tr", {}, ...cells("th", heads))),
      node("tbody", {}, ...needles.map((needle) => node("tr", {}, ...cells("td", needle)))));
  }

  function folded(heading, ...children) {
    return node("details", {}, node("summary", {}, heading), ...children);
  }

  const number = (value) => (value === null ? null : integer(value));
  const seconds = (value) => (value === null ? null : `${value.toFixed(3)} s`);

  function trialView(trial, panel, place) {
    const serverGap = trial.server_tokens !== null && trial.tokens !== null ? trial.server_tokens - trial.tokens : 0;
    const request = factList([
      ["prompt tokens", number(trial.tokens)],
      ["server's count", trial.server_tokens === null ? "not told" : number(trial.server_tokens) + (serverGap ? ` (${serverGap > 0 ? "+" : ""}${integer(serverGap)})` : "")],
      ["context tokens", number(trial.context_tokens)],
      ["slack tokens", number(trial.slack)],
      ["answer tokens", number(trial.completion_tokens)],
      ["finish reason", trial.finish_reason],
      ["seed", trial.seed === null ? null : String(trial.seed)],
      ["prompt sha256", trial.sha256],
      ["filler sha256", trial.filler_sha256],
      ["key", trial.key],
      ["case", nameOf(trial.id, panel, place, trial)],
      ["test", nameOf(trial.nodeid, panel, place, trial)],
    ]);
    const timings = factList([
      ["whole answer", seconds(trial.latency_s)],
      ["first token", seconds(trial.ttft_s)],
      ["tokens per second", trial.tokens_per_s === null ? null : String(trial.tokens_per_s)],
      ["building the prompt", seconds(trial.build_s)],
      ["cached tokens", number(trial.cached_tokens)],
      ["attempts", number(trial.attempts)],
      ["worker", trial.worker],
    ]);
    const expected = trial.expected.length
      ? node("ul", {}, ...trial.expected.map((each) => node("li", { dir: "auto" }, ...textParts(each))))
      : nothing("none given");
    const more = [["Other prompt facts", trial.prompt], ["Scoring details and flags", trial.details], ["Reference", trial.reference]]
      .filter(([, value]) => value !== null).map(([heading, value]) => folded(heading, facts(value)));
    const heading = node("h3", {}, `Trial ${trial.repeat === null ? "" : trial.repeat}`, badge(trial.outcome),
      trial.score === null ? "no score" : `score ${percent(trial.score)} %`,
      trial.scorer === null ? null : node("span", { className: "soft" }, "scorer ", ...textParts(trial.scorer)));
    return node("article", { className: "trial" },
      heading,
      ...(trial.error === null ? [] : part("Error", block(trial.error[1] ?? ""), node("div", { className: "soft" }, "kind: ", ...textParts(trial.error[0] ?? "unknown")))),
      ...part("Answer", trial.text !== null ? block(trial.text) : trial.answer !== null ? block(trial.answer) : nothing("no text")),
      ...(trial.text !== null && trial.answer !== null ? part("Final answer", block(trial.answer)) : []),
      ...part("Expected", expected),
      ...(trial.question === null ? [] : part("Question", prose(trial.question))),
      ...(trial.why === null ? [] : part("Why", prose(trial.why))),
      trial.reasoning === null ? null : folded("Reasoning", block(trial.reasoning)),
      folded("Prompt and request", request, needleTable(trial.needles)),
      timings.childElementCount ? folded("Timings", timings) : null,
      ...more);
  }

  function openPane(td) {
    const place = placeOf(td);
    if (place.row < 0) return;
    const panel = panels[place.panel];
    const stat = statAt(place);
    const [where, ...words] = cellLines(place);
    const all = trialsAt(place);
    const wanted = filter.outcome;
    const shown = wanted && all.some((trial) => trial.outcome === wanted) ? all.filter((trial) => trial.outcome === wanted) : all;
    const missing = stat === null ? 0 : trialsIn(stat) - all.length;
    title.replaceChildren(node("bdi", {}, panel.name), node("small", {}, where), node("small", {}, words.join(" · ")));
    const notes = [];
    if (stat === null) notes.push("This cell never ran.");
    if (missing > 0) notes.push(`Details of ${integer(missing)} of ${integer(trialsIn(stat))} trials are not in this page, to keep it small; results.json has them.`);
    if (shown.length < all.length) notes.push(`${shown.length} of ${all.length} trials are shown: those with outcome ${wanted}.`);
    paneBody.replaceChildren(
      ...notes.map((note) => node("p", { className: "notice" }, note)),
      ...shown.map((trial) => trialView(trial, panel, place)));
    paneBody.scrollTop = 0;
    hideTip();
    if (opener) opener.classList.remove("open");
    opener = td;
    td.classList.add("open");
    pane.hidden = false;
    document.body.classList.add("with-pane");
    title.focus();
    td.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function closePane() {
    pane.hidden = true;
    document.body.classList.remove("with-pane");
    if (!opener) return;
    opener.classList.remove("open");
    focusCell(opener);
    opener = null;
  }

  // ---------------------------------------------------------------- curves

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
      host.replaceChildren(node("p", { className: "soft" }, chosen.size && over === "depth" ? "The chosen panels have no single depths." : "Choose a panel to see its curve."));
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

  // Neighbouring points with a score; a length without one interrupts the line.
  function stretches(line) {
    const found = [[]];
    for (const point of line.points) {
      if (point.stat && point.stat.mean !== null) found[found.length - 1].push(point);
      else found.push([]);
    }
    return found.filter((stretch) => stretch.length);
  }

  function bands(line, x, y) {
    return stretches(line).map((stretch) => {
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

  // ---------------------------------------------------------------- filters

  const filter = { model: "", task: "", needle: "", outcome: "" };
  const FIELDS = ["model", "task", "needle"];
  const visible = (panel) => FIELDS.every((field) => !filter[field] || panel[field] === filter[field]);

  function startFilters() {
    const bar = byId("filters");
    const occurring = outcomes.filter((_, i) => stats.some((stat) => stat[4][i]));
    const choices = { outcome: occurring };
    for (const field of FIELDS) choices[field] = [...new Set(panels.map((panel) => panel[field]))];
    for (const field of [...FIELDS, "outcome"]) {
      if (choices[field].length < 2) continue;
      const options = choices[field].map((value) => node("option", { value }, value || "(none)"));
      const select = node("select", { id: `filter-${field}` }, node("option", { value: "" }, "all"), ...options);
      select.addEventListener("change", () => {
        filter[field] = select.value;
        applyFilters();
      });
      bar.append(node("label", {}, field, select));
    }
    if (!bar.childElementCount) return;
    bar.append(node("output", { id: "filtered" }));
    bar.hidden = false;
  }

  function applyFilters() {
    if (!pane.hidden) closePane();
    for (const element of document.querySelectorAll("section.panel, tr[data-panel], .series label")) {
      element.hidden = !visible(panels[element.dataset.panel]);
    }
    let matching = 0;
    for (const table of document.querySelectorAll("table.heat")) {
      const shown = visible(panels[table.dataset.panel]);
      for (const row of table.tBodies[0].rows) {
        for (const td of row.cells) {
          if (td.localName !== "td") continue;
          const stat = filter.outcome ? statAt(placeOf(td)) : null;
          const fits = !filter.outcome || (stat !== null && stat.count(filter.outcome) > 0);
          td.classList.toggle("dim", !fits);
          matching += shown && fits && Boolean(filter.outcome);
        }
      }
    }
    const count = panels.filter(visible).length;
    const words = [`${count} of ${panels.length} panels`];
    if (filter.outcome) words.push(`${integer(matching)} ${matching === 1 ? "cell" : "cells"} with a trial that is ${filter.outcome}`);
    byId("filtered").textContent = words.join(", ");
    status.textContent = words.join(", ");
    drawCharts();
  }

  // ---------------------------------------------------------------- start

  document.querySelectorAll("table.heat").forEach(startHeatmap);
  startFilters();
  startCurves();
  byId("pane-close").addEventListener("click", closePane);
  document.addEventListener("scroll", afterScroll, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hideTip();
    if (!pane.hidden) closePane();
  });
})();
