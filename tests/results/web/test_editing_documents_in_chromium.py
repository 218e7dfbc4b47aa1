"""The annotation page in a real browser: long documents, keys, what is kept, two tabs."""

import json
import re
import sqlite3

import pytest

from tests.results.web.chrome import patiently

ActionChains = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").ActionChains

SENTENCE = "On day {n} the ferry carried {m} crates of oranges to the northern harbour, and nobody asked why. "
READY = "return document.body.dataset.ready"
KEPT = "return /^kept/.test(document.getElementById('kept').textContent)"
HOSTILE = "<img src=x onerror=alert(1)> \u2028 مرحبا بالعالم 长文档 \ud800 </script>"


def prose(characters, *, per_line=7):
    parts, total, n = [], 0, 0
    while total < characters:
        n += 1
        parts.append(SENTENCE.format(n=n, m=n * 7 % 90) + ("\r\n" if n % per_line == 0 else ""))
        total += len(parts[-1])
    return "".join(parts)


ROWS = [
    {
        "instructions": ["How many crates on day 3?", "line one\r\nline two"],
        "outputs": ["21", "kept\r\nas it was"],
        "input": prose(500_000),
        "evaluation": "LLM",
        "source": HOSTILE,
    },
    {"text": prose(5_000_000, per_line=10**9), "id": 12345678901234567890},
    {"content": "漢字" * 40_000 + HOSTILE, "instructions": [HOSTILE], "outputs": []},
    {"input": "Short.", "instructions": ["Which?"], "outputs": ["This."]},
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("annotating") / "long.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def address(serve, source):
    return f"{serve(source)}editing/0/"


def open_row(chrome, address, row, **how):
    chrome.open(f"{address}{row}/", **how)
    chrome.until(READY)
    chrome.tell_name()


def fields(chrome):
    return json.loads(chrome.ask("return JSON.stringify(pairs.get())"))  # the driver has no half characters


def kept(source, row):
    """The newest work on a row, straight from the file that keeps it."""
    with sqlite3.connect(source.with_name("people.sqlite")) as connection:
        events = connection.execute(
            "SELECT what, said FROM events WHERE page = 'documents' AND undone = 0 ORDER BY number"
        )
        found = [(what, said) for what, text in events if (said := json.loads(text))["place"] == row]
    if not found:
        return None
    what, said = found[-1]
    return ([], "untouched") if what == "set aside" else (said["pairs"], said["state"])


def write(chrome, selector, text, number=0):
    chrome.driver.find_elements("css selector", selector)[number].send_keys(text)


def test_a_long_document_is_shown_whole_in_blocks(chrome, address):
    for row, key in ((0, "input"), (1, "text"), (2, "content")):
        open_row(chrome, address, row)
        whole, length, blocks, longest = chrome.ask(
            "const texts = [...document.querySelectorAll('.block')].map(e => e.textContent);"
            "const all = texts.join('');"
            "return [all === row.document, [...all].length, texts.length, Math.max(...texts.map(e => e.length))]"
        )
        assert whole
        assert length == len(ROWS[row][key])
        assert longest <= 8000
        assert blocks < length / 2000
        in_sight, skips = chrome.ask(
            "return [long.inSight.size, getComputedStyle(long.blocks.at(-1)).contentVisibility]"
        )
        assert 0 < in_sight < 30
        assert skips == "auto"


def test_search_counts_goes_round_and_marks_what_is_in_sight(chrome, address):
    open_row(chrome, address, 1)
    days = len(re.findall("day", ROWS[1]["text"]))
    chrome.press("/", "THE  northern")
    chrome.until("return document.getElementById('words').sought === 'THE  northern'")
    assert chrome.texts("#found") == [f"1 of {days:,}"]
    chrome.press("\ue007", "\ue007")
    assert chrome.texts("#found") == [f"3 of {days:,}"]
    chrome.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Enter", "modifiers": 8})
    assert chrome.texts("#found") == [f"2 of {days:,}"]
    assert chrome.ask("return CSS.highlights.get('found').size") < 1000
    chrome.press("\ue00c")  # Escape: out of the field, so that single keys work
    chrome.press("p", "p")
    assert chrome.texts("#found") == [f"{days:,} of {days:,}"]
    inside = chrome.until(
        "const [r, d] = [long.currentRange(), long.place].map(e => e.getBoundingClientRect());"
        "return r.height > 0 && r.top >= d.top && r.bottom <= d.bottom"
    )
    assert inside
    assert chrome.ask("return getSelection().toString()").lower() == "the northern"


def test_what_is_typed_is_kept_at_a_pause_and_there_after_a_reload(chrome, address, source):
    open_row(chrome, address, 0)
    assert fields(chrome) == [["How many crates on day 3?", "21"], ["line one\r\nline two", "kept\r\nas it was"]]
    write(chrome, ".answer", " crates")
    assert chrome.texts("#state") == ["begun"]
    chrome.until(KEPT)
    assert kept(source, 0) == (
        [["How many crates on day 3?", "21 crates"], ["line one\r\nline two", "kept\r\nas it was"]],
        "begun",
    )
    write(chrome, ".answer", "!\n", number=1)
    chrome.until("return document.getElementById('kept').textContent === '…'")
    chrome.until(KEPT)
    open_row(chrome, address, 0)
    assert fields(chrome)[0][1] == "21 crates"
    assert fields(chrome)[1] == ["line one\r\nline two", "kept\r\nas it was!\r\n"]


def test_a_selection_is_quoted_as_it_stands_in_the_document(chrome, address, source):
    open_row(chrome, address, 1)
    chrome.press("+", "Where to?")
    chrome.press("\ue00c")
    chrome.ask(
        "const [a, b] = document.querySelectorAll('.block'); const r = new Range();"
        "r.setStart(a.firstChild, a.firstChild.length - 20); r.setEnd(b.firstChild, 30);"
        "getSelection().removeAllRanges(); getSelection().addRange(r)"
    )
    end = chrome.ask("return long.starts[1]")
    chrome.press("q")
    quoted = ROWS[1]["text"][end - 20 : end + 30]
    assert fields(chrome) == [["Where to?", quoted]]
    chrome.press("\ue00c", "/", "day 7777 ")
    chrome.until("return document.getElementById('found').textContent === '1 of 1'")
    chrome.click("#quote")
    assert fields(chrome) == [["Where to?", f"{quoted}day 7777"]]
    patiently(lambda: kept(source, 1) == ([["Where to?", f"{quoted}day 7777"]], "begun"), "kept")
    ActionChains(chrome.driver).double_click(chrome.driver.find_element("css selector", "#document")).perform()
    word = chrome.ask("return getSelection().toString()").strip()
    assert re.fullmatch(r"\w+", word)
    chrome.click("#quote")  # with the mouse, too
    assert fields(chrome)[0][1].startswith(f"{quoted}day 7777{word}")
    chrome.until(KEPT)


def test_pairs_are_added_moved_deleted_and_brought_back_by_keys(chrome, address, source):
    open_row(chrome, address, 3)
    chrome.press("+", "Second?")
    chrome.driver.switch_to.active_element.send_keys("\ue00a", "\ue013")  # Alt+Up
    assert [pair[0] for pair in fields(chrome)] == ["Second?", "Which?"]
    assert chrome.ask("return document.activeElement.value") == "Second?"
    chrome.click(".pair button[aria-label='Delete pair 1']")
    assert fields(chrome) == [["Which?", "This."]]
    chrome.press("u")
    assert [pair[0] for pair in fields(chrome)] == ["Second?", "Which?"]
    chrome.press("k", "j")
    assert chrome.ask("return document.activeElement.getAttribute('aria-label')") == "Pair 2"
    patiently(lambda: kept(source, 3) == ([["Second?", ""], ["Which?", "This."]], "begun"), "kept")
    chrome.driver.switch_to.active_element.send_keys("\ue009", "\ue007")  # Ctrl+Enter
    chrome.until("return location.pathname === '/editing/0/0/' && document.body.dataset.ready")
    assert kept(source, 3)[1] == "done"


def test_two_tabs_lose_nothing(chrome, address, source):
    open_row(chrome, address, 2)
    write(chrome, ".answer", "first")
    chrome.until(KEPT)
    mine = chrome.driver.current_window_handle
    chrome.driver.switch_to.new_window("tab")
    try:
        open_row(chrome, address, 2)
        write(chrome, ".answer", " second")
        chrome.until(KEPT)
        chrome.driver.switch_to.window(mine)
        write(chrome, ".answer", " third")
        chrome.until("return document.getElementById('told-overtaken')")
        assert fields(chrome) == [[HOSTILE, "first third"]]
        assert kept(source, 2) == ([[HOSTILE, "first second"]], "begun")
        chrome.click("#told-overtaken button", 1)  # mine as the newest
        patiently(lambda: kept(source, 2) == ([[HOSTILE, "first third"]], "begun"), "kept")
        chrome.click("#history")
        chrome.until("return document.getElementById('past').open")
        assert len(chrome.texts("#entries li")) == 5  # a draft of each tab, mine overtaken, mine saved, the file
        chrome.click("#entries summary", 2)
        chrome.until("return document.querySelectorAll('#entries pre').length === 2")
        chrome.click("#entries button", 2)
        patiently(lambda: kept(source, 2) == ([[HOSTILE, "first second"]], "begun"), "restored")
        assert fields(chrome) == [[HOSTILE, "first second"]]
    finally:
        for window in chrome.driver.window_handles:
            if window != mine:
                chrome.driver.switch_to.window(window)
                chrome.driver.close()
        chrome.driver.switch_to.window(mine)


def test_a_change_that_is_not_kept_says_so_and_is_kept_later(chrome, address, source):
    open_row(chrome, address, 3)
    chrome.driver.set_network_conditions(offline=True, latency=0, throughput=0)
    write(chrome, ".question", " And then?")
    chrome.until("return document.getElementById('notice').classList.contains('bad')")
    assert chrome.texts("#notice") == ["not kept: the server does not answer; start needlework serve again"]
    assert fields(chrome)[0][0].endswith("And then?")
    assert chrome.ask("return dispatchEvent(new Event('beforeunload', {cancelable: true}))") is False
    chrome.driver.delete_network_conditions()
    patiently(lambda: (work := kept(source, 3)) and work[0][0][0].endswith("And then?"), "tried again")
    chrome.until(KEPT)
    assert chrome.texts("#notice") == [""]
    assert all("ERR_INTERNET_DISCONNECTED" in line for line in chrome.log())


def test_a_page_of_an_earlier_start_goes_on(chrome, address, source):
    open_row(chrome, address, 3)
    chrome.ask("document.querySelector('meta[name=token]').content = 'old'")
    write(chrome, ".answer", " Later.", number=-1)
    patiently(lambda: (work := kept(source, 3)) and work[0][-1][1].endswith("Later."), "kept")
    assert all("403" in line for line in chrome.log())


def test_rows_are_filtered_opened_and_exported(chrome, address, source):
    chrome.open(address)
    chrome.press("/", "begun")
    assert "rows" in chrome.texts("#shown")[0]
    chrome.press("\ue00c")
    chrome.ask("document.getElementById('words').value = ''; filter()")
    chrome.press("j", "j")
    assert chrome.ask("return document.activeElement.closest('li').querySelector('b').textContent") == "2"
    chrome.click("#export")
    told = chrome.until("return document.getElementById('exported').textContent")
    assert "4 rows, " in told
    rows = [json.loads(line) for line in source.with_name("long.cleaned.jsonl").read_text("utf-8").splitlines()]
    assert [row.get("source") for row in rows] == [row.get("source") for row in ROWS]
    assert [row.get("input") for row in rows] == [row.get("input") for row in ROWS]


def test_begin_anew_asks_and_can_be_taken_back(chrome, address, source):
    open_row(chrome, address, 3)
    write(chrome, ".answer", " Or not.")
    patiently(lambda: (work := kept(source, 3)) and "Or not." in work[0][0][1], "kept")
    chrome.open(address)
    before = kept(source, 3)
    chrome.click("#anew")
    chrome.click("#no")
    assert kept(source, 3) == before
    chrome.click("#anew")
    chrome.click("#yes")
    chrome.until("return document.querySelector('.restore')")
    assert kept(source, 3) == ([], "untouched")
    chrome.click(".restore")
    chrome.click("#yes")
    patiently(lambda: kept(source, 3) == before, "restored")


@pytest.mark.parametrize("page", ["", "0/"])
def test_a_narrow_window_needs_no_scrolling_sideways(chrome, address, page):
    chrome.open(f"{address}{page}", width=320)
    if page:
        chrome.until(READY)
    assert chrome.ask("return document.documentElement.scrollWidth") <= 320
