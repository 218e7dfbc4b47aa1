"""Asking a cell, once and again, and ahead of its test; what counts and marks prove of an answer."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.needles.needle_sets import canaries
from needlework.haystack_fixtures.tasks.task import FollowUp
from needlework.models.event_loop import in_thread
from needlework.models.model import Calibration, ModelError, Response
from needlework.pipeline.ask import ask, ask_many, with_check, with_follow_up
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import TOLERANCE, Check, StoredAnswer, check_answer, check_canaries
from needlework.pipeline.queue import LookAhead, Queue
from needlework.results.run.record_builder import unscored_record

GRID = {"task": "niah", "corpus": "pydoc", "lengths": "400", "depths": "0,50,100"}


def engine_of(folder, model="mock:perfect", **options):
    return Engine(resolve_settings({**GRID, "model": [model], **options}, {}, folder), folder)


def cells(engine):
    return [cell for series in engine.series() for cell in series.cells]


@pytest.mark.parametrize(("window", "asked"), [(399, False), (400, True), (401, True)])
def test_a_cell_as_long_as_the_window_is_asked(tmp_path, window, asked):
    engine = engine_of(tmp_path, model_arg=[f"window={window}"])
    exchange = ask(engine, cells(engine)[0])

    assert bool(exchange.response.text) == asked
    assert exchange.skipped == ("" if asked else f"length 400 is over the model's window of {window} tokens")


def test_a_cell_too_short_for_its_own_needle_is_skipped(tmp_path):
    engine = engine_of(tmp_path, lengths="20")
    (exchange, *_others) = ask_many(engine, cells(engine))

    assert exchange.skipped.startswith("--lengths: '20': template, question, needles and one sentence need more")
    assert (exchange.error_kind, exchange.trial) == (None, None)


def test_a_question_on_the_only_document_is_an_error_of_its_cell(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mill.txt").write_text("The mill was built in 1791. " * 20)
    row = {"question": "When was the mill built?", "answer": "1791", "answer_doc": "mill.txt"}
    (tmp_path / "questions.json").write_text(json.dumps({"0": row}))
    files = {"documents": str(tmp_path / "docs"), "questions": str(tmp_path / "questions.json")}
    engine = engine_of(tmp_path, preset="own-documents", task="doc_position", lengths="4000", **files)
    exchange = ask(engine, cells(engine)[0])

    assert exchange.error_kind == "client"
    assert "has no other documents for question q0" in exchange.response.error.message
    assert exchange.trial is None


SURE = FollowUp("Are you sure?", "yes", "{first} - {second}")


def asked_twice(tmp_path, then=SURE):
    """An exchange whose first question is answered, and whose trial has a second."""
    engine = engine_of(tmp_path)
    exchange = ask(engine, cells(engine)[0])
    return replace(exchange, trial=replace(exchange.trial, asked=replace(exchange.trial.asked, follow_up=then)))


def test_a_second_answer_is_scored_with_the_first_and_a_fault_of_it_is_one_of_the_exchange(tmp_path):
    exchange = asked_twice(tmp_path)
    tokens = exchange.trial.prompt.tokens
    both = with_follow_up(exchange, exchange.trial, Response("Yes.", prompt_tokens=tokens, finish_reason="length"))
    assert (both.answer, both.finish_reason, both.invalid) == (f"{exchange.answer} - Yes.", "length", ())

    cut = with_follow_up(exchange, exchange.trial, Response("Yes.", prompt_tokens=tokens - 50))
    assert cut.invalid == ("server_truncated",)
    assert f"counted {tokens - 50} tokens" in cut.invalid_why

    failed = with_follow_up(exchange, exchange.trial, Response(error=ModelError("timeout", "no answer")))
    assert failed.error_kind == "timeout"


@pytest.mark.parametrize(
    ("first", "second", "both"), [("stop", "stop", "stop"), ("length", "stop", "length"), ("stop", "length", "length")]
)
def test_two_answers_are_cut_off_where_one_is(tmp_path, first, second, both):
    exchange = asked_twice(tmp_path)
    exchange = replace(exchange, response=replace(exchange.response, finish_reason=first))
    response = Response("Yes.", prompt_tokens=exchange.trial.prompt.tokens, finish_reason=second)

    assert with_follow_up(exchange, exchange.trial, response).finish_reason == both


def test_a_summary_stands_beside_the_answer_and_is_only_flagged_where_it_was_cut_off(tmp_path):
    exchange = asked_twice(tmp_path, FollowUp("Which code?", "", "{second}", "Summary: {summary}\n"))
    first = replace(exchange.response, text="Codes: 12", finish_reason="length", completion_tokens=40)
    tokens = exchange.trial.prompt.tokens
    response = Response("It is 12.", prompt_tokens=tokens, finish_reason="stop", completion_tokens=5)
    both = with_follow_up(replace(exchange, response=first), exchange.trial, response)

    assert (both.answer, both.response.summary, both.finish_reason) == ("It is 12.", "Codes: 12", "stop")
    assert (both.response.completion_tokens, both.response.follow_up_tokens) == (45, tokens)
    assert both.flags[-1] == "summary_cut"
    assert not both.invalid


def test_the_first_reason_is_the_one_in_words(tmp_path):
    exchange = with_check(asked_twice(tmp_path), Check(("stale_answer",), ("a",), "of another request"))
    both = with_check(exchange, Check(("stale_answer", "server_truncated"), ("a", "b"), "cut"))

    assert (both.invalid, both.invalid_why) == (("stale_answer", "server_truncated"), "of another request")
    assert both.flags == (*asked_twice(tmp_path).flags, "a", "b")


class InBatches:
    """A model that takes batches, and notes how many requests each had."""

    window = None
    batch_size = 8
    batch_tokens = 100_000

    def __init__(self, tokenizer):
        self.identity = {}
        self.tokenizer = tokenizer
        self.batches = []
        self.forgotten = 0

    def respond(self, request):
        return self.respond_many([request])[0]

    def respond_many(self, requests):
        self.batches.append([request.cell.id for request in requests if request.cell])
        return [Response("x", finish_reason="stop", prompt_tokens=request.prompt.tokens) for request in requests]

    def forget(self):
        self.forgotten += 1

    def close(self): ...


def test_a_probe_asks_alone_then_cold_then_in_a_batch_with_other_probed_cells(tmp_path, monkeypatch):
    engine = engine_of(tmp_path, stability="6", depths="0,20,40,60,80,100")
    model = InBatches(engine.builder(cells(engine)[0]).tokenizer)
    monkeypatch.setattr(engine, "model", lambda _cell: model)
    first, *others = cells(engine)
    exchange = Queue(engine).exchange(first)

    assert [each.how for each in exchange.again] == ["warm", "cold", "batch"]
    assert model.forgotten == 1
    asked, warm, cold, batch = model.batches
    assert asked == warm == cold == [first.id]
    assert batch[0] == first.id
    assert len(batch) == 4
    assert set(batch[1:]) < {each.id for each in others}


@pytest.mark.parametrize("announced", [range(6), range(1, 6), ()])
def test_cells_of_a_local_model_are_asked_once_with_those_that_come_next(tmp_path, monkeypatch, announced):
    monkeypatch.setattr("needlework.pipeline.queue.runs_here", lambda _spec: True)
    engine = engine_of(tmp_path, depths="0,20,40,60,80,100")
    every = cells(engine)
    earlier = unscored_record(ask(engine, every[2]), worker="main", recipe="")
    model = InBatches(engine.builder(every[0]).tokenizer)
    model.batch_size = 3
    monkeypatch.setattr(engine, "model", lambda _cell: model)
    stored = {engine.key(every[2]): StoredAnswer(earlier, None, replayed=False)}
    queue = Queue(engine, stored=stored.get)
    queue.announce([every[number] for number in announced])

    assert [queue.exchange(cell).answer for cell in every] == ["x", "x", earlier.response.text, "x", "x", "x"]
    sizes = {6: [3, 2], 5: [3, 2], 0: [1] * 5}
    assert [len(batch) for batch in model.batches] == sizes[len(announced)]
    assert [name for batch in model.batches for name in batch] == [c.id for n, c in enumerate(every) if n != 2]


def look_ahead(work, keys, width, **bounds):
    """`work(key)` blocks: it runs in a thread of its own."""
    ahead = LookAhead(lambda key: in_thread(partial(work, key)), width, **bounds)
    ahead.extend(keys)
    return ahead


@pytest.mark.parametrize("order", [(*range(100),), (70, *range(70), *range(71, 100)), (3, 1, 2, 99)])
def test_each_question_is_asked_once_whatever_the_order_in_which_answers_are_taken(order):
    asked = []
    ahead = look_ahead(lambda n: asked.append(n) or n * n, range(99), width=3)

    assert [ahead.take(n) for n in order] == [n * n for n in order], "99 was not announced"
    assert len(asked) == len(set(asked))
    assert set(asked) >= set(order)


@pytest.mark.parametrize(("room", "others"), [(0, 7), (30, 30), (1000, 39)])
def test_one_that_hangs_stops_the_others_when_their_answers_fill_the_room(room, others):
    """Four times the width may wait in any case, what hangs among them; it takes no room until it comes."""
    asked = []

    async def hangs():
        until = time.monotonic() + 5
        while len(asked) < others and time.monotonic() < until:
            await asyncio.sleep(0.001)
        for _ in range(100):  # more would be asked meanwhile, if they could
            await asyncio.sleep(0)
        return len(asked)

    async def answers(n):
        asked.append(n)

    ahead = LookAhead(lambda n: answers(n) if n else hangs(), width=2, size=lambda _answer: 1, room=room)
    ahead.extend(range(40))

    assert ahead.take(0) == others
    for n in range(1, 8):
        ahead.take(n)
    assert len(asked) <= max(others, 7) + 8, "what was taken makes room, and no more"


@pytest.mark.parametrize("fails_at", ["start", "send"])
def test_an_error_is_raised_where_the_answer_is_taken(fails_at):
    async def send(n):
        return 1 // n

    ahead = LookAhead(lambda n: 1 // n and send(n) if fails_at == "start" else send(n), width=1)
    ahead.extend([1, 0, -1])
    assert ahead.take(1) == 1
    with pytest.raises(ZeroDivisionError):
        ahead.take(0)
    assert ahead.take(-1) == -1


def test_closing_drops_what_was_not_sent():
    sent, go_on = [], threading.Event()
    ahead = look_ahead(lambda n: (sent.append(n), go_on.wait(5)), range(8), width=2)
    ahead.fill()
    while len(sent) < 2:
        time.sleep(0.005)
    ahead.close()
    go_on.set()
    for n in (0, 1):  # each makes room for more
        ahead.take(n)
    time.sleep(0.05)

    assert sorted(sent) == [0, 1]


def test_requests_are_made_ready_in_order_and_a_few_ahead_on_the_thread_that_takes_answers():
    ready, go_on = [], threading.Event()

    def start(n):
        ready.append((n, threading.get_ident()))
        return in_thread(lambda: go_on.wait(5) and n)

    ahead = LookAhead(start, width=4, queued=4)
    ahead.extend(range(40))
    ahead.fill()
    assert [n for n, _ in ready] == [*range(8)]
    go_on.set()
    assert [ahead.take(n) for n in range(40)] == list(range(40))
    assert {thread for _, thread in ready} == {threading.get_ident()}


TOKENS = st.integers(1, 2_000_000)
CONSTANTS = st.integers(-100, 100)


def check(tokens, served, constant=0, **more):
    found = check_answer(
        tokens, ["4829173"], Response("x", prompt_tokens=served, calibration=Calibration("exact", constant), **more)
    )
    assert bool(found.invalid) == bool(found.why)
    return found.invalid, found.flags


@given(TOKENS, CONSTANTS, st.integers(-TOLERANCE, TOLERANCE))
def test_our_count_plus_the_constant_is_valid(tokens, constant, off):
    flags = (*["template_difference"] * bool(constant), *["token_difference"] * bool(off))
    assert check(tokens, tokens + constant + off, constant) == ((), flags)


@given(TOKENS, CONSTANTS, st.integers(TOLERANCE + 1, 2_000_000))
def test_anything_else_is_not_whatever_the_length(tokens, constant, off):
    assert check(tokens, tokens + constant + off, constant)[0] == ("token_mismatch",)
    assert check(tokens, tokens + constant - off, constant)[0] == ("server_truncated",)


def test_counts_without_the_cached_part():
    assert check(900, 100, cached_tokens=800) == ((), ("usage_without_cached",))
    assert check(900, 107, 7, cached_tokens=800) == ((), ("usage_without_cached", "template_difference"))
    assert check(900, 900, cached_tokens=800) == ((), ())
    assert check(900, 100, cached_tokens=700)[0] == ("server_truncated",)


def test_a_model_without_a_calibration_counts_as_we_do():
    assert check_answer(900, [], Response("x", prompt_tokens=900)).invalid == ()
    assert check_answer(900, [], Response("x", prompt_tokens=910)).invalid == ("token_mismatch",)
    assert check_answer(900, [], Response("x")).flags == ("no_usage",)
    # A stale answer is invalid whatever its count.
    stale = "the answer to another request: ..."
    assert check_answer(900, [], Response("x", prompt_tokens=900, stale=stale)) == Check(("stale_answer",), why=stale)


@pytest.mark.parametrize(
    ("calibration", "served", "invalid"),
    [
        (Calibration("inconsistent", why="no constant"), 900, ("token_mismatch",)),
        (Calibration("inconsistent", why="no constant"), None, ()),
        (Calibration("failed", why="boom"), 900, ()),
        (Calibration("failed", why="boom"), 907, ("uncalibrated",)),
        (Calibration("failed", why="boom"), 800, ("server_truncated",)),
        (Calibration("no_usage"), None, ()),
        (Calibration("no_usage"), 800, ("server_truncated",)),
    ],
)
def test_without_a_constant(calibration, served, invalid):
    found = check_answer(900, [], Response("x", prompt_tokens=served, calibration=calibration))
    assert found.invalid == invalid
    assert not invalid or calibration.why in found.why


@pytest.mark.parametrize(
    ("text", "reasoning", "flagged"),
    [
        ("I do not know.", "It says 4829173.", True),
        ("4829173", "It says 4829173.", False),
        ("", "14829173", False),
        ("", "", False),
    ],
)
def test_a_value_that_stands_in_the_reasoning_alone(text, reasoning, flagged):
    found = check_answer(900, ["4829173"], Response(text, reasoning, prompt_tokens=900))
    assert ("answer_in_reasoning" in found.flags) == flagged


HERE = canaries("en", seed=0, repeat=0)
WHY = "asked for the marks at both ends of the text, the model does not have the one at the"
BOTH = f"They are {' and '.join(HERE.marks)}."


def test_the_seed_and_the_repeat_change_the_marks_and_nothing_else_does():
    assert canaries("en", seed=0, repeat=0) == HERE
    assert canaries("en", seed=1, repeat=0).marks[0] != HERE.marks[0]
    assert canaries("en", seed=0, repeat=1).marks[1] != HERE.marks[1]
    assert HERE.marks[0] != HERE.marks[1]
    for found in (canaries(language, seed=3, repeat=1) for language in ("en", "zh")):
        assert [mark in text for mark, (_, text) in zip(found.marks, found.statements, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("say", "missing"),
    [
        (lambda c: ", ".join(c.marks), ()),
        (lambda c: f"{c.marks[0][:3].lower()}-{c.marks[0][3:]} {c.marks[1]}", ()),
        (lambda c: c.marks[1], ("start",)),
        (lambda c: c.marks[0], ("end",)),
        (lambda c: "There are no marks.", ("start", "end")),
        (lambda c: "", ("start", "end")),
    ],
)
def test_marks_are_recognised_however_they_are_written(say, missing):
    assert HERE.missing(say(HERE)) == missing


@pytest.mark.parametrize(
    ("response", "counted", "checked"),
    [
        (Response(BOTH), False, Check(flags=("canaries_found",))),
        # A model that gives neither mark is believed where the count vouches for the prompt.
        (Response("I do not know."), True, Check(flags=("canary_start_missing", "canary_end_missing"))),
        (Response(HERE.marks[1]), True, Check(flags=("canary_start_missing",))),
        (Response(error=ModelError("timeout", "no answer")), False, Check(flags=("canary_unasked",))),
        # Without a count they are invalid.
        (Response("No."), False, Check(("canary_start_missing", "canary_end_missing"), why=f"{WHY} start and end")),
        (Response(HERE.marks[1]), False, Check(("canary_start_missing",), why=f"{WHY} start")),
    ],
)
def test_missing_marks_are_flags_where_the_count_vouches_for_the_prompt(response, counted, checked):
    assert check_canaries(HERE, response, counted=counted) == checked
