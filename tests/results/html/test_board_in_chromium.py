"""The page of a leaderboard in a browser: sorted by a click, no sideways scroll on a phone."""

from __future__ import annotations

from collections.abc import Callable

from needlework.core.record import Record
from needlework.results.html.boards import board_html
from needlework.results.statistics.leaderboard.boards import ModelRun, boards_of
from needlework.results.statistics.leaderboard.entries import entries_of
from needlework.results.statistics.panels import asked_of
from tests.results.html.browser import Browser

NAMES = {"zeta/a-very-long-name-of-a-model-and-its-quantisation-q4_k_m": 0.25, "beta": 1.0, "alpha<script>": 0.5}


def page(make_record: Callable[..., Record]) -> str:
    candidates = []
    for name, right in NAMES.items():
        records = [
            make_record(length=length, repeat=repeat, outcome="found" if repeat < 16 * right else "wrong")
            for length in (1000, 2000, 4000, 8000, 16000, 32000)
            for repeat in range(16)
        ]
        entries = {entry.task: entry for entry in entries_of(asked_of(records), {})}
        candidates.append(ModelRun(name, name, name, "../x/report.html", entries))
    boards = boards_of(candidates)
    return board_html(boards, [None], title="Leaderboard", notes=["one run is left out"])


def test_a_click_sorts_and_a_second_one_turns_the_order(make_record: Callable[..., Record], browser: Browser) -> None:
    browser.show(page(make_record))
    first, second, third = NAMES
    names = "tbody th"

    assert browser.texts(names) == [second, third, first]
    browser.click("thead button", 1)
    assert browser.texts(names) == [third, second, first]
    browser.click("thead button", 1)
    assert browser.texts(names) == [first, second, third]
    browser.click("thead button", 2)
    assert browser.texts(names) == [second, third, first]
    assert browser.texts("th[aria-sort]") == ["score % (95 %)"]
    assert browser.driver.get_log("browser") == []


def test_a_phone_does_not_scroll_sideways(make_record: Callable[..., Record], browser: Browser) -> None:
    for dark in (False, True):
        browser.show(page(make_record), width=400, dark=dark)
        assert browser.ask("return document.documentElement.scrollWidth") <= 400
        assert browser.ask("return document.querySelector('thead button').getBoundingClientRect().height") < 40
