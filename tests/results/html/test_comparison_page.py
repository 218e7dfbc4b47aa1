"""The page of `needlework compare`: differences with intervals, what differs, both answers of every trial."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from needlework.core.record import Record
from needlework.results.html.comparison import comparison_html, comparison_sentence
from needlework.results.statistics.comparison.many_runs import Base, compare_runs
from needlework.results.style import difference_color
from tests.results.changed import changed
from tests.results.html.pages import EVIL, MakeRecord, Page, grid

Run = Callable[..., list[Record]]
LABELS = {"old": "old (mock)", "new": "new (mock)"}


@pytest.fixture
def run(make_record: MakeRecord) -> Run:
    """2 lengths x 3 depths x 12 repeats; `fails` says which (length, depth, repeat) are wrong, `lost` which errors."""

    def build(
        fails: Callable[[int, float, int], bool] = lambda *_: False,
        lost: Callable[[int, float, int], bool] = lambda *_: False,
        answer: str = "4711",
    ) -> list[Record]:
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


def page_of(first: list[Record], second: list[Record], parts: tuple[str, ...] = (), **options: int) -> Page:
    runs = compare_runs({"old": first, "new": second})
    return Page(comparison_html(runs, title="new − old", labels=LABELS, parts={"new": parts}, **options))


def test_the_headline_has_difference_interval_tests_and_denominators(run: Run) -> None:
    page = page_of(run(), run(lambda length, depth, i: depth == 50, lambda length, depth, i: (depth, i) == (0, 0)))
    bold = page.inside("b")

    assert bold[:3] == ["A", "B", "-34.3"]
    assert re.fullmatch(r"-3\d\.\d\.\.-3\d\.\d", bold[3])
    assert bold[4] == "70"
    assert "B is worse" in page.inside("span")
    assert "p <0.001" in page.inside("p")
    assert "p <0.001 (Holm)" in page.inside("p")
    text = " ".join(page.inside("p"))
    assert "From 70 pairs of trials" in text
    assert "beside them 2 unscored in B only" in text
    assert ": 72 trials, 70 scored, 2 error." in page.inside("p")
    cells = page.inside("td")[page.inside("td").index("worse") + 5 :]  # behind the tables of runs and lengths
    assert cells[:7] == ["100", "73.5–100", "0", "0", "0", "0", "0"]  # A over the pairs
    assert (cells[7], cells[9:14]) == ("65.7", ["0", "0", "0", "0", "2"])  # B, with its errors


def test_the_heatmap_is_of_differences(run: Run) -> None:
    page = page_of(run(lambda length, depth, i: depth == 0), run(lambda length, depth, i: depth == 50 and i < 6))
    looks = [str(a["class"]) for tag, a in page.elements if tag == "td" and "class" in a]

    assert [look for look in looks if look.startswith("by")] == ["by17"] * 2 + ["by100"] * 2 + ["by-50"] * 2 + [
        "by0"
    ] * 2
    assert {"+100", "-50", "0", "+17"} <= set(page.inside("td"))
    for value in (-100, -50, 0, 100):
        color = bytes(difference_color(value / 100)).hex()
        assert f".by{value}{{background-color:#{color};" in page.inside("style")[0]


def test_cells_without_a_pair_say_so(run: Run) -> None:
    lost = run(lost=lambda length, depth, i: length == 8000 or (depth == 50 and i < 3))
    page = page_of(run(), lost)
    looks = [str(a["class"]) for tag, a in page.elements if tag == "td" and "class" in a]

    assert looks.count("gap") == 4
    assert looks.count("by0 part") == 2  # the mean, and depth 50
    assert "n=9/12" in page.inside("small")
    assert "no pair: not scored in both runs" in " ".join(page.inside("span"))


def test_lists_of_what_changed_lead_to_their_cells(run: Run) -> None:
    page = page_of(
        run(lambda length, depth, i: (length, depth) == (8000, 100)), run(lambda length, depth, i: depth == 0)
    )
    buttons = [attributes for tag, attributes in page.elements if tag == "button" and "data-panel" in attributes]

    assert "Improved: 1 cell" in page.inside("h4")
    assert "Regressed: 2 cells" in page.inside("h4")
    assert [(b["data-column"], b["data-row"]) for b in buttons] == [("1", "2"), ("0", "0"), ("1", "0")]
    assert any(text.startswith("length 8k, depth 100: 0 → 100 (+100.0, 95 % interval +") for text in page.inside("bdi"))


def test_both_answers_of_a_trial_stand_together(run: Run) -> None:
    first, second = run(answer="It is 4711."), run(lambda *at: at == (1000, 0.0, 3), answer="It is 12.")
    del second[5]
    pairs = page_of(first, second).pairs()
    a, b = pairs[3]

    assert len(pairs) == 72
    assert a is not None
    assert b is not None
    assert (a["response"]["text"], a["outcome"], a["question"]) == ("It is 4711.", "found", "What is the code?")
    assert (b["response"]["text"], b["outcome"], b["repeat"]) == ("It is 12.", "wrong", 3)
    assert [side is None for side in pairs[5]] == [False, True]


def test_what_differs_is_listed(run: Run) -> None:
    parts = ("corpora essays/en: sha256 1 / 2", "seed: 0 / <b>3</b>")
    page = page_of(run(), run(), parts)

    assert set(parts) <= set(page.inside("bdi"))
    assert "Nothing that their manifests or records name." in page_of(run(), run()).inside("p")


def test_trials_that_both_judge_alike_are_left_out_first(make_record: MakeRecord) -> None:
    first = grid(make_record, 30, 12)
    second = [changed(record, response={"text": f"{i} " * 40}) for i, record in enumerate(first)]
    for record in second[100:110]:
        record.outcome, record.score = ("found", 1.0) if record.outcome == "wrong" else ("wrong", 0.0)
    page = page_of(first, second, limit_bytes=120_000)
    pairs = page.pairs()

    assert 10 < len(pairs) < 360
    assert sum(a["score"] != b["score"] for a, b in pairs if a is not None and b is not None) == 10
    assert "Left out: details of " in " ".join(page.inside("div"))


def test_each_further_run_has_its_tasks_and_its_trials(run: Run) -> None:
    runs = compare_runs({"a": run(), "b": run(lambda length, *_: length == 8000), "c": run()})
    page = Page(comparison_html(runs, title="three"))

    assert [family["columns"][1][:4] for family in page.data()["families"]] == [[36, 100, 0, -100.0], [36, 100, 100, 0]]
    assert [row[0] for row in page.details()] == [0] * 72 + [1] * 72
    assert {"#pair-0", "#pair-1"} <= {str(a["href"]) for tag, a in page.elements if tag == "a"}


def test_several_families_have_an_overview(run: Run) -> None:
    def two(records: list[Record]) -> list[Record]:
        return [*records, *(changed(record, task="qa") for record in records)]

    page = page_of(two(run()), two(run(lambda length, depth, i: i < 8)))

    assert "Tasks" in page.inside("h3")
    assert page.inside("a").count("Skip to the scores") == 1
    assert {"#panel-0", "#panel-1"} <= {str(a["href"]) for tag, a in page.elements if tag == "a"}
    assert page.inside("td").count("worse") == 3  # the run, and each of its tasks
    assert page.inside("span").count("B is worse") == 2


def test_equal_runs_give_equal_bytes_in_any_order(run: Run) -> None:
    a, b = run(), run(lambda length, depth, i: depth == 50)
    texts = [comparison_html(compare_runs({"a": x, "b": y}), title="t") for x, y in ((a, b), (a[::-1], b[::-1]))]

    assert texts[0] == texts[1]


def test_nothing_that_a_model_says_becomes_markup(make_record: MakeRecord) -> None:
    fields = dict.fromkeys(("model", "task", "needle", "why", "question", "answer", "scorer", "id"), EVIL)
    hostile = [make_record(**fields, response={"text": EVIL}, expected=[EVIL])]
    runs = compare_runs({EVIL: hostile, f"{EVIL} again": hostile})
    page = Page(comparison_html(runs, title=EVIL, labels={EVIL: EVIL}, parts={f"{EVIL} again": [EVIL]}, notes=[EVIL]))

    assert page.tags().count("script") == 3
    assert "img" not in page.tags()
    assert all("<img src=x" in side["response"]["text"] for side in page.pairs()[0] if side is not None)


def test_of_several_runs_it_says_which_is_which(make_record: MakeRecord) -> None:
    right = [make_record(repeat=at) for at in range(12)]
    wrong = [make_record(repeat=at, outcome="wrong") for at in range(12)]

    def said(base: Base = "first", **runs: list[Record]) -> str:
        return comparison_sentence(compare_runs({"a": right, **runs}, base))

    assert (
        said(b=wrong, c=right, d=wrong)
        == "Against a, b and d are worse (-100.0, -100.0 points); no difference is shown for c."
    )
    assert said("previous", b=wrong, c=right).startswith(
        "Against the run before it, b is worse (-100.0 points, 95 % sure"
    )
    assert said(**dict.fromkeys("bcdef", wrong)).startswith("Against a, b, c, d and 2 more are worse (-100.0 to -100.0")
    assert said(b=wrong[:2], c=[]) == "Against a, too few samples tell of b; c is not compared."
