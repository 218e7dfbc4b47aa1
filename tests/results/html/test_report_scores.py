"""What the page says of the scores without any script: headline, heatmap, tables, statistics."""

from __future__ import annotations

from needlework.core.record import UNSCORED, Record
from needlework.results.html.page import word_id
from needlework.results.html.report import html_text
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.ruler import TASKS
from needlework.results.statistics.tasks import GateRow, run_statistics
from tests.results.changed import changed
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
    assert "mock scores between 16.7 and 38.9\u00a0% at 1k to 8k\u00a0tokens." in page.inside("bdi")
    assert any("1 of 9 answers was cut off; 1 of 9 answers is neither" in text for text in page.inside("bdi"))


def test_cells_that_leave_trials_out_say_of_how_many(make_record: MakeRecord) -> None:
    outcomes = ("found", "found", "wrong", "error")
    records = [make_record(repeat=i, outcome=name) for i, name in enumerate(outcomes)]
    page = Page(html_text(run_report(records), title="x"))

    assert page.inside("small") == ["n=3/4", "n=3/4"]  # the mean and the cell
    assert "some trials without a score" in " ".join(page.inside("span"))
    assert page.inside("td")[2:6] == ["66.7", "9.4–99.2", "3", "1"]  # score, interval, n, error: what occurs
    assert page.inside("a").count("error") == 2
    assert "censored" not in page.inside("a")


def test_the_page_begins_with_the_sentence_and_what_it_rests_on(make_record: MakeRecord) -> None:
    records = [
        make_record(length=length, repeat=i, outcome="found" if length < 8000 else "wrong")
        for length in (1000, 2000, 8000)
        for i in range(40)
    ]
    text = html_text(run_report(records), title="x")

    assert "mock holds RULER's 85.6\u00a0% up to 2k\u00a0tokens (95\u00a0% sure)." in Page(text).inside("bdi")
    assert "Rests on 120 trials of 40 independent questions." in " ".join(Page(text).inside("p"))
    assert text.index("holds RULER") < text.index("<svg") < text.index("<details")


def test_errors_come_first_with_their_reason(make_record: MakeRecord) -> None:
    error = {"kind": "judge", "message": "the judge's reply cannot be read: `reason` is missing"}
    records = [make_record(repeat=i, outcome="error", error=error) for i in range(19)]
    page = Page(html_text(run_report(records), title="x"))

    assert page.inside("bdi")[0] == "19 of 19: the judge's reply cannot be read: `reason` is missing"
    assert "mock has no score: 19 of 19 questions failed." in page.inside("bdi")


def test_gates_stand_above_the_picture(make_record: MakeRecord) -> None:
    row = GateRow("mean >= 0.9", "all", "fail", 0.5, 0.1, 0.8, 95.0, 12, "", 12)
    text = html_text(run_report([make_record()], gates=[row]), title="x")

    assert '<td class="fail">fail</td>' in text
    assert text.index("mean &gt;= 0.9") < text.index('class="first"')


def test_how_it_was_run_stands_at_the_top_and_in_a_part_of_its_own(make_record: MakeRecord) -> None:
    manifest = {
        "command": ["pytest", "benchmarks"],
        "commit": "abc",
        "pace": {"trials": 2, "seconds": 40},
        "models": {"mock": {"window": 8192, "dtype": "bfloat16", "rope_scaling": {"factor": 2}}},
    }
    records = [make_record(length=length, repeat=i) for length in (1000, 2000) for i in range(2)]
    text = html_text(run_report(records, facts=run_facts(manifest, "step")), title="x")
    page = Page(text)

    assert "step · abc · mock (window 8,192 tokens · bfloat16 · rope_scaling {'factor': 2})" in page.inside("bdi")
    assert page.inside("code") == ["pytest benchmarks --repeats 24 --run-name step"]
    assert "to prove a length, as far as every answer is right, about 15 min more" in text
    assert "rope_scaling" in page.inside("dt")


