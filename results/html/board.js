"use strict";
(() => {
  document.documentElement.classList.add("js", "unpacked");
  const units = { k: 1e3, M: 1e6 };
  // The first number of a cell, `2k` is 2000; nothing at all stands last.
  function value(text) {
    if (text.startsWith("none")) return 0;
    const found = text.replaceAll(",", "").match(/(\d+(?:\.\d+)?)([kM]?)/);
    return found ? Number(found[1]) * (units[found[2]] || 1) : -1;
  }
  function sort(table, at, heads) {
    const head = heads[at];
    const words = head.classList.contains("words");
    // Ranks and seconds: the smallest is the best, and stands first at the first click.
    const first = words || head.classList.contains("low") ? "ascending" : "descending";
    const way = head.getAttribute("aria-sort") === first ? (first === "ascending" ? "descending" : "ascending") : first;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const text = (row) => row.cells[at].textContent.trim();
    const rows = [...body.rows].sort((a, b) => {
      if (words) return sign * text(a).localeCompare(text(b));
      const [x, y] = [value(text(a)), value(text(b))];
      return x < 0 || y < 0 ? y - x : sign * (x - y);
    });
    body.append(...rows);
  }
  for (const table of document.querySelectorAll("table.board")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => sort(table, at, heads)));
  }
})();
