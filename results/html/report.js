// The view of one run: what its cells say, and what a click on one shows.
function statAt({ panel, column, row }) {
  return statOf(row < 0 ? panels[panel].byLength[column] : panels[panel].cells[row][column]);
}

function cellLines(place) {
  const panel = panels[place.panel];
  const where = `length ${integer(panel.lengths[place.column])} · ${place.row < 0 ? "mean of all depths" : depthWords(panel, place.row)}`;
  const stat = statAt(place);
  return stat === null ? [where, "not run"] : [where, scoreWords(stat), outcomeWords(stat)];
}

function paneContent(place) {
  const stat = statAt(place);
  const [where, ...words] = cellLines(place);
  const all = rowsAt(place).map(([row]) => trialOf(row));
  const wanted = filter.outcome;
  const shown = wanted && all.some((trial) => trial.outcome === wanted) ? all.filter((trial) => trial.outcome === wanted) : all;
  const missing = stat === null ? 0 : trialsIn(stat) - all.length;
  const notes = [];
  if (stat === null) notes.push("This cell never ran.");
  if (missing > 0) notes.push(`Details of ${integer(missing)} of ${integer(trialsIn(stat))} trials are not in this page, to keep it small; results.json has them.`);
  if (shown.length < all.length) notes.push(`${shown.length} of ${all.length} trials are shown: those with outcome ${wanted}.`);
  const lines = [panels[place.panel].name, where, words.join(" · ")];
  return { lines, notes, articles: shown.map((trial) => trialView(trial)) };
}

function trialView(trial) {
  const timings = factList(timingFacts(trial));
  const more = [["Other prompt facts", trial.facts], ["Scoring details and flags", trial.details], ["Reference", trial.reference]]
    .filter(([, value]) => value).map(([heading, value]) => folded(heading, facts(value)));
  const heading = node("h3", {}, `Trial ${trial.repeat}`, badge(trial.outcome), scoreOf(trial),
    trial.scorer ? node("span", { className: "soft" }, "scorer ", ...textParts(trial.scorer)) : null);
  return node("article", { className: "trial" },
    heading,
    ...questionPart(trial),
    ...answerParts(trial),
    ...expectedPart(trial),
    ...aroundPart(trial),
    ...promptLine(trial),
    folded("Prompt and request", factList(requestFacts(trial)), needleTable(trial.prompt.needles)),
    timings.childElementCount ? folded("Timings", timings) : null,
    ...more);
}

// Choosing panels and outcomes.
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
    bar.append(node("label", {}, field === "needle" ? "asked about" : field, select));
  }
  if (!bar.childElementCount) return;
  bar.append(node("output", { id: "filtered" }));
  bar.hidden = false;
}

function applyFilters() {
  if (!pane.hidden) closePane();
  for (const element of document.querySelectorAll(".panel[data-panel], tr[data-panel]")) {
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
  const words = [`${count} of ${panels.length} heatmaps`];
  if (filter.outcome) words.push(`${integer(matching)} ${matching === 1 ? "cell" : "cells"} with a trial that is ${filter.outcome}`);
  byId("filtered").textContent = words.join(", ");
  status.textContent = words.join(", ");
}

// The page of one run starts.
document.querySelectorAll("table.heat").forEach(startHeatmap);
startFilters();
startPane();
startLinks();
