"use strict";
// One question after the other. What is pressed or typed is shown as kept when the server has kept it, not before.

const work = document.getElementById("work");
const own = `/rating/of/${work.dataset.annotator}`;
const levels = Number(work.dataset.levels);
const byId = (id) => document.getElementById(id);
const reading = new Reading(byId("pages"));
const longText = reading.long;
const PAUSE_MS = 700; // of typing, after which a comment is kept

let shown = null; // the question as the server told it; its answers also have their elements
let states = [];
let at = 0; // the answer that keys are for
let documentShown = null;
let turn = Promise.resolve(); // changes go one after the other: each says what it replaces
let heading = 0; // the question that is shown, or being loaded
let waiting = null; // while one is loaded: what was pressed meanwhile, which is meant for it

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Showing a question

async function load(place) {
  heading = place;
  waiting ??= [];
  const answer = await fetch(`${own}/items/${place}`)
    .then((reply) => (reply.ok ? reply.json() : null))
    .catch(() => null);
  if (place !== heading) return false; // another one is wanted by now
  const pressed = waiting;
  waiting = null;
  if (!answer) {
    heading = shown?.place ?? 0;
    notice("the server does not answer; start needlework serve again", true);
    return false;
  }
  show(answer);
  pressed.forEach(press);
  return true;
}

function show(answer) {
  const { place } = answer;
  shown = answer;
  states = shown.states;
  history.replaceState(null, "", `#${place + 1}`);
  byId("number").textContent = `Question ${place + 1} of ${states.length}`;
  byId("question").textContent = shown.question;
  byId("references").replaceChildren(
    ...shown.references.map((text) => make("p", { className: "text", textContent: text })),
  );
  byId("reference").hidden = !shown.references.length;
  byId("answers").replaceChildren(...shown.answers.map(card));
  shown.answers.forEach(showMark);
  showItem();
  showFar();
  byId("previous").disabled = place === 0;
  byId("next").disabled = place === states.length - 1;
  byId("reason").value = shown.item.skipped ? shown.item.comment : "";
  showDocument();
  choose(Math.max(0, shown.answers.findIndex((each) => each.rating === null)), false);
  scrollTo(0, 0);
}

function card(answer, index) {
  const text = make("div", { className: "text answer", textContent: answer.text });
  if (!answer.text) text.replaceChildren(make("em", { className: "soft", textContent: "an empty answer" }));
  answer.buttons = Array.from({ length: levels }, (_, level) => {
    const button = make("button", { textContent: level + 1, ariaLabel: `${level + 1} for answer ${answer.label}` });
    button.addEventListener("click", () => rate(index, level + 1));
    return button;
  });
  answer.field = make("textarea", { rows: 1, maxLength: Number(work.dataset.longest), value: answer.comment });
  answer.field.addEventListener("input", () => {
    clearTimeout(answer.pause);
    answer.pause = setTimeout(() => keepComment(index), PAUSE_MS);
  });
  answer.field.addEventListener("blur", () => keepComment(index));
  answer.card = make(
    "section",
    { className: "card", tabIndex: 0, ariaLabel: `answer ${answer.label}` },
    make("h2", { textContent: answer.label }),
    text,
    make("div", { className: "row marks", role: "group", ariaLabel: `rating of answer ${answer.label}` }, ...answer.buttons),
    make("label", { className: "comment" }, make("span", { className: "soft", textContent: "Comment" }), answer.field),
  );
  answer.card.addEventListener("focusin", () => choose(index, false));
  return answer.card;
}

function showMark(answer) {
  answer.buttons.forEach((button, level) => button.setAttribute("aria-pressed", String(answer.rating === level + 1)));
  answer.card.classList.toggle("rated", answer.rating !== null);
}

function showItem() {
  const { skipped, comment } = shown.item;
  byId("skipped").hidden = !skipped;
  if (!skipped) return;
  const back = make("button", { textContent: "Take back" });
  back.addEventListener("click", () => skip(false));
  const why = make("span", { className: "plain", textContent: comment || "no reason given" });
  byId("skipped").replaceChildren(make("b", { textContent: "Skipped: " }), why, " ", back);
}

