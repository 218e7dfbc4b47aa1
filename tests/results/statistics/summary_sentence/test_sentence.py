"""A run in one sentence: what it says of runs of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from needlework.core.record import Record
from needlework.results.adaptive.survey import LengthFound, LengthStatement
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import RunReport, run_report
from needlework.results.statistics.summary_sentence import Headline, headline_of
from tests.results.changed import changed
from tests.results.document_records import asked

MakeRecord = Callable[..., Record]


def said(records: Sequence[Record], **more: Any) -> Headline:
    return headline_of(run_report(records, **more))


def spread(make_record: MakeRecord, right: dict[int, int], of: int = 40, **fields: Any) -> list[Record]:
    """`of` samples at each length, of which so many are right."""
    return [
        make_record(length=length, repeat=i, outcome="found" if i < count else "wrong", **fields)
        for length, count in right.items()
        for i in range(of)
    ]


def test_a_length_with_what_is_sure_of_it(make_record: MakeRecord) -> None:
    assert said(spread(make_record, {1000: 40, 2000: 36, 4000: 10})).sentence == (
        "mock holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 2k);"
        " scores 71.7 % (95 % sure: 63.0 to 78.2) at 1k to 4k tokens."
    )
    assert (
        "holds RULER's 85.6 % at every length, up to 4k tokens (95 % sure)"
        in said(spread(make_record, {1000: 40, 4000: 40})).sentence
    )
    failed = [make_record(length=8000, repeat=i, outcome="error", score=None) for i in range(40)]
    assert (
        "holds RULER's 85.6 % at every length with a score, up to 4k tokens (95 % sure)"
        in said([*spread(make_record, {1000: 40, 4000: 40}), *failed]).sentence
    )
    assert (
        "does not hold RULER's 85.6 % at any length, 1k tokens included (95 % sure)"
        in said(spread(make_record, {1000: 4, 4000: 0})).sentence
    )


def test_few_samples_say_how_many_it_takes(make_record: MakeRecord) -> None:
    told = said(spread(make_record, {1000: 5, 4000: 2}, of=5))
    assert told.sentence == (
        "mock scores 70.0 % (95 % sure: 31.5 to 92.7) at 1k to 4k tokens; in this run it held RULER's 85.6 % up to 1k"
        " tokens, but 5 questions a length cannot prove that (24 can)."
    )
    assert told.rests == "10 trials of 5 independent questions"
    assert told.next_run is not None
    assert told.next_run.repeats == 24


@pytest.mark.parametrize(
    ("right", "of", "wanted"),
    [
        ({1000: 5, 4000: 2}, 5, NextRun("to prove a length, as far as every answer is right", 24)),
        (
            {1000: 3, 4000: 2},
            5,
            NextRun("to decide the length", 13),
        ),  # what is wrong is no proof, however often
        ({1000: 1}, 1, NextRun("for an interval: one sample has none", 2)),
        ({1000: 9}, 9, NextRun("for an interval half as wide", 36)),
        ({1000: 40, 4000: 40}, 40, None),
    ],
)
def test_more_repeats_are_the_fewest_that_are_enough(
    make_record: MakeRecord, right: dict[int, int], of: int, wanted: NextRun | None
) -> None:
    assert said(spread(make_record, right, of=of)).next_run == wanted


def test_repeats_of_several_samples_are_no_multiple_of_those_so_far(make_record: MakeRecord) -> None:
    records = [
        make_record(length=length, repeat=sample % 2, outcome="found", reference={"sample": sample})
        for length in (1000, 4000)
        for sample in range(10)
    ]
    assert said(records).next_run == NextRun("to prove a length, as far as every answer is right", 5)


def test_one_length_has_a_score_and_no_length(make_record: MakeRecord) -> None:
    assert said(spread(make_record, {4000: 30})).sentence == (
        "mock scores 75.0 % (95 % sure: 58.8 to 87.3) at 4k tokens."
    )
    assert said([make_record()]).sentence == "mock scores 100 % (one sample: says nothing of others) at 1k tokens."


def test_a_depth_that_is_weak_is_told_and_chance_is_called_so(make_record: MakeRecord) -> None:
    def at_depths(count: int) -> list[Record]:
        return [
            make_record(depth=depth, repeat=i, outcome="wrong" if depth == 50.0 else "found")
            for depth in (0.0, 25.0, 50.0, 75.0, 100.0)
            for i in range(count)
        ]

    assert "; weakest in the middle of the text" in said(at_depths(12)).sentence
    assert "; lowest at depth 50 % (0 %), which may be chance" in said(at_depths(2)).sentence


def test_answers_that_were_cut_off_make_the_score_a_range(make_record: MakeRecord) -> None:
    right = spread(make_record, {1000: 20}, of=20)
    cut = [make_record(repeat=100 + i, outcome="censored") for i in range(5)]
    assert said([*right, *cut]).sentence == (
        "mock scores between 80.0 and 100 % at 1k tokens; 5 of 25 answers were cut off."
    )
    none = said(cut)
    assert none.sentence == "mock has no score: 5 of 5 answers were cut off."
    assert none.next_run is not None
    assert none.next_run.what == (
        "more room for the answers: --answer-budget, and --thinking-budget for a model that reasons first"
    )


def test_not_there_in_the_words_of_the_question_is_no_refusal_to_answer(make_record: MakeRecord) -> None:
    texts = ["NOT FOUND", "Not found.", "I cannot help with that.", "4711"]
    records = [
        make_record(repeat=at, response={"text": text}, outcome="found" if text == "4711" else "refused")
        for at, text in enumerate(texts)
    ]
    told = said(records).sentence
    assert told.endswith("1 of 4 answers declines to answer; 2 of 4 answers say that it is not there.")


def test_a_limit_is_what_stands_in_the_way_of_a_surer_score(make_record: MakeRecord) -> None:
    facts = run_facts({"options": {"limit": 2.0}}, "first")
    told = said(spread(make_record, {1000: 1}, of=2), facts=facts)
    assert told.next_run == NextRun("the same command with --run-name first without --limit 2")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (0, "BM25 search gives it 100 % with 2.3 % of the tokens, no difference shown"),
        (20, "BM25 search gives it 0 % with 2.3 % of the tokens"),
    ],
)
def test_search_is_told_with_what_it_saves_where_it_ties_too(wrong: int, words: str) -> None:
    records = [asked(question, task="doc_size") for question in range(20)]
    small = {"prompt": {"tokens": 300, "context_tokens": 180, "needles": []}}
    records += [
        changed(asked(question, "wrong" if question < wrong else "found", task="doc_size", arm="bm25"), **small)
        for question in range(20)
    ]
    assert f"; {words}" in said(records).sentence


def test_errors_are_told_with_their_reasons(make_record: MakeRecord) -> None:
    errors = [
        make_record(repeat=i, outcome="error", error={"kind": "judge", "message": f"reply {i}: `reason` is missing"})
        for i in range(3)
    ]
    told = said([*errors, make_record(repeat=9, outcome="invalid", why="cut by the server")])
    assert told.sentence == (
        "mock has no score: 1 of 4 questions were not read as they were sent; 3 of 4 questions failed."
    )
    assert [fault.text for fault in told.faults] == [
        "3 of 4: reply 0: `reason` is missing",
        "1 of 4: cut by the server",
    ]
    assert told.rests == "4 trials of 4 independent questions; 4 without a score (1 invalid, 3 error)"


def test_several_tasks_have_a_mean_over_families_and_their_ends(make_record: MakeRecord) -> None:
    records = [
        *spread(make_record, {1000: 20, 2000: 20}, of=20, task="niah"),
        *spread(make_record, {1000: 5, 2000: 5}, of=20, task="chain", needle="h2"),
    ]
    assert "% (95 % sure: " in said(records).sentence
    assert "as the mean of 2 kinds of tasks; 25.0 % on chain, 100 % on niah" in said(records).sentence
    assert "holds" not in said(records).sentence


def test_several_models_are_beside_each_other_and_the_best_is_named_where_intervals_say_so(
    make_record: MakeRecord,
) -> None:
    good = spread(make_record, {1000: 40}, model="good")
    bad = spread(make_record, {1000: 4}, model="bad")
    same = spread(make_record, {1000: 38}, model="same")
    told = said([*good, *bad])
    assert told.sentence.startswith("2 models, scores in percent: bad 10.0 (95 % sure: ")
    assert told.sentence.endswith("; good is best.")
    assert [line.split()[0] for line in told.models] == ["bad", "good"]
    assert said([*good, *same]).sentence.endswith("none is shown to be best.")


def test_scores_of_overlapping_words_and_retrieved_contexts_have_no_length(make_record: MakeRecord) -> None:
    overlap = spread(make_record, {1000: 30, 2000: 10}, scorer="leval_f1", task="leval_financial_qa")
    assert "85.6" not in said(overlap).sentence
    found = spread(
        make_record, {1000: 30, 2000: 30}, task="leval_quality", needle="doc1_q1_bm25",
        reference={"answers": ["4711"], "retriever": "bm25"},
    )  # fmt: skip
    assert said(found).sentence.startswith("mock with bm25 search scores 75.0 %")


def test_leval_has_its_averages_and_what_they_lack(make_record: MakeRecord) -> None:
    records = [
        make_record(task=task, needle=f"doc{i}_q0", length=16_000, depth=None, scorer="leval_letter", outcome=outcome)
        for task in ("leval_tpo", "leval_quality")
        for i, outcome in enumerate(["found"] * 9 + ["wrong"] * 3)
    ]
    sentence = said(records).sentence
    assert sentence.startswith("mock scores 75.0 % (95 % sure: ")
    assert (
        ") in L-Eval's closed average over 2 of 6 tasks, not all of their questions; 75.0 % each on 2 tasks."
        in sentence
    )


def test_own_documents_say_place_size_search_and_inventions() -> None:
    records = [
        asked(question, "wrong" if depth == 50.0 else "found", depth=depth)
        for question in range(20)
        for depth in (0.0, 25.0, 50.0, 75.0, 100.0)
    ]
    for question in range(20):
        records += [
            asked(question, "wrong", task="doc_size"),
            asked(question, "found", task="doc_size", arm="focused"),
            asked(question, "found", task="doc_size", arm="bm25"),
            asked(question, "wrong" if question < 5 else "refused", task="doc_absent", arm="absent"),
        ]
    told = said(records)
    assert told.sentence == (
        "mock answers 80.0 % of 20 questions on your documents right (95 % sure: 66.5 to 83.4);"
        " weakest in the middle of the text; loses 100 points when it reads 8k tokens, the answer at depth 50 %,"
        " in place of the right document alone; BM25 search gives it 100 %; makes up 25.0 % of the answers that are"
        " not there."
    )
    assert told.rests == "180 trials of 20 independent questions"


def test_a_run_that_was_interrupted_or_has_nothing_says_so(make_record: MakeRecord) -> None:
    early = said(spread(make_record, {1000: 5, 4000: 2}, of=5), planned=40)
    assert early.sentence.startswith("Interrupted after 10 of 40 trials: mock scores")
    assert early.next_run == NextRun("the same command asks the rest")
    assert said([]).sentence == "Nothing was recorded: no question has an answer yet."


@pytest.mark.parametrize(
    ("low", "high", "or_more", "words"),
    [
        (32_000, 64_000, False, "holds RULER's 85.6 % up to a length between 32k and 64k tokens (95 % sure)"),
        (64_000, 64_000, True, "holds RULER's 85.6 % at every length, up to 64k tokens (95 % sure)"),
        (8_000, 64_000, True, "holds RULER's 85.6 % up to a length between 8k and 64k or more tokens (95 % sure)"),
        (None, 8_000, False, "holds RULER's 85.6 % up to at most 8k tokens (95 % sure)"),
        (None, 8_000, True, "is not decided: no length is shown to hold RULER's 85.6 %, none to fail it"),
        (None, None, False, "does not hold RULER's 85.6 % even at 1k tokens (95 % sure)"),
    ],
)
def test_adaptive_runs_say_their_bracket(
    make_record: MakeRecord, low: int | None, high: int | None, or_more: bool, words: str
) -> None:
    length = LengthFound(1000, 5, 5.0, 1, "pass", 5, 5000, 0.5, 1.0, False, {50.0: 5})
    found = LengthStatement(
        "mock", "niah", "code", "fast", "absolute", 0.856, None, low, high, or_more, "", (length,), (), 5, 5000, 9000
    )  # fmt: skip
    report: RunReport = run_report([make_record()], adaptive=[found])
    assert headline_of(report).sentence == f"mock {words}."
    assert headline_of(replace(report, adaptive=(replace(found, bar=None),))).sentence == "mock has no score."


def test_a_question_counts_once_however_its_answer_is_taken_out() -> None:
    absent = [asked(question, task="doc_absent", arm=arm) for question in range(4) for arm in ("absent", "near")]
    told = said(absent)
    assert told.next_run is not None
    assert told.next_run.what.startswith("ask more than 4 questions")


def test_the_length_of_a_task_that_cuts_documents_is_the_most_that_they_have(make_record: MakeRecord) -> None:
    records = [
        make_record(task="leval_tpo", needle=f"doc{n}_q0", length=16000, outcome="wrong" if n else "found")
        for n in range(4)
    ]
    assert said(records).sentence.endswith("with at most 16k tokens.")


def test_a_run_of_absent_answers_alone_has_a_headline() -> None:
    records = [asked(i, "refused", task="doc_absent", arm="absent") for i in range(8)]

    assert said(records).sentence == "mock makes up 0 % of the answers to 8 questions that are not there."


def test_a_score_of_answer_documents_alone_is_not_said_of_all_documents() -> None:
    records = [asked(i, task="doc_size", arm="focused") for i in range(8)]

    assert said(records).sentence == (
        "mock answers 100 % of 8 questions right (95 % sure: 63.1 to 100); each with its answer's document alone."
    )
