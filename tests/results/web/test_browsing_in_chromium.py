"""The browsing pages in a real browser, on real runs and on large prompts."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from needlework.results.files.json_file import read_json
from needlework.results.records.journal import line_of
from tests.results.web.browsing_runs import real_run, record, write_journal
from tests.results.web.chrome import Chrome
from tests.results.web.conftest import Serve
from tests.results.web.signed_in import TOKEN

READY = "return document.getElementById('record')?.dataset.state"
GRID = ("--language=en", "--lengths=2k,128k", "--depths=75", "--repeats=2")
ENTER, ESCAPE = "\ue007", "\ue00c"
LONG = "multi_needle-len128000-depth75-codes-r1"
IN_VIEW = """
const pane = document.getElementById("prompt").getBoundingClientRect();
const mark = document.querySelector("mark.current").getBoundingClientRect();
const [box] = document.querySelector("mark.current").getClientRects();
return mark.top >= pane.top && mark.bottom <= pane.bottom
  && document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)?.matches("mark.current");
"""
STILL = """
const { scrollTop } = document.getElementById("prompt");
const before = window.before;
window.before = scrollTop;
return before === scrollTop;
"""
COUNT = "return document.querySelector('.count b')?.textContent === arguments[0]"
BLOCKS = "[...document.querySelectorAll('.block')]"
LAID_OUT = f"return {BLOCKS}.filter(b => b.firstChild.checkVisibility({{contentVisibilityAuto: true}})).length"
LONGEST = f"return Math.max(...{BLOCKS}.map(b => b.textContent.length))"
COLOR = "return getComputedStyle(document.querySelector('.heat td.p50')).backgroundColor"
SAME = """
const done = arguments[arguments.length - 1];
fetch(document.getElementById("record").dataset.prompt).then((answer) => answer.json()).then((made) =>
  done(made.parts.map((part) => part[1]).join("") === document.getElementById("prompt").textContent));
