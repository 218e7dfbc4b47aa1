"use strict";
// What both kinds of files share in the editor: small helpers, and who is at work.

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

// Who edits: asked once, known on all pages of this browser; an address may name somebody else (`?by=`).
const asked = new URLSearchParams(location.search);
const person = {
  get name() { return oneLine(asked.get("by") || localStorage.getItem("needlework-person") || ""); },
  set name(name) { asked.delete("by"); localStorage.setItem("needlework-person", name); },
};
if ($("person")) {
  $("person").value = person.name;
  $("person").addEventListener("input", () => { person.name = $("person").value; });
  $("who").addEventListener("submit", (event) => {
    event.preventDefault();
    person.name = $("person").value = oneLine($("name").value);
    if (person.name) $("ask").close();
  });
  if (!person.name) $("ask").showModal();
}
