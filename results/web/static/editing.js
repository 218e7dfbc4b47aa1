"use strict";
// What both kinds of files share in the editor: small helpers, who is at work, and the document with its search.

const $ = (id) => document.getElementById(id);
const element = (name, text = "", className = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
};
const button = (text, work, className = "") => {
  const made = element("button", text, className);
  made.type = "button";
  made.addEventListener("click", work);
  return made;
};
const oneLine = (text) => text.trim().replace(/\s+/g, " ");
const many = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
const list = (place, items) => place.replaceChildren(...items.map((item) => {
  const row = document.createElement("li");
  row.append(...[item].flat());
  return row;
}));
const get = async (path, words = {}) => {
  let answer;
  try {
    answer = await fetch(`${path}?${new URLSearchParams(words)}`);
  } catch {
    throw new Error("the server does not answer; start needlework serve again");
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error || `the server answers ${answer.status}`);
  return told;
};

// Who edits: asked once, known on all pages of this browser.
const person = {
  get name() { return localStorage.getItem("needlework-person") || ""; },
  set name(name) { localStorage.setItem("needlework-person", name); },
};

// The document beside the pairs: its text, and a search in it.
class Reading {
  constructor() {
    this.long = new LongText($("document"));
    let pause = 0;
    $("words").addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.search(), 150);
    });
    $("words").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      clearTimeout(pause);
      if ($("words").value === $("words").sought) this.go(event.shiftKey ? -1 : 1);
      else this.search();
    });
    $("before").addEventListener("click", () => this.go(-1));
    $("after").addEventListener("click", () => this.go(1));
  }

  show(text) {
    this.long.show(text);
    $("words").value = $("words").sought = "";
    this.count();
  }

  search() {
    $("words").sought = $("words").value;
    if (this.long.find($("words").value)) this.long.go(1);
    this.count();
  }

  count() {
    const [at, count] = [this.long.current + 1, this.long.matches.length].map((number) => number.toLocaleString("en"));
    $("found").textContent = !$("words").value.trim() ? "" : this.long.matches.length ? `${at} of ${count}` : "not found";
  }

  // To the next match (1) or the one before (-1); outside a field it is selected too, to be quoted.
  go(step) {
    this.long.go(step);
    this.count();
    const range = this.long.currentRange();
    if (!range || document.activeElement.closest("input, textarea")) return;
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
}
