"""A run's report: means by hand, panels, how it was made, what it cost, notes, and its first sentence."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.settings import prices_of
from needlework.results.files.json_files import results_bytes
from needlework.results.report.panels import headline
from needlework.results.statistics.panels import OUTCOMES, summarise
from needlework.results.statistics.run_facts import Flips, SpendingCap, check_cap, cost_rows, run_facts, spent
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.published import TASKS
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import run_statistics
from needlework.results.statistics.wording import score_and_interval
from needlework.results.style import length_labels, percent1
from needlework.results.tables.terminal import next_line
from tests.results.builders import asked, grid_of, new_record


def test_trials_that_failed_are_the_first_next_step():
    facts = run_facts({"run": "r"}, "r")
    kinds = ("server", "timeout", "client")
    errors = [new_record(repeat=1 + at, outcome="error", error={"kind": kind}) for at, kind in enumerate(kinds)]
    reasons = ("uncalibrated", "token_mismatch")
    invalid = [new_record(repeat=4, outcome="invalid", needle=each, details={"invalid": [each]}) for each in reasons]
    report = run_report([new_record(), *errors, *invalid], facts=facts)
    again = "the same command with --run-name r asks the 3 failed trials again"

    assert next_line(report, "runs/r").startswith(f"next: {again}; open runs/r/report.html")
    assert headline_of(report).next_run == again
    lasting = run_report([new_record(), errors[2]], facts=facts)
    assert next_line(lasting, "runs/r").startswith("next: open runs/r/report.html")
    assert headline_of(lasting).next_run != again


@pytest.mark.parametrize(
    ("names", "n", "mean", "limits", "words"),
    [
        ("found censored censored invalid skipped error", 1, 1.0, (1 / 3, 1.0), "2 censored of 3"),
        ("found censored unclear error", 1, 1.0, (1 / 3, 1.0), ("score 33.3–100 % (1 censored, 1 unclear of"
         " 3: all missed to all hit) · of the scored 100 % (one sample: says nothing of"
         " others), n = 1 · 1 cell of 4 trials · 1 error")),
        ("censored censored censored", 0, None, (0.0, 1.0),
         "score 0–100 % (3 censored of 3: all missed to all hit) · none scored"),
        ("found invalid", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found skipped", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found error", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found refused empty", 3, 1 / 3, None, "score 33.3 % ("),
        ("found empty empty empty refused", 5, 0.2, None,
         "n = 5 · 1 cell of 5 trials · every trial scored · 1 refused, 3 empty"),
    ],
)  # fmt: skip
def test_what_has_no_score_never_enters_a_mean_and_only_undecided_answers_make_a_range(names, n, mean, limits, words):
    records = [new_record(repeat=i, outcome=name) for i, name in enumerate(names.split())]
    for record in records:
        if record.outcome == "censored":
            record.score = 1.0  # a score beside an outcome that has none is not a score
    (panel,) = summarise(records)

    assert (panel.overall.n, panel.overall.mean) == (n, pytest.approx(mean))
    assert panel.overall.range == (limits and pytest.approx(limits))
    assert words in headline(panel)
    assert (score_and_interval(panel.overall) == ("0–100", "–")) == (n == 0)


@pytest.mark.parametrize("score", [None, float("nan"), 1.5])
def test_a_scored_outcome_needs_a_score(score):
    record = new_record()
    record.score = score
    with pytest.raises(ValueError, match=r"score is in 0\.\.1"):
        summarise([record])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(("started", "commit", "command", "pace", "models", "versions"))


@given(manifest=st.dictionaries(NAMES, VALUES))
def test_any_manifest_can_be_read(manifest):
    assert run_facts(manifest, "x").name == "x"


@pytest.mark.parametrize(
    ("text", "outcome", "score", "flips"),
    [
        ("9", "wrong", 0.0, Flips(asked=1)),
        ("8", "wrong", 0.0, Flips(asked=1, texts=1)),
        ("No.", "refused", 0.0, Flips(asked=1, texts=1, scores=1)),  # another outcome of the same score
        ("", "censored", None, Flips(asked=1, texts=1, scores=1)),
        ("4711", "found", 1.0, Flips(asked=1, texts=1, scores=1)),
        ("", "error", None, Flips(unanswered=1)),
    ],
)
def test_a_flip_is_another_text_and_another_outcome_or_score(text, outcome, score, flips):
    again = {"how": "warm", "text": text, "outcome": outcome, "score": score}
    record = new_record(outcome="wrong", score=0.0, response={"text": "9"}, details={"stability": [again]})
    report = run_report([record])

    assert report.stability.flips == report.stability.by_how["warm"] == flips
    assert report.stability.flipped == ((record.id,) if flips.texts else ())
    assert json.loads(results_bytes(report))["stability"]["flips"]["asked"] == flips.asked
    assert report.notes[0].startswith(
        f"stability: 1 cells asked again {flips.asked} times (warm {flips.asked}): the text"
    )
    assert run_report([new_record()]).stability is None


def notes(rows):
    """The notes on a run of one trial for each row."""
    records = []
    for number, row in enumerate(rows):
        response = {name: row[name] for name in ("model", "fingerprint", "finish_reason") if name in row}
        fields = {
            "details": {"flags": list(row.get("flags", ())), "recipe": "r"},
            "response": {"model": "m", "prompt_tokens": 980, "finish_reason": "stop"} | response,
            "timing": {"cached_tokens": row.get("cached", 3)},
            "prompt": {"tokens": 980, "filler_sha256": "same"},
        }
        records.append(new_record(repeat=number, outcome=row.get("outcome", "found"), **fields))
    return "\n".join(run_report(records).notes)


TEMPLATE = {"flags": ["template_difference"]}
UNFINISHED = {"finish_reason": "unfinished", "outcome": "censored"}


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([{"model": "x.gguf", "flags": ["other_model"]}] * 2, "answers as 'x.gguf'"),
        (
            [TEMPLATE | {"outcome": "empty"}] * 26 + [TEMPLATE] * 10,
            "tokenizer's: with 26 of 36 answers empty, a WRONG CHAT TEMPLATE is the likely cause",
        ),
        ([TEMPLATE] * 4, "template is not the tokenizer's"),
        ([UNFINISHED, UNFINISHED, {}], "2 of 3 answers are reasoning without an answer"),
        ([{"outcome": "empty"}] * 3, "3 of 3 answers are empty: look at chat template"),
        ([{"flags": ["cumulative_stream"]}], "1 of 1 answers came in events that repeat the text so far"),
        ([{"cached": 0}] * 5, "prompt cache gave nothing"),
        ([{}] * 8, ""),
        ([{"cached": 0}] * 4 + [{}], ""),
        ([{"cached": None}] * 5, ""),
        ([{"outcome": "error", "flags": ["no_usage"]}, {"outcome": "skipped"}], ""),  # no answers
    ],
)
def test_a_server_that_is_odd_is_told_and_of_no_other_anything_is_said(rows, note):
    printed = notes(rows)

    assert note in printed if note else printed == ""
    assert ("WRONG" in printed) == ("WRONG" in note)


@pytest.mark.parametrize(
    ("prompts", "note"), [("aab", "1 prompt for several depths each (such as 0 and 25 %)"), ("abc", "")]
)
def test_depths_that_have_one_prompt_are_noted(prompts, note):
    records = [
        new_record(depth=depth, prompt={"sha256": name}) for depth, name in zip((0.0, 25.0, 50.0), prompts, strict=True)
    ]
    (printed,) = run_report(records).notes or ("",)
    assert note in printed if note else printed == ""


PRICE = ("1,2", "b=10,20,1")


def answered(model="a", prompt=1_000, answer=100, cached=0, **fields):
    tokens = {"response": {"prompt_tokens": prompt, "completion_tokens": answer}, "timing": {"cached_tokens": cached}}
    return new_record(model=model, **tokens, **fields)


def test_cached_tokens_have_their_own_price_and_each_model_too():
    records = [answered(repeat=at) for at in range(2)]
    records += [answered("b", cached=600), new_record(outcome="error"), new_record(outcome="skipped")]
    first, second = cost_rows(records, PRICE)

    assert (first.model, first.answers, first.prompt_tokens, first.answer_tokens) == ("a", 2, 2_000, 200)
    assert first.dollars == pytest.approx((2_000 * 1 + 200 * 2) / 1e6)
    assert second.dollars == pytest.approx((400 * 10 + 600 * 1 + 100 * 20) / 1e6)
    assert spent(records, PRICE) == (pytest.approx(first.dollars + second.dollars), 3_300)
    assert [row.dollars for row in cost_rows(records)] == [None, None]
    second_question = {"prompt_tokens": 1_000, "follow_up_tokens": 300, "completion_tokens": 50}
    assert spent([new_record(response=second_question)], ()) == (0.0, 1_350)


def test_a_cap_says_what_has_reached_it_and_one_in_dollars_needs_prices():
    cap = SpendingCap(5.0, 1_000_000)

    assert cap.words == "ends at 5 dollars or 1,000,000 tokens, all sessions of the run together"
    assert cap.reached(4.99, 10) is None
    assert cap.reached(5.02, 10) == ("--max-cost", "5", "5.02 dollars")
    assert cap.reached(0, 2_000_000) == ("--max-tokens", "1000000", "2,000,000 tokens")
    with pytest.raises(InputError, match="what does openai:x cost"):
        check_cap(cap, ["b=1,2"], ["b", "openai:x"])


def test_a_model_without_a_price_of_its_own_has_that_of_all():
    assert prices_of(["0.5, 1.5".replace(" ", "")], "any").dollars(1e6, 1e6, 1e6) == 2.0
    assert prices_of(["b=1,2"], "a") is None


# -- the first sentence: what it claims, what it is based on, and what went wrong -----------------------------------


def said(records, **more):
    return headline_of(run_report(records, **more))


def spread(right, of=40, **fields):
    """`of` samples at each length, of which so many are right."""
    return grid_of(right, repeats=of, outcome=lambda n, _, i: "found" if i < right[n] else "wrong", **fields)


ONE_SAMPLE = "mock scores 100 % (one sample: says nothing of others) at 1k tokens."


@pytest.mark.parametrize(
    ("right", "of", "words"),
    [
        ({1000: 40, 4000: 40}, 40, "holds RULER's 85.6 % at every length, up to 4k tokens (95 % sure)"),
        ({1000: 4, 4000: 0}, 40, "does not hold RULER's 85.6 % at any length, 1k tokens included (95 % sure)"),
        ({4000: 30}, 40, "mock scores 75.0 % (95 % sure: 58.8 to 87.3) at 4k tokens."),
        ({1000: 1}, 1, ONE_SAMPLE),
    ],
)
def test_a_length_with_what_is_sure_of_it(right, of, words):
    records = spread(right, of=of)
    told = said(records)

    assert words in told.sentence
    assert told.rests == f"{len(records)} trial{'s' * (len(records) > 1)} of {of} independent question{'s' * (of > 1)}"


def test_a_depth_that_may_be_weak_by_chance_is_called_so():
    depths = (0.0, 25.0, 50.0, 75.0, 100.0)
    records = grid_of(depths=depths, repeats=2, outcome=lambda _, depth, __: "wrong" if depth == 50 else "found")
    assert "; lowest at depth 50 % (0 %), which may be chance" in said(records).sentence


def test_scores_of_overlapping_words_and_retrieved_contexts_have_no_length():
    overlap = spread({1000: 30, 2000: 10}, scorer="leval_f1", task="leval_financial_qa")
    assert "85.6" not in said(overlap).sentence
    reference = {"answers": ["4711"], "retriever": "bm25"}
    bm25 = spread({1000: 30, 2000: 30}, task="leval_quality", needle="doc1_q1_bm25", reference=reference)
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


def test_a_length_that_undecided_answers_decide_is_not_told():
    response = {"finish_reason": "length"}
    told = said(grid_of((500,), repeats=80) + grid_of((1000,), repeats=80, outcome="censored", response=response))

    assert told.sentence == (
        "mock scores between 50.0 and 100 % at 500 to 1k tokens; 80 of 160 trials without a score (80 censored)."
    )
    assert "--answer-budget" in told.next_run


def test_rulers_mean_is_said_where_every_task_has_a_score_and_no_other_task_was_asked():
    records = [new_record(task=task, repeat=at) for task in TASKS for at in range(4)]
    assert " as RULER's mean of 13 tasks; " in said(records).sentence
    assert "RULER" not in said(records[4:]).sentence
    assert "RULER's mean" not in said([*records, new_record(task="chain")]).sentence


LENGTHS, DEPTHS = (500, 1000, 2000), (0.0, 50.0, 100.0)
# A share of right answers for each length, and now and then an outcome of any kind.
RUNS = st.tuples(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(1, 30),
    st.floats(0, 0.4),
    st.integers(0, 2**32),
    st.integers(1, 3),
)


def drawn(run):
    shares, samples, odd, seed, lengths = run
    chance = random.Random(seed)
    records = []
    for length, share in list(zip(LENGTHS, shares, strict=True))[:lengths]:
        for repeat in range(samples):
            outcome = "found" if chance.random() < share else "wrong"
            outcome = chance.choice(OUTCOMES) if chance.random() < odd else outcome
            records.append(new_record(length=length, depth=DEPTHS[repeat % 3], repeat=repeat, outcome=outcome))
    return records


@given(run=RUNS)
def test_what_is_called_sure_is_what_the_intervals_say(run):
    records = drawn(run)
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
