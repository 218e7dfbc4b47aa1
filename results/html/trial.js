// What one trial has to show, in parts that a view puts together.
function trialOf(row) {
  if (row === null || row === undefined) return null;
  const trial = {};
  data.shared.forEach((name, i) => { trial[name] = details.values[row[i]]; });
  data.own.forEach((name, i) => { trial[name] = row[data.shared.length + i]; });
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
  const kind = outcome === "found" ? "good" : ["invalid", "error", "censored", "unclear", "skipped", "partial"].includes(outcome) ? "void" : "bad";
  return node("span", { className: `badge ${kind}` }, outcome);
}

function nameOf(value, axes, place, trial) {
  if (!Array.isArray(value) || typeof value[1] === "number") return value;
  const [before, between, after] = value;
  const cell = `-len${axes.lengths[place.column]}-depth${axes.depthLabels[place.row]}-`;
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

const scoreOf = (trial) => (trial.score === null ? "no score" : `score ${percent(trial.score)} %`);

// What the model said, and what was made of it.
function answerParts(trial) {
  const { error } = trial;
  return [
    ...(error === null ? [] : part("Error", block(error[1] ?? ""), node("div", { className: "soft" }, "kind: ", ...textParts(error[0] ?? "unknown")))),
    ...part("Answer", trial.text !== null ? block(trial.text) : trial.answer !== null ? block(trial.answer) : nothing("no text")),
    ...(trial.text !== null && trial.answer !== null ? part("Final answer", block(trial.answer)) : []),
    ...(trial.why === null ? [] : part("Why", prose(trial.why))),
    trial.reasoning === null ? null : folded("Reasoning", block(trial.reasoning)),
  ];
}

function questionPart(trial) {
  return trial.question === null ? [] : part("Question", prose(trial.question));
}

function expectedPart(trial) {
  const expected = trial.expected.length
    ? node("ul", {}, ...trial.expected.map((each) => node("li", { dir: "auto" }, ...textParts(each))))
    : nothing("none given");
  return part("Expected", expected);
}

// The needles as they stand in the prompt, between what stands before and after them.
function aroundPart(trial) {
  if (!trial.around.length) return [];
  const views = trial.around.map(([before, after], i) =>
    node("pre", { className: "around", dir: "auto", tabIndex: 0 }, "… ", before, node("b", {}, ...textParts(trial.placed[i] ?? "")), after, " …"));
  return part(views.length > 1 ? "In the text, around the needles" : "In the text, around the needle", ...views);
}

// The prompt in one line.
function promptLine(trial) {
  const words = [];
  if (trial.tokens !== null) words.push(`${integer(trial.tokens)} tokens`);
  if (trial.server_tokens !== null) words.push(`server counts ${integer(trial.server_tokens)}`);
  const depths = trial.needles.map((needle) => needle[2]).filter((depth) => depth !== null);
  if (depths.length) words.push(`achieved depth ${depths.slice(0, 8).join(", ")}${depths.length > 8 ? ", …" : ""} %`);
  return words.length ? part("Prompt", node("div", {}, words.join(" · "))) : [];
}

function requestFacts(trial, axes, place) {
  const gap = trial.server_tokens !== null && trial.tokens !== null ? trial.server_tokens - trial.tokens : 0;
  const served = trial.server_tokens === null ? "not told" : integer(trial.server_tokens);
  return [
    ["prompt tokens", number(trial.tokens)],
    ["server's count", served + (gap ? ` (${gap > 0 ? "+" : ""}${integer(gap)})` : "")],
    ["context tokens", number(trial.context_tokens)],
    ["slack tokens", number(trial.slack)],
    ["answer tokens", number(trial.completion_tokens)],
    ["finish reason", trial.finish_reason],
    ["seed", trial.seed === null ? null : String(trial.seed)],
    ["prompt sha256", trial.sha256],
    ["filler sha256", trial.filler_sha256],
    ["key", trial.key],
    ["case", nameOf(trial.id, axes, place, trial)],
    ["test", nameOf(trial.nodeid, axes, place, trial)],
  ];
}

function timingFacts(trial) {
  return [
    ["whole answer", seconds(trial.latency_s)],
    ["first token", seconds(trial.ttft_s)],
    ["tokens per second", trial.tokens_per_s === null ? null : String(trial.tokens_per_s)],
    ["building the prompt", seconds(trial.build_s)],
    ["cached tokens", number(trial.cached_tokens)],
    ["attempts", number(trial.attempts)],
    ["worker", trial.worker],
  ];
}
