"use strict";
// A long text in a pane of its own: blocks that the browser lays out where they are seen, a search that marks without
// changing the text, marked places, and what is selected. Offsets are in UTF-16 units of the text.

const BLOCK = 4000; // characters, at most
const PART = 32; // blocks, which are passed over together while they are far away
const LINE = 24; // pixels of a line's height, about
const LETTER = 8; // pixels of a letter's width, about; wide ones have two
const WIDEST = 736; // pixels of a line, as document.css has it
const WIDE_LETTERS = /[\u1100-\u115f\u2e80-\ud7ff\uf900-\uffef]/g;
const FRAMES = 30; // at most, in which a place that was gone to is held in sight

// The end of the block that begins at `start`: after a line; in a longer line after a sentence or a word, never within
// a character as people see it.
function blockEnd(text, start) {
  const part = text.slice(start, start + BLOCK);
  let end = start + part.length;
  if (end === text.length) return end;
  const line = part.lastIndexOf("\n") + 1;
  if (line) return start + line;
  for (const mark of [/[.!?]\s|[。！？；]/g, /\s/g]) {
    let last = 0;
    for (const found of part.matchAll(mark)) last = found.index + found[0].length;
    if (last > BLOCK / 2) return start + last;
  }
  const within = () => /^[\p{M}\u200d\udc00-\udfff]/u.test(text.slice(end, end + 2)) || text[end - 1] === "\u200d";
  while (end > start + BLOCK / 2 && within()) end--;
  return end;
}

// How high a text is in pixels, about, in lines of so many letters.
function heightOf(text, letters) {
  const rows = (line) => Math.max(1, Math.ceil((line.length + (line.match(WIDE_LETTERS)?.length ?? 0)) / letters));
  const lines = text.split("\n");
  if (lines.length > 1 && !lines.at(-1)) lines.pop();
  return LINE * lines.reduce((sum, line) => sum + rows(line), 0);
}

// Gives what scrolls a pane, and nothing around it, until what is `off()` pixels away is where it should be. Blocks
// that come into view get their true heights, which moves what is below them, so it looks again for some frames. A hand
// on the pane, or another goal, ends it; `after` is called when it is there.
function settler(place) {
  let goal = 0;
  for (const hand of ["wheel", "pointerdown", "touchstart", "keydown"]) place.addEventListener(hand, () => goal++, { passive: true });
  const settle = (off, after, number, frames, still) => {
    if (number !== goal) return;
    const before = place.scrollTop;
    place.scrollTop += off();
    const stays = Math.abs(place.scrollTop - before) < 2 ? still + 1 : 0;
    if (frames && stays < 4) requestAnimationFrame(() => settle(off, after, number, frames - 1, stays));
    else after();
  };
  return (off, after = () => {}) => settle(off, after, ++goal, FRAMES, 0);
}

// In a block that is not laid out, a place that is asked for need not be the true one: this lays a block out, seen or not.
function layOut(block, on = true) {
  for (const each of [block, block.parentElement]) each.classList.toggle("laid-out", on);
}

// The last of some ascending numbers that is at most `offset`, by its index.
function lastUpTo(numbers, offset) {
  let [low, high] = [0, numbers.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= offset) low = middle;
    else high = middle;
  }
  return low;
}

