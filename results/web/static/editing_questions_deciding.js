"use strict";
// What a reviewer says: sent one after another, kept or not, taken back.

const lastOfMine = () => {
  let last = null;
  for (const [key, state] of Object.entries(states)) {
    for (const each of state.opinions) if (each.by === by && (!last || each.number > last.number)) last = { ...each, key };
  }
  return last;
};

function take(told) {
  if (!told.states) return;
  Object.assign(states, told.states);
  number = told.number;
  const changed = Object.keys(told.states).filter((key) => indexes.has(key));
  changed.forEach((key) => drawRow(indexes.get(key)));
  if (current >= 0 && changed.includes(pairs[current].key)) drawPair();
  if (changed.length) sift();
  if (told.sha256 !== digest) fileChanged();
}

function fileChanged() {
  if (isTyping()) say("the file has changed on disk: save or cancel the edit, and load the page again", true);
  else load("the file has changed on disk and was read again").catch((problem) => say(problem.message, true));
}

// Sends one decision after another; true when it is kept.
function decide(status, { reason = "", pair } = {}) {
  const index = current;
  const { key, about } = pairs[index];
  const before = wording(pairs[index]);
  pending.add(key);
  unkept.delete(key);
  drawRow(index);
  const work = async () => {
    const mine = mineOf(key);
    const newest = said(key).find((each) => each.by === by);
    const wanted = pair === undefined ? (mine && mine.pair) || null : pair;
    try {
      const told = await send("decide", { by, key, about, status, reason, pair: wanted, seen: newest ? newest.number : 0, since: number });
      pending.delete(key);
      take(told);
      say(`pair ${key}: ${verdictOf(mineOf(key))}, kept`);
      if (pairs[current].key === key && pair !== undefined && wording(pairs[current]) !== before) {
        openDocument(null);
        findCompetitors();
      }
      return true;
    } catch (problem) {
      pending.delete(key);
      if (problem.told && problem.told.states) take(problem.told); // a conflict: what is kept is shown
      else unkept.set(key, problem.message);
      if (indexes.has(key)) drawRow(indexes.get(key));
      say(`pair ${key}: ${problem.message}`, true);
      return false;
    }
  };
  const done = queue.then(work);
  queue = done;
  return done;
}

// Decides, and goes on to the next undecided pair once it is kept.
async function decideAndGoOn(status, more) {
  const index = current;
  const kept = await decide(status, more);
  if (kept && index === current) {
    closeForms();
    onward();
  }
  return kept;
}

// What is pressed while a decision is on its way is meant for the pair that comes after it.
let turn = null;

function inTurn(act) {
  const mine = turn ? turn.then(act) : Promise.resolve(act());
  turn = mine;
  mine.finally(() => { if (turn === mine) turn = null; });
}

function undo() {
  const done = queue.then(async () => {
    const last = lastOfMine();
    if (!last) return say("there is nothing to take back", true);
    try {
      const told = await send("undo", { by, number: last.number, since: number });
      take(told);
      say(`pair ${told.key}: taken back`);
      const index = indexes.get(told.key);
      if (index !== current) choose(index);
      else if (last.pair) {
        openDocument(null);
        findCompetitors();
      }
    } catch (problem) {
      if (problem.told) take(problem.told);
      say(problem.message, true);
    }
  });
  queue = done;
  return done;
}
