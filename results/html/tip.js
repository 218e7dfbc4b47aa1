// The tooltip of cells and points.
const tip = byId("tip");

function showTip(box, lines) {
  const [head, ...rest] = lines.filter(Boolean);
  tip.replaceChildren(node("p", {}, node("strong", {}, head)), ...rest.map((line) => node("p", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), document.documentElement.clientWidth - width - 8);
  const above = box.top - height - 8;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
}

function hideTip() {
  tip.hidden = true;
}

// A cell that came into view by the keyboard keeps its tooltip; it moves along.
function afterScroll() {
  const td = document.activeElement.closest("table.heat td");
  if (td && !tip.hidden) describe(td);
  else hideTip();
}
