"use strict";
// The pair that is decided on: its words, what the check says, what others say.

function drawPair() {
  const pair = pairs[current];
  const told = wording(pair);
  const stands = standing(pair);
  $("title").textContent = `Pair ${pair.key}`;
  $("verdict").textContent = `${SIGNS[stands]} ${stands}`;
  $("verdict").className = stands.startsWith("reject") ? "bad" : stands === "undecided" ? "soft" : "good";
  $("question").textContent = told.question || "(no question)";
  $("answer").textContent = told.answers[0] || "(no answer)";
  $("aliases-part").hidden = told.answers.length < 2;
  list($("aliases"), told.answers.slice(1));
  $("supporting-part").hidden = !told.supporting.length;
  list($("supporting"), told.supporting.map(oneLine));
  $("do-accept").setAttribute("aria-pressed", String(stands === "accepted" || stands === "edited"));
  $("do-reject").setAttribute("aria-pressed", String(stands === "rejected"));
  $("do-undo").disabled = !lastOfMine();
  drawFacts(pair);
  drawOpinions(pair);
}

// What the list of other documents shows is not said twice.
function drawFacts(pair) {
  const status = element("strong", { accept: "Nothing against it.", review: "Look at it:", reject: "Not fit to be asked:" }[pair.check] || "Not checked.", { accept: "good", reject: "bad" }[pair.check] || "");
  const facts = [status, ...pair.reasons.slice(0, REASONS_SHOWN)];
  if (pair.reasons.length > REASONS_SHOWN) facts.push(folded(`and ${many(pair.reasons.length - REASONS_SHOWN, "reason")} more`, pair.reasons.slice(REASONS_SHOWN)));
  for (const [name, value] of Object.entries(pair.facts)) {
    if (name === "support" && typeof value === "number" && value <= 1) facts.push(`${Math.round(value * 100)} % of the answer's words stand in its document`);
    else if (PROBES[name] && value && typeof value === "object") facts.push(...PROBES[name](value));
    else if (!hasDocuments || !["also_in", "twins"].includes(name)) facts.push(`${name}: ${plain(value)}`);
  }
  list($("facts"), facts);
}

// What the check asked a model, in words.
const REASONS_SHOWN = 3;
const PROBES = {
  closed_book: ({ model, known, answer }) => [`Asked without the document, ${model || "the model"} ${known ? "knows it" : "does not know it"}: “${answer || ""}”`],
  checker: ({ model, documents }) => (Array.isArray(documents) ? documents : []).map(({ document: name, answer }) => `${model || "The checker"} ${answer === null ? "finds no answer" : `finds “${answer}”`} in ${oneLine(String(name))}`),
};

function folded(line, items) {
  const details = document.createElement("details");
  const more = document.createElement("ul");
  list(more, items);
  details.append(element("summary", line), more);
  return details;
}

function plain(value) {
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.map(oneLine).join("; ") || "none";
  // A table of the file's own, as words.
  if (value && typeof value === "object") return Object.entries(value).map(([name, each]) => (Array.isArray(value) ? plain(each) : `${name} ${plain(each)}`)).join(", ") || "none";
  const text = String(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

function drawOpinions(pair) {
  const lines = [];
  const earlier = pair.earlier;
  if (earlier) lines.push(`In the file: ${earlier.status} by ${earlier.by || "?"}${earlier.reason ? `: ${earlier.reason}` : ""}`);
  for (const each of said(pair.key)) {
    if (each.by === by && !each.stale) {
      if (each.reason) lines.push(`You rejected it: ${each.reason}`);
      continue;
    }
    const who = each.by === by ? "You" : each.by;
    const part = document.createElement("div");
    const when = each.stale ? ", before the file changed" : "";
    part.append(`${who} (${each.at.slice(0, 16).replace("T", " ")}${when}): ${verdictOf(each)}${each.reason ? `: ${each.reason}` : ""}`);
    if (each.pair) {
      const changed = ["question", "answers", "document", "supporting"].filter((name) => String(each.pair[name]) !== String(pair[name]));
      for (const name of changed) part.append(element("div", `${name}: ${[each.pair[name]].flat().join(" / ")}`, "text"));
      part.append(button("Take this wording", () => decide("accept", { pair: each.pair })));
    }
    lines.push(part);
  }
  $("others").hidden = !lines.length;
  list($("opinions"), lines);
}
