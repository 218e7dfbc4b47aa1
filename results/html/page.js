// Shared by the page of a run and that of a comparison: building blocks, tooltip, heatmap grid, pane, trial, links.
// `report.js` or `comparison.js` follows it in one function; those define `cellLines` and `paneContent`.
// Every text of a model or a user goes into the page as a text node, never as markup.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const { panels, outcomes, stats } = data;
const status = byId("status");
document.documentElement.classList.add("js");

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
const depthWords = (axes, row) => (axes.depths[row] === null ? "all depths" : `depth ${axes.depthLabels[row]} %`);

// A number into `stats` to an object; null for a cell that never ran.
function statOf(number) {
  if (number < 0) return null;
  const [n, mean, low, high, counts] = stats[number];
  return { n, mean, low, high, count: (name) => counts[outcomes.indexOf(name)] || 0 };
}

const trialsIn = (stat) => outcomes.reduce((sum, name) => sum + stat.count(name), 0);

// A range where answers are undecided: `data.undecided` names their outcomes.
function scoreWords(stat) {
  const open = (data.undecided || []).reduce((sum, name) => sum + stat.count(name), 0);
  if (open) {
    const [hits, all] = [(stat.mean || 0) * stat.n, stat.n + open];
    const ends = `score ${percent(hits / all)}–${percent((hits + 100 * open) / all)} % (${integer(open)} of ${integer(all)} undecided: all missed to all hit)`;
    return stat.mean === null ? `${ends}, none scored` : `${ends} · of the scored ${percent(stat.mean)} %, n = ${integer(stat.n)}`;
  }
  if (stat.mean === null) return "no score, n = 0";
  const ends = stat.low === null ? "one sample: no interval" : `95 % interval ${percent(stat.low)}–${percent(stat.high)}`;
  return `score ${percent(stat.mean)} % (${ends}), n = ${integer(stat.n)}`;
}

const outcomeWords = (stat) =>
  outcomes.filter((name) => stat.count(name)).map((name) => `${integer(stat.count(name))} ${name}`).join(" · ");

// The tooltip of cells and points.
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

// Heatmaps as grids: pointer and keyboard. What a cell says is up to the view: `cellLines`.
let hovered = null;
let pointer = {};

