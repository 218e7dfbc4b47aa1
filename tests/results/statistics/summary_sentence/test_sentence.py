"""A run in one sentence: what it says of runs of every kind."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from needlework.core.record import Record
from needlework.results.adaptive.statement import LengthResult, LengthStatement
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from tests.results.changed import changed
from tests.results.document_records import asked

Make = Callable[..., Record]


def said(records, **more):
    return headline_of(run_report(records, **more))


def spread(make_record, right, of=40, **fields):
    """`of` samples at each length, of which so many are right."""
    return [
        make_record(length=length, repeat=i, outcome="found" if i < count else "wrong", **fields)
        for length, count in right.items()
        for i in range(of)
    ]


ONE_SAMPLE = "mock scores 100 % (one sample: says nothing of others) at 1k tokens."


@pytest.mark.parametrize(
    ("right", "of", "words"),
    [
        (
            {1000: 40, 2000: 36, 4000: 10},
            40,
            (
                "mock holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 2k);"
                " scores 71.7 % (95 % sure: 63.0 to 78.2) at 1k to 4k tokens."
            ),
        ),
        ({1000: 40, 4000: 40}, 40, "holds RULER's 85.6 % at every length, up to 4k tokens (95 % sure)"),
        ({1000: 4, 4000: 0}, 40, "does not hold RULER's 85.6 % at any length, 1k tokens included (95 % sure)"),
        (
            {1000: 5, 4000: 2},
            5,
            (
                "mock scores 70.0 % (95 % sure: 31.5 to 92.7) at 1k to 4k tokens; in this run it held RULER's 85.6 % up"
                " to 1k tokens, but 5 questions a length cannot prove that (24 can)."
            ),
        ),
        ({4000: 30}, 40, "mock scores 75.0 % (95 % sure: 58.8 to 87.3) at 4k tokens."),
        ({1000: 1}, 1, ONE_SAMPLE),
    ],
)
def test_a_length_with_what_is_sure_of_it(make_record, right, of, words):
    records = spread(make_record, right, of=of)
    told = said(records)

    assert words in told.sentence
    assert told.rests == f"{len(records)} trial{'s' * (len(records) > 1)} of {of} independent question{'s' * (of > 1)}"


def test_lengths_without_a_score_are_no_length_that_holds(make_record):
    failed = [make_record(length=8000, repeat=i, outcome="error", score=None) for i in range(40)]
    told = said([*spread(make_record, {1000: 40, 4000: 40}), *failed]).sentence
    assert "holds RULER's 85.6 % at every length with a score, up to 4k tokens (95 % sure)" in told


@pytest.mark.parametrize(
    ("count", "words"),
    [(12, "; weakest in the middle of the text"), (2, "; lowest at depth 50 % (0 %), which may be chance")],
)
def test_a_depth_that_is_weak_is_told_and_chance_is_called_so(make_record, count, words):
    records = [
        make_record(depth=depth, repeat=i, outcome="wrong" if depth == 50.0 else "found")
        for depth in (0.0, 25.0, 50.0, 75.0, 100.0)
        for i in range(count)
    ]
    assert words in said(records).sentence


def test_answers_that_were_cut_off_make_the_score_a_range(make_record):
    cut = [make_record(repeat=100 + i, outcome="censored") for i in range(5)]
    assert said([*spread(make_record, {1000: 20}, of=20), *cut]).sentence == (
        "mock scores between 80.0 and 100 % at 1k tokens; 5 of 25 answers cut off."
    )
    none = said(cut)
    assert none.sentence == "mock has no score: 5 of 5 answers cut off."
    assert none.next_run == NextRun(
        "more room for the answers: --answer-budget, and --thinking-budget for a model that reasons first"
    )


def test_several_tasks_have_a_mean_over_families_and_their_ends(make_record):
    niah = spread(make_record, {1000: 20, 2000: 20}, of=20)
    told = said([*niah, *spread(make_record, {1000: 5, 2000: 5}, of=20, task="chain", needle="h2")]).sentence
    assert "% (95 % sure: " in told
    assert "as the mean of 2 kinds of tasks; 25.0 % on chain, 100 % on niah" in told
    assert "holds" not in told


def test_several_models_are_beside_each_other_and_the_best_is_named_where_intervals_say_so(make_record):
    good, bad, same = (spread(make_record, {1000: n}, model=m) for m, n in (("good", 40), ("bad", 4), ("same", 38)))
    told = said([*good, *bad])
    assert told.sentence.startswith("2 models, scores in percent: bad 10.0 (95 % sure: ")
    assert told.sentence.endswith("; good is best.")
    assert [line.split()[0] for line in told.models] == ["bad", "good"]
    assert said([*good, *same]).sentence.endswith("none is shown to be best.")


def test_scores_of_overlapping_words_and_retrieved_contexts_have_no_length(make_record):
    overlap = spread(make_record, {1000: 30, 2000: 10}, scorer="leval_f1", task="leval_financial_qa")
    assert "85.6" not in said(overlap).sentence
    reference = {"answers": ["4711"], "retriever": "bm25"}
    bm25 = spread(make_record, {1000: 30, 2000: 30}, task="leval_quality", needle="doc1_q1_bm25", reference=reference)
    assert said(bm25).sentence.startswith("mock with bm25 search scores 75.0 %")


def test_leval_has_its_averages_what_they_lack_and_lengths_that_are_the_most_of_a_document(make_record):
    records = [
        make_record(task=task, needle=f"doc{i}_q0", length=16_000, depth=None, scorer="leval_letter", outcome=outcome)
        for task in ("leval_tpo", "leval_quality")
        for i, outcome in enumerate(["found"] * 9 + ["wrong"] * 3)
    ]
    told = said(records).sentence
    assert told.startswith("mock scores 75.0 % (95 % sure: ")
    lacking = ") in L-Eval's closed average over 2 of 6 tasks; 75.0 % each on 2 tasks."
    assert lacking in told
    assert said(records[:12]).sentence.endswith("with at most 16k tokens.")


def test_own_documents_say_place_size_search_and_inventions():
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


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ("absent", "mock makes up 0 % of the answers to 8 questions that are not there."),
        (
            "focused",
            "mock answers 100 % of 8 questions, each with its answer's document alone, right (95 % sure: 63.1 to 100).",
        ),
    ],
)
def test_one_arm_alone_is_not_said_of_all_documents(arm, sentence):
    task, outcome = ("doc_absent", "refused") if arm == "absent" else ("doc_size", "found")
    assert said([asked(i, outcome, task=task, arm=arm) for i in range(8)]).sentence == sentence


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("found", "BM25 search gives it 100 % with 2.3 % of the tokens, no difference shown"),
        ("wrong", "BM25 search gives it 0 % with 2.3 % of the tokens"),
    ],
)
def test_search_is_told_with_what_it_saves_where_it_ties_too(outcome, words):
    small = {"prompt": {"tokens": 300, "context_tokens": 180, "needles": []}}
    records = [asked(question, task="doc_size") for question in range(20)]
    records += [changed(asked(question, outcome, task="doc_size", arm="bm25"), **small) for question in range(20)]
    assert f"; {words}" in said(records).sentence


def test_a_run_that_was_interrupted_or_has_nothing_says_so(make_record):
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
def test_adaptive_runs_say_their_bracket(make_record, low, high, or_more, words):
    length = LengthResult(1000, 5, 5.0, 1, "pass", 5, 5000, 0.5, 1.0, False, {50.0: 5})
    statement = LengthStatement(
        "mock", "niah", "code", "fast", "absolute", 0.856, None, low, high, or_more, "", (length,), (), 5, 5000, 9000
    )  # fmt: skip
    assert said([make_record()], adaptive=[statement]).sentence == f"mock {words}."
    assert said([make_record()], adaptive=[replace(statement, bar=None)]).sentence == "mock has no score."