function showFar() {
  const count = (name) => states.filter((state) => state === name).length;
  const done = count("rated") + count("skipped");
  byId("far").value = done;
  byId("count").textContent = `${done} of ${states.length} done` + (count("skipped") ? `, ${count("skipped")} skipped` : "");
  byId("open").disabled = done === states.length;
  byId("finish").classList.toggle("strong", done === states.length);
  byId("finish").textContent = "I am done";
  delete byId("finish").dataset.sure;
}

async function showDocument() {
  byId("document").hidden = shown.document === null;
  work.classList.toggle("beside", shown.document !== null);
  const wanted = shown.document;
  if (wanted === null || wanted === documentShown || !byId("document").open) return;
  documentShown = wanted;
  longText.show("");
  byId("about").textContent = "Document: being read …";
  const answer = await fetch(wanted)
    .then((reply) => reply.json())
    .catch(() => ({ error: "the server does not answer" }));
  if (wanted !== documentShown) return;
  if (answer.error) {
    documentShown = null;
    byId("about").textContent = `Document: cannot be shown: ${answer.error}`;
    return;
  }
  byId("about").textContent = answer.name === "Document" ? answer.name : `Document: ${answer.name}`;
  longText.show(answer.text);
  if (reading.words.value) reading.search();
}

function choose(index, focus = true) {
  at = index;
  shown.answers.forEach((answer, other) => answer.card.classList.toggle("chosen", other === index));
  if (focus) shown.answers[index]?.card.focus();
}

// Changes. `body`: what is sent when its turn comes, null where there is nothing to keep any more; `take`: what the
// server's answer means for the page, called for a conflict too.

function change(path, body, take) {
  const item = shown;
  const result = turn.then(async () => {
    const sent = body();
    if (!sent) return true;
    try {
      const told = await send(`${own}/${path}`, { place: item.place, ...sent });
      take(told);
      if (told.state) states[item.place] = told.state;
      return true;
    } catch (error) {
      if (error.told?.mark) take(error.told);
      notice(error.message, true);
      return false;
    } finally {
      showFar();
    }
  });
  turn = result;
  return result;
}

// Keeps a rating with the comment as it stands; without `rating` the comment alone.
function say(index, rating) {
  const item = shown;
  const answer = item.answers[index];
  clearTimeout(answer.pause);
  return change(
    "rate",
    () => {
      const comment = answer.field.value;
      if (rating === undefined && comment === answer.comment) return null;
      return { answer: index, rating: rating === undefined ? answer.rating : rating, comment, seen: answer.seen };
    },
    ({ mark, item: whole }) => {
      if (answer.field.value === answer.comment) answer.field.value = mark.comment; // typed nothing since
      Object.assign(answer, { rating: mark.rating, comment: mark.comment, seen: mark.seen });
      item.item = whole;
      if (item === shown) {
        showMark(answer);
        showItem();
      }
    },
  );
}

const allRated = (item) => item.answers.every((each) => each.rating !== null);
const isOpen = (state) => state === "open" || state === "begun";

// After the last answer of a question the next open question comes by itself; what is changed later stays in sight.
async function rate(index, rating) {
  const item = shown;
  const answer = item.answers[index];
  const first = !allRated(item);
  const next = item.answers.findIndex((each, other) => other > index && each.rating === null);
  choose(rating !== null && next >= 0 ? next : index);
  if (!(await say(index, rating))) {
    if (item === shown) choose(index);
    return;
  }
  const last = first && allRated(item) && item === shown && heading === item.place;
  const over = last && !states.some(isOpen);
  notice(rating === null ? `${answer.label}: taken back` : `${answer.label}: ${rating}, kept${over ? "; all questions are done" : ""}`);
  if (last && !over) goOpen();
}

// A comment that is not kept yet stays in its field, whatever happens.
async function keepComment(index) {
  const answer = shown.answers[index];
  if (answer.field.value === answer.comment) return true;
  const kept = await say(index);
  if (kept) notice(`${answer.label}: comment kept`);
  return kept;
}

