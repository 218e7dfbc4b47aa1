// Heatmaps as grids: pointer and keyboard. What a cell says is up to the view: `cellLines`.
let hovered = null;
let pointer = {};

// Where a cell of a heatmap stands; row -1 is the means.
function placeOf(td) {
  const table = td.closest("table.heat");
  const means = td.parentElement.classList.contains("means");
  return { panel: Number(table.dataset.panel), column: td.cellIndex - 1, row: means ? -1 : td.parentElement.sectionRowIndex };
}

function describe(td) {
  const lines = cellLines(placeOf(td));
  td.setAttribute("aria-label", lines.join(", "));
  showTip(td.getBoundingClientRect(), lines);
}

// One cell of each heatmap is in the tab order; arrow keys move it.
function focusCell(td) {
  const table = td.closest("table.heat");
  for (const old of table.querySelectorAll("td[tabindex]")) old.removeAttribute("tabindex");
  td.tabIndex = 0;
  td.focus();
  td.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function neighbour(td, event) {
  const rows = [...td.closest("table.heat").querySelectorAll("tr:has(td)")];
  let row = rows.indexOf(td.parentElement);
  let column = td.cellIndex;
  const last = { row: rows.length - 1, column: td.parentElement.cells.length - 1 };
  switch (event.key) {
    case "ArrowLeft": column -= 1; break;
    case "ArrowRight": column += 1; break;
    case "ArrowUp": row -= 1; break;
    case "ArrowDown": row += 1; break;
    case "Home": column = 1; if (event.ctrlKey) row = 0; break;
    case "End": column = last.column; if (event.ctrlKey) row = last.row; break;
    default: return null;
  }
  return rows[Math.min(Math.max(row, 0), last.row)].cells[Math.min(Math.max(column, 1), last.column)];
}

function startHeatmap(table) {
  const cellIn = (event) => event.target.closest("td");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-readonly", "true");
  table.tBodies[0].rows[0].cells[1].tabIndex = 0;
  table.addEventListener("pointermove", (event) => {
    // Browsers also send this when the page moves under a pointer that rests.
    if (event.screenX === pointer.x && event.screenY === pointer.y) return;
    pointer = { x: event.screenX, y: event.screenY };
    if (!cellIn(event)) hideTip();
    else if (tip.hidden || cellIn(event) !== hovered) describe(cellIn(event));
    hovered = cellIn(event);
  });
  table.addEventListener("pointerleave", hideTip);
  table.addEventListener("focusin", (event) => cellIn(event) && describe(cellIn(event)));
  table.addEventListener("focusout", hideTip);
  table.addEventListener("click", (event) => {
    const td = cellIn(event);
    if (!td) return;
    focusCell(td);
    openPane(td);
  });
  table.addEventListener("keydown", (event) => {
    const td = cellIn(event);
    if (!td || event.altKey || event.metaKey) return;
    const next = neighbour(td, event);
    if (next) focusCell(next);
    else if (event.key === "Enter" || event.key === " ") openPane(td);
    else return;
    event.preventDefault();
  });
}
