"""A long text in a pane, in a real browser: its blocks, what is gone to, what is selected."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from tests.results.web.chrome import Chrome

READY = "return document.body.dataset.ready"
SHOW = "long.show(arguments[0]); return long.blocks.map(block => block.textContent)"
SETTLED = """
const [text, done] = arguments;
long.find(text);
long.go(1);
let [before, frames] = [-1, 0];
const look = () => {
  const now = long.place.scrollTop;
  frames = now === before ? frames + 1 : 0;
  before = now;
  if (frames < 8) return requestAnimationFrame(look);
  const [range, place] = [long.currentRange(), long.place].map(each => each.getBoundingClientRect());
  done([range.height > 0 && range.top >= place.top && range.bottom <= place.bottom, scrollY]);
};
look();
"""
UPWARDS = """
const done = arguments[0];
const moves = [];
const look = () => {
  const { top, height } = long.place.getBoundingClientRect();
  const seen = document.elementFromPoint(innerWidth / 4, top + height / 2).closest(".block");
  const before = seen.getBoundingClientRect().bottom;
  long.place.scrollTop -= 100;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    moves.push(seen.getBoundingClientRect().bottom - before);
    if (moves.length < 60) look();
    else done(moves);
  }));
};
look();
"""
SELECTED = """
const [start, end] = arguments;
const range = long.range(start, end);
getSelection().removeAllRanges();
getSelection().addRange(range);
return long.selected();
"""
TEXTS = {
    "lines": "".join(f"Line {n}.\r\n" + "\n" * (n % 4) for n in range(30_000)),
    "one line": "A tide went out, and in. " * 20_000,
    "no spaces": "長い文書。" * 40_000,
    "no ends": "字" * 100_000,
    "characters of parts": "👩\u200d🚀e\u0301" * 20_000,
    "empty": "",
}


@pytest.fixture(scope="module")
def address(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("document") / "a.jsonl"
    file.write_text(json.dumps({"input": "A text."}) + "\n", encoding="ascii")
    return f"{serve(file)}editing/0/0/"


@pytest.fixture
def page(chrome: Chrome, address: str) -> Chrome:
    chrome.open(address)
    chrome.until(READY)
    chrome.tell_name()
    return chrome


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_are_the_text_and_end_where_people_see_an_end(page: Chrome, name: str) -> None:
    text = TEXTS[name]
    blocks = page.ask(SHOW, text)

    assert "".join(blocks) == text
    assert all(0 < len(block.encode("utf-16-le")) // 2 <= 4000 for block in blocks)
    assert len(blocks) <= len(text.encode("utf-16-le")) / 4000 + 1
    ends = {"lines": "\n", "one line": " ", "no spaces": "。", "no ends": "字", "characters of parts": "🚀\u0301"}
    assert {block[-1] for block in blocks[:-1]} <= set(ends.get(name, ""))


@pytest.fixture(scope="module")
def uneven() -> str:
    """Blocks of very different heights, and four needles."""
    some = random.Random(7)
    sentences = ["Short.\n", "A longer sentence that is on no line of its own, it goes on. ", "\n\n\n", "長い文。" * 60]
    parts = [some.choice(sentences) for _ in range(20_000)]
    for number in range(4):
        parts[number * 5000 + some.randrange(5000)] = f"\nNEEDLE {number} of wood\n"
    return "".join(parts)


def test_what_is_gone_to_is_in_sight_however_high_the_blocks_between_are(page: Chrome, uneven: str) -> None:
    page.ask(SHOW + ".length", uneven)
    for number in (2, 0, 3, 1):
        assert page.driver.execute_async_script(SETTLED, f"needle {number} OF wood") == [True, 0]


def test_who_reads_upwards_from_there_sees_no_jumps(page: Chrome, uneven: str) -> None:
    page.ask(SHOW + ".length", uneven)
    page.driver.execute_async_script(SETTLED, "needle 2 of wood")
    moves = page.driver.execute_async_script(UPWARDS)

    assert len(moves) == 60
    assert {round(move) for move in moves} <= {99, 100, 101}


def test_what_is_selected_is_the_text_also_where_places_are_marked(page: Chrome) -> None:
    text = "".join(f"Day {n}: 潮 went 👩\u200d🚀 out.\r\n" for n in range(2_000))
    page.ask(SHOW, text)
    units = text.encode("utf-16-le")
    places = [[start, start + 9] for start in range(3_990, 20_000, 40)]
    page.ask("long.mark(arguments[0], 'literal')", places)

    assert page.ask("return long.blocks.map(block => block.textContent).join('')") == text
    for start, end in ((0, 5), (3_992, 3_996), (3_980, 4_100), (0, 20_000), (19_970, 21_000)):
        assert page.ask(SELECTED, start, end) == units[2 * start : 2 * end].decode("utf-16-le", "replace")
    page.ask("getSelection().selectAllChildren(long.place)")
    assert page.ask("return long.selected()") == text
    page.ask("getSelection().selectAllChildren(long.place.firstChild)")
    assert page.ask("return long.selected()") == "".join(
        page.ask("return long.blocks.slice(0, 32).map(b => b.textContent)")
    )
    page.ask("getSelection().removeAllRanges(); long.find('day 77:'); long.go(1)")
    assert page.ask("return long.selected()") == "Day 77:"


def test_places_are_gone_through_round_the_ends(page: Chrome) -> None:
    page.ask(SHOW, "".join(f"Line {n}.\n" for n in range(5_000)))
    page.ask("long.mark([[5, 6], [3990, 4010], [20000, 20005]], 'nearest')")

    assert page.ask("return [1, 1, 1, 1, -1].map(step => long.goPlace(step))") == [0, 1, 2, 0, 2]
    assert page.ask("return document.querySelectorAll('mark.current').length") == 1
    assert page.ask("return long.goPlace(-1)") == 1
    assert page.ask("return [...document.querySelectorAll('mark.current')].map(each => each.textContent).join('')") == (
        page.ask("return long.text.slice(3990, 4010)")
    )
