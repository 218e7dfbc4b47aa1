"use strict";
// The rows of a file: filter, keys, export, begin anew.

const rows = [...$("rows").children];

for (const time of document.querySelectorAll("time")) {
  const at = new Date(time.textContent);
  time.dateTime = time.textContent;
  if (!Number.isNaN(at.getTime())) time.textContent = at.toLocaleString();
}

function filter() {
  const words = $("words").value.trim().toLowerCase();
  const state = $("state").value;
  let shown = 0;
  for (const row of rows) {
    row.hidden = !((!state || row.dataset.state === state) && row.textContent.toLowerCase().includes(words));
    shown += !row.hidden;
  }
  $("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
}
$("filter").addEventListener("input", filter);
$("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  rows.find((row) => !row.hidden)?.querySelector("a").focus();
});
filter(); // a browser fills in what stood there before

function step(by_) {
  const links = rows.filter((row) => !row.hidden).map((row) => row.querySelector("a"));
  const at = links.indexOf(document.activeElement);
  const to = at < 0 ? (by_ > 0 ? 0 : links.length - 1) : at + by_;
  links[to]?.focus();
  links[to]?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("sure").open || $("ask").open) return;
  if (event.target.closest("input, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const does = { j: () => step(1), k: () => step(-1), "/": () => $("words").focus(), c: () => $("continue")?.click() }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});

// Asks in a dialog; gives whether the answer was yes.
function sure(question, yes) {
  $("question").textContent = question;
  $("yes").textContent = yes;
  const dialog = $("sure");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true }));
}

async function attempt(does) {
  try {
    await does();
  } catch (error) {
    notice(error.message, true);
  }
}

async function write(over = false) {
  const told = await send("export", { over });
  if (told.exists) {
    const question = `${told.exists} is there already, and is not what was exported here last. Write over it?`;
    if (await sure(question, "Yes, write over it")) await write(true);
    return;
  }
  const parts = [`${told.rows} rows, ${told.edited} of them edited`];
  if (told.dropped) parts.push(`${told.dropped} blank pairs left out`);
  if (told.uneven) parts.push(`${told.uneven} untouched rows whose instructions and outputs differ in number`);
  if (told.unread) parts.push(`${told.unread} lines that could not be edited, kept as they are`);
  $("exported").textContent = `Written: ${told.path} (${parts.join("; ")}).`;
}
$("export").addEventListener("click", () => attempt(write));

$("anew").addEventListener("click", () => attempt(async () => {
  const question = "Set all rows of this file back to its own pairs? What was made of them is kept, and can be restored.";
  if (!(await sure(question, "Yes, begin anew"))) return;
  await send("anew", { person: person.name });
  location.reload();
}));

for (const button of document.querySelectorAll(".restore")) {
  button.addEventListener("click", () => attempt(async () => {
    const question = "Take this earlier work back? What was made of these rows since stays in their history.";
    if (!(await sure(question, "Yes, restore it"))) return;
    await send("restore", { batch: Number(button.dataset.batch), person: person.name });
    location.reload();
  }));
}
