// The view of one run: what its cells say, and what a click on one shows.
const axesOf = (panel) => panels[panel];

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
  return { lines, notes, articles: shown.map((trial) => trialView(trial, place)) };
}

function trialView(trial, place) {
  const axes = axesOf(place.panel);
  const timings = factList(timingFacts(trial));
  const more = [["Other prompt facts", trial.prompt], ["Scoring details and flags", trial.details], ["Reference", trial.reference]]
    .filter(([, value]) => value !== null).map(([heading, value]) => folded(heading, facts(value)));
  const heading = node("h3", {}, `Trial ${trial.repeat === null ? "" : trial.repeat}`, badge(trial.outcome), scoreOf(trial),
    trial.scorer === null ? null : node("span", { className: "soft" }, "scorer ", ...textParts(trial.scorer)));
  return node("article", { className: "trial" },
    heading,
    ...questionPart(trial),
    ...answerParts(trial),
    ...expectedPart(trial),
    ...aroundPart(trial),
    ...promptLine(trial),
    folded("Prompt and request", factList(requestFacts(trial, axes, place)), needleTable(trial.needles)),
    timings.childElementCount ? folded("Timings", timings) : null,
    ...more);
}
