"""The first sentence of a report: what it claims, what it is based on, and what went wrong."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.panels import OUTCOMES, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.published import TASKS
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import run_statistics
from needlework.results.style import length_labels, percent1
from tests.results.builders import asked


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
                "mock scores 71.7 % (95 % sure: 63.0 to 78.2) at 1k to 4k tokens;"
                " holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 2k)."
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
    [(12, "; by depth lost in the middle"), (2, "; lowest at depth 50 % (0 %), which may be chance")],
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


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ("absent", "mock makes up 0 % of the answers that are not there."),
        ("focused", ("mock answers 100 % (95 % sure: 63.1 to 100) of 8 questions, each with its answer's document"
         " alone, right.")),
    ],
)  # fmt: skip
def test_one_arm_alone_is_not_said_of_all_documents(arm, sentence):
    task, outcome = ("doc_absent", "refused") if arm == "absent" else ("doc_size", "found")
    assert said([asked(i, outcome, task=task, arm=arm) for i in range(8)]).sentence == sentence


def test_a_length_that_undecided_answers_decide_is_not_told(make_record):
    outcomes = {500: "found", 1000: "censored"}
    records = [
        make_record(length=length, repeat=at, outcome=outcome, response={"finish_reason": "length"})
        for length, outcome in outcomes.items()
        for at in range(80)
    ]
    told = said(records)

    assert told.sentence == (
        "mock scores between 50.0 and 100 % at 500 to 1k tokens; 80 of 160 trials without a score (80 censored)."
    )
    assert told.next_run is not None
    assert "--answer-budget" in told.next_run.what


def test_rulers_mean_is_said_where_every_task_has_a_score_and_no_other_task_was_asked(make_record):
    records = [make_record(task=task, repeat=at) for task in TASKS for at in range(4)]
    assert " as RULER's mean of 13 tasks; " in said(records).sentence
    assert "RULER" not in said(records[4:]).sentence
    assert "RULER's mean" not in said([*records, make_record(task="chain")]).sentence


LENGTHS, DEPTHS = (500, 1000, 2000), (0.0, 50.0, 100.0)
# A share of right answers for each length, and now and then an outcome of any kind.
RUNS = st.tuples(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(1, 30),
    st.floats(0, 0.4),
    st.integers(0, 2**32),
    st.integers(1, 3),
)


def drawn(make_record, run):
    shares, samples, odd, seed, lengths = run
    chance = random.Random(seed)
    records = []
    for length, share in list(zip(LENGTHS, shares, strict=True))[:lengths]:
        for repeat in range(samples):
            outcome = "found" if chance.random() < share else "wrong"
            outcome = chance.choice(OUTCOMES) if chance.random() < odd else outcome
            records.append(make_record(length=length, depth=DEPTHS[repeat % 3], repeat=repeat, outcome=outcome))
    return records


@given(run=RUNS)
def test_what_is_called_sure_is_what_the_intervals_say(make_record, run):
    records = drawn(make_record, run)
    told = said(records).sentence
    (panel,) = summarise(records)
    (statistics,) = run_statistics(records)
    rule, overall = statistics.absolute, panel.overall

    assert told.endswith(".")
    assert "\n" not in told
    label = {None: "none"} | dict(zip(panel.lengths, length_labels(panel.lengths), strict=True))
    if held := re.search(r"holds RULER's 85.6 % (?:up to (\w+) tokens|at no length) \(95 % sure: (.*?)\)", told):
        assert rule is not None
        assert not rule.few
        assert (held[1] or "none") == label[rule.point]
        assert held[2] == rule.between
    elif "holds RULER's 85.6 % at every length" in told:
        assert rule is not None
        assert rule.conservative == panel.lengths[-1] or not panel.columns[-1].n
    elif "does not hold" in told:
        assert rule is not None
        assert rule.optimistic is None
    if score := re.search(r"scores (\S+) % \(95 % sure: (\S+) to (\S+)\)", told):
        assert overall.range is None
        assert overall.interval is not None
        assert score.groups() == tuple(
            map(percent1, (overall.mean or 0.0, overall.interval.low, overall.interval.high))
        )
    if overall.range is not None and overall.n:
        assert f"scores between {percent1(overall.range[0])} and {percent1(overall.range[1])} %" in told
    if "weakest" in told:
        depth, ends_ = statistics.depth, statistics.depth.extremes
        assert min(depth.p_adjusted or 1.0, ends_.p_adjusted if ends_ else 1.0) <= 0.05
