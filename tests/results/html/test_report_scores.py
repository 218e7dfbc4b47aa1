"""What the page says of the scores without any script: headline, heatmap, tables, statistics."""

from __future__ import annotations

from needlework.results.html.report import html_text
from needlework.results.records.record import UNSCORED, Record
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_rows import run_statistics
from tests.results.document_records import asked
from tests.results.html.pages import MakeRecord, Page, one_of_each


def test_scores_stand_in_the_page_without_a_script(make_record: MakeRecord) -> None:
    records = [*one_of_each(make_record), make_record(length=1000, outcome="wrong", repeat=1)]
    page = Page(html_text(run_report(records), title="x"))
    cells = page.inside("td")
    looks = [str(a.get("class")) for tag, a in page.elements if tag == "td" and "class" in a]

    assert page.tags().count("noscript") == 1
    assert cells[:3] == ["50", "50", "0"]  # the first means
    assert [letter for letter in cells if letter in "c!sE"][:3] == ["!", "s", "E"]
    assert {"c50", "c0", "range", *UNSCORED} <= set(looks)
    assert "0–100" in cells  # the mean of a length whose only answer was cut off
    assert "16.7–38.9" in page.inside("b")
    assert "1 censored, 1 unclear of 9: all missed to all hit" in page.inside("p")
    for name in UNSCORED:
        assert f" {name}" in [item.rstrip() for item in page.inside("li")]


def test_cells_that_leave_trials_out_say_of_how_many(make_record: MakeRecord) -> None:
    outcomes = ("found", "found", "wrong", "error")
    records = [make_record(repeat=i, outcome=name) for i, name in enumerate(outcomes)]
    page = Page(html_text(run_report(records), title="x"))

    assert page.inside("small") == ["n=3/4", "n=3/4"]  # the mean and the cell
    assert "some trials without a score" in " ".join(page.inside("span"))
    row = [page.inside("td")[i] for i in range(2, 10)]
    assert row == ["66.7", "9.4–99.2", "3", "0", "0", "0", "0", "1"]  # score, interval, n, censored, ..., error


def test_the_headline_has_the_effective_length_with_its_interval(make_record: MakeRecord) -> None:
    records = [
        make_record(length=length, repeat=i, outcome="found" if length < 8000 else "wrong")
        for length in (1000, 2000, 8000)
        for i in range(40)
    ]
    page = Page(html_text(run_report(records), title="x"))

    assert page.inside("b")[:1] + page.inside("b")[2:5] == ["66.7", "120", "2k", "2k"]
    assert "effective length" in page.inside("p")
    assert "score >= 85.6 %, up to that length" in page.inside("p")


def test_lengths_that_are_approximate_say_by_how_much(make_record: MakeRecord) -> None:
    record = make_record()
    assert "in tokens. Down" in html_text(run_report([record]), title="x")
    about = {**record, "prompt": {**record["prompt"], "tokens_error": 0.012}}
    assert "in tokens, about ±1.2 %. Down" in html_text(run_report([about]), title="x")


def test_too_few_samples_have_no_interval_of_the_effective_length(make_record: MakeRecord) -> None:
    records = [make_record(length=length, outcome="found") for length in (1000, 2000, 8000)]
    page = Page(html_text(run_report(records), title="x"))
    said = " ".join(page.inside("p"))

    assert "in the one sample tested" in " ".join(page.inside("b"))
    assert "no statement about the model" in said
    assert "95 % interval none" not in said


def test_statistics_stand_under_their_panel_with_their_meaning(make_record: MakeRecord) -> None:
    records = shapes(make_record)
    statistics = run_statistics(records)
    page = Page(html_text(run_report(records), title="x"))
    terms = page.inside("dt")

    assert terms.count("depth effect") == len(statistics) == 2
    assert any(text.startswith("lost in the middle (12 samples), p ") for text in page.inside("bdi"))
    assert any(text.startswith("1k 100 %, 8k ") for text in page.inside("bdi"))  # chances to pass


def shapes(make_record: MakeRecord) -> list[Record]:
    """Two panels of 2 lengths x 3 depths x 12 repeats; the middle of one fails."""
    return [
        make_record(
            task=task, length=length, depth=depth, repeat=i, outcome="wrong" if task == "a" and depth == 50 else "found"
        )
        for task in ("a", "b")
        for length in (1000, 8000)
        for depth in (0.0, 50.0, 100.0)
        for i in range(12)
    ]


def test_rates_of_answers_that_are_not_there_have_a_section(make_record: MakeRecord) -> None:
    twin = make_record(needle="gone", outcome="refused", reference={"absent": True, "twin": "code"})
    records = [make_record(), twin]
    page = Page(html_text(run_report(records), title="x"))

    assert "mock · niah · answers that are not there" in page.inside("bdi")
    assert "balanced accuracy" in page.inside("dt")
    assert "100 % (one sample: no interval), n = 1" in page.inside("bdi")


def test_panels_are_compared_only_where_there_are_several(make_record: MakeRecord) -> None:
    one = Page(html_text(run_report([make_record()]), title="x"))
    two = Page(html_text(run_report([make_record(), make_record(model="通义千问", depth=None)]), title="x"))

    assert [attributes["class"] for tag, attributes in one.elements if tag == "table"].count("rates overview") == 0
    assert [attributes["class"] for tag, attributes in two.elements if tag == "table"].count("rates overview") == 1
    assert "通义千问 · niah · code" in two.inside("bdi")
    assert "all" in two.inside("th")


def test_runs_on_documents_have_a_section_and_others_have_none(make_record: MakeRecord) -> None:
    records = [asked(q, depth=depth) for q in range(3) for depth in (0.0, 100.0)]
    records += [asked(q, task="doc_absent", arm="near") for q in range(3)]
    page = Page(html_text(run_report(records), title="x"))

    assert "mock · your documents · 3 questions" in page.inside("bdi")
    assert "by depth of the answer document (doc_position)" in page.inside("caption")
    assert "the most similar one instead" in page.inside("bdi")
    assert "your documents" not in html_text(run_report([make_record()]), title="x")