// Where a cell of a heatmap stands; row -1 is the means.
function placeOf(td) {
  const table = td.closest("table.heat");
  const means = td.parentElement.classList.contains("means");
  return { panel: Number(table.dataset.panel), column: td.cellIndex - 1, row: means ? -1 : td.parentElement.sectionRowIndex };
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

// The pane beside the page with the trials of one cell. What is in it is up to the view: `paneContent`.
const pane = byId("pane");
const paneBody = byId("pane-body");
const title = byId("pane-title");
let opener = null;
let returnTo = null;

// The trials are packed in the page: JSON, deflated, in base64. `packed`: why they cannot be shown yet, or at all.
let details = [];
let packed = byId("details").textContent === "" ? "" : "Unpacking the trials …";

async function unpack() {
  try {
    if (packed) details = await inflated();
    packed = "";
  } catch {
    packed = "This browser cannot unpack the trials; results.json has them.";
  }
  document.documentElement.classList.add("unpacked");
  if (opener && !pane.hidden) openPane(opener, returnTo);
}

function inflated() {
  const bytes = Uint8Array.from(atob(byId("details").textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

// `from`: what gets the focus back when the pane is closed, where that is not the cell.
function openPane(td, from = null) {
  const place = placeOf(td);
  if (place.row < 0) return;
  const { lines, notes, articles } = packed ? { lines: cellLines(place), notes: [packed], articles: [] } : paneContent(place);
  const [name, ...more] = lines;
  title.replaceChildren(node("bdi", {}, name), ...more.map((words) => node("small", {}, words)));
  paneBody.replaceChildren(...notes.map((note) => node("p", { className: "notice" }, note)), ...articles);
  paneBody.scrollTop = 0;
  hideTip();
  if (opener) opener.classList.remove("open");
  opener = td;
  returnTo = from;
  td.classList.add("open");
  pane.hidden = false;
  document.body.classList.add("with-pane");
  title.focus();
  (from ?? td).scrollIntoView({ block: "nearest", inline: "nearest" });
}

function closePane() {
  pane.hidden = true;
  document.body.classList.remove("with-pane");
  if (!opener) return;
  opener.classList.remove("open");
  if (returnTo) returnTo.focus();
  else focusCell(opener);
  opener = null;
}

// Rows of trials by panel, column and row of their cell; made when first needed.
let rowsByCell = null;
function rowsAt({ panel, column, row }) {
  if (rowsByCell === null) {
    rowsByCell = new Map();
    for (const each of details) {
      const key = each.slice(0, 3).join();
      if (!rowsByCell.has(key)) rowsByCell.set(key, []);
      rowsByCell.get(key).push(each.slice(3));
    }
  }
  return rowsByCell.get([panel, column, row].join()) || [];
}

function startPane() {
  unpack();
  byId("pane-close").addEventListener("click", closePane);
  document.addEventListener("scroll", afterScroll, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hideTip();
    if (!pane.hidden) closePane();
  });
}

// What one trial has to show, in parts that a view puts together.
// A trial has the fields of its record in results.json; those that say nothing are left out.
function trialOf(record) {
  return record && { expected: [], ...record, prompt: { needles: [], ...record.prompt }, response: record.response ?? {}, timing: record.timing ?? {} };
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
  const kind = outcome === "found" ? "good" : ["invalid", "error", "censored", "unclear", "skipped", "partial"].includes(outcome) ? "void" : "bad";
  return node("span", { className: `badge ${kind}` }, outcome);
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
  const columns = { needle: "name", "requested %": "requested", "achieved %": "depth", "tokens before": "tokens_before", tokens: "tokens" };
  const row = (needle) => Object.values(columns).map((name) => node("td", {}, ...textParts(needle[name] ?? "–")));
  return node("table", {},
    node("thead", {}, node("tr", {}, ...Object.keys(columns).map((name) => node("th", {}, name)))),
    node("tbody", {}, ...needles.map((needle) => node("tr", {}, ...row(needle)))));
}

function folded(heading, ...children) {
  return node("details", {}, node("summary", {}, heading), ...children);
}

const number = (value) => (value === undefined ? null : integer(value));
const seconds = (value) => (value === undefined ? null : `${value.toFixed(3)} s`);
const scoreOf = ({ score }) => (score === undefined ? "no score" : `score ${percent(score)} %`);

// What the model said, and what was made of it.
function answerParts({ error, response, answer, why }) {
  const text = response.text ?? answer;
  return [
    ...(error ? part("Error", block(error.message ?? ""), node("div", { className: "soft" }, "kind: ", ...textParts(error.kind ?? "unknown"))) : []),
    ...part("Answer", text ? block(text) : nothing("no text")),
    ...(response.text && answer ? part("Final answer", block(answer)) : []),
    ...(why ? part("Why", prose(why)) : []),
    response.summary ? folded("Summary that it answered from", block(response.summary)) : null,
    response.reasoning ? folded("Reasoning", block(response.reasoning)) : null,
  ];
}

function questionPart({ question }) {
  return question ? part("Question", prose(question)) : [];
}

function expectedPart({ expected }) {
  const list = expected.length
    ? node("ul", {}, ...expected.map((each) => node("li", { dir: "auto" }, ...textParts(each))))
    : nothing("none given");
  return part("Expected", list);
}

// The needles as they stand in the prompt, between what stands before and after them.
function aroundPart({ prompt }) {
  const views = prompt.needles.filter((needle) => needle.text).slice(0, 20).map(({ before = "", text, after = "" }) =>
    node("pre", { className: "around", dir: "auto", tabIndex: 0 }, "… ", before, node("b", {}, ...textParts(text)), after, " …"));
  return views.length ? part(views.length > 1 ? "In the text, around the needles" : "In the text, around the needle", ...views) : [];
}

// The prompt in one line.
function promptLine({ prompt, response }) {
  const words = [];
  if (prompt.tokens) words.push(`${integer(prompt.tokens)} tokens`);
  if (response.prompt_tokens !== undefined) words.push(`server counts ${integer(response.prompt_tokens)}`);
  const depths = prompt.needles.map((needle) => needle.depth).filter((depth) => depth !== undefined);
  if (depths.length) words.push(`achieved depth ${depths.slice(0, 8).join(", ")}${depths.length > 8 ? ", …" : ""} %`);
  return words.length ? part("Prompt", node("div", {}, words.join(" · "))) : [];
}

function requestFacts({ prompt, response, ...trial }) {
  const counted = response.prompt_tokens;
  const gap = counted && prompt.tokens ? counted - prompt.tokens : 0;
  const served = counted === undefined ? "not told" : integer(counted);
  return [
    ["prompt tokens", number(prompt.tokens)],
    ["server's count", served + (gap ? ` (${gap > 0 ? "+" : ""}${integer(gap)})` : "")],
    ["context tokens", number(prompt.context_tokens)],
    ["slack tokens", number(prompt.slack)],
    ["answer tokens", number(response.completion_tokens)],
    ["finish reason", response.finish_reason],
    ["seed", trial.seed],
    ["prompt sha256", prompt.sha256],
    ["case", trial.id],
    ["test", trial.nodeid],
  ];
}

function timingFacts({ timing }) {
  return [
    ["whole answer", seconds(timing.latency_s)],
    ["first token", seconds(timing.ttft_s)],
    ["tokens per second", timing.tokens_per_s],
    ["building the prompt", seconds(timing.build_s)],
    ["cached tokens", number(timing.cached_tokens)],
    ["attempts", number(timing.attempts)],
    ["worker", timing.worker],
  ];
}

// Links inside the page: from a head to what it means, from a point or a row to its trials, into parts that are closed.
function unfold(element) {
  for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
}

function openPlace(from) {
  const [panel, column, row] = from.dataset.place.split(",").map(Number);
  const table = document.querySelector(`table.heat[data-panel="${panel}"]`);
  if (row >= 0) return openPane(table.tBodies[0].rows[row].cells[column + 1], from);
  unfold(table);
  focusCell(table.tHead.rows[1].cells[column + 1]);
}

function startPoint(point) {
  const say = () => showTip(point.getBoundingClientRect(), [point.getAttribute("aria-label")]);
  point.addEventListener("pointerenter", say);
  point.addEventListener("focus", say);
  point.addEventListener("pointerleave", hideTip);
  point.addEventListener("blur", hideTip);
  if (!point.dataset.place) return;
  point.addEventListener("click", () => openPlace(point));
  point.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    openPlace(point);
  });
}

function startTerm(term) {
  const meaning = byId(term.hash.slice(1));
  const say = () => showTip(term.getBoundingClientRect(), [term.textContent, meaning.textContent]);
  term.addEventListener("pointerenter", say);
  term.addEventListener("focus", say);
  term.addEventListener("pointerleave", hideTip);
  term.addEventListener("blur", hideTip);
}

function followHash() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  unfold(target);
  target.scrollIntoView({ block: "start" });
}

function startLinks() {
  document.querySelectorAll("a.term").forEach(startTerm);
  document.querySelectorAll(".point").forEach(startPoint);
  for (const button of document.querySelectorAll("button.place")) button.addEventListener("click", () => openPlace(button));
  for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => unfold(byId(link.hash.slice(1)) ?? link));
  window.addEventListener("hashchange", followHash);
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  followHash();
}
