"""A run in one sentence: what it says of runs of every kind."""

import pytest

from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from tests.results.changed import changed
from tests.results.document_records import asked


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
