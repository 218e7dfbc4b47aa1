"""The page of `needlework compare`: differences with intervals, what differs, both answers of every trial."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from needlework.core.record import Record
from needlework.results.html.comparison import comparison_html
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.style import difference_color
from tests.results.changed import changed
from tests.results.html.pages import EVIL, Page, grid

Run = Callable[..., list[Record]]


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


def looks_of(page):
    return [str(a["class"]) for tag, a in page.elements if tag == "td" and "class" in a]


def test_tables_have_difference_interval_tests_and_denominators(run):
    page = page_of(
        run(),
        run(lambda length, depth, i: depth == 50, lambda length, depth, i: (depth, i) == (0, 0)),
        ("corpora essays/en: sha256 1 / 2", "seed: 0 / <b>3</b>"),
    )
    cells, notes = page.inside("td"), page.inside("bdi")

    assert any(text.startswith("Compared with old, worse: new (-36.1 points, 95 % sure: ") for text in notes)
    runs = cells[: cells.index("worse") + 1]
    assert [runs[at] for at in (8, 10, 12, 13, 14, 15)] == ["70 of 72", "-34.3", "-36.1", "<0.001", "1k", "worse"]
    tasks = cells[cells.index("70") :]
    assert tasks[:3] == ["70", "2", "100 (73.5–100)"]
    assert {"A: old: 72 trials, 72 scored", "B: new: 72 trials, 70 scored, 2 error"} <= set(notes)
    assert "pairs: 70, 2 unscored in B only" in notes
    assert {"corpora essays/en: sha256 1 / 2", "seed: 0 / <b>3</b>"} <= set(notes)
    assert "nothing that their manifests or records name" in page_of(run(), run()).inside("bdi")


def test_the_heatmap_is_of_differences_and_cells_without_a_pair_say_so(run):
    page = page_of(run(lambda length, depth, i: depth == 0), run(lambda length, depth, i: depth == 50 and i < 6))
    looks = [look for look in looks_of(page) if look.startswith("by")]
    assert looks == ["by17"] * 2 + ["by100"] * 2 + ["by-50"] * 2 + ["by0"] * 2
    assert {"+100", "-50", "0", "+17"} <= set(page.inside("td"))
    for value in (-100, -50, 0, 100):
        color = bytes(difference_color(value / 100)).hex()
        assert f".by{value}{{background-color:#{color};" in page.inside("style")[0]

    lost = run(lost=lambda length, depth, i: length == 8000 or (depth == 50 and i < 3))
    page = page_of(run(), lost)
    assert looks_of(page).count("gap") == 4
    assert looks_of(page).count("by0 part") == 2  # the mean, and depth 50
    assert "n=9/12" in page.inside("small")
    assert "no pair: not scored in both runs" in " ".join(page.inside("span"))


def test_lists_of_what_changed_lead_to_their_cells(run):
    page = page_of(
        run(lambda length, depth, i: (length, depth) == (8000, 100)), run(lambda length, depth, i: depth == 0)
    )

    assert {"Improved: 1 cell", "Regressed: 2 cells"} <= set(page.inside("caption"))
    links = [str(a["href"]) for tag, a in page.elements if tag == "a" and "#cell-" in str(a.get("href"))]
    assert links == ["#cell-0,1,2", "#cell-0,0,0", "#cell-0,1,0"]
    at = page.inside("td").index("+100.0")
    assert (page.inside("td")[at - 2 : at], page.inside("td")[at + 2]) == (["0", "100"], "12")
    assert "length 8k, depth 100" in page.inside("bdi")


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


def test_each_further_run_and_each_task_has_its_place(run):
    runs = compare_runs({"a": run(), "b": run(lambda length, *_: length == 8000), "c": run()})
    page = Page(comparison_html(runs, title="three", links={"c": "../c/report.html"}))
    hrefs = {str(a["href"]) for tag, a in page.elements if tag == "a"}

    assert [family["columns"][1][:4] for family in page.data()["families"]] == [[36, 100, 0, -100.0], [36, 100, 100, 0]]
    assert [row[0] for row in page.details()] == [0] * 72 + [1] * 72
    assert {"#pair-0", "../c/report.html"} <= hrefs

    two = [
        [*records, *(changed(each, task="qa") for each in records)] for records in (run(), run(lambda *at: at[2] < 8))
    ]
    page = page_of(*two)
    assert {"#panel-0", "#panel-1"} <= {str(a["href"]) for tag, a in page.elements if tag == "a"}
    assert page.inside("td").count("worse") == 3  # the run, and each of its tasks


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