def test_lengths_that_are_approximate_say_by_how_much(make_record: MakeRecord) -> None:
    record = make_record()
    assert "in tokens. Down" in html_text(run_report([record]), title="x")
    about = changed(record, prompt={"tokens_error": 0.012})
    assert "in tokens, about ±1.2 %. Down" in html_text(run_report([about]), title="x")


def test_every_head_of_a_table_says_what_it_means(make_record: MakeRecord) -> None:
    page = Page(html_text(run_report(shapes(make_record)), title="x"))
    heads = {str(a["href"]).removeprefix("#") for tag, a in page.elements if tag == "a" and a.get("class") == "term"}
    entries = {str(a["id"]) for tag, a in page.elements if tag == "dd" and "id" in a}

    assert {word_id(name) for name in ("score %", "95 % interval", "n", "effective length", "task")} <= heads
    assert heads <= entries
    assert all(a.get("aria-describedby") == str(a["href"])[1:] for tag, a in page.elements if a.get("class") == "term")


def test_statistics_stand_under_their_panel_with_their_meaning(make_record: MakeRecord) -> None:
    records = shapes(make_record)
    statistics = run_statistics(asked_of(records))
    page = Page(html_text(run_report(records), title="x"))
    terms = page.inside("dt")

    assert terms.count("depth effect") == len(statistics) == 2
    assert any(text.startswith("lost in the middle (12 samples), p ") for text in page.inside("bdi"))


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
    assert "with 8k tokens of documents" in " ".join(page.inside("figcaption")).lower()
    assert "plot" not in {a.get("class") for _, a in Page(html_text(run_report([make_record()]), title="x")).elements}


def test_absent_answers_of_many_tasks_are_one_section_and_levals_averages_stand_open(
    make_record: MakeRecord,
) -> None:
    reference = {"absent": True, "control": "absent"}
    twins = [
        record
        for task in ("niah", "chain", "count")
        for record in (make_record(task=task), make_record(task=task, needle="code_absent", reference=reference))
    ]
    text = html_text(run_report(twins), title="x")
    assert "Answers that are not there: 3 tasks" in Page(text).inside("bdi")
    assert "mock · chain · answers that are not there" in Page(text).inside("bdi")

    leval = [make_record(task=f"leval_{task}", length=16_000, scorer="leval_letter") for task in ("tpo", "quality")]
    assert '<details class="more" open>' in html_text(run_report(leval), title="x")
    assert '<details class="more" open>' not in text


def test_what_was_asked_about_stands_in_the_order_of_its_numbers(make_record: MakeRecord) -> None:
    records = [make_record(task="count", needle=f"n{count}", length=n) for count in (2, 16, 128) for n in (500, 1000)]
    cells = [text for text in Page(html_text(run_report(records), title="x")).inside("bdi") if text in CHAINS]
    assert list(dict.fromkeys(cells)) == CHAINS


CHAINS = ["n2", "n16", "n128"]


def test_rulers_means_by_length_stand_open(make_record: MakeRecord) -> None:
    records = [make_record(task=task, length=n, repeat=i) for task in TASKS for n in (4000, 8000) for i in range(2)]
    text = html_text(run_report(records), title="x")
    page = Page(text)
    assert "RULER · mock · en" in page.inside("bdi")
    assert any("score: the mean of 13 tasks, each weighing the same" in each for each in page.inside("caption"))
    assert "wAvg(inc) 100, wAvg(dec) 100" in " ".join(page.inside("bdi"))
    assert '<details class="more" open>' in text


def test_where_no_picture_and_no_table_says_more_the_cells_stand_open(make_record: MakeRecord) -> None:
    questions = [make_record(task="leval_tpo", needle=f"doc0_q{at}", depth=None) for at in range(3)]
    assert '<details class="more" id="heatmaps" open>' in html_text(run_report(questions))
    grid = [make_record(length=length, depth=depth) for length in (1000, 2000) for depth in (0, 50)]
    assert '<details class="more" id="heatmaps">' in html_text(run_report([*grid, make_record(task="copy")]))