"""
RECORD = f"""
const done = arguments[arguments.length - 1];
fetch("/browse/0/json/{LONG}").then((answer) => answer.text()).then(done);
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`half`: a real run; `perfect`: another one of its short trials; `large`: 10,000 trials, the first with a
    prompt of 5 MB on one line."""
    folder = tmp_path_factory.mktemp("runs")
    half = read_json(real_run(folder, "half", "--task=multi_needle", *GRID) / "results.json")
    for each in half:
        each |= {"model": "mock:perfect", "outcome": "found", "score": 1.0, "answer": each["expected"][0]}
    write_journal(folder / "perfect", half[:2])
    text = "雨 fell, and the river rose. " * 170_000
    text = f"{text}The code is 123. {text[:2_000_000]}"
    at = text.index("The code")
    needle = {"name": "code", "start": at, "end": at + 16, "depth": 70.0, "text": "The code is 123."}
    document = {"name": "b.txt", "start": at + 17, "end": len(text), "depth": 71.0, "text": ""}
    key, digest = "f" * 64, sha256(text.encode()).hexdigest()
    large = [record(n) for n in range(1, 10_000)]
    large.append(record(0, key=key, prompt={"sha256": digest, "needles": [needle, document]}))
    write_journal(folder / "large", large)
    (folder / "large" / "prompts").mkdir()
    (folder / "large" / "prompts" / f"{key}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def address(serve: Serve, runs: Path) -> str:
    address = serve(runs) + "browse/"
    # The first prompt of a run opens its tokenizer and corpus; on a busy machine that is longer than a test waits.
    asked = Request(f"{address}0/prompt/{LONG}", headers={"authorization": f"Bearer {TOKEN}"})
    with urlopen(asked, timeout=60) as made:
        assert made.status == 200
    return address


def test_by_keys_through_the_list_into_a_record_and_back(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}0/?outcome=wrong")
    wrong = chrome.texts("a.open")
    chrome.press("j", "j", ENTER)
    chrome.until(READY)

    assert chrome.texts(".heading nav span") == [f"2 of {len(wrong)}"]
    chrome.press("k")
    chrome.until(f"return document.querySelector('.heading nav span')?.textContent === '1 of {len(wrong)}'")
    chrome.until(READY)
    chrome.press(ESCAPE)
    chrome.until("return document.activeElement.matches('a.open')")
    assert chrome.ask("return location.search") == "?outcome=wrong"
    assert chrome.ask("return document.activeElement === document.querySelector('a.open')")


def test_searching_keeps_the_focus_and_the_address_the_search(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}1/?sort=-score")
    chrome.press("/")
    chrome.press(*"r77")
    chrome.until(COUNT, "111")

    assert chrome.ask("return [location.search, document.activeElement.name]") == ["?q=r77&sort=-score", "q"]
    assert chrome.texts("[data-live=found]") == ["111"]
    assert chrome.ask("return document.querySelectorAll('a.open').length") == 100
    chrome.click("thead th a", 1)
    chrome.until("return location.search === '?q=r77&sort=length'")
    chrome.driver.back()
    chrome.until(COUNT, "111")
    assert chrome.ask("return document.querySelector('[name=q]').value") == "r77"


def test_a_choice_is_a_step_that_back_undoes(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}0/")
    (whole,), (found,) = chrome.texts(".count b"), chrome.texts("[data-live=found]")
    assert 0 < int(found) < int(whole)
    chrome.click(".chip")
    chrome.until(COUNT, found)
    chrome.driver.back()
    chrome.until(COUNT, whole)

    assert chrome.ask("return document.querySelectorAll(':checked[type=checkbox]').length") == 0


def test_a_cell_of_the_heatmap_shows_its_trials(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}0/")
    assert chrome.texts(".heat thead th") == ["2k", "128k"]
    assert chrome.ask(COLOR) == "rgb(33, 145, 140)"
    chrome.click(".heat td a", 1)
    chrome.until("return location.search === '?length=128000&depth=75'")

    assert len(chrome.texts("a.open")) == 2


def test_a_long_prompt_is_whole_checked_and_at_its_needle(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}0/trial/{LONG}")
    chrome.until(READY)

    assert "byte for byte what was sent" in chrome.texts("#told")[0]
    assert chrome.ask("return document.getElementById('told').className") == "good"
    assert chrome.driver.execute_async_script(SAME)
    assert chrome.ask(f"return {BLOCKS}.length") > 100
    for key in ("", "n", "n", "n", "p"):
        chrome.press(key)
        chrome.until(STILL)
        assert chrome.ask(IN_VIEW), key
    assert chrome.ask(LAID_OUT) < 20
    kept = json.loads(chrome.driver.execute_async_script(RECORD))["prompt"]["needles"]
    assert chrome.texts("#prompt mark.needle") == [needle["text"] for needle in kept]
    assert 70 < chrome.ask("return parseFloat(document.querySelector('.piece.needle').style.top)") < 80
    assert chrome.texts(".block:last-child .question")[0].startswith("What are")


def test_five_megabytes_on_one_line(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}1/trial/niah-len2000-depth50-code-r0")
    chrome.until(READY)

    assert "--save-prompts" in chrome.texts("#told")[0]
    assert 500 < chrome.ask(f"return {BLOCKS}.length") < 3000
    assert chrome.ask(LONGEST) < 10_000
    chrome.until(IN_VIEW)
    chrome.ask("document.getElementById('prompt').scrollTop = 0")
    chrome.press("n", "p")
    chrome.until(IN_VIEW)
    assert chrome.ask(LAID_OUT) < 20
    assert len(chrome.texts("#prompt mark")) > 200, "a needle that is a document goes over many blocks"
    assert 65 < chrome.ask("return parseFloat(document.getElementById('seen').style.top)") < 75


def test_two_runs_beside_each_other(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}0/trial/multi_needle-len2000-depth75-codes-r1")
    chrome.until(READY)
    chrome.ask("const s = document.getElementById('beside'); s.selectedIndex = 2; s.dispatchEvent(new Event('change'))")
    chrome.until("return document.querySelector('.pair')")

    assert chrome.texts(".pair .run") == ["half", "perfect"]
    assert chrome.texts(".pair .badge") == ["wrong", "found"]
    assert "the same prompt" in chrome.texts(".pair")[0]


@pytest.mark.parametrize("path", ["", "0/", f"0/trial/{LONG}?beside=2"])
def test_a_narrow_window_scrolls_one_way(chrome: Chrome, address: str, path: str) -> None:
    chrome.open(f"{address}{path}", width=320)
    if "record" in path:
        chrome.until(READY)

    assert chrome.ask("return document.documentElement.scrollWidth <= innerWidth")


def test_what_is_new_is_told_and_shown_when_asked(chrome: Chrome, serve: Serve, tmp_path: Path) -> None:
    run = write_journal(tmp_path / "going", [record(0)])
    chrome.open(serve(run) + "browse/0/")
    with (run / "journal.jsonl").open("a", encoding="ascii") as file:
        file.write(line_of(record(1, answer="\ud800 <b>")) + "\n")
    chrome.until("return !document.getElementById('fresh').hidden")

    assert chrome.texts("#fresh") == ["1 new: show (r)"]
    assert chrome.texts("a.open") == ["niah · code"], "what is being read stays"
    chrome.press("r")
    chrome.until("return document.querySelectorAll('a.open').length === 2")
