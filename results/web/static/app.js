"use strict";
// Pages work without this script. With it, nothing typed is lost when it cannot be saved, and keys do what buttons do.

const wide = matchMedia("(min-width: 1001px)");
let unsaved = false;
let lastQuoted = null;

// One line at the top of the page.
function notice(line, problem = false) {
  const field = document.getElementById("notice");
  field.textContent = line;
  field.classList.toggle("bad", problem);
}

// Sends a form without leaving the page; shows what the server answers: the work anew, or the next page.
async function save(form, button) {
  let answer, page;
  try {
    answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, button)) });
    page = await answer.text();
  } catch {
    notice("not saved: the server does not answer; start needlework serve again", true);
    return;
  }
  if (!answer.ok) {
    notice(`not saved: ${page}`, true);
    return;
  }
  unsaved = false;
  const next = new DOMParser().parseFromString(page, "text/html");
  const source = (from) => from.getElementById("document")?.dataset.source;
  const same = answer.url.split("?")[0] === location.href.split(/[?#]/)[0] && source(next) === source(document);
  if (!next.getElementById("work") || !same || next.title !== document.title) {
    location.assign(answer.url);
    return;
  }
  document.getElementById("work").replaceWith(document.adoptNode(next.getElementById("work")));
  history.replaceState(null, "", answer.url);
  showScriptParts();
  const chosen = document.querySelector("#work .chosen") ?? document.querySelector("#work h1");
  chosen.tabIndex = -1;
  chosen.focus({ preventScroll: true });
  chosen.scrollIntoView({ block: "nearest" });
  notice("saved");
}

// Fills an element with what is at an address: a document, or a list of documents.
async function load(element, address) {
  try {
    const answer = await fetch(address);
    const text = await answer.text();
    if (answer.ok) element.innerHTML = text; // escaped by the server
    else element.textContent = text;
  } catch {
    element.textContent = "the server does not answer; start needlework serve again";
  }
  if (element.id !== "document") return;
  markAnswers(element);
  const marks = element.querySelectorAll("mark");
  document.getElementById("next-mark").hidden = !marks.length;
  if (marks.length && wide.matches) marks[0].scrollIntoView({ block: "center" });
}

// Marks the answers that the server names in a document: where it says them, else the passage that is nearest.
function markAnswers(element) {
  const answers = [...element.querySelectorAll("data")].map((each) => each.value).sort((a, b) => b.length - a.length);
  const pattern = answers.map(patternOf).filter(Boolean).join("|");
  let count = 0;
  for (const block of pattern ? element.querySelectorAll(".block") : []) count += markPlaces(block, new RegExp(pattern, "giu"));
  const line = element.querySelector("p.soft");
  if (!line || !answers.length) return;
  if (count) line.append(`· the answer stands in it${count > 1 ? ` ${count} times` : ""}`);
  else line.append(markNearest(element, answers[0]) ? "· marked: the nearest passage" : "· the answer does not stand in it");
}

// A pattern of whole words, whatever the quotes, the spaces, and the commas in numbers.
function patternOf(answer) {
  const unspaced = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
  const word = (character) => new RegExp(`[\\p{L}\\p{N}_]`, "u").test(character) && !new RegExp(`[${unspaced}]`, "u").test(character);
  const text = answer.replace(/^[\s.,;:!?。，；：！？、…"'“”‘’]+|[\s.,;:!?。，；：！？、…"'“”‘’]+$/gu, "");
  if (!text) return "";
  const pieces = [...text].map((character, at, all) => {
    if (/\s/.test(character)) return /\s/.test(all[at - 1]) ? "" : "\\s+";
    const before = all[at - 1] ?? "";
    const gap = /\d/.test(character) && /\d/.test(before) ? "[,'_\\u2009\\u202f]?" : new RegExp(`^[${unspaced}]{2}$`, "u").test(before + character) ? "\\s*" : "";
    const alike = ["'‘’", '"“”„«»', "-‐‑–—−"].find((each) => each.includes(character));
    return gap + (alike ? `[${alike.replace("-", "\\-")}]` : character.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  });
  const head = word([...text][0]) ? "(?<![\\p{L}\\p{N}_])" : "";
  const tail = word([...text].at(-1)) ? "(?![\\p{L}\\p{N}_])" : "";
  return head + pieces.join("") + tail;
}

function markPlaces(block, pattern) {
  const text = block.textContent;
  const places = [...text.matchAll(pattern)].filter((match) => match[0]);
  if (places.length) block.replaceChildren();
  let end = 0;
  for (const place of places) {
    const mark = document.createElement("mark");
    mark.textContent = place[0];
    block.append(text.slice(end, place.index), mark);
    end = place.index + place[0].length;
  }
  if (places.length) block.append(text.slice(end));
  return places.length;
}

// Marks the sentence that has most words of an answer, where it has half of them.
function markNearest(element, answer) {
  const words = (text) => text.toLowerCase().match(/[\p{Script=Han}]|[\p{L}\p{N}]{3,}/gu) ?? [];
  const wanted = new Set(words(answer));
  let best = { shared: (wanted.size - 1) / 2 };
  for (const block of wanted.size ? element.querySelectorAll(".block") : []) {
    for (const match of block.textContent.matchAll(/[^.!?。！？\n]+[.!?。！？]?/gu)) {
      const shared = new Set(words(match[0]).filter((word) => wanted.has(word))).size;
      if (shared > best.shared) best = { shared, block, match };
    }
  }
  if (!best.block) return false;
  const range = document.createRange();
  range.setStart(best.block.firstChild, best.match.index);
  range.setEnd(best.block.firstChild, best.match.index + best.match[0].length);
  range.surroundContents(document.createElement("mark"));
  return true;
}

function showNextMark() {
  const marks = [...document.querySelectorAll("#document mark")];
  const next = marks[(marks.findIndex((mark) => mark.classList.contains("current")) + 1) % marks.length];
  marks.forEach((mark) => mark.classList.toggle("current", mark === next));
  next?.scrollIntoView({ block: "center" });
}

function quoteSelection() {
  const selection = getSelection();
  const text = selection.toString().trim();
  const fields = document.querySelectorAll("#work .quoted");
  const field = lastQuoted?.isConnected ? lastQuoted : fields[fields.length - 1];
  if (!text || !document.getElementById("document").contains(selection.anchorNode)) {
    notice("select a part of the document first", true);
    return;
  }
  field.value = text;
  unsaved = true;
  field.focus();
}

function addPair() {
  const pairs = document.getElementById("pairs");
  const pair = pairs.lastElementChild.cloneNode(true);
  pair.querySelectorAll("textarea").forEach((field) => { field.value = ""; delete field.dataset.key; });
  pairs.append(pair);
  pair.querySelector("textarea").focus();
}

function changePair(button) {
  const pair = button.closest(".pair");
  unsaved = true;
  if (button.dataset.do === "up") pair.previousElementSibling?.before(pair);
  else if (pair.parentElement.children.length > 1) pair.remove();
  else pair.querySelectorAll("textarea").forEach((field) => { field.value = ""; });
}

function showScriptParts() {
  document.querySelectorAll(".script").forEach((element) => { element.hidden = false; });
}

addEventListener("submit", (event) => {
  if (event.target.method !== "post" || !event.target.closest("main") || event.target.action.endsWith("/name")) return;
  event.preventDefault();
  save(event.target, event.submitter);
});

addEventListener("click", (event) => {
  const target = event.target.closest("button, a");
  if (target?.id === "next-mark") showNextMark();
  if (target?.id === "quote") quoteSelection();
  if (target?.id === "add") addPair();
  if (target?.dataset.do) changePair(target);
  if (target?.dataset.load) {
    event.preventDefault();
    load(document.getElementById(target.dataset.load), target.href);
  }
});

addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  if (field && event.key === "Escape") field.blur();
  if (field && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    field.form.querySelector('[data-key="s"], [data-key="a"]')?.click();
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target || target.hidden) return;
  event.preventDefault();
  if (target.matches("input, textarea")) target.focus();
  else target.click();
});

addEventListener("input", (event) => {
  if (event.target.form?.method === "post" && event.target.closest("main")) unsaved = true;
});
addEventListener("focusin", (event) => {
  if (event.target.matches(".quoted")) lastQuoted = event.target;
});
addEventListener("beforeunload", (event) => {
  if (unsaved && document.getElementById("work")) event.preventDefault();
});

showScriptParts();
document.querySelectorAll("[data-source]").forEach((element) => load(element, element.dataset.source));
