"use strict";
// A pair's document with the places of its answer, its search, and other documents that might answer.

const ASK_AGAIN_MS = 1000;
let openable = []; // documents that the keys 1 to 9 open
let opening = 0; // turns: what comes late is dropped
let comparing = 0;
let opened = null; // number of another document that is open

async function openDocument(which) {
  if (!hasDocuments) return;
  const turn = ++opening;
  const words = { key: pairs[current].key, by, ...(which === null ? {} : { number: which }) };
  const late = setTimeout(() => { if (turn === opening) $("places").textContent = "reading…"; }, 150);
  let shownText = false;
  try {
    const told = await get("document", words);
    if (turn !== opening) return;
    $("document-name").textContent = oneLine(told.name);
    $("back").hidden = which === null;
    opened = which;
    markOpened();
    reading.show(told.text);
    shownText = true;
    const found = await get("places", words);
    if (turn !== opening) return;
    long.mark(found.places, found.literal ? "literal" : "nearest");
    $("place-before").disabled = $("place-next").disabled = !found.places.length;
    drawPlaces(found, long.goPlace(1));
  } catch (problem) {
    if (turn !== opening) return;
    if (!shownText) $("document-name").textContent = oneLine(pairs[current].document) || "(no document)";
    $("places").textContent = problem.message;
    $("places").className = "bad";
    if (!shownText) long.show("");
  } finally {
    clearTimeout(late);
  }
}

function markOpened() {
  for (const each of $("competitors").querySelectorAll("button")) {
    if (Number(each.dataset.number) === opened && opened !== null) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

let lastFound = null;
function drawPlaces(found, at) {
  lastFound = found;
  const count = many(found.places.length, "place");
  $("places").className = found.literal ? "good" : "soft";
  if (found.literal) $("places").textContent = `${found.more ? "more than " : ""}${count} with the answer${found.places.length > 1 ? `, no. ${at + 1}` : ""}`;
  else if (found.places.length) $("places").textContent = `nearest passage: ${Math.round(found.recall * 100)} % of the answer's words`;
  else $("places").textContent = "no word of the answer is here";
}

function stepPlace(step) {
  const at = long.goPlace(step);
  if (at >= 0) drawPlaces(lastFound, at);
}

async function findCompetitors() {
  if (!hasDocuments) return;
  const key = pairs[current].key;
  const turn = ++comparing;
  openable = [];
  $("competing").hidden = false;
  $("competitors").replaceChildren();
  $("competing-state").textContent = "looking…";
  for (;;) {
    let told;
    try {
      told = await get("competitors", { key, by });
    } catch (problem) {
      if (turn === comparing) $("competing-state").textContent = problem.message;
      return;
    }
    if (turn !== comparing) return;
    if (told.ready) drawCompetitors(told);
    else $("competing-state").textContent = "the documents' words are being counted (once a start)…";
    if (told.ready && told.twins) return;
    await new Promise((again) => setTimeout(again, ASK_AGAIN_MS));
    if (turn !== comparing) return;
  }
}

function drawCompetitors(told) {
  const why = {
    check: "named by the check",
    answer: "says the answer",
    like: "like the question",
  };
  const twins = (told.twins || []).map((each) => ({ ...each, about: "twin of the answer document" }));
  const supporting = told.supporting.map((each) => ({ ...each, about: "supporting" }));
  const listed = told.listed.map((each) => ({
    ...each,
    about: `${why[each.why]}${each.shared ? `; ${each.shared} of ${each.words} words of the question` : ""}`,
  }));
  openable = [...supporting, ...listed, ...twins];
  const others = told.holders ? `${many(told.holders, "other document")} ${told.holders === 1 ? "says" : "say"} the answer in the same words` : "no other document says the answer in the same words";
  $("competing-state").textContent = told.twins ? others : `${others}; twins are still being looked for`;
  list($("competitors"), openable.map((each, at) => {
    const open = button(oneLine(each.name), () => openDocument(each.number), "link");
    open.dataset.number = each.number;
    return [element(at < 9 ? "kbd" : "span", at < 9 ? String(at + 1) : ""), open, element("div", each.about, "soft")];
  }));
  markOpened();
}

$("place-next").addEventListener("click", () => stepPlace(1));
$("place-before").addEventListener("click", () => stepPlace(-1));
$("back").addEventListener("click", () => openDocument(null));
