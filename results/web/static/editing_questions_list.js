"use strict";
// The list of pairs: what of it is shown, and going to one.

const ROWS = 50; // that are passed over together while they are far away
const settleRows = settler($("rows"));

let rows = []; // by index
let shown = []; // indexes that the filter shows
const fits = []; // whether it shows an index

function drawList() {
  indexes.clear();
  pairs.forEach((pair, index) => indexes.set(pair.key, index));
  rows = pairs.map((_, index) => {
    const row = document.createElement("li");
    const inside = document.createElement("button");
    inside.type = "button";
    inside.dataset.index = index;
    inside.append(element("span", "", "mark"), element("span", "", "asked"), element("span", "", "check"));
    row.append(inside);
    return row;
  });
  const parts = [];
  for (let first = 0; first < rows.length; first += ROWS) {
    const part = document.createElement("ul");
    part.append(...rows.slice(first, first + ROWS));
    parts.push(part);
  }
  $("rows").replaceChildren(...parts);
  tellApart();
  pairs.forEach((_, index) => drawRow(index));
  sift();
}

// Questions that begin alike, by key: from the word on in which they differ.
let distinct = new Map();
const ALIKE = 30; // characters

function tellApart() {
  const sorted = pairs.map((pair) => [pair.key, oneLine(pair.question || "")]).sort(([, one], [, other]) => (one < other ? -1 : 1));
  const same = (one, other) => {
    let at = 0;
    while (at < one.length && one[at] === other?.[at]) at += 1;
    return at;
  };
  distinct = new Map();
  sorted.forEach(([key, question], at) => {
    const shared = Math.max(...[at - 1, at + 1].map((near) => same(question, sorted[near]?.[1])));
    const word = question.lastIndexOf(" ", shared) + 1;
    if (shared > ALIKE && shared < question.length && word > 1) distinct.set(key, `… ${question.slice(word)}`);
  });
}

function drawRow(index) {
  const pair = pairs[index];
  const row = rows[index];
  const [mark, question, check] = row.firstChild.children;
  const stands = unkept.has(pair.key) ? "not kept" : pending.has(pair.key) ? "being kept" : standing(pair);
  mark.textContent = unkept.has(pair.key) ? "!" : pending.has(pair.key) ? "…" : SIGNS[stands];
  mark.className = `mark ${stands.startsWith("reject") || unkept.has(pair.key) ? "bad" : stands === "undecided" ? "soft" : "good"}`;
  question.textContent = distinct.get(pair.key) || wording(pair).question || "(no question)";
  question.title = wording(pair).question;
  const facts = [`${pair.key} · ${stands}`];
  const { document: name } = wording(pair);
  if (name) facts.splice(0, 1, oneLine(name), facts[0]);
  if (pair.check) facts.push(`check: ${pair.check}`);
  if (states[pair.key] && states[pair.key].disagree) facts.push("reviewers disagree");
  if (FILTERS.stale(pair)) facts.push("changed since");
  check.textContent = facts.join(" · ");
}

function sift() {
  const filter = FILTERS[$("filter").value];
  const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  shown = [];
  pairs.forEach((pair, index) => {
    const told = wording(pair);
    const text = words.length ? [pair.key, told.question, ...told.answers, told.document].join(" ").toLowerCase() : "";
    const here = filter(pair) && words.every((word) => text.includes(word));
    if (here) shown.push(index);
    fits[index] = here;
    if (rows[index].hidden !== (!here && index !== current)) rows[index].hidden = !here && index !== current;
  });
  for (const part of $("rows").children) part.hidden = ![...part.children].some((row) => !row.hidden);
  const decided = pairs.filter((pair) => standing(pair) !== "undecided").length;
  $("count").textContent = `${decided} of ${many(pairs.length, "pair")} decided · ${shown.length} shown`;
  showFile(decided === pairs.length);
  $("progress").max = pairs.length || 1;
  $("progress").value = decided;
}

function choose(index) {
  if (index < 0 || index >= pairs.length) return;
  if (index !== current && isTyping()) {
    say("save the edit, or cancel it, before you go on", true);
    QUESTION.focus();
    return;
  }
  if (rows[current]) {
    rows[current].firstChild.removeAttribute("aria-current");
    rows[current].hidden = !fits[current]; // what no longer fits the filter goes when one goes on
  }
  current = index;
  rows[index].firstChild.setAttribute("aria-current", "true");
  rows[index].hidden = rows[index].parentElement.hidden = false;
  revealRow(rows[index]);
  asked.set("pair", pairs[index].key);
  history.replaceState(null, "", `?${asked}`);
  closeForms();
  drawPair();
  $("pair").scrollTop = 0;
  openDocument(null);
  findCompetitors();
}

// Scrolls to a row, unless it is in sight.
function revealRow(row) {
  settleRows(() => {
    const [here, place] = [row, $("rows")].map((each) => each.getBoundingClientRect());
    return here.top < place.top ? here.top - place.top : Math.max(0, here.bottom - place.bottom);
  });
}

function nextUndecided() {
  const after = shown.filter((index) => index > current).concat(shown.filter((index) => index <= current));
  const index = after.find((each) => isUndecided(pairs[each]) && each !== current);
  if (index === undefined) {
    say(`no other pair that is shown is undecided: ${$("write").textContent.toLowerCase()}?`);
    $("write").scrollIntoView({ block: "center" });
    $("write").focus();
  }
  else choose(index);
}

// After a decision.
function onward() {
  if (shown.some((each) => each !== current && isUndecided(pairs[each]))) {
    nextUndecided();
    if ($("rows").getBoundingClientRect().bottom <= $("pair").getBoundingClientRect().top) $("pair").scrollIntoView();
  } else if (pairs.every((pair) => !isUndecided(pair))) {
    say(`pair ${pairs[current].key}: kept; all pairs are decided`);
    $("write").focus();
    $("file").scrollIntoView({ block: "nearest" });
  }
}

function step(by) {
  const index = by > 0 ? shown.find((each) => each > current) : shown.findLast((each) => each < current);
  if (index !== undefined) choose(index);
}

$("rows").addEventListener("click", (event) => {
  const row = event.target.closest("button");
  if (row) choose(Number(row.dataset.index));
});
$("filter").addEventListener("change", sift);
$("find").addEventListener("input", sift);
$("find").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && shown.length) {
    $("find").blur();
    choose(shown[0]);
  }
});
