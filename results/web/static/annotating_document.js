"use strict";
// The document: a long text in blocks, of which the browser lays out those in sight; search; what is selected.

const BLOCK = 3000; // characters, as far as lines allow; a longer line is split after a space or a full stop
const LONGEST_LINE = 8000;

// Where the blocks of a text begin. Their texts together are the text.
function blockStarts(text) {
  const starts = [0];
  let start = 0;
  while (start < text.length) {
    const line = text.indexOf("\n", Math.min(start + BLOCK, text.length));
    let end = line < 0 ? text.length : line + 1;
    if (end - start > LONGEST_LINE) end = splitLine(text, start);
    if (end < text.length) starts.push(end);
    start = end;
  }
  return starts;
}

// The end of a part of a long line: after a sentence or a word, never within a character as people see it.
function splitLine(text, start) {
  const part = text.slice(start, start + LONGEST_LINE);
  const line = part.lastIndexOf("\n") + 1;
  if (line) return start + line;
  for (const mark of [/[.!?]\s|[。！？；]/gu, /\s/gu]) {
    let last = 0;
    for (const found of part.matchAll(mark)) last = found.index + found[0].length;
    if (last > BLOCK) return start + last;
  }
  let end = start + LONGEST_LINE;
  const splits = () => /^[\p{M}\u200d\udc00-\udfff]/u.test(text.slice(end, end + 2)) || text[end - 1] === "\u200d";
  while (end > start + BLOCK && splits()) end--;
  return end;
}

class LongText {
  constructor(place) {
    this.place = place;
    this.text = "";
    this.blocks = [];
    this.starts = [0];
    this.matches = [];
    this.length = [];
    this.current = -1;
    this.from = -1; // where the last search was: one that goes on with it starts there
    this.inSight = new Set();
    this.watcher = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) this.inSight.add(target);
        else this.inSight.delete(target);
      }
      this.paint();
    }, { rootMargin: "200px" });
  }

  show(text) {
    this.text = text;
    this.starts = blockStarts(text);
    const wide = Math.max(20, this.place.clientWidth / 8); // characters of a line, about
    this.blocks = this.starts.map((start, at) => {
      const block = document.createElement("div");
      const part = text.slice(start, this.starts[at + 1]);
      block.className = "block";
      block.append(part);
      block.style.containIntrinsicBlockSize = `auto ${24 * Math.max(part.split("\n").length - 1, Math.ceil(part.length / wide))}px`;
      block.number = at;
      return block;
    });
    this.place.replaceChildren(...this.blocks);
    for (const block of this.blocks) this.watcher.observe(block);
  }

  // The words in any case, with any white space between them. Gives how many there are.
  find(words) {
    if (this.current >= 0) this.from = this.matches[this.current];
    this.matches = [];
    this.length = [];
    this.current = -1;
    const parts = words.trim().split(/\s+/u).filter(Boolean).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    if (parts.length) {
      for (const found of this.text.matchAll(new RegExp(parts.join("\\s+"), "giu"))) {
        this.matches.push(found.index);
        this.length.push(found[0].length);
      }
    }
    this.paint();
    return this.matches.length;
  }

  // Goes to the next match (1) or the one before (-1); a new search begins at the last one, or at what is in sight.
  go(step) {
    const count = this.matches.length;
    if (!count) return;
    if (this.current >= 0) this.current = (this.current + step + count) % count;
    else {
      const top = Math.min(...[...this.inSight].map((block) => this.starts[block.number]));
      const from = this.firstAt(this.from >= 0 ? this.from : Number.isFinite(top) ? top : 0);
      this.current = step > 0 ? from % count : (from - 1 + count) % count;
    }
    this.reveal();
  }

  firstAt(offset) {
    let [low, high] = [0, this.matches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.matches[middle] < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  blockAt(offset) {
    let [low, high] = [0, this.starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  range(start, end) {
    const range = new Range();
    for (const [offset, set] of [[start, "setStart"], [end, "setEnd"]]) {
      const block = this.blockAt(set === "setEnd" ? Math.max(start, offset - 1) : offset);
      const node = this.blocks[block].firstChild;
      if (node) range[set](node, Math.min(node.length, offset - this.starts[block]));
    }
    return range;
  }

  currentRange() {
    return this.current < 0 ? null : this.range(this.matches[this.current], this.matches[this.current] + this.length[this.current]);
  }

  reveal() {
    const range = this.currentRange();
    this.blocks[this.blockAt(this.matches[this.current])].scrollIntoView({ block: "nearest" });
    const centre = () => {
      const [match, around] = [range.getBoundingClientRect(), this.place.getBoundingClientRect()];
      if (match.top < around.top + 40 || match.bottom > around.bottom - 40) this.place.scrollTop += match.top - around.top - around.height / 3;
    };
    centre();
    requestAnimationFrame(() => { centre(); this.paint(); }); // blocks have their true heights once they are in sight
  }

  // Marks the matches in the blocks that are in sight; there may be a hundred thousand.
  paint() {
    if (!globalThis.CSS?.highlights) return;
    const found = new Highlight();
    for (const block of this.inSight) {
      const end = this.starts[block.number + 1] ?? this.text.length;
      for (let at = this.firstAt(this.starts[block.number]); at < this.matches.length && this.matches[at] < end; at++) {
        found.add(this.range(this.matches[at], this.matches[at] + this.length[at]));
      }
    }
    const range = this.currentRange();
    const current = range ? new Highlight(range) : new Highlight();
    current.priority = 1;
    CSS.highlights.set("found", found);
    CSS.highlights.set("current", current);
  }

  offset(node, within) {
    if (node === this.place) return within < this.starts.length ? this.starts[within] : this.text.length;
    const block = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (block.number === undefined) return -1;
    const start = this.starts[block.number];
    if (node.nodeType === Node.TEXT_NODE) return start + within;
    return within ? (this.starts[block.number + 1] ?? this.text.length) : start;
  }

  // What is selected of the document, as it stands in the file; or the match that the search is at.
  selected() {
    const selection = getSelection();
    const range = selection.rangeCount && !selection.isCollapsed ? selection.getRangeAt(0) : null;
    if (range && range.intersectsNode(this.place)) {
      const inside = (node) => this.place.contains(node);
      const start = inside(range.startContainer) ? this.offset(range.startContainer, range.startOffset) : 0;
      const end = inside(range.endContainer) ? this.offset(range.endContainer, range.endOffset) : this.text.length;
      if (start >= 0 && end > start) return this.text.slice(start, end);
    }
    return this.current < 0 ? "" : this.currentText();
  }

  currentText() {
    return this.text.slice(this.matches[this.current], this.matches[this.current] + this.length[this.current]);
  }
}
