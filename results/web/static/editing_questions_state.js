"use strict";
// Review of questions: the pairs, what reviewers say of them, and what all parts of the page use.

const hasDocuments = $("desk").dataset.documents === "yes";
let by = ""; // who reviews

let pairs = []; // as the file has them
let states = {}; // key: what reviewers say
let number = 0; // of the last thing said that this page knows
let digest = ""; // of the file
let current = -1;
let queue = Promise.resolve(); // changes are sent one after another
const pending = new Set();
const unkept = new Map(); // key: why its decision was not kept
const indexes = new Map(); // of the pairs by key

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
