"use strict";
// Keys, and the start.

const LOOK_AGAIN_MS = 15000;

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  a: () => decideAndGoOn("accept"),
  e: openEdit,
  r: openReject,
  u: undo,
  n: () => stepPlace(1),
  p: () => stepPlace(-1),
  f: () => $("find").focus(),
  "/": () => { if (hasDocuments) $("words").focus(); },
  "?": () => { $("keys").open = !$("keys").open; $("keys").scrollIntoView({ block: "nearest" }); },
  0: () => openDocument(null),
  PageDown: () => pane.place.scrollBy(0, pane.place.clientHeight * 0.9),
  PageUp: () => pane.place.scrollBy(0, -pane.place.clientHeight * 0.9),
};

// `later`: its turn has come.
function onKey(event, later = false) {
  if (current < 0 || event.altKey || event.isComposing) return undefined;
  const bare = !event.ctrlKey && !event.metaKey && !event.target.matches("input, textarea, select");
  if (turn && !later && bare && event.key.length === 1) {
    event.preventDefault();
    return inTurn(() => onKey(event, true));
  }
  const inForm = event.target.closest("#edit, #reject");
  if (event.key === "Escape") {
    if (!inForm) event.target.blur();
    else if (isTyping() && !leaving) say("press Esc once more to drop what you typed", leaving = true);
    else closeForms();
    return undefined;
  }
  leaving = false;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !$("edit").hidden) {
    event.preventDefault();
    return saveEdit();
  }
  if (!bare) return undefined;
  const digit = /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
  if (!$("reject").hidden) return REASONS[digit - 1] && reject(REASONS[digit - 1]);
  if (event.key === "Enter") {
    const row = event.target.closest("#rows button");
    if (event.target.closest("button, summary, a") && !(row && row.hasAttribute("aria-current"))) return undefined;
    event.preventDefault();
    return nextUndecided();
  }
  if (inForm) return undefined;
  if (digit) return openable[digit - 1] && openDocument(openable[digit - 1].number);
  if (!Object.hasOwn(KEYS, event.key)) return undefined;
  event.preventDefault();
  return KEYS[event.key]();
}

// Start

async function load(line = "") {
  const told = await get("pairs", { by });
  const key = current >= 0 ? pairs[current].key : asked.get("pair");
  ({ pairs, states, number } = told);
  digest = told.sha256;
  current = -1;
  drawList();
  if (pairs.length) choose(indexes.has(key) ? indexes.get(key) : Math.max(0, pairs.findIndex(isUndecided)));
  else say("the file has no pairs", true);
  if (line) say(line);
  return told;
}

async function lookAgain() {
  if (document.hidden || current < 0) return;
  try {
    take(await get("changes", { by, since: number }));
    const told = $("notice").textContent;
    if (told.startsWith("the server does not answer")) say("the server answers again");
  } catch (problem) {
    say(problem.message, true);
  }
}

function listen() {
  // A click with the mouse leaves the keys free for the next decision.
  document.addEventListener("click", (event) => { if (event.detail && event.target.closest("button")) event.target.closest("button").blur(); });
  document.addEventListener("keydown", (event) => {
    if (turn) onKey(event);
    else inTurn(() => onKey(event));
  });
  document.addEventListener("visibilitychange", lookAgain);
  addEventListener("focus", lookAgain);
  addEventListener("beforeunload", (event) => { if (isTyping() || pending.size) event.preventDefault(); });
  setInterval(lookAgain, LOOK_AGAIN_MS);
}

function askName(reviewers) {
  $("who").hidden = false;
  $("reviewers").replaceChildren(...reviewers.map((name) => {
    const option = document.createElement("option");
    option.value = name;
    return option;
  }));
  $("name").value = person.name;
  $("name").select();
  $("who").addEventListener("submit", (event) => {
    event.preventDefault();
    person.name = oneLine($("name").value);
    asked.set("by", person.name);
    location.search = `?${asked}`;
  });
}

if (!by) {
  get("pairs").then((told) => askName(told.reviewers)).catch((problem) => say(problem.message, true));
} else {
  $("list").hidden = $("pair").hidden = false;
  $("text").hidden = !hasDocuments;
  listen();
  load().then(() => say(`you are ${by}`)).catch((problem) => say(problem.message, true));
}
