"use strict";
// The forms of a pair: an edit, and why it is rejected.

const REASONS = [
  "the document does not say this",
  "another document answers it too",
  "the question is unclear",
  "the answer is wrong or incomplete",
  "it is known without the document",
];
const NEAR = 50; // names that are offered at once

let names = null; // of all documents
let leaving = false; // Esc was pressed once in an edit

const [QUESTION, ANSWER, ALIASES, DOCUMENT, SUPPORTING] = fieldsOf($("edit"));
const isTyping = () => !$("edit").hidden && fieldsOf($("edit")).some(touched);
const lines = (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean);

function openEdit() {
  const told = wording(pairs[current]);
  const [first = "", ...others] = told.answers;
  closeForms();
  fillFields($("edit"), [told.question, first, others.map(oneLine).join("\n"), oneLine(told.document), told.supporting.map(oneLine).join("\n")]);
  $("view").hidden = $("actions").hidden = true;
  $("edit").hidden = false;
  QUESTION.focus();
  if (hasDocuments && !names) get("names", {}).then((told) => { names = new Map(told.map((name) => [oneLine(name), name])); offerNames(); }).catch((problem) => say(problem.message, true));
}

// A quotation takes the place of the answer that stands there, unless it is being written.
function quoteAnswer(text) {
  if ($("edit").hidden) {
    openEdit();
    ANSWER.select();
    ANSWER.used = true;
  }
  quoteInto($("edit"), text);
}

// Fields that were not touched keep what they had, line breaks in names too.
function edited() {
  const told = wording(pairs[current]);
  const exact = (name) => (names && names.get(oneLine(name))) || name;
  const answer = touched(ANSWER) ? [fieldText(ANSWER).trim()].filter(Boolean) : told.answers.slice(0, 1);
  return {
    question: touched(QUESTION) ? fieldText(QUESTION).trim() : told.question,
    answers: [...answer, ...(touched(ALIASES) ? lines(ALIASES) : told.answers.slice(1))],
    document: touched(DOCUMENT) ? exact(DOCUMENT.value) : told.document,
    supporting: touched(SUPPORTING) ? lines(SUPPORTING).map(exact) : told.supporting,
  };
}

function offerNames() {
  if (!names) return;
  const typed = oneLine(DOCUMENT.value).toLowerCase();
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

const saveEdit = () => decideAndGoOn("accept", { pair: edited() });

async function reject(reason) {
  if (!reason.trim()) {
    say("say why, or take one of the reasons", true);
    $("reason").focus();
    return;
  }
  await decideAndGoOn("reject", { reason: reason.trim() });
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

$("do-accept").addEventListener("click", () => inTurn(() => decideAndGoOn("accept")));
$("do-edit").addEventListener("click", openEdit);
$("do-reject").addEventListener("click", openReject);
$("do-undo").addEventListener("click", undo);
$("do-next").addEventListener("click", nextUndecided);
$("edit").addEventListener("submit", (event) => { event.preventDefault(); saveEdit(); });
$("edit-cancel").addEventListener("click", closeForms);
DOCUMENT.addEventListener("input", offerNames);
$("reject").addEventListener("submit", (event) => { event.preventDefault(); reject($("reason").value); });
$("reject-cancel").addEventListener("click", closeForms);
REASONS.forEach((reason, at) => {
  const made = button("", () => reject(reason));
  made.append(element("kbd", String(at + 1)), ` ${reason}`);
  $("reasons").append(made);
});
