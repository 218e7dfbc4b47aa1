"""The page of `needlework compare`: differences with intervals, what differs, both answers of every trial."""

import pytest
from msgspec.structs import replace

from needlework.results.html.comparison import comparison_html
from needlework.results.statistics.comparison.comparison import compare_runs
from tests.results.builders import changed
from tests.results.html.pages import EVIL, Page, grid


@pytest.fixture
def run(make_record):
    """2 lengths x 3 depths x 12 repeats; `fails` says which (length, depth, repeat) are wrong, `lost` which errors."""

    def build(
        fails=lambda *_: False,
        lost=lambda *_: False,
        answer="4711",
    ):
        return [
            make_record(
                length=length,
                depth=depth,
                repeat=i,
                outcome="error" if lost(length, depth, i) else "wrong" if fails(length, depth, i) else "found",
                response={"text": answer},
            )
            for length in (1000, 8000)
            for depth in (0.0, 50.0, 100.0)
            for i in range(12)
        ]

    return build


def page_of(first, second, parts=(), **options):
    old, new = compare_runs({"old": first, "new": second})
    return Page(comparison_html((old, replace(new, parts=parts)), title="new − old", **options))


def test_both_answers_of_a_trial_stand_together(run):
    first, second = run(answer="It is 4711."), run(lambda *at: at == (1000, 0.0, 3), answer="It is 12.")
    del second[5]
    pairs = page_of(first, second).pairs()
    a, b = pairs[3]

    assert len(pairs) == 72
    assert (a["response"]["text"], a["outcome"], a["question"]) == ("It is 4711.", "found", "What is the code?")
    assert (b["response"]["text"], b["outcome"], b["repeat"]) == ("It is 12.", "wrong", 3)
    assert [side is None for side in pairs[5]] == [False, True]


def test_trials_that_both_judge_alike_are_left_out_first(make_record):
    first = grid(make_record, 30, 12)
    second = [changed(record, response={"text": f"{i} " * 40}) for i, record in enumerate(first)]
    for record in second[100:110]:
        record.outcome, record.score = ("found", 1.0) if record.outcome == "wrong" else ("wrong", 0.0)
    page = page_of(first, second, limit_bytes=140_000)

    assert 10 < len(page.pairs()) < 360
    assert sum(a["score"] != b["score"] for a, b in page.pairs()) == 10
    assert "Left out: details of " in " ".join(page.inside("div"))


def test_equal_runs_give_equal_bytes_in_any_order(run):
    a, b = run(), run(lambda length, depth, i: depth == 50)
    texts = [comparison_html(compare_runs({"a": x, "b": y}), title="t") for x, y in ((a, b), (a[::-1], b[::-1]))]

    assert texts[0] == texts[1]


def test_nothing_that_a_model_says_becomes_markup_and_nothing_is_loaded(make_record):
    fields = dict.fromkeys(("model", "task", "needle", "why", "question", "answer", "scorer", "id"), EVIL)
    hostile = [make_record(**fields, response={"text": EVIL}, expected=[EVIL])]
    first, second = compare_runs({EVIL: hostile, f"{EVIL} again": hostile})
    text = comparison_html((first, replace(second, parts=(EVIL,), label=EVIL)), title=EVIL)
    page = Page(text)

    assert page.tags().count("script") == 3
    assert "img" not in page.tags()
    assert all("<img src=x" in side["response"]["text"] for side in page.pairs()[0] if side is not None)
    assert "default-src &#39;none&#39;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "").replace(
        "https://x", ""
    )
