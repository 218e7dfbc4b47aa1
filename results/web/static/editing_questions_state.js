"use strict";
// Review of questions: the pairs, what reviewers say of them, and what all parts of the page use.

const $ = (id) => document.getElementById(id);
const hasDocuments = $("reviewing").dataset.documents === "yes";
const asked = new URLSearchParams(location.search);
const by = (asked.get("by") || "").trim().replace(/\s+/g, " ");

let pairs = []; // as the file has them
let states = {}; // key: what reviewers say
let number = 0; // of the last thing said that this page knows
let digest = ""; // of the file
let current = -1;
let queue = Promise.resolve(); // changes are sent one after another
const pending = new Set();
const unkept = new Map(); // key: why its decision was not kept
const indexes = new Map(); // of the pairs by key

const get = async (path, words) => {
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
const say = (line, problem = false) => {
  if (unkept.size && !problem) {
    line = [...unkept].map(([key, why]) => `pair ${key}: ${why}`).join("; ");
    problem = true;
  }
  notice(line, problem);
};

// What is decided

const said = (key) => (states[key] ? states[key].opinions : []);
const mineOf = (key) => said(key).find((each) => each.by === by && !each.stale);
const wording = (pair) => (mineOf(pair.key) || {}).pair || pair;
const verdictOf = (opinion) => (opinion.status === "reject" ? "rejected" : opinion.pair ? "edited" : "accepted");
const standing = (pair) => {
  const mine = mineOf(pair.key);
  if (mine) return verdictOf(mine);
  return pair.earlier ? (pair.earlier.status === "reject" ? "rejected before" : "accepted before") : "undecided";
};
const isUndecided = (pair) => standing(pair) === "undecided" && !pending.has(pair.key);
const SIGNS = { accepted: "✓", edited: "✎", rejected: "✗", undecided: "○", "accepted before": "✓", "rejected before": "✗" };
const FILTERS = {
  all: () => true,
  undecided: isUndecided,
  review: (pair) => pair.check === "review",
  reject: (pair) => pair.check === "reject",
  accept: (pair) => pair.check === "accept",
  accepted: (pair) => standing(pair) === "accepted",
  edited: (pair) => standing(pair) === "edited",
  rejected: (pair) => standing(pair) === "rejected",
  disagree: (pair) => Boolean(states[pair.key] && states[pair.key].disagree),
  stale: (pair) => said(pair.key).some((each) => each.stale),
};
