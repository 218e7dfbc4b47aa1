"use strict";
// One row: its document, its pairs, and keeping what is entered.

const PAUSE = 700; // milliseconds without a key until what was typed is kept
const AGAIN = 4000; // milliseconds until what could not be kept is tried again
const desk = $("desk");
const place = Number(desk.dataset.place);
const tab = crypto.randomUUID();
const pairs = new Pairs($("pairs"), changed);
let row = null; // as the server told it
let revision = 0;
let state = "untouched";
let kept = ""; // what the server has
let keptLine = "";
let timer = 0;
let queue = Promise.resolve(true);
let following = null;
let taken = ""; // the row, as it was before the file changed, whose work is taken over

const now = () => JSON.stringify([state, pairs.get()]);

function changed() {
  if (!row) return;
  $("undo").disabled = !pairs.deleted.length;
  clearTimeout(timer);
  if (now() === kept) {
    $("kept").textContent = keptLine;
    return;
  }
  if (state === "untouched") state = "begun";
  showState();
  $("kept").textContent = "…";
  timer = setTimeout(() => keep("draft"), PAUSE);
}

function showState() {
  $("state").textContent = state === "untouched" ? "" : state;
  $("state").className = `state ${state}`;
  $("done").setAttribute("aria-pressed", String(state === "done"));
}

// Keeps what is entered; one at a time, in order. Gives whether it is kept as the newest.
function keep(what, last = false) {
  clearTimeout(timer);
  queue = queue.then(() => keepNow(what, last));
  return queue;
}

async function keepNow(what, last) {
  const sent = now();
  if (!row || row.problem || (sent === kept && what === "draft")) return true;
  if (state === "untouched") return true; // nothing was changed
  const body = { row: row.key, place, base: revision, state, pairs: pairs.get(), person: $("person").value, tab, what };
  if (taken) body.taken = taken;
  let told;
  try {
    told = await send("../keep", body, last);
  } catch (error) {
    $("kept").textContent = "not kept";
    timer = setTimeout(() => keep("draft"), AGAIN);
    notice(error.message, true);
    return false;
  }
  if (!told.kept) return overtaken(told.work);
  revision = told.work.revision;
  kept = sent;
  taken = "";
  following = told.following;
  keptLine = `kept ${new Date(told.work.at).toLocaleTimeString()}`;
  $("kept").textContent = now() === kept ? keptLine : "…";
  if ($("notice").classList.contains("bad")) notice("");
  if (!told.here) tell("gone", "The file changed on disk: this row is no longer in it as it was. What you enter is kept all the same.", [["Load the file's rows", () => { location.href = $("back").href; }]]);
  return true;
}

// Somebody else, or another tab, changed the row since it was read here.
function overtaken(work) {
  const who = work.person || "Somebody without a name";
  $("kept").textContent = "kept in the history alone";
  notice("Not the newest: somebody changed this row meanwhile.", true);
  tell("overtaken", `${who} changed this row meanwhile (${new Date(work.at).toLocaleString()}), here or in another tab. What you entered is in its history, and still stands below.`, [
    ["Show theirs", () => { fill(work); untell("overtaken"); notice(""); }],
    ["Keep mine as the newest", () => { revision = work.revision; untell("overtaken"); keep("saved"); }],
  ]);
  return false;
}

// Puts a line with buttons above the pairs. `name`: what it is about; the last one of that name is replaced.
function tell(name, line, buttons = [], bad = true) {
  if ($(`told-${name}`)?.firstChild.data === line) return;
  untell(name);
  const box = document.createElement("div");
  box.className = bad ? "told bad" : "told";
  box.id = `told-${name}`;
  box.setAttribute("role", "alert");
  box.append(line);
  if (buttons.length) box.append(document.createElement("br"));
  for (const [face, act] of buttons) {
    box.append(button(face, act));
  }
  $("told").append(box);
}

function untell(name) {
  $(`told-${name}`)?.remove();
}

// Shows a row's newest work; without any, the file's own pairs.
function fill(work) {
  const worked = work && work.state !== "untouched";
  revision = work ? work.revision : 0;
  state = worked ? work.state : "untouched";
  pairs.show(worked ? work.pairs : row.source);
  kept = now();
  $("undo").disabled = true;
  keptLine = worked ? `kept ${new Date(work.at).toLocaleString()}${work.person ? ` by ${work.person}` : ""}` : "";
  $("kept").textContent = keptLine;
  showState();
}

function use(edited, what) {
  pairs.show(edited);
  if (state === "untouched") state = "begun";
  showState();
  return keep(what);
}

