"use strict";
// A long text in a pane of its own: blocks that are laid out when they are seen, marked places, search.

class TextPane {
  static MOST_FOUND = 20000; // hits that are counted
  static PAINTED = 500; // hits to each side of the current one that are painted

  static SETTLE = 10; // frames
  static PART = 32; // blocks, which are passed over together while they are far away

  constructor(pane) {
    this.pane = pane;
    this.turn = 0; // of scrolling to something; whoever scrolls by hand ends it
    for (const by of ["wheel", "pointerdown", "keydown"]) pane.addEventListener(by, () => this.turn++, { passive: true });
    this.show([]);
  }

  // `blocks`: the pieces of the text.
  show(blocks) {
    this.starts = [];
    let at = 0;
    this.blocks = blocks.map((text) => {
      this.starts.push(at);
      at += text.length;
      const block = document.createElement("div");
      block.className = "text";
      block.append(text);
      return block;
    });
    this.text = blocks.join("");
    this.places = [];
    this.place = -1;
    const parts = [];
    for (let first = 0; first < this.blocks.length; first += TextPane.PART) {
      const part = document.createElement("div");
      part.className = "part";
      part.append(...this.blocks.slice(first, first + TextPane.PART));
      parts.push(part);
    }
    this.pane.replaceChildren(...parts);
    this.pane.scrollTop = 0;
    this.turn++;
    this.search("");
  }

  // `places`: [start, end] in the text, in order. Called once after `show`.
  mark(places, kind) {
    const within = new Map(); // block: [[start, end, place] ...] in it
    places.forEach(([start, end], number) => {
      for (let b = this.blockAt(start); b < this.blocks.length && this.starts[b] < end; b++) {
        if (!within.has(b)) within.set(b, []);
        within.get(b).push([Math.max(0, start - this.starts[b]), end - this.starts[b], number]);
      }
    });
    this.places = places.map(() => []);
    for (const [b, spans] of within) {
      const text = this.blocks[b].textContent;
      const pieces = [];
      let at = 0;
      for (const [start, end, number] of spans) {
        const mark = document.createElement("mark");
        mark.className = kind;
        mark.append(text.slice(start, end));
        this.places[number].push(mark);
        pieces.push(text.slice(at, start), mark);
        at = Math.min(end, text.length);
      }
      this.blocks[b].replaceChildren(...pieces.filter((piece) => piece !== ""), text.slice(at));
    }
    this.place = -1;
    if (this.query) this.search(this.query); // what was found stood in the old nodes
  }

  // Goes to the next place (1) or the one before (-1); gives its number.
  stepPlace(by) {
    if (!this.places.length) return -1;
    for (const mark of this.places[this.place] || []) mark.classList.remove("current");
    this.place = this.place < 0 ? 0 : (this.place + by + this.places.length) % this.places.length;
    for (const mark of this.places[this.place]) mark.classList.add("current");
    const mark = this.places[this.place][0];
    this.reveal(mark.closest(".text"), mark);
    return this.place;
  }

  // Looks for words, whatever case and spaces; gives how often they occur.
  search(query) {
    this.query = query.trim();
    this.hits = [];
    this.hit = -1;
    if (this.query) {
      const escaped = this.query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");
      const pattern = new RegExp(escaped, "giu");
      for (let found; this.hits.length < TextPane.MOST_FOUND && (found = pattern.exec(this.text)); ) {
        this.hits.push([found.index, found.index + found[0].length]);
      }
    }
    this.paint();
    return this.hits.length;
  }

  // Goes to the next hit (1) or the one before (-1); gives its number.
  stepHit(by) {
    if (!this.hits.length) return -1;
    this.hit = this.hit < 0 && by > 0 ? 0 : (Math.max(0, this.hit) + by + this.hits.length) % this.hits.length;
    this.paint();
    const [start, end] = this.hits[this.hit];
    this.reveal(this.blocks[this.blockAt(start)], this.range(start, end));
    return this.hit;
  }

  // Scrolls the pane, and nothing around it: to the block, and to what is in it. Blocks have their true heights only
  // when they are seen, so it looks again for some frames.
  reveal(block, part) {
    const turn = ++this.turn;
    const to = (what) => {
      const line = what.getBoundingClientRect();
      const pane = this.pane.getBoundingClientRect();
      if (line.top < pane.top + 8 || line.bottom > pane.bottom - 8) this.pane.scrollTop += line.top - pane.top - pane.height / 3;
    };
    const settle = (frames) => {
      if (turn !== this.turn) return;
      to(part);
      if (frames) requestAnimationFrame(() => settle(frames - 1));
    };
    to(block);
    settle(TextPane.SETTLE);
  }

  paint() {
    if (!CSS.highlights) return;
    const from = Math.max(0, this.hit - TextPane.PAINTED);
    const near = this.hits.slice(from, Math.max(0, this.hit) + TextPane.PAINTED);
    CSS.highlights.set("found", new Highlight(...near.map(([start, end]) => this.range(start, end))));
    const now = this.hit < 0 ? [] : [this.range(...this.hits[this.hit])];
    const highlight = new Highlight(...now);
    highlight.priority = 1;
    CSS.highlights.set("found-now", highlight);
  }

  range(start, end) {
    const range = new Range();
    range.setStart(...this.pointAt(start));
    range.setEnd(...this.pointAt(end));
    return range;
  }

  pointAt(offset) {
    const b = this.blockAt(offset);
    let left = offset - this.starts[b];
    let node = null;
    for (const child of this.blocks[b].childNodes) {
      node = child.firstChild || child;
      if (left <= node.length) return [node, left];
      left -= node.length;
    }
    return [node, node.length];
  }

  // The block that holds an offset.
  blockAt(offset) {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
