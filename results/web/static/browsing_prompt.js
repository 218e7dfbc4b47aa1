"use strict";
// A record's prompt: blocks that the browser lays out as they come into view, needles to jump to, and a strip that
// shows where in the prompt they stand.
{
  const ROOM = 3000; // characters of a block, to the end of the line
  const MOST = 6000; // more, where a line has no end
  const LONG = 1000; // characters of a needle that is a text, not a sentence: it is marked quietly
  const PART = 32; // blocks, which are passed over together while they are far away
  const record = document.getElementById("record");
  const prompt = document.getElementById("prompt");
  const strip = document.getElementById("strip");
  const seen = document.getElementById("seen");
  const settle = settler(prompt);
  const blocks = []; // { node, start, size } in characters of the prompt
  const parts = []; // { node, first } block
  const marks = []; // { node, kind, name, depth, button }, the node where it begins
  const percent = (depth) => Math.round(10 * depth) / 10;
  let size = 0;
  let current = -1;

  // The end of a piece of text: behind a line's end, else behind a space, never inside a character.
  function cut(text, from, room) {
    const least = from + Math.max(room, 0);
    if (text.length <= least + MOST / 2) return text.length;
    const line = text.indexOf("\n", least);
    if (line >= 0 && line - least < MOST) return line + 1;
    const space = text.lastIndexOf(" ", least + MOST);
    if (space > least) return space + 1;
    const end = least + MOST;
    return /[\udc00-\udfff\u0300-\u036f\u200d\ufe0f]/.test(text[end]) ? end + 2 : end;
  }

  function begin() {
    if (blocks.length % PART === 0) {
      const part = document.createElement("div");
      part.className = "part";
      parts.push({ node: part, first: blocks.length });
    }
    const node = document.createElement("div");
    node.className = "block";
    parts.at(-1).node.append(node);
    const block = { node, start: size, size: 0 };
    blocks.push(block);
    return block;
  }

  function add(block, node, text) {
    node.textContent = text;
    block.node.append(node);
    block.size += text.length;
    size += text.length;
  }

  function lay(pieces) {
    let block = begin();
    for (const [kind, text, name, depth] of pieces) {
      // A turn of a conversation has a heading, which is no text of the prompt, and blocks of its own.
      if (kind === "turn") {
        if (block.size) block = begin();
        block.node.classList.add("turn", name);
        block.node.dataset.role = name;
      }
      const marked = kind === "needle" || kind === "planted";
      // A needle that is a document goes over many blocks; a sentence stays in one.
      const whole = marked && text.length <= ROOM;
      let from = 0;
      while (from < text.length) {
        const end = whole ? text.length : cut(text, from, ROOM - block.size);
        const node = document.createElement(marked ? "mark" : "span");
        node.className = kind === "turn" ? "frame" : kind;
        if (marked && text.length > LONG) node.classList.add("long");
        if (marked) node.title = depth === null ? name : `${name}, depth ${percent(depth)} %`;
        if (marked && from === 0) {
          marks.push({ node, kind, name, depth });
          layOut(block.node);
        }
        add(block, node, text.slice(from, end));
        from = end;
        if (from < text.length) {
          block.node.classList.toggle("goes-on", text[from - 1] !== "\n");
          block = begin();
        }
      }
    }
    prompt.replaceChildren(...parts.map((each) => each.node));
  }

  const share = (characters) => `${(100 * characters) / Math.max(1, size)}%`;

  function draw(pieces) {
    let start = 0;
    for (const [kind, text] of pieces) {
      const node = document.createElement("div");
      node.className = `piece ${kind}`;
      node.style.top = share(start);
      node.style.height = share(text.length);
      start += text.length;
      strip.append(node);
    }
  }

  function jump(number) {
    if (!marks.length) return;
    current = (number + marks.length) % marks.length;
    const { node } = marks[current];
    for (const [i, each] of marks.entries()) {
      each.node.classList.toggle("current", i === current);
      each.button.setAttribute("aria-pressed", String(i === current));
    }
    const off = () => node.getBoundingClientRect().top - prompt.getBoundingClientRect().top - prompt.clientHeight / 3;
    settle(off, followSoon);
  }

  function buttons() {
    const place = document.getElementById("needles");
    for (const [i, mark] of marks.entries()) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = mark.depth === null ? mark.name : `${mark.name} · ${percent(mark.depth)} %`;
      button.className = mark.kind;
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => jump(i));
      mark.button = button;
      place.append(button);
    }
  }

  // The last of some nodes that begins above a height.
  function lastAbove(some, height) {
    let low = 0;
    let high = some.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (some[middle].node.offsetTop <= height) low = middle;
      else high = middle - 1;
    }
    return some[low];
  }

  // The character at a height of the prompt: by the block that stands there, and how far into it.
  function characterAt(height) {
    const { first } = lastAbove(parts, height);
    const { node, start, size: characters } = lastAbove(blocks.slice(first, first + PART), height);
    return start + characters * Math.min(1, Math.max(0, (height - node.offsetTop) / Math.max(1, node.offsetHeight)));
  }

  function follow() {
    if (!blocks.length) return;
    const top = characterAt(prompt.scrollTop);
    const bottom = characterAt(prompt.scrollTop + prompt.clientHeight);
    seen.style.top = share(top);
    seen.style.height = share(bottom - top);
  }

  let waits = false;
  function followSoon() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; follow(); });
  }
  prompt.addEventListener("scroll", followSoon);
  prompt.addEventListener("contentvisibilityautostatechange", followSoon); // heights change without a scroll
  addEventListener("resize", follow);
  strip.addEventListener("click", (event) => {
    const box = strip.getBoundingClientRect();
    const wanted = (size * (event.clientY - box.top)) / box.height;
    const block = blocks.findLast((each) => each.start <= wanted) ?? blocks[0];
    if (!block) return;
    const inside = Math.min(1, (wanted - block.start) / Math.max(1, block.size));
    settle(() => {
      const { top, height } = block.node.getBoundingClientRect();
      return top + inside * height - prompt.getBoundingClientRect().top - prompt.clientHeight / 2;
    }, followSoon);
  });

  async function load() {
    const told = document.getElementById("told");
    try {
      const answer = await fetch(record.dataset.prompt);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.error);
      lay(found.parts);
      draw(found.parts);
      buttons();
      told.textContent = found.told;
      told.className = found.same ? "good" : "bad";
      document.getElementById("legend").hidden = false;
      document.getElementById("has-planted").hidden = !marks.some((each) => each.kind === "planted");
      const first = marks.findIndex((each) => each.kind === "needle");
      if (first >= 0) jump(first);
      follow();
    } catch (error) {
      told.textContent = `Cannot be shown: ${error.message}`;
      told.className = "bad";
      prompt.hidden = true;
      strip.hidden = true;
      for (const each of document.querySelectorAll(".around")) each.open = true; // what the record has of it
    }
    record.dataset.state = "ready";
  }

  document.getElementById("beside")?.addEventListener("change", (event) => location.assign(event.target.value));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const follows = (selector) => () => document.querySelector(selector)?.click();
    const deed = {
      n: () => jump(current + 1), p: () => jump(current < 0 ? -1 : current - 1),
      j: follows('.heading a[rel="next"]'), k: follows('.heading a[rel="prev"]'),
      Escape: follows("#back"),
    }[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });
  load();
}
