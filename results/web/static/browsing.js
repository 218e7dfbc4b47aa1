"use strict";
// The list of a run's trials: the filter is the address, so that it can be shared and gone back from.
{
  const list = document.getElementById("list");
  const form = document.getElementById("filter");
  let asked = 0;

  // What the form asks for, without what it leaves empty.
  function address() {
    const wanted = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value !== "") wanted.append(name, value);
    return `?${wanted}`;
  }

  // Shows what the address asks for in place of what is shown; the form, and who writes in it, stay.
  async function show(where) {
    const turn = ++asked;
    let page;
    try {
      const answer = await fetch(where, { headers: { accept: "text/html" } });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      notice("the server does not answer; start needlework serve again", true);
      return;
    }
    if (turn !== asked) return; // a later one is on its way
    const found = page.getElementById("found");
    if (!found) {
      notice(page.querySelector("main p")?.textContent ?? "that did not work", true);
      return;
    }
    notice("");
    const before = document.getElementById("found");
    const closed = before.querySelector("details.grid:not([open])");
    if (closed) found.querySelector("details.grid")?.removeAttribute("open");
    before.replaceWith(found);
    for (const each of form.querySelectorAll("[data-live]")) {
      each.textContent = page.querySelector(`[data-live="${each.dataset.live}"]`).textContent;
    }
  }

  let typed = 0;
  form.addEventListener("input", (event) => {
    if (!event.target.matches("[type=search], [type=number]")) return;
    clearTimeout(typed);
    typed = setTimeout(() => {
      history.replaceState(null, "", address());
      show(address());
    }, 150);
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches("[type=search], [type=number]")) return; // told by input
    if (event.target.name === "beside") {
      location.assign(address()); // another column, another field
      return;
    }
    history.pushState(null, "", address());
    show(address());
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("popstate", () => location.reload());

  const rows = () => [...document.querySelectorAll("a.open")];
  function step(by) {
    const all = rows();
    const at = all.indexOf(document.activeElement?.closest("tr")?.querySelector("a.open"));
    const next = at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[at + by];
    if (next) {
      next.focus();
      next.closest("tr").scrollIntoView({ block: "nearest" });
      return;
    }
    const page = document.querySelector(by > 0 ? '#found a[rel="next"]' : '#found a[rel="prev"]');
    if (page) location.assign(`${page.href}#${by > 0 ? "first" : "last"}`);
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && writing) event.target.blur();
    if (writing) return;
    const deed = {
      j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
      "/": () => form.elements.q.select(),
      r: () => location.reload(),
    }[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });

  // Back from a record, or from the page before: go on at the same place.
  const at = location.hash.slice(1);
  const all = rows();
  // Not the id of the row: a browser that goes there takes the focus away again.
  const row = /^at\d+$/.test(at) ? document.getElementById(at.replace("at", "row")) : null;
  const known = row?.querySelector("a.open") ?? { first: all[0], last: all.at(-1) }[at];
  if (known) {
    known.focus({ preventScroll: true });
    known.closest("tr").scrollIntoView({ block: "center" });
  }

  // Of a run that goes on: say what is new; what is being read stays where it is.
  const fresh = document.getElementById("fresh");
  async function look() {
    try {
      const state = await (await fetch("state")).json();
      const more = state.records - Number(list.dataset.records);
      if (more || state.ended) {
        fresh.textContent = state.ended ? "It has ended: show all (r)" : `${more} new: show (r)`;
        fresh.hidden = false;
      }
      if (state.ended) return;
    } catch {
      notice("the server does not answer", true);
    }
    setTimeout(look, 2000);
  }
  if (fresh) {
    fresh.addEventListener("click", () => location.reload());
    setTimeout(look, 2000);
  }
}