class LongText {
  constructor(place) {
    this.place = place;
    this.settle = settler(place);
    this.inSight = new Set(); // blocks
    this.watcher = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) this.inSight.add(target);
        else this.inSight.delete(target);
      }
      this.paint();
    }, { root: place, rootMargin: "200px" });
    this.show("");
  }

  show(text) {
    this.text = text;
    this.starts = [];
    this.blocks = [];
    this.places = []; // what is marked: [start, end]
    this.marks = []; // of each place, the elements
    this.at = -1; // place
    this.from = -1; // where the last search was: one that goes on with it starts there
    this.current = -1; // match
    this.gone = null; // block that is laid out although it may be out of sight
    this.watcher.disconnect();
    this.inSight.clear();
    const letters = Math.max(20, Math.min(this.place.clientWidth, WIDEST) / LETTER);
    const parts = [];
    for (let start = 0; start < text.length; ) {
      const end = blockEnd(text, start);
      const block = document.createElement("div");
      block.className = "text block";
      block.append(text.slice(start, end));
      block.number = this.blocks.length;
      block.height = heightOf(text.slice(start, end), letters);
      block.style.containIntrinsicBlockSize = `auto ${block.height}px`;
      if (block.number % PART === 0) parts.push(document.createElement("div"));
      parts.at(-1).append(block);
      this.starts.push(start);
      this.blocks.push(block);
      start = end;
    }
    for (const part of parts) {
      part.className = "part";
      part.style.containIntrinsicBlockSize = `auto ${[...part.children].reduce((sum, block) => sum + block.height, 0)}px`;
    }
    this.place.replaceChildren(...parts);
    for (const block of this.blocks) this.watcher.observe(block);
    this.settle(() => -this.place.scrollTop);
    this.find("");
  }

  // Search

  // Finds the words in any case, with any white space between them; gives how many matches there are.
  find(words) {
    if (this.current >= 0) this.from = this.matches[this.current];
    this.words = words.trim();
    this.matches = []; // where they begin
    this.lengths = [];
    this.current = -1;
    const parts = this.words.split(/\s+/u).filter(Boolean).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    if (parts.length) {
      for (const found of this.text.matchAll(new RegExp(parts.join("\\s+"), "giu"))) {
        this.matches.push(found.index);
        this.lengths.push(found[0].length);
      }
    }
    this.paint();
    return this.matches.length;
  }

  // Goes to the next match (1) or the one before (-1), round the ends; a new search begins at the last one, or at what
  // is in sight.
  go(step) {
    const count = this.matches.length;
    if (!count) return;
    if (this.current >= 0) this.current = (this.current + step + count) % count;
    else {
      const top = Math.min(...[...this.inSight].map((block) => this.starts[block.number]));
      const first = this.firstMatch(this.from >= 0 ? this.from : Number.isFinite(top) ? top : 0);
      this.current = step > 0 ? first % count : (first - 1 + count) % count;
    }
    this.reveal(...this.match(this.current));
    this.paint();
  }

  match(number) {
    return [this.matches[number], this.matches[number] + this.lengths[number]];
  }

  firstMatch(offset) {
    const last = lastUpTo(this.matches, offset);
    return this.matches[last] < offset ? last + 1 : last;
  }

  currentRange() {
    return this.current < 0 ? null : this.range(...this.match(this.current));
  }

  // Marks the matches in the blocks that are in sight; there may be a hundred thousand.
  paint() {
    if (!CSS.highlights) return;
    const found = new Highlight();
    for (const block of this.inSight) {
      const end = this.starts[block.number + 1] ?? this.text.length;
      for (let at = this.firstMatch(this.starts[block.number]); this.matches[at] < end; at++) found.add(this.range(...this.match(at)));
    }
    const range = this.currentRange();
    const current = range ? new Highlight(range) : new Highlight();
    current.priority = 1;
    CSS.highlights.set("found", found);
    CSS.highlights.set("current", current);
  }

  // Places

  // Marks places, [start, end] in order, with a class. Called once after `show`.
  mark(places, kind) {
    this.places = places;
    this.marks = places.map(() => []);
    this.at = -1;
    const within = new Map(); // block: numbers of the places in it
    places.forEach(([start, end], number) => {
      for (let b = this.blockAt(start); this.starts[b] < end; b++) within.set(b, [...(within.get(b) ?? []), number]);
    });
    for (const [b, numbers] of within) {
      const text = this.blocks[b].textContent;
      const pieces = [];
      let at = 0;
      for (const number of numbers) {
        const [start, end] = places[number].map((offset) => Math.min(Math.max(0, offset - this.starts[b]), text.length));
        const mark = document.createElement("mark");
        mark.className = kind;
        mark.append(text.slice(start, end));
        this.marks[number].push(mark);
        pieces.push(text.slice(at, start), mark);
        at = end;
      }
      this.blocks[b].replaceChildren(...[...pieces, text.slice(at)].filter((piece) => piece !== ""));
    }
    this.paint();
  }

  // Goes to the next place (1) or the one before (-1), round the ends; gives its number, or -1.
  goPlace(step) {
    const count = this.places.length;
    if (!count) return -1;
    const before = this.at;
    this.at = before < 0 ? 0 : (before + step + count) % count;
    for (const mark of this.marks[before] ?? []) mark.classList.remove("current");
    for (const mark of this.marks[this.at]) mark.classList.add("current");
    this.reveal(...this.places[this.at]);
    return this.at;
  }

  // Scrolls to a part of the text, unless it is in sight.
  reveal(start, end) {
    if (this.gone) layOut(this.gone, false);
    this.gone = this.blocks[this.blockAt(start)];
    layOut(this.gone);
    this.settle(() => {
      const [part, frame] = [this.range(start, end), this.place].map((each) => each.getBoundingClientRect());
      const edge = Math.min(40, frame.height / 6);
      const seen = part.top >= frame.top + edge && part.bottom <= frame.bottom - edge;
      return seen ? 0 : part.top - frame.top - frame.height / 3;
    });
  }

  // Offsets and nodes

  blockAt(offset) {
    return lastUpTo(this.starts, offset);
  }

  range(start, end) {
    const range = new Range();
    range.setStart(...this.point(start, start));
    range.setEnd(...this.point(end, Math.max(start, end - 1)));
    return range;
  }

  // Where an offset is in the node that has the character at `inside`.
  point(offset, inside) {
    const block = this.blockAt(inside);
    let at = this.starts[block];
    let node = this.blocks[block].firstChild;
    while (node.nextSibling && inside >= at + node.textContent.length) {
      at += node.textContent.length;
      node = node.nextSibling;
    }
    return [node.firstChild ?? node, offset - at];
  }

  // The offset of a point in the pane.
  offset(node, within) {
    const block = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest(".block");
    if (block) {
      const before = new Range();
      before.setStart(block, 0);
      before.setEnd(node, within);
      return this.starts[block.number] + before.toString().length;
    }
    const after = node.childNodes[within]; // a part of the pane, or a block of a part
    if (after) return this.starts[(after.firstChild?.number === undefined ? after : after.firstChild).number] ?? 0;
    const last = node === this.place ? undefined : node.lastChild?.number;
    return this.starts[last + 1] ?? this.text.length;
  }

  // What is selected of the text, as it stands in it; or the match that the search is at.
  selected() {
    const selection = getSelection();
    const range = selection.rangeCount && !selection.isCollapsed ? selection.getRangeAt(0) : null;
    if (range?.intersectsNode(this.place)) {
      const inside = (node) => this.place.contains(node);
      const start = inside(range.startContainer) ? this.offset(range.startContainer, range.startOffset) : 0;
      const end = inside(range.endContainer) ? this.offset(range.endContainer, range.endOffset) : this.text.length;
      if (end > start) return this.text.slice(start, end);
    }
    return this.current < 0 ? "" : this.text.slice(...this.match(this.current));
  }
}