async function keepAll() {
  if (!shown) return true;
  const kept = await Promise.all(shown.answers.map((_, index) => keepComment(index)));
  await turn;
  return kept.every(Boolean);
}

async function go(place) {
  if (!(place >= 0 && place < states.length)) return;
  heading = place;
  waiting ??= [];
  if (await keepAll()) {
    if (place === heading) await load(place);
  } else if (place === heading) {
    heading = shown.place;
    waiting = null;
  }
}

function goOpen() {
  const after = states.findIndex((state, place) => place > shown.place && isOpen(state));
  const place = after >= 0 ? after : states.findIndex(isOpen);
  if (place >= 0) go(place);
}

async function skip(skipped) {
  const item = shown;
  const reason = skipped ? byId("reason").value : "";
  const kept = await change("skip", () => ({ skipped, reason, seen: item.item.seen }), ({ item: whole }) => {
    item.item = whole;
    if (item === shown) showItem();
  });
  if (!kept) return;
  notice(skipped ? "skipped, kept" : "taken back");
  if (skipped && item === shown && item.place + 1 < states.length) go(item.place + 1);
}

async function undo() {
  if (!(await keepAll())) return;
  try {
    const { place, undone } = await send(`${own}/undo`, {});
    if (!undone) return notice("there is nothing to undo");
    await load(place ?? heading);
    notice(place === null ? "taken back: of an answer that is not in these files" : `taken back, question ${place + 1}`);
  } catch (error) {
    notice(error.message, true);
  }
}

async function finish() {
  const left = states.filter((state) => state === "open" || state === "begun").length;
  const button = byId("finish");
  if (left && !button.dataset.sure) {
    button.dataset.sure = "yes";
    button.textContent = `Done, with ${left} left?`;
    return;
  }
  if (!(await keepAll())) return;
  try {
    await send(`${own}/done`, { done: true });
    location.href = "/rating/results";
  } catch (error) {
    notice(error.message, true);
  }
}

// Keys and buttons

byId("document").open = innerWidth > 1000;
byId("document").addEventListener("toggle", () => { if (shown) showDocument(); });
byId("previous").addEventListener("click", () => go(heading - 1));
byId("next").addEventListener("click", () => go(heading + 1));
byId("open").addEventListener("click", goOpen);
byId("undo").addEventListener("click", undo);
byId("finish").addEventListener("click", finish);
byId("skipping").addEventListener("submit", (event) => {
  event.preventDefault();
  skip(true);
});

const KEYS = {
  n: () => go(heading + 1),
  p: () => go(heading - 1),
  o: goOpen,
  u: undo,
  s: () => byId("reason").focus(),
  c: () => shown.answers[at].field.focus(),
  r: () => byId("reference").toggleAttribute("open"),
  l: () => byId("answers").classList.toggle("below"),
  d: () => { byId("document").open = !byId("document").open; },
  "/": () => { byId("document").open = true; byId("words").focus(); },
  ArrowDown: () => choose((at + 1) % shown.answers.length),
  ArrowUp: () => choose((at + shown.answers.length - 1) % shown.answers.length),
  0: () => rate(at, null),
};

function press(act) {
  if (waiting) waiting.push(act);
  else act();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(shown || waiting)) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") choose(at);
    return;
  }
  const inText = event.target.closest("#pages") && event.key.startsWith("Arrow");
  const level = Number(event.key);
  const act = level >= 1 && level <= levels ? () => rate(at, level) : KEYS[event.key];
  if (!act || inText) return;
  event.preventDefault();
  press(act);
});

addEventListener("beforeunload", (event) => {
  if (shown?.answers.some((answer) => answer.field.value !== answer.comment)) event.preventDefault();
});
addEventListener("hashchange", () => go(Number(location.hash.slice(1)) - 1));

(async () => {
  const wanted = Number(location.hash.slice(1)) - 1;
  if (wanted >= 0 && (await load(wanted))) return;
  if ((await load(0)) && states[0] !== "open" && states[0] !== "begun") goOpen();
})();
