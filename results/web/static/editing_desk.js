"use strict";
// A document and its pairs beside each other: the keys that all such pages have, and folding in a narrow window.

const reading = new Reading($("document"));
const long = reading.long;

// What keys do; a page adds its own, and `page` says how it steps, quotes and takes back.
const KEYS = {
  "/": () => { fold(false); reading.words.focus(); reading.words.select(); },
  n: () => goOn(1),
  p: () => goOn(-1),
  q: () => quote(),
  j: () => page.step(1),
  k: () => page.step(-1),
  u: () => page.undo(),
  e: () => page.edit(),
  a: () => page.accept(),
  "Ctrl+Enter": () => page.accept(),
  "?": () => { $("keys").open = !$("keys").open; $("keys").scrollIntoView({ block: "nearest" }); },
};

const named = (event) => `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${event.key}`;
const fieldAt = (event) => event.target.closest("input, textarea, select");

// Does what a key says; single keys are letters where one types.
function press(event) {
  const name = named(event);
  if ((fieldAt(event) && !/^(Ctrl|Alt)\+/.test(name)) || !Object.hasOwn(KEYS, name)) return undefined;
  event.preventDefault();
  return KEYS[name]();
}

// Leaves a field, so that single keys work; a match that the search is at is selected, to be quoted.
function leave(event) {
  const field = fieldAt(event);
  event.preventDefault(); // a browser empties a search
  field.blur();
  (field.closest(".pair") || $("document")).focus();
  if (field === reading.words) reading.go(0);
}

// To the next match of the search (1) or the one before (-1); where nothing is sought, to the next marked place.
function goOn(step) {
  if (long.matches.length) reading.go(step);
  else page.place?.(step);
}

function quote() {
  const text = long.selected();
  if (text) page.quote(text);
  else notice("Select a part of the document first, or search for one.");
}
$("quote").addEventListener("click", quote);

// In a narrow window the document is folded, and the pairs come first.
function fold(folded) {
  $("reading").classList.toggle("folded", folded);
  $("fold").setAttribute("aria-expanded", String(!folded));
}
fold(innerWidth <= 980);
$("fold").addEventListener("click", () => fold(!$("reading").classList.contains("folded")));
