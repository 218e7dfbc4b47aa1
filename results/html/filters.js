// Choosing panels and outcomes.
const filter = { model: "", task: "", needle: "", outcome: "" };
const FIELDS = ["model", "task", "needle"];
const visible = (panel) => FIELDS.every((field) => !filter[field] || panel[field] === filter[field]);

function startFilters() {
  const bar = byId("filters");
  const occurring = outcomes.filter((_, i) => stats.some((stat) => stat[4][i]));
  const choices = { outcome: occurring };
  for (const field of FIELDS) choices[field] = [...new Set(panels.map((panel) => panel[field]))];
  for (const field of [...FIELDS, "outcome"]) {
    if (choices[field].length < 2) continue;
    const options = choices[field].map((value) => node("option", { value }, value || "(none)"));
    const select = node("select", { id: `filter-${field}` }, node("option", { value: "" }, "all"), ...options);
    select.addEventListener("change", () => {
      filter[field] = select.value;
      applyFilters();
    });
    bar.append(node("label", {}, field === "needle" ? "asked about" : field, select));
  }
  if (!bar.childElementCount) return;
  bar.append(node("output", { id: "filtered" }));
  bar.hidden = false;
}

function applyFilters() {
  if (!pane.hidden) closePane();
  for (const element of document.querySelectorAll(".panel[data-panel], tr[data-panel], .series label")) {
    element.hidden = !visible(panels[element.dataset.panel]);
  }
  let matching = 0;
  for (const table of document.querySelectorAll("table.heat")) {
    const shown = visible(panels[table.dataset.panel]);
    for (const row of table.tBodies[0].rows) {
      for (const td of row.cells) {
        if (td.localName !== "td") continue;
        const stat = filter.outcome ? statAt(placeOf(td)) : null;
        const fits = !filter.outcome || (stat !== null && stat.count(filter.outcome) > 0);
        td.classList.toggle("dim", !fits);
        matching += shown && fits && Boolean(filter.outcome);
      }
    }
  }
  const count = panels.filter(visible).length;
  const words = [`${count} of ${panels.length} heatmaps`];
  if (filter.outcome) words.push(`${integer(matching)} ${matching === 1 ? "cell" : "cells"} with a trial that is ${filter.outcome}`);
  byId("filtered").textContent = words.join(", ");
  status.textContent = words.join(", ");
  drawCharts();
}
