"use strict";
// Writing the reviewed file.

// It comes up when all pairs are decided.
function showFile(decided) {
  const card = $("file");
  if (decided === (card.previousElementSibling === null)) return;
  if (decided) $("pair").prepend(card);
  else $("keys").before(card);
  $("all-decided").hidden = !decided;
  $("write").classList.toggle("strong", decided);
}

let replacing = null; // sha256 of the file that was asked about

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

$("write").addEventListener("click", () => writeFile(null));
$("replace").addEventListener("click", () => writeFile(replacing));
$("copy").addEventListener("click", () => navigator.clipboard.writeText($("command").textContent).then(() => say("copied"), () => say("the browser did not copy it", true)));