// A long text with the search that templates/search.html.j2 puts beside it.
class Reading {
  constructor(place) {
    this.long = new LongText(place);
    [this.words, this.found] = ["words", "found"].map((id) => document.getElementById(id));
    let pause = 0;
    this.words.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.search(), 150);
    });
    this.words.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      clearTimeout(pause);
      if (this.words.value === this.words.sought) this.go(event.shiftKey ? -1 : 1);
      else this.search();
    });
    document.getElementById("before").addEventListener("click", () => this.go(-1));
    document.getElementById("after").addEventListener("click", () => this.go(1));
  }

  show(text) {
    this.long.show(text);
    this.words.value = this.words.sought = "";
    this.count();
  }

  search() {
    this.words.sought = this.words.value;
    if (this.long.find(this.words.value)) this.long.go(1);
    this.count();
  }

  count() {
    const [at, count] = [this.long.current + 1, this.long.matches.length].map((number) => number.toLocaleString("en"));
    this.found.textContent = !this.words.value.trim() ? "" : this.long.matches.length ? `${at} of ${count}` : "not found";
  }

  // To the next match (1) or the one before (-1); outside a field it is selected too, to be quoted.
  go(step) {
    this.long.go(step);
    this.count();
    const range = this.long.currentRange();
    if (!range || document.activeElement.closest("input, textarea")) return;
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
}
