// The view of two runs: what the cells of a difference say, and both answers of a trial side by side.
const { families } = data;
const SIDES = ["A", "B"];

const signed = (value) => (value === 0 ? "0.0" : `${value > 0 ? "+" : ""}${value.toFixed(1)}`);

function cellLines({ panel, column, row }) {
  const family = families[panel];
  const where = `length ${integer(family.lengths[column])} · ${row < 0 ? "mean of all depths" : depthWords(family, row)}`;
  const numbers = row < 0 ? family.columns[column] : family.cells[row][column];
  if (numbers === null) return [where, "not run"];
  const [n, first, second, difference, low, high, unscored] = numbers;
  const apart = unscored ? `${integer(unscored)} without a pair` : "";
  if (difference === null) return [where, "no pair", apart];
  const interval = low === null ? "too few samples for an interval" : `95 % interval ${signed(low)}..${signed(high)}`;
  return [where, `B − A = ${signed(difference)} points (${interval}), n = ${integer(n)}`, `A ${percent(first)} % · B ${percent(second)} %`, apart];
}

function paneContent(place) {
  const lines = cellLines(place).filter(Boolean);
  const family = families[place.panel];
  const numbers = family.cells[place.row][place.column];
  const pairs = rowsAt(place).map((row) => row.map(trialOf));
  const notes = [];
  if (numbers === null) notes.push("This cell never ran.");
  const missing = numbers === null ? 0 : numbers[0] + numbers[6] - pairs.length;
  if (missing > 0) notes.push(`Details of ${integer(missing)} of ${integer(numbers[0] + numbers[6])} trials are not in this page, to keep it small; the runs' results.json have them.`);
  const changed = (pair) => pair[0]?.score !== pair[1]?.score || pair[0]?.outcome !== pair[1]?.outcome;
  const ordered = [...pairs.filter(changed), ...pairs.filter((pair) => !changed(pair))];
  return { lines: [family.name, ...lines], notes, articles: ordered.map((pair) => pairView(pair, place)) };
}

// What both were asked; then each answer in a column; then what is known of both prompts.
function pairView(pair, place) {
  const known = pair[0] ?? pair[1];
  const family = families[place.panel];
  return node("article", { className: "trial" },
    node("h3", {}, `Trial ${known.repeat}`),
    ...questionPart(known),
    ...expectedPart(known),
    node("div", { className: "sides" }, ...pair.map((trial, i) => sideView(trial, SIDES[i]))),
    ...aroundPart(known),
    ...promptLine(known),
    folded("Prompts and requests", factTable(pair.map((trial) => trial && requestFacts(trial))), needleTable(known.prompt.needles)),
    folded("Timings", factTable(pair.map((trial) => trial && timingFacts(trial)))));
}

function sideView(trial, name) {
  const side = node("b", { className: `side ${name.toLowerCase()}` }, name);
  if (trial === null) return node("section", {}, node("h3", {}, side, "no such trial"));
  const heading = node("h3", {}, side, badge(trial.outcome), scoreOf(trial),
    trial.scorer ? node("span", { className: "soft" }, "scorer ", ...textParts(trial.scorer)) : null);
  return node("section", {}, heading, ...answerParts(trial));
}

// Facts of A and B as a table; rows that differ are marked.
function factTable(sides) {
  const names = [...new Set(sides.flatMap((facts) => (facts ? facts.map(([name]) => name) : [])))];
  const known = sides.map((facts) => new Map(facts || []));
  const parts = (value) => (value === null || value === undefined || value === "" ? ["–"] : textParts(value));
  const rows = names
    .map((name) => [name, ...known.map((facts) => facts.get(name))])
    .filter(([, ...each]) => each.some((value) => value !== null && value !== undefined && value !== ""))
    .map(([name, ...each]) => {
      const differs = JSON.stringify(each[0] ?? null) !== JSON.stringify(each[1] ?? null);
      return node("tr", { className: differs ? "differs" : "" }, node("th", { scope: "row" }, name), ...each.map((value) => node("td", {}, ...parts(value))));
    });
  const head = node("tr", {}, node("td", {}), ...SIDES.map((side) => node("th", { scope: "col" }, side)));
  return node("table", { className: "both" }, node("thead", {}, head), node("tbody", {}, ...rows));
}

// A link to a cell opens it, as a click on it in the heatmap does.
function startCells() {
  for (const link of document.querySelectorAll('a[href^="#cell-"]')) {
    link.dataset.place = link.hash.slice("#cell-".length);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openPlace(link);
    });
  }
}

// Tables sort by a column: the best first at the first click. Cells begin with their number, `2k` is 2000.
const TIMES = { k: 1e3, M: 1e6 };
const SMALLEST_FIRST = /^(rank|when|configuration|model|run|prompt tokens|answer tokens|seconds)/;

function valueOf(text) {
  if (text.startsWith("none")) return 0;
  const number = text.replaceAll(",", "").match(/^[<+]?(-?\d+(?:\.\d+)?)([kM]?)/);
  return number ? Number(number[1]) * (TIMES[number[2]] || 1) : null;
}

function sortBy(table, at) {
  const heads = [...table.tHead.rows[0].cells];
  const first = SMALLEST_FIRST.test(heads[at].textContent) ? "ascending" : "descending";
  const order = heads[at].getAttribute("aria-sort") !== first ? first : first === "ascending" ? "descending" : "ascending";
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[at].setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const text = (row) => row.cells[at].textContent.trim();
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => {
    const [x, y] = [valueOf(text(a)), valueOf(text(b))];
    if (x === null && y === null) return sign * text(a).localeCompare(text(b));
    return x === null || y === null ? (x === null) - (y === null) : sign * (x - y);
  }));
}

function startSorting(table) {
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = node("button", { type: "button", className: "sort", ariaLabel: `Sort by ${head.textContent}` }, "↕");
    button.addEventListener("click", () => sortBy(table, at));
    head.append("\u00a0", button);
  });
}

// The page starts.
document.querySelectorAll("table.heat").forEach(startHeatmap);
document.querySelectorAll(".sortable table").forEach(startSorting);
startCells();
startPane();
startLinks();
