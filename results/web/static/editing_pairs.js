"use strict";
// The pairs of a row, as fields that can be edited, added, deleted, brought back and moved.

class Pairs {
  // `changed()` is called after every change.
  constructor(list, changed) {
    this.list = list;
    this.changed = changed;
    this.deleted = []; // [element, place]
    this.current = null;
    list.addEventListener("input", () => changed());
    list.addEventListener("focusin", (event) => { this.current = event.target.closest(".pair"); });
  }

  show(pairs) {
    this.deleted = [];
    this.current = null;
    this.list.replaceChildren(...pairs.map((pair) => this.element(pair)));
    this.number();
  }

  get() {
    return [...this.list.children].map((each) => fieldsOf(each).map(fieldText));
  }

  element(texts) {
    const item = element("li", "", "pair");
    item.tabIndex = -1;
    const tools = element("div", "", "tools");
    tools.append(document.createElement("b"));
    const does = { "↑": ["Move up", () => this.move(item, -1)], "↓": ["Move down", () => this.move(item, 1)], Delete: ["Delete", () => this.remove(item)] };
    for (const [face, [label, act]] of Object.entries(does)) {
      const made = button(face, act);
      made.does = label;
      tools.append(made);
    }
    item.append(tools, $("fields").content.cloneNode(true));
    fillFields(item, texts);
    return item;
  }

  number() {
    [...this.list.children].forEach((item, at) => {
      item.querySelector("b").textContent = `Pair ${at + 1}`;
      item.setAttribute("aria-label", `Pair ${at + 1}`);
      for (const button of item.querySelectorAll("button")) {
        button.setAttribute("aria-label", `${button.does} pair ${at + 1}`);
        button.title = button.does === "Delete" ? "" : `${button.does} (Alt+${button.textContent})`;
        button.disabled = (button.does === "Move up" && !at) || (button.does === "Move down" && at === this.list.children.length - 1);
      }
    });
  }

  add(pair = ["", ""]) {
    const item = this.element(pair);
    this.list.append(item);
    this.number();
    item.querySelector("textarea").focus();
    this.changed();
    return item;
  }

  remove(item) {
    const place = [...this.list.children].indexOf(item);
    const beside = item.nextElementSibling || item.previousElementSibling;
    this.deleted.push([item, place]);
    item.remove();
    this.number();
    this.current = beside;
    beside?.focus();
    this.changed();
  }

  undo() {
    const last = this.deleted.pop();
    if (!last) return;
    this.list.insertBefore(last[0], this.list.children[last[1]] || null);
    this.number();
    last[0].focus();
    this.changed();
  }

  move(item, step) {
    const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    const focused = document.activeElement;
    if (step < 0) other.before(item);
    else other.after(item);
    this.number();
    if (item.contains(focused) && !focused.disabled) focused.focus();
    else item.focus();
    item.scrollIntoView({ block: "nearest" });
    this.changed();
  }

  // The pair after (1) or before (-1) the one that has the focus.
  step(by) {
    const items = [...this.list.children];
    const at = items.indexOf(this.current);
    const to = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by];
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  }

  // The pair that was used last, else the first one.
  used() {
    if (!this.list.contains(this.current)) this.current = this.list.children[0] || this.add();
    return this.current;
  }
}
