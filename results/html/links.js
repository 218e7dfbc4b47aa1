// Links inside the page: from a head to what it means, from a point or a row to its trials, into parts that are closed.
function unfold(element) {
  for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
}

function openPlace(from) {
  const [panel, column, row] = from.dataset.place.split(",").map(Number);
  const table = document.querySelector(`table.heat[data-panel="${panel}"]`);
  if (row >= 0) return openPane(table.tBodies[0].rows[row].cells[column + 1], from);
  unfold(table);
  focusCell(table.tHead.rows[1].cells[column + 1]);
}

function startPoint(point) {
  const say = () => showTip(point.getBoundingClientRect(), [point.getAttribute("aria-label")]);
  point.addEventListener("pointerenter", say);
  point.addEventListener("focus", say);
  point.addEventListener("pointerleave", hideTip);
  point.addEventListener("blur", hideTip);
  if (!point.dataset.place) return;
  point.addEventListener("click", () => openPlace(point));
  point.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    openPlace(point);
  });
}

function startTerm(term) {
  const meaning = byId(term.hash.slice(1));
  const say = () => showTip(term.getBoundingClientRect(), [term.textContent, meaning.textContent]);
  term.addEventListener("pointerenter", say);
  term.addEventListener("focus", say);
  term.addEventListener("pointerleave", hideTip);
  term.addEventListener("blur", hideTip);
}

function followHash() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  unfold(target);
  target.scrollIntoView({ block: "start" });
}

function startLinks() {
  document.querySelectorAll("a.term").forEach(startTerm);
  document.querySelectorAll(".point").forEach(startPoint);
  for (const button of document.querySelectorAll("button.place")) button.addEventListener("click", () => openPlace(button));
  for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => unfold(byId(link.hash.slice(1)) ?? link));
  window.addEventListener("hashchange", followHash);
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  followHash();
}
