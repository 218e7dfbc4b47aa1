"use strict";
// Keys, and the start.

const LOOK_AGAIN_MS = 15000;

const page = {
  step,
  undo,
  place: stepPlace,
  edit: openEdit,
  accept: () => ($("edit").hidden ? decideAndGoOn("accept") : saveEdit()),
  quote: quoteAnswer,
};
Object.assign(KEYS, {
  r: openReject,
  f: () => $("find").focus(),
  0: () => openDocument(null),
  PageDown: () => long.place.scrollBy(0, long.place.clientHeight * 0.9),
  PageUp: () => long.place.scrollBy(0, -long.place.clientHeight * 0.9),
});

// `later`: its turn has come.
function onKey(event, later = false) {
  if (current < 0 || event.altKey || event.isComposing) return undefined;
  const bare = !event.ctrlKey && !event.metaKey && !fieldAt(event);
  if (turn && !later && bare && event.key.length === 1) {
    event.preventDefault();
    return inTurn(() => onKey(event, true));
  }
  const inForm = event.target.closest("#edit, #reject");
  if (event.key === "Escape") {
    if (!inForm && fieldAt(event)) leave(event);
    else if (isTyping() && !leaving) say("press Esc once more to drop what you typed", leaving = true);
    else closeForms();
    return undefined;
  }
  leaving = false;
  const digit = bare && /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
  if (bare && !$("reject").hidden) return REASONS[digit - 1] && reject(REASONS[digit - 1]);
  if (bare && event.key === "Enter") {
    const row = event.target.closest("#rows button");
    if (event.target.closest("button, summary, a") && !(row && row.hasAttribute("aria-current"))) return undefined;
    event.preventDefault();
    return nextUndecided();
  }
  if (digit) return openable[digit - 1] && openDocument(openable[digit - 1].number);
  return bare && !$("edit").hidden && !"/npq".includes(event.key) ? undefined : press(event);
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

function begin() {
  by = person.name;
  if (!by) return $("ask").showModal();
  listen();
  return load().then(() => { document.body.dataset.ready = "yes"; say(`you are ${by}`); }).catch((problem) => say(problem.message, true));
}

$("person").addEventListener("change", () => { location.search = `?${asked}`; });
if (person.name) begin();
else {
  $("ask").addEventListener("close", begin);
  get("pairs").then((told) => $("people").replaceChildren(...told.reviewers.map((name) => new Option(name)))).catch((problem) => say(problem.message, true));
}