async function load() {
  row = await get("content");
  reading.show(row.document || "");
  if (!row.document) $("document").textContent = "This row has no document: no text in input, text, content, context or document.";
  if (row.problem) {
    tell("problem", `This line ${row.problem}. It is shown and exported as it is.`);
    for (const id of ["add", "save", "done", "quote"]) $(id).disabled = true;
  } else fill(row.work);
  if (row.counts[0] !== row.counts[1] && state === "untouched") tell("uneven", `The file has ${row.counts[0]} instructions and ${row.counts[1]} outputs; what is missing is blank here.`);
  if (row.parallel.length) tell("parallel", `${row.parallel.join(", ")}: as many entries as there are pairs. They are kept as they are, in their order: adding, deleting or moving pairs does not touch them.`, [], false);
  for (const work of row.earlier) {
    const name = `earlier-${work.row}`;
    tell(name, `The row that stood here changed on disk after ${work.person || "somebody"} worked on it (${new Date(work.at).toLocaleString()}, ${work.pairs.length} pairs). That work is kept.`, [
      ["Take it over into this row", () => { taken = work.row; untell(name); use(work.pairs, "restored"); }],
    ]);
  }
  $("others").hidden = !row.others.length;
  $("others").querySelector("dl").replaceChildren(...row.others.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));
  document.body.dataset.ready = "yes";
}

async function done() {
  if (!row || row.problem) return false;
  state = "done";
  showState();
  return keep("saved");
}

$("add").addEventListener("click", () => pairs.add());
$("undo").addEventListener("click", () => pairs.undo());
$("save").addEventListener("click", () => keep("saved"));
$("done").addEventListener("click", () => {
  if (state !== "done") return done();
  state = "begun";
  showState();
  return keep("saved");
});
$("pairs").addEventListener("focusout", () => { if (row && now() !== kept) keep("draft"); });

// History.
$("history").addEventListener("click", async () => {
  if (!row) return;
  await keep("draft");
  try {
    const told = await get("history", { key: row.key });
    const file = { what: "as in the file", person: "", pairs: row.source };
    $("entries").replaceChildren(...[...told, file].map(entry));
    $("past").showModal();
  } catch (error) {
    notice(error.message, true);
  }
});

function entry({ what, state: then, person, at, pairs: edited }) {
  const item = document.createElement("li");
  const line = element("div", [what, at && new Date(at).toLocaleString(), person, then, `${edited.length} ${edited.length === 1 ? "pair" : "pairs"}`].filter(Boolean).join(", "));
  const details = document.createElement("details");
  details.append(element("summary", "Show"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    for (const pair of edited) {
      details.append(...pair.map((text) => element("pre", text)));
    }
  });
  const restore = button("Restore", () => {
    $("past").close();
    use(edited, "restored");
  });
  restore.disabled = Boolean(row.problem);
  item.append(line, restore, details);
  return item;
}

// Keys.
const turn = (id) => $(id)?.click();
for (const link of document.querySelectorAll("a[href]")) {
  link.addEventListener("click", async (event) => {
    if (!row || row.problem || now() === kept || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (await keep("draft")) location.href = link.href;
  });
}
async function doneAndOn() {
  if (!(await done())) return;
  if (following === null) notice("All rows are done.");
  else location.href = `../${following}/`;
}
const page = {
  step: (by) => pairs.step(by),
  undo: () => pairs.undo(),
  accept: doneAndOn,
  edit: () => fieldsOf(pairs.used())[0].focus(),
  quote: (text) => { if (row && !row.problem) quoteInto(pairs.used(), text); },
};
Object.assign(KEYS, {
  "+": () => turn("add"),
  "[": () => turn("previous"),
  "]": () => turn("next"),
  "Ctrl+s": () => keep("saved"),
  "Alt+ArrowUp": () => moveUsed(-1),
  "Alt+ArrowDown": () => moveUsed(1),
});
const moveUsed = (step) => { if (pairs.list.contains(document.activeElement)) pairs.move(pairs.current, step); };

document.addEventListener("keydown", (event) => {
  if ($("past").open || $("ask").open) return;
  if (event.key === "Escape" && fieldAt(event)) leave(event);
  else press(event);
});

// Nothing that was typed is left behind.
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden" && row && now() !== kept) keep("draft", true); });
addEventListener("beforeunload", (event) => {
  if (!row || row.problem || now() === kept) return;
  keep("draft", true);
  event.preventDefault();
});
load().catch((error) => notice(`could not be read: ${error.message}`, true));
