"use strict";
// A long text in blocks that the browser lays out when they come into view, and a search that marks without changing it.

const BLOCK = 4000; // characters
const PART = 32; // blocks, which are passed over together while they are far away
const MOST_MARKED = 5000;
const FRAMES = 12; // in which a place that was gone to is held in the middle

class LongText {
  constructor(place) {
    this.place = place;
    this.show("");
  }

  show(text) {
    this.text = text;
    this.starts = [];
    this.found = [];
    this.at = -1;
    this.blocks = [];
    for (let start = 0; start < text.length; ) {
      const end = LongText.cut(text, start);
      const block = document.createElement("div");
      block.className = "text block";
      block.textContent = text.slice(start, end);
      this.starts.push(start);
      this.blocks.push(block);
      start = end;
    }
    const parts = [];
    for (let first = 0; first < this.blocks.length; first += PART) {
      const part = document.createElement("div");
      part.className = "part";
      part.append(...this.blocks.slice(first, first + PART));
      parts.push(part);
    }
    this.place.replaceChildren(...parts);
    CSS.highlights?.clear();
  }

  // After the last line end of a block, else after its last blank, else between two characters.
  static cut(text, start) {
    const end = start + BLOCK;
    if (end >= text.length) return text.length;
    const line = text.lastIndexOf("\n", end);
    if (line >= start) return line + 1;
    const blank = text.lastIndexOf(" ", end);
    if (blank >= start) return blank + 1;
    return /[\uDC00-\uDFFF]/.test(text[end]) ? end + 1 : end;
  }

  // Finds words in any case, whatever blanks and line ends are between them; returns how many places there are.
  find(words) {
    this.found = [];
    this.at = -1;
    const parts = words.trim().split(/\s+/).filter(Boolean);
    if (parts.length) {
      const pattern = new RegExp(parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s+"), "giu");
      for (const match of this.text.matchAll(pattern)) this.found.push([match.index, match.index + match[0].length]);
    }
    this.mark();
    return this.found.length;
  }

  // Goes `by` places on, round the end; returns the number of the place, from 1.
  go(by) {
    if (!this.found.length) return 0;
    const first = this.at < 0 && by < 0 ? 0 : this.at;
    this.at = (first + by + this.found.length) % this.found.length;
    this.mark();
    this.settle(this.found[this.at], FRAMES);
    return this.at + 1;
  }

  // Brings a place to the middle. Blocks get their true heights as they come into view, so it is looked at again.
  settle(ends, frames) {
    if (ends !== this.found[this.at]) return; // somewhere else by now
    const range = this.range(ends).getBoundingClientRect();
    const frame = this.place.getBoundingClientRect();
    const off = range.top - frame.top - frame.height / 2;
    if (Math.abs(off) > 4) this.place.scrollTop += off;
    if (frames) requestAnimationFrame(() => this.settle(ends, frames - 1));
  }

  mark() {
    if (!CSS.highlights) return;
    const near = Math.max(0, Math.min(this.at - MOST_MARKED / 2, this.found.length - MOST_MARKED));
    const ranges = this.found.slice(near, near + MOST_MARKED).map((ends) => this.range(ends));
    CSS.highlights.set("found", new Highlight(...ranges));
    CSS.highlights.set("here", new Highlight(...(this.at < 0 ? [] : [this.range(this.found[this.at])])));
  }

  range([start, end]) {
    const range = document.createRange();
    const from = this.blockAt(start);
    const to = this.blockAt(end - 1);
    range.setStart(this.blocks[from].firstChild, start - this.starts[from]);
    range.setEnd(this.blocks[to].firstChild, end - this.starts[to]);
    return range;
  }

  blockAt(offset) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
