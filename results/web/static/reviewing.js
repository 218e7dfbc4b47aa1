"use strict";
// Review of questions: a list of pairs, the pair that is decided on, and its documents.

(() => {
  const REASONS = [
    "the document does not say this",
    "another document answers it too",
    "the question is unclear",
    "the answer is wrong or incomplete",
    "it is known without the document",
  ];
  const LOOK_AGAIN_MS = 15000;
  const ASK_AGAIN_MS = 1000;
  const NEAR = 50; // names that are offered at once
  const PART = 50; // rows, which are passed over together while they are far away
  const SETTLE = 4; // frames in which a chosen row is kept in view

  const $ = (id) => document.getElementById(id);
  const hasDocuments = $("reviewing").dataset.documents === "yes";
  const asked = new URLSearchParams(location.search);
  const by = (asked.get("by") || "").trim().replace(/\s+/g, " ");
  const pane = new LongText($("blocks"));

  let pairs = []; // as the file has them
  let states = {}; // key: what reviewers say
  let number = 0; // of the last thing said that this page knows
  let digest = ""; // of the file
  let current = -1;
  let rows = []; // of the list, by index
  let shown = []; // indexes that the filter shows
  const fits = []; // whether it shows an index
  let openable = []; // documents that the keys 1 to 9 open
  let opening = 0; // turns: what comes late is dropped
  let comparing = 0;
  let opened = null; // number of another document that is open
  let names = null; // of all documents
  let replacing = null;
  let queue = Promise.resolve(); // changes are sent one after another
  const pending = new Set();
  const unkept = new Map(); // key: why its decision was not kept
  const indexes = new Map(); // of the pairs by key
  let leaving = false; // Esc was pressed once in an edit

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

  // The list

  function drawList() {
    indexes.clear();
    pairs.forEach((pair, index) => indexes.set(pair.key, index));
    rows = pairs.map((_, index) => {
      const row = document.createElement("li");
      const inside = document.createElement("button");
      inside.type = "button";
      inside.dataset.index = index;
      inside.append(element("span", "", "mark"), element("span", "", "asked"), element("span", "", "check"));
      row.append(inside);
      return row;
    });
    const parts = [];
    for (let first = 0; first < rows.length; first += PART) {
      const part = document.createElement("ul");
      part.append(...rows.slice(first, first + PART));
      parts.push(part);
    }
    $("rows").replaceChildren(...parts);
    pairs.forEach((_, index) => drawRow(index));
    sift();
  }

  function drawRow(index) {
    const pair = pairs[index];
    const row = rows[index];
    const [mark, question, check] = row.firstChild.children;
    const stands = unkept.has(pair.key) ? "not kept" : pending.has(pair.key) ? "being kept" : standing(pair);
    mark.textContent = unkept.has(pair.key) ? "!" : pending.has(pair.key) ? "…" : SIGNS[stands];
    mark.className = `mark ${stands.startsWith("reject") || unkept.has(pair.key) ? "bad" : stands === "undecided" ? "soft" : "good"}`;
    question.textContent = wording(pair).question || "(no question)";
    const facts = [`${pair.key} · ${stands}`];
    if (pair.check) facts.push(`check: ${pair.check}`);
    if (states[pair.key] && states[pair.key].disagree) facts.push("reviewers disagree");
    if (FILTERS.stale(pair)) facts.push("changed since");
    check.textContent = facts.join(" · ");
  }

  function sift() {
    const filter = FILTERS[$("filter").value];
    const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = [];
    pairs.forEach((pair, index) => {
      const told = wording(pair);
      const text = words.length ? [pair.key, told.question, ...told.answers, told.document].join(" ").toLowerCase() : "";
      const here = filter(pair) && words.every((word) => text.includes(word));
      if (here) shown.push(index);
      fits[index] = here;
      if (rows[index].hidden !== (!here && index !== current)) rows[index].hidden = !here && index !== current;
    });
    for (const part of $("rows").children) part.hidden = ![...part.children].some((row) => !row.hidden);
    const decided = pairs.filter((pair) => standing(pair) !== "undecided").length;
    $("count").textContent = `${decided} of ${many(pairs.length, "pair")} decided · ${shown.length} shown`;
    $("progress").max = pairs.length || 1;
    $("progress").value = decided;
  }

  // The pair

  function choose(index) {
    if (index < 0 || index >= pairs.length) return;
    if (index !== current && isTyping()) {
      say("save the edit, or cancel it, before you go on", true);
      $("edit-question").focus();
      return;
    }
    if (rows[current]) {
      rows[current].firstChild.removeAttribute("aria-current");
      rows[current].hidden = !fits[current]; // what no longer fits the filter goes when one goes on
    }
    current = index;
    rows[index].firstChild.setAttribute("aria-current", "true");
    rows[index].hidden = rows[index].parentElement.hidden = false;
    revealRow(rows[index], SETTLE);
    asked.set("pair", pairs[index].key);
    history.replaceState(null, "", `?${asked}`);
    closeForms();
    drawPair();
    $("pair").scrollTop = 0;
    openDocument(null);
    findCompetitors();
  }

  // Scrolls the list, and nothing around it; rows have their true heights only when they are seen.
  function revealRow(row, frames) {
    if (row !== rows[current]) return;
    const here = row.getBoundingClientRect();
    const place = $("rows").getBoundingClientRect();
    if (here.top < place.top) $("rows").scrollTop += here.top - place.top;
    else if (here.bottom > place.bottom) $("rows").scrollTop += here.bottom - place.bottom;
    if (frames) requestAnimationFrame(() => revealRow(row, frames - 1));
  }

  function drawPair() {
    const pair = pairs[current];
    const told = wording(pair);
    const stands = standing(pair);
    $("title").textContent = `Pair ${pair.key}`;
    $("verdict").textContent = `${SIGNS[stands]} ${stands}`;
    $("verdict").className = stands.startsWith("reject") ? "bad" : stands === "undecided" ? "soft" : "good";
    $("question").textContent = told.question || "(no question)";
    $("answer").textContent = told.answers[0] || "(no answer)";
    $("aliases-part").hidden = told.answers.length < 2;
    list($("aliases"), told.answers.slice(1));
    $("supporting-part").hidden = !told.supporting.length;
    list($("supporting"), told.supporting.map(oneLine));
    $("do-accept").setAttribute("aria-pressed", String(stands === "accepted" || stands === "edited"));
    $("do-reject").setAttribute("aria-pressed", String(stands === "rejected"));
    $("do-undo").disabled = !lastOfMine();
    drawFacts(pair);
    drawOpinions(pair);
  }

  // What the list of other documents shows is not said twice.
  function drawFacts(pair) {
    const status = element("strong", pair.check || "not checked", { accept: "good", reject: "bad" }[pair.check] || "");
    const facts = [status, ...pair.reasons];
    for (const [name, value] of Object.entries(pair.facts)) {
      if (name === "support" && typeof value === "number" && value <= 1) facts.push(`${Math.round(value * 100)} % of the answer's words stand in its document`);
      else if (!hasDocuments || !["also_in", "twins"].includes(name)) facts.push(`${name}: ${plain(value)}`);
    }
    list($("facts"), facts);
  }

  function plain(value) {
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.map(oneLine).join("; ") || "none";
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.length > 400 ? `${text.slice(0, 400)}…` : text;
  }

  function drawOpinions(pair) {
    const lines = [];
    const earlier = pair.earlier;
    if (earlier) lines.push(`In the file: ${earlier.status} by ${earlier.by || "?"}${earlier.reason ? `: ${earlier.reason}` : ""}`);
    for (const each of said(pair.key)) {
      if (each.by === by && !each.stale) {
        if (each.reason) lines.push(`You rejected it: ${each.reason}`);
        continue;
      }
      const who = each.by === by ? "You" : each.by;
      const part = document.createElement("div");
      const when = each.stale ? ", before the file changed" : "";
      part.append(`${who} (${each.at.slice(0, 16).replace("T", " ")}${when}): ${verdictOf(each)}${each.reason ? `: ${each.reason}` : ""}`);
      if (each.pair) {
        const changed = ["question", "answers", "document", "supporting"].filter((name) => String(each.pair[name]) !== String(pair[name]));
        for (const name of changed) part.append(element("div", `${name}: ${[each.pair[name]].flat().join(" / ")}`, "text"));
        part.append(button("Take this wording", () => decide("accept", { pair: each.pair })));
      }
      lines.push(part);
    }
    $("others").hidden = !lines.length;
    list($("opinions"), lines);
  }

  // Documents

  async function openDocument(which) {
    if (!hasDocuments) return;
    const turn = ++opening;
    const words = { key: pairs[current].key, by, ...(which === null ? {} : { number: which }) };
    const late = setTimeout(() => { if (turn === opening) $("places").textContent = "reading…"; }, 150);
    let shownText = false;
    try {
      const told = await get("document", words);
      if (turn !== opening) return;
      $("document-name").textContent = oneLine(told.name);
      $("back").hidden = which === null;
      opened = which;
      markOpened();
      pane.show(told.text);
      $("search").value = "";
      drawFound();
      shownText = true;
      const found = await get("places", words);
      if (turn !== opening) return;
      pane.mark(found.places, found.literal ? "literal" : "nearest");
      $("place-before").disabled = $("place-next").disabled = !found.places.length;
      drawPlaces(found, pane.goPlace(1));
    } catch (problem) {
      if (turn !== opening) return;
      if (!shownText) $("document-name").textContent = oneLine(pairs[current].document) || "(no document)";
      $("places").textContent = problem.message;
      $("places").className = "bad";
      if (!shownText) pane.show("");
    } finally {
      clearTimeout(late);
    }
  }

  function markOpened() {
    for (const each of $("competitors").querySelectorAll("button")) {
      if (Number(each.dataset.number) === opened && opened !== null) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  }

  let lastFound = null;
  function drawPlaces(found, at) {
    lastFound = found;
    const count = many(found.places.length, "place");
    $("places").className = found.literal ? "good" : "soft";
    if (found.literal) $("places").textContent = `${found.more ? "more than " : ""}${count} with the answer${found.places.length > 1 ? `, no. ${at + 1}` : ""}`;
    else if (found.places.length) $("places").textContent = `nearest passage: ${Math.round(found.recall * 100)} % of the answer's words`;
    else $("places").textContent = "no word of the answer is here";
  }

  function stepPlace(step) {
    const at = pane.goPlace(step);
    if (at >= 0) drawPlaces(lastFound, at);
  }

  async function findCompetitors() {
    if (!hasDocuments) return;
    const key = pairs[current].key;
    const turn = ++comparing;
    openable = [];
    $("competing").hidden = false;
    $("competitors").replaceChildren();
    $("competing-state").textContent = "looking…";
    for (;;) {
      let told;
      try {
        told = await get("competitors", { key, by });
      } catch (problem) {
        if (turn === comparing) $("competing-state").textContent = problem.message;
        return;
      }
      if (turn !== comparing) return;
      if (told.ready) drawCompetitors(told);
      else $("competing-state").textContent = "the documents' words are being counted (once a start)…";
      if (told.ready && told.twins) return;
      await new Promise((again) => setTimeout(again, ASK_AGAIN_MS));
      if (turn !== comparing) return;
    }
  }

  function drawCompetitors(told) {
    const why = {
      check: "named by the check",
      answer: "says the answer",
      like: "like the question",
    };
    const twins = (told.twins || []).map((each) => ({ ...each, about: "twin of the answer document" }));
    const supporting = told.supporting.map((each) => ({ ...each, about: "supporting" }));
    const listed = told.listed.map((each) => ({
      ...each,
      about: `${why[each.why]}${each.shared ? `; ${each.shared} of ${each.words} words of the question` : ""}`,
    }));
    openable = [...supporting, ...listed, ...twins];
    const others = told.holders ? `${many(told.holders, "other document")} ${told.holders === 1 ? "says" : "say"} the answer in the same words` : "no other document says the answer in the same words";
    $("competing-state").textContent = told.twins ? others : `${others}; twins are still being looked for`;
    list($("competitors"), openable.map((each, at) => {
      const open = button(oneLine(each.name), () => openDocument(each.number), "link");
      open.dataset.number = each.number;
      return [element(at < 9 ? "kbd" : "span", at < 9 ? String(at + 1) : ""), open, element("div", each.about, "soft")];
    }));
    markOpened();
  }

  function drawFound() {
    const [at, count] = [pane.current + 1, pane.matches.length].map((number) => number.toLocaleString("en"));
    $("found").textContent = pane.words ? (pane.matches.length ? `${at} of ${count}` : "not found") : "";
  }

  // Deciding

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

  function nextUndecided() {
    const after = shown.filter((index) => index > current).concat(shown.filter((index) => index <= current));
    const index = after.find((each) => isUndecided(pairs[each]) && each !== current);
    if (index === undefined) say("no other pair that is shown is undecided");
    else choose(index);
  }

  function step(by) {
    const index = by > 0 ? shown.find((each) => each > current) : shown.findLast((each) => each < current);
    if (index !== undefined) choose(index);
  }

  // Forms

  const FIELDS = ["edit-question", "edit-answer", "edit-aliases", "edit-document", "edit-supporting"];
  const isTyping = () => !$("edit").hidden && FIELDS.some((id) => $(id).value !== $(id).dataset.before);
  const lines = (id) => $(id).value.split("\n").map((line) => line.trim()).filter(Boolean);

  function openEdit() {
    const told = wording(pairs[current]);
    const values = {
      "edit-question": told.question,
      "edit-answer": told.answers[0] || "",
      "edit-aliases": told.answers.slice(1).map(oneLine).join("\n"),
      "edit-document": oneLine(told.document),
      "edit-supporting": told.supporting.map(oneLine).join("\n"),
    };
    closeForms();
    for (const id of FIELDS) {
      $(id).value = values[id];
      $(id).dataset.before = $(id).value;
    }
    $("view").hidden = $("actions").hidden = true;
    $("edit").hidden = false;
    $("edit-question").focus();
    if (hasDocuments && !names) get("names", {}).then((told) => { names = new Map(told.map((name) => [oneLine(name), name])); offerNames(); }).catch((problem) => say(problem.message, true));
  }

  // Fields that were not touched keep what they had, line breaks in names too.
  function edited() {
    const told = wording(pairs[current]);
    const same = (id) => $(id).value === $(id).dataset.before;
    const exact = (name) => (names && names.get(oneLine(name))) || name;
    const answer = same("edit-answer") ? told.answers.slice(0, 1) : [$("edit-answer").value.trim()].filter(Boolean);
    return {
      question: same("edit-question") ? told.question : $("edit-question").value.trim(),
      answers: [...answer, ...(same("edit-aliases") ? told.answers.slice(1) : lines("edit-aliases"))],
      document: same("edit-document") ? told.document : exact($("edit-document").value),
      supporting: same("edit-supporting") ? told.supporting : lines("edit-supporting").map(exact),
    };
  }

  function offerNames() {
    if (!names) return;
    const typed = oneLine($("edit-document").value).toLowerCase();
    const near = [];
    for (const name of names.keys()) {
      if (name.toLowerCase().includes(typed) && near.push(name) === NEAR) break;
    }
    $("names").replaceChildren(...near.map((name) => {
      const option = document.createElement("option");
      option.value = name;
      return option;
    }));
  }

  async function saveEdit() {
    if (await decide("accept", { pair: edited() })) {
      closeForms();
      $("do-next").focus();
    }
  }

  async function reject(reason) {
    if (!reason.trim()) {
      say("say why, or take one of the reasons", true);
      $("reason").focus();
      return;
    }
    const index = current;
    if ((await decide("reject", { reason: reason.trim() })) && index === current) closeForms();
  }

  function openReject() {
    closeForms();
    $("reason").value = "";
    $("reject").hidden = false;
    $("actions").hidden = true;
    $("reasons").firstChild.focus();
  }

  function closeForms() {
    leaving = false;
    $("edit").hidden = $("reject").hidden = true;
    $("view").hidden = $("actions").hidden = false;
    if (document.activeElement && document.activeElement.closest("[hidden]")) document.activeElement.blur();
  }

  // The reviewed file

  async function writeFile(replace) {
    $("write").disabled = true;
    try {
      await queue;
      const told = await send("write", { by, replace });
      replacing = told.exists ? told.sha256 : null;
      $("replace").hidden = !told.exists;
      $("written").hidden = Boolean(told.exists);
      if (told.exists) return say(`${told.exists}: replace it?`, true);
      $("written-line").textContent = `Written: ${told.path}`;
      list($("written-facts"), summary(told));
      $("digest").textContent = told.sha256;
      $("command").textContent = told.command;
      say("the reviewed file is written");
    } catch (problem) {
      say(problem.message, true);
    } finally {
      $("write").disabled = false;
    }
  }

  function summary(told) {
    const { accept = 0, edit = 0, reject: rejected = 0 } = told.decided;
    const facts = [`by you: ${accept} accepted, ${edit} edited, ${rejected} rejected`];
    if (told.earlier) facts.push(`${told.earlier} decided in the file before`);
    const left = Object.entries(told.undecided).map(([status, count]) => `${count} ${status}`);
    if (left.length) facts.push(`undecided, as the check left them: ${left.join(", ")}`);
    facts.push(`reviewers disagree on ${many(told.disagreements, "pair")}${told.disagreements ? "; your decisions count" : ""}`);
    facts.push(...told.problems.map((line) => `a run will refuse ${line}`));
    if (told.more_problems) facts.push(`and ${told.more_problems} more`);
    return facts;
  }

  // Keys

  const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    a: () => decide("accept"),
    e: openEdit,
    r: openReject,
    u: undo,
    n: () => stepPlace(1),
    p: () => stepPlace(-1),
    f: () => $("find").focus(),
    "/": () => { if (hasDocuments) $("search").focus(); },
    "?": () => { $("keys").open = !$("keys").open; $("keys").scrollIntoView({ block: "nearest" }); },
    0: () => openDocument(null),
    PageDown: () => pane.place.scrollBy(0, pane.place.clientHeight * 0.9),
    PageUp: () => pane.place.scrollBy(0, -pane.place.clientHeight * 0.9),
  };

  function onKey(event) {
    if (current < 0 || event.altKey || event.isComposing) return;
    const inForm = event.target.closest("#edit, #reject");
    if (event.key === "Escape") {
      if (!inForm) event.target.blur();
      else if (isTyping() && !leaving) say("press Esc once more to drop what you typed", leaving = true);
      else closeForms();
      return;
    }
    leaving = false;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !$("edit").hidden) {
      event.preventDefault();
      saveEdit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
    const digit = /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
    if (!$("reject").hidden) {
      if (REASONS[digit - 1]) reject(REASONS[digit - 1]);
      return;
    }
    if (event.key === "Enter") {
      const row = event.target.closest("#rows button");
      if (event.target.closest("button, summary, a") && !(row && row.hasAttribute("aria-current"))) return;
      event.preventDefault();
      nextUndecided();
      return;
    }
    if (inForm) return;
    if (digit) {
      if (openable[digit - 1]) openDocument(openable[digit - 1].number);
    } else if (Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]();
    }
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
    $("rows").addEventListener("click", (event) => {
      const row = event.target.closest("button");
      if (row) choose(Number(row.dataset.index));
    });
    $("filter").addEventListener("change", sift);
    $("find").addEventListener("input", sift);
    $("find").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && shown.length) {
        $("find").blur();
        choose(shown[0]);
      }
    });
    $("do-accept").addEventListener("click", KEYS.a);
    $("do-edit").addEventListener("click", openEdit);
    $("do-reject").addEventListener("click", openReject);
    $("do-undo").addEventListener("click", undo);
    $("do-next").addEventListener("click", nextUndecided);
    $("edit").addEventListener("submit", (event) => { event.preventDefault(); saveEdit(); });
    $("edit-cancel").addEventListener("click", closeForms);
    $("edit-document").addEventListener("input", offerNames);
    $("reject").addEventListener("submit", (event) => { event.preventDefault(); reject($("reason").value); });
    $("reject-cancel").addEventListener("click", closeForms);
    REASONS.forEach((reason, at) => {
      const made = button("", () => reject(reason));
      made.append(element("kbd", String(at + 1)), ` ${reason}`);
      $("reasons").append(made);
    });
    $("write").addEventListener("click", () => writeFile(null));
    $("replace").addEventListener("click", () => writeFile(replacing));
    $("copy").addEventListener("click", () => navigator.clipboard.writeText($("command").textContent).then(() => say("copied"), () => say("the browser did not copy it", true)));
    $("place-next").addEventListener("click", KEYS.n);
    $("place-before").addEventListener("click", KEYS.p);
    $("back").addEventListener("click", KEYS[0]);
    let typing = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => { pane.find($("search").value); if (pane.matches.length) pane.go(1); drawFound(); }, 120);
    });
    $("search").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (pane.words !== $("search").value.trim()) pane.find($("search").value);
      pane.go(event.shiftKey ? -1 : 1);
      drawFound();
    });
    // A click with the mouse leaves the keys free for the next decision.
    document.addEventListener("click", (event) => { if (event.detail && event.target.closest("button")) event.target.closest("button").blur(); });
    document.addEventListener("keydown", onKey);
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
    $("name").focus();
    $("who").addEventListener("submit", (event) => {
      event.preventDefault();
      asked.set("by", oneLine($("name").value));
      location.search = `?${asked}`;
    });
  }

  if (!by) {
    get("pairs", {}).then((told) => askName(told.reviewers)).catch((problem) => say(problem.message, true));
  } else {
    $("list").hidden = $("pair").hidden = false;
    $("text").hidden = !hasDocuments;
    listen();
    load().then(() => say(`you are ${by}`)).catch((problem) => say(problem.message, true));
  }
})();
