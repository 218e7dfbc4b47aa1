// The pane beside the page with the trials of one cell. What is in it is up to the view: `paneContent`.
const pane = byId("pane");
const paneBody = byId("pane-body");
const title = byId("pane-title");
let opener = null;
let returnTo = null;

// The trials are packed in the page: JSON, deflated, in base64. `packed`: why they cannot be shown yet, or at all.
let details = { values: [], rows: [] };
let packed = byId("details").textContent === "" ? "" : "Unpacking the trials …";

async function unpack() {
  try {
    if (packed) details = await inflated();
    packed = "";
  } catch {
    packed = "This browser cannot unpack the trials; results.json has them.";
  }
  document.documentElement.classList.add("unpacked");
  if (opener && !pane.hidden) openPane(opener, returnTo);
}

function inflated() {
  const bytes = Uint8Array.from(atob(byId("details").textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

// `from`: what gets the focus back when the pane is closed, where that is not the cell.
function openPane(td, from = null) {
  const place = placeOf(td);
  if (place.row < 0) return;
  const { lines, notes, articles } = packed ? { lines: cellLines(place), notes: [packed], articles: [] } : paneContent(place);
  const [name, ...more] = lines;
  title.replaceChildren(node("bdi", {}, name), ...more.map((words) => node("small", {}, words)));
  paneBody.replaceChildren(...notes.map((note) => node("p", { className: "notice" }, note)), ...articles);
  paneBody.scrollTop = 0;
  hideTip();
  if (opener) opener.classList.remove("open");
  opener = td;
  returnTo = from;
  td.classList.add("open");
  pane.hidden = false;
  document.body.classList.add("with-pane");
  title.focus();
  (from ?? td).scrollIntoView({ block: "nearest", inline: "nearest" });
}

function closePane() {
  pane.hidden = true;
  document.body.classList.remove("with-pane");
  if (!opener) return;
  opener.classList.remove("open");
  if (returnTo) returnTo.focus();
  else focusCell(opener);
  opener = null;
}

// Rows of trials by panel, column and row of their cell; made when first needed.
let rowsByCell = null;
function rowsAt({ panel, column, row }) {
  if (rowsByCell === null) {
    rowsByCell = new Map();
    for (const each of details.rows) {
      const key = each.slice(0, 3).join();
      if (!rowsByCell.has(key)) rowsByCell.set(key, []);
      rowsByCell.get(key).push(each.slice(3));
    }
  }
  return rowsByCell.get([panel, column, row].join()) || [];
}

function startPane() {
  unpack();
  byId("pane-close").addEventListener("click", closePane);
  document.addEventListener("scroll", afterScroll, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hideTip();
    if (!pane.hidden) closePane();
  });
}
