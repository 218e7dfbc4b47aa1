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
$("edit-document").addEventListener("input", offerNames);
$("reject").addEventListener("submit", (event) => { event.preventDefault(); reject($("reason").value); });
$("reject-cancel").addEventListener("click", closeForms);
REASONS.forEach((reason, at) => {
  const made = button("", () => reject(reason));
  made.append(element("kbd", String(at + 1)), ` ${reason}`);
  $("reasons").append(made);
});
