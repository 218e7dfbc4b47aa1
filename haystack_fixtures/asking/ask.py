"""Ask one question, and what follows it: the second question of a trial that has two, the marks at both ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel, Model, ModelError, Request, Response
from needlework.haystack_fixtures.trials.exchange import NOT_ASKED, Exchange
from needlework.haystack_fixtures.trials.trial import Trial
from needlework.haystack_fixtures.trials.trust import Check, check_answer, check_canaries


@dataclass(frozen=True, slots=True)
class Ready:
    """A trial whose prompt is built and fits, and the model to ask. `build_s`: seconds to build the prompt."""

    trial: Trial
    model: Model
    build_s: float


def begin(engine: Engine, cell: Cell) -> Callable[[], Exchange]:
    """Make one cell ready, and return what asks it. Neither raises for a fault of model or server: that is the
    exchange's error.
    """
    ready = make_ready(engine, cell)
    if isinstance(ready, Exchange):
        return lambda: ready
    return lambda: _finished(engine, ready, ready.model.respond(request_of(ready.trial)))


def ask_many(engine: Engine, cells: Sequence[Cell]) -> list[Exchange]:
    """Ask cells of one model, all at once where it takes batches; the exchanges in the order of the cells."""
    found = [make_ready(engine, cell) for cell in cells]
    waiting = [ready for ready in found if isinstance(ready, Ready)]
    requests = [request_of(ready.trial) for ready in waiting]
    if waiting and isinstance(model := waiting[0].model, BatchModel):
        responses = iter(model.respond_many(requests))
    else:
        responses = (ready.model.respond(request) for ready, request in zip(waiting, requests, strict=True))
    return [each if isinstance(each, Exchange) else _finished(engine, each, next(responses)) for each in found]


def make_ready(engine: Engine, cell: Cell) -> Ready | Exchange:
    """Build a cell's prompt and load its model; the exchange, where it ends there: an error, or a trial to skip."""
    begun = time.perf_counter()
    try:
        trial = engine.trial(cell)
    except InputError as error:
        return _exchange(engine, cell, Response(error=ModelError("client", str(error))))
    build_s = time.perf_counter() - begun
    try:
        model = engine.model(cell)
    except InputError as error:
        # A model that cannot be loaded would fail every further cell too.
        return _exchange(engine, cell, Response(error=ModelError("client", str(error), fatal=True)))
    ready = Ready(trial, model, build_s)
    # Documents that are cut as upstream cuts them leave no room for what stands around them. Rows of a data set have a
    # length of their own, and that of their cell is a class.
    suite, rows = trial.suite, engine.series_of(cell).task.rows
    needed = trial.prompt.tokens + suite.answer_tokens + (suite.length_buffer if suite.length_means == "total" else 0)
    length = needed if rows or suite.length_means == "context" else max(cell.length, needed)
    window = model.window
    too_long = window is not None and length > window
    told = f"length {length} is" if suite.length_means == "total" else f"prompt and answer, {length} tokens, are"
    skipped = trial.skipped or (f"{told} over the model's window of {window} tokens" if too_long else "")
    return _of_ready(engine, ready, NOT_ASKED, skipped=skipped) if skipped else ready


def _exchange(engine: Engine, cell: Cell, response: Response) -> Exchange:
    """The exchange of a cell that has no prompt."""
    series = engine.series_of(cell)
    return Exchange(
        cell,
        series.suite,
        series.model,
        engine.key(cell),
        response,
        scorer=engine.scorer(cell),
        seed=engine.settings.seed,
        judging=engine.judging(cell),
    )


def _of_ready(engine: Engine, ready: Ready, response: Response, skipped: str = "") -> Exchange:
    trial = ready.trial
    return replace(
        _exchange(engine, trial.cell, response),
        question=trial.asked.question,
        reference=trial.asked.reference,
        trial=trial,
        flags=trial.prompt.flags,
        skipped=skipped,
        build_s=ready.build_s,
    )


def _finished(engine: Engine, ready: Ready, response: Response) -> Exchange:
    """The exchange of a response, checked, with the answers to what is asked after it."""
    trial, error = ready.trial, response.error
    if error is not None and error.too_long:
        return _of_ready(engine, ready, replace(response, error=None), skipped=error.message)
    exchange = _of_ready(engine, ready, response)
    if error is not None:
        return exchange
    answers = [needle.answer for needle in trial.asked.needles if needle.answer] or [trial.asked.answer]
    exchange = with_check(exchange, check_answer(trial.prompt.tokens, answers, response))
    if trial.asked.follow_up is not None:
        second = engine.follow_up(trial)
        return with_follow_up(exchange, second, ready.model.respond(request_of(second)))
    found = engine.canary_trial(trial.cell)
    if found is None:
        return exchange
    canaries, marks = found
    counted = response.prompt_tokens is not None
    return with_check(exchange, check_canaries(canaries, ready.model.respond(request_of(marks)), counted=counted))


def with_check(exchange: Exchange, check: Check) -> Exchange:
    """The exchange with what a further check has found; the first reason for being invalid is the one in words."""
    if not (check.invalid or check.flags or check.why):
        return exchange
    return replace(
        exchange,
        invalid=tuple(dict.fromkeys((*exchange.invalid, *check.invalid))),
        invalid_why=exchange.invalid_why or check.why,
        flags=tuple(dict.fromkeys((*exchange.flags, *check.flags))),
    )


def with_follow_up(exchange: Exchange, second: Trial, response: Response) -> Exchange:
    """The exchange with the answer to its second question, which `second` asked: both together are what is scored.

    Times and token counts stay those of the first, which has the document; a fault of either is one of the exchange.
    """
    first, asked = exchange.response, exchange.trial.asked if exchange.trial else None
    if asked is None or asked.follow_up is None:
        raise ValueError("the trial has no follow-up")
    if response.error is not None:
        return replace(exchange, response=replace(first, text="", error=response.error))
    both = replace(
        first,
        text=asked.follow_up.joined.format(first=first.text.strip(), second=response.text.strip()),
        reasoning="\n\n".join(part for part in (first.reasoning, response.reasoning) if part),
        finish_reason=response.finish_reason if first.finish_reason == "stop" else first.finish_reason,
    )
    check = check_answer(second.prompt.tokens, [second.asked.answer], response)
    return with_check(replace(exchange, response=both), check)


def request_of(trial: Trial) -> Request:
    """What a model is asked for a trial."""
    return Request(
        prompt=trial.prompt,
        template=trial.suite.template,
        answer_budget=trial.suite.answer_budget,
        thinking_budget=trial.suite.thinking_budget,
        cell=trial.cell,
        needles=trial.asked.needles,
        answer=trial.asked.answer,
    )
