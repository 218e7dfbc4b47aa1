"""The sentence says the score that a published benchmark reports, first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from needlework.core.record import Record
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.needlebench import design_of
from needlework.results.statistics.suites.ruler import TASKS
from needlework.results.statistics.summary_sentence import headline_of
from tests.results.changed import changed

MakeRecord = Callable[..., Record]
Scored = Callable[[str, str], bool]


@pytest.fixture
def needlebench(make_record: MakeRecord, tmp_path: Path) -> Callable[..., str]:
    """The sentence of a run of a NeedleBench preset; `right`: by task and needle; `asked`: which tasks were."""

    def say(right: Scored, asked: tuple[str, ...] = (), **options: str) -> str:
        found = resolve_settings({"model": ["mock"], "repeats": "2"} | options, {}, tmp_path)
        records = [
            make_record(
                **{name: getattr(cell, name) for name in ("task", "needle", "length", "depth", "repeat")},
                outcome="found" if right(cell.task, cell.needle) else "wrong",
            )
            for series in grid(found)
            for cell in series.cells
            if not asked or cell.task in asked
        ]
        return headline_of(run_report(records, design=design_of(found))).sentence

    return say


def test_needlebench_has_its_overall_score_and_its_three_parts(needlebench: Callable[..., str]) -> None:
    small = {"preset": "needlebench-v1-4k", "lengths": "1k,2k", "depths": "0,50"}
    told = needlebench(lambda task, _: task != "parallel", **small)
    assert told.startswith("mock scores 70.0 %")  # 0.4 S-RT + 0.3 M-RT + 0.3 M-RS
    assert told.endswith(
        " as NeedleBench's overall score (v1-4k); S-RT 100 %, M-RT 0 %, M-RS 100 %;"
        " not as published: lengths, depths, repeats."
    )
    lacking = needlebench(lambda *_: True, asked=("niah",), **small)
    assert "no overall score of NeedleBench (v1-4k): it lacks M-RT-EN: 4 of 4 trials not run and" in lacking
    assert lacking.startswith("mock scores 100 %")


def test_the_ancestral_trace_says_how_long_a_chain_may_be(needlebench: Callable[..., str]) -> None:
    short = needlebench(
        lambda _, needle: needle.endswith("_zh") or int(needle.removeprefix("n")) <= 16,
        preset="needlebench-v2-atc",
        lengths="32k",
    )
    assert short.startswith(
        "mock follows chains of up to 16 statements in English and of 512 statements or more in Chinese"
    )
    none = needlebench(lambda *_: False, preset="needlebench-v2-atc", lengths="32k", language="en")
    assert none.startswith("mock follows chains of no length in English")


def ruler(make_record: MakeRecord, wrong: dict[int, int]) -> list[Record]:
    """Four samples of each of RULER's tasks at each length, so many tasks of which are wrong."""
    return [
        make_record(task=task, length=length, repeat=at, outcome="wrong" if number < bad else "found")
        for length, bad in wrong.items()
        for number, task in enumerate(TASKS)
        for at in range(4)
    ]


def test_rulers_mean_is_said_where_every_task_has_a_score_and_no_other_task_was_asked(make_record: MakeRecord) -> None:
    records = ruler(make_record, {4000: 1})
    assert " at 4k as RULER's mean of 13 tasks; from 0 % on " in headline_of(run_report(records)).sentence
    assert "RULER" not in headline_of(run_report(records[4:])).sentence
    assert "RULER's mean" not in headline_of(run_report([*records, make_record(task="chain")])).sentence


def test_rulers_effective_length_is_said_of_several_lengths(make_record: MakeRecord) -> None:
    told = headline_of(run_report(ruler(make_record, {4000: 0, 8000: 1, 16000: 9}))).sentence
    assert "; by the means alone it holds RULER's 85.6 % up to 8k tokens;" in told


def test_two_models_have_their_published_scores_beside_each_other(make_record: MakeRecord) -> None:
    records = ruler(make_record, {4000: 0}) + [changed(each, model="b") for each in ruler(make_record, {4000: 13})]
    assert headline_of(run_report(records)).sentence.startswith("2 models, scores in percent: b 0 (")
    once = [record for record in records if not record.repeat]
    assert headline_of(run_report(once)).sentence == (
        "2 models, scores in percent: b 0, mock 100; not all of them have an interval: none is shown to be best."
    )


def longbench(make_record: MakeRecord, task: str, number: int, *, right: bool) -> Record:
    reference = {"answers": ["A"], "chance": 0.25, "difficulty": "easy" if number % 2 else "hard"}
    details = {"score": {"letter": "A", "as_authors": float(right or number == 0)}}
    return make_record(
        task=task, needle=f"q{number}", repeat=number, outcome="found" if right else "wrong",
        reference=reference, details=details,
    )  # fmt: skip


def test_longbench_v2_says_the_authors_rule_closed_book_and_difficulty(make_record: MakeRecord) -> None:
    records = [longbench(make_record, "longbench_v2", n, right=n % 2 == 1) for n in range(20)]
    records += [longbench(make_record, "longbench_v2_closed_book", n, right=n < 5) for n in range(20)]
    told = headline_of(run_report(records)).sentence
    assert told.startswith("mock scores 50.0 % (95 % sure: ")
    assert told.endswith(
        " on LongBench v2 (by its authors' rule 55.0 %); 25.0 % without the documents; easy 100 %, hard 0 %."
    )


def test_languages_of_one_task_are_named_and_a_length_that_nothing_shows_is_not_said_first(
    make_record: MakeRecord,
) -> None:
    both = [
        make_record(needle=f"pizza{language}", language=language.removeprefix("_") or "en", repeat=n,
                    outcome="found" if n or not language else "wrong")
        for language in ("", "_zh")
        for n in range(4)
    ]  # fmt: skip
    assert headline_of(run_report(both)).sentence.endswith("; 75.0 % in Chinese, 100 % in English.")

    unsure = [make_record(length=n, repeat=k, outcome="found" if k % 4 else "wrong") for n in (1000, 2000)
              for k in range(24)]  # fmt: skip
    told = headline_of(run_report(unsure)).sentence
    assert told.startswith("mock scores 75.0 %")
    assert told.endswith("; holds RULER's 85.6 % at no length by its scores (nothing about it is 95 % sure yet).")
