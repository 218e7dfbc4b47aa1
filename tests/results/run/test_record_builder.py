"""Facts of a record: speed, retrieval; the pace of a session and what a time has in it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from needlework.core.grid import Cell
from needlework.core.record import PromptFacts, Record, Timing
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.models.model import Response
from needlework.pipeline.exchange import Exchange
from needlework.results.run.finish import sending_notes
from needlework.results.run.record_builder import answer_recall, make_record
from needlework.results.run.session import SessionPace, pace_of
from needlework.results.style import duration
from needlework.scoring.recording import ScoringResult

DOCUMENT = "The ferry ran on Thursdays only. The pear tree stood behind the mill."


@pytest.mark.parametrize(
    ("completion_tokens", "ttft_s", "tokens_per_s"),
    [(11, 0.5, 10.0), (2, 1.0, 2.0), (1, 0.5, None), (None, 0.5, None), (11, None, None), (11, 1.5, None)],
)
def test_the_speed_is_that_of_the_tokens_after_the_first(completion_tokens, ttft_s, tokens_per_s):
    response = Response("x", completion_tokens=completion_tokens, ttft_s=ttft_s, latency_s=1.5)
    exchange = Exchange(Cell("niah", 400, 50.0, "code", 0), SimpleNamespace(language="en"), "m", "k", response)
    record = make_record(exchange, ScoringResult(None), nodeid="", worker="main", recipe="r")

    assert record.timing.tokens_per_s == tokens_per_s


@pytest.mark.parametrize(
    ("answer", "context", "recall"),
    [
        ("The ferry ran on Thursdays.", "The ferry ran on Thursdays only.", 1.0),
        ("The ferry ran on Thursdays.", "The ferry was late.", 0.3333),
        ("The ferry ran on Thursdays.", "Nothing.", 0.0),
        ("The ferry, said Hale", "The ferry.", 1.0),  # the documents do not have Hale either
        ("Nobody knows", DOCUMENT, None),
        ("", DOCUMENT, None),
        ("渡船只在星期四开", "渡船只在星期四开。", 1.0),
    ],
)
def test_retrieved_words_are_those_of_the_answer_that_the_documents_have(answer, context, recall):
    assert answer_recall(answer, [DOCUMENT, "渡船只在星期四开。"], context) == recall


def record(tokens=1000, *, failed=False, replayed=False):
    return Record(
        model="m", task="niah", needle="code", length=1000, depth=50.0, repeat=0, score=None if failed else 1.0,
        outcome="error" if failed else "found", prompt=PromptFacts(tokens=tokens), timing=Timing(replayed=replayed),
    )  # fmt: skip


def test_the_pace_is_that_of_the_answers_of_this_session():
    assert pace_of([record(), record(3000), record(replayed=True), record(failed=True)], 2.0) == SessionPace(
        2, 4000, 2.0
    )
    assert pace_of([record(replayed=True)], 2.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.234, "0.23 s"), (4, "4 s"), (59, "59 s"), (90, "2 min"), (3601, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("model", "concurrency", "slots", "note"),
    [
        ("openai:m", 8, None, "up to 8 requests at once"), ("openai:m", 1, None, ""),
        ("openai:m", 8, "4", "works on 4 at once"), ("openai:m", 8, "8", "up to 8"), ("openai:m", 8, "many", "up to 8"),
        ("smollm2", 8, None, "a time is one prompt's share"), ("mock:perfect", 8, None, ""),
    ],
)  # fmt: skip
def test_a_note_says_what_a_time_has_in_it(model, concurrency, slots, note):
    settings = resolve_settings({"model": [model], "concurrency": str(concurrency)}, {}, Path())
    notes = list(sending_notes(settings, {"models": {model: {"server total_slots": slots}}}))

    assert note in notes[0] if note else notes == []
