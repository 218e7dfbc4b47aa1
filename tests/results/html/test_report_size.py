"""The page stays below its limit, keeps what tells most, and says what it left out."""

from __future__ import annotations

from hashlib import sha256

import pytest

from needlework.results.html.report import html_text
from needlework.results.statistics.run_report import run_report
from tests.results.html.pages import MakeRecord, Page, grid


def test_ten_megabytes_of_text_are_cut_with_a_mark(make_record: MakeRecord) -> None:
    response = {"text": "begin " + "<" * 10_000_000 + " end"}
    text = html_text(run_report([make_record(outcome="wrong", response=response)]), title="x")
    head, left_out, tail = Page(text).trials()[0]["response"]["text"]

    assert len(text) < 100_000
    assert head.startswith("begin <<<")
    assert tail.endswith("<<< end")
    assert len(head) + left_out + len(tail) == len(response["text"])
    assert "what is longer than 20,000 characters in texts of 1 trial" in text


@pytest.mark.slow
def test_ten_thousand_cells_fit_into_three_megabytes_with_every_answer(make_record: MakeRecord) -> None:
    records = grid(make_record, 100, 100)
    text = html_text(run_report(records), title="x")
    page = Page(text)
    trials = page.trials()

    assert len(text.encode()) < 3_000_000
    assert sum(tag == "td" for tag in page.tags()) > 10_100
    assert len(trials) == 10_000
    assert all(trial["response"]["text"] and trial["question"] and trial["prompt"]["needles"] for trial in trials)


def noise(seed: str, words: int) -> str:
    """Text that cannot be packed."""
    return " ".join(sha256(f"{seed} {i}".encode()).hexdigest() for i in range(words))


def test_what_was_found_goes_first_scattered_and_the_page_says_so(make_record: MakeRecord) -> None:
    records = grid(make_record, 30, 12)
    for number, record in enumerate(records):
        record.response.text = noise(str(number), 5 if record.score else 16)
    limit = 180_000
    text = html_text(run_report(records), title="x", limit_bytes=limit)
    page = Page(text)
    rows = page.details()
    kept = {(row[1], row[2]) for row in rows}

    assert limit * 0.9 < len(text.encode()) < limit
    assert 0 < len(rows) < len(records)
    assert f"details of {len(records) - len(rows)} of 360 trials, those that were found first" in text
    wrong = {
        (round(record.length / 1000) - 1, round(record.depth * 11 / 100)) for record in records if not record.score
    }
    assert wrong <= kept
    found = {(column, row) for column, row in kept - wrong}
    assert len({column for column, _ in found}) > 20  # from everywhere
    assert len({row for _, row in found}) == 12
    assert any(isinstance(trial["response"]["text"], list) for trial in page.trials())


def test_scores_are_complete_even_without_room_for_any_trial(make_record: MakeRecord) -> None:
    page = Page(html_text(run_report(grid(make_record, 5, 5)), title="x", limit_bytes=1))

    assert page.trials() == []
    assert len(page.inside("td")) > 30
    assert "details of 25 of 25 trials" in " ".join(page.inside("div"))
