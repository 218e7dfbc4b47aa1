"""The sentence says the score that a published benchmark reports, first."""

import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.needlebench import design_of
from needlework.results.statistics.suites.ruler import TASKS
from needlework.results.statistics.summary_sentence import headline_of


def sentence(records):
    return headline_of(run_report(records)).sentence


SMALL = {"preset": "needlebench-v1-4k", "lengths": "1k,2k", "depths": "0,50"}
ATC = {"preset": "needlebench-v2-atc", "lengths": "32k"}


@pytest.mark.parametrize(
    ("right", "tasks", "options", "parts"),
    [
        (
            lambda task, _: task != "parallel",
            (),
            SMALL,
            [
                "mock scores 70.0 %",  # 0.4 S-RT + 0.3 M-RT + 0.3 M-RS
                (
                    " as NeedleBench's overall score (v1-4k); S-RT 100 %, M-RT 0 %, M-RS 100 %;"
                    " not as published: lengths, depths, repeats."
                ),
            ],
        ),
        (lambda *_: True, ("niah",), SMALL, ["mock scores 100 %"]),
        (
            lambda _, needle: needle.endswith("_zh") or int(needle.removeprefix("n")) <= 16,
            (),
            ATC,
            ["mock follows chains of 16 statements in English and 512 or more statements in Chinese"],
        ),
        (lambda *_: False, (), ATC | {"language": "en"}, ["mock follows chains of 0 statements in English"]),
    ],
)
def test_needlebench_has_its_overall_score_its_parts_and_the_longest_chain(
    make_record, tmp_path, right, tasks,
    options, parts,
):  # fmt: skip
    settings = resolve_settings({"model": ["mock"], "repeats": "2"} | options, {}, tmp_path)
    cells = [cell for series in grid(settings) for cell in series.cells if not tasks or cell.task in tasks]
    records = [
        make_record(
            **{name: getattr(cell, name) for name in ("task", "needle", "length", "depth", "repeat")},
            outcome="found" if right(cell.task, cell.needle) else "wrong",
        )
        for cell in cells
    ]
    told = headline_of(run_report(records, design=design_of(settings))).sentence
    assert told.startswith(parts[0])
    assert parts[-1] in told


def ruler(make_record, wrong):
    """Four samples of each of RULER's tasks at each length, so many tasks of which are wrong."""
    return [
        make_record(task=task, length=length, repeat=at, outcome="wrong" if number < bad else "found")
        for length, bad in wrong.items()
        for number, task in enumerate(TASKS)
        for at in range(4)
    ]


def test_rulers_mean_is_said_where_every_task_has_a_score_and_no_other_task_was_asked(make_record):
    records = ruler(make_record, {4000: 1})
    assert " at 4k as RULER's mean of 13 tasks; from 0 % on " in sentence(records)
    assert "RULER" not in sentence(records[4:])
    assert "RULER's mean" not in sentence([*records, make_record(task="chain")])
    several = sentence(ruler(make_record, {4000: 0, 8000: 1, 16000: 9}))
    assert "; by the means alone it holds RULER's 85.6 % up to 8k tokens;" in several


def longbench(make_record, task, number, *, right):
    reference = {"answers": ["A"], "chance": 0.25, "difficulty": "easy" if number % 2 else "hard"}
    details = {"score": {"letter": "A", "as_authors": float(right or number == 0)}}
    fields = {"outcome": "found" if right else "wrong", "reference": reference, "details": details}
    return make_record(task=task, needle=f"q{number}", repeat=number, **fields)


def test_longbench_v2_says_the_authors_rule_closed_book_and_difficulty(make_record):
    records = [longbench(make_record, "longbench_v2", n, right=n % 2 == 1) for n in range(20)]
    told = sentence(records + [longbench(make_record, "longbench_v2_closed_book", n, right=n < 5) for n in range(20)])
    assert told.startswith("mock scores 50.0 % (95 % sure: ")
    assert told.endswith(
        " on LongBench v2 (by its authors' rule 55.0 %); 25.0 % without the documents; easy 100 %, hard 0 %."
    )


def test_needles_of_one_task_are_named_and_a_length_that_nothing_shows_is_not_said_first(make_record):
    both = [
        make_record(needle=needle, language=language, repeat=n, outcome="found" if n or language == "en" else "wrong")
        for needle, language in (("pizza", "en"), ("pizza_zh", "zh"))
        for n in range(4)
    ]
    assert sentence(both).endswith("; 75.0 % on pizza_zh, 100 % on pizza.")

    unsure = sentence([make_record(length=n, repeat=k, outcome="found" if k % 4 else "wrong") for n in (1000, 2000)
                       for k in range(24)])  # fmt: skip
    assert unsure.startswith("mock scores 75.0 %")
    assert unsure.endswith("; holds RULER's 85.6 % at no length by its scores (nothing about it is 95 % sure yet).")
