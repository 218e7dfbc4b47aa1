"""Asks a trial: request, answer, stability."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.event_loop import in_thread
from needlework.models.model import BatchModel, DistantModel, Model, ModelError, Request, Response
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import NOT_ASKED, Again, Check, Exchange, check_answer, check_canaries


@dataclass(frozen=True, slots=True)
class Ready:
    """A trial whose prompt is built and fits, and the model to ask. `exchange`: with no answer yet.

    What is asked after its question: `second`, a second question, or `marks`, what stands at both ends of its context.
    """

    trial: Trial
    model: Model
    exchange: Exchange
    second: Trial | None = None
    marks: tuple[Canaries, Trial] | None = None

    @property
    def requests(self) -> list[Request]:
        """What is asked, in this order, as long as there are answers."""
        after = self.second or (self.marks[1] if self.marks else None)
        return [request_of(trial) for trial in (self.trial, after) if trial is not None]


def ask(engine: Engine, cell: Cell) -> Exchange:
    """Ask one cell, and wait. Does not raise for a fault of model or server: that is the exchange's error."""
    ready = make_ready(engine, cell)
    if isinstance(ready, Exchange):
        return ready
    return _answered(ready, ready.model.respond)


def begin(engine: Engine, cell: Cell) -> Callable[[], Coroutine[Any, Any, Exchange]]:
    """Make one cell ready, and return what asks it in the event loop. Neither raises for a fault of model or server, as
    `ask`.
    """
    ready = make_ready(engine, cell)
    if isinstance(ready, Exchange):
        return lambda: known(ready)
    if isinstance(ready.model, DistantModel):
        asking = [ready.model.begin(request) for request in ready.requests]
        return lambda: _asked(ready, asking)
    return lambda: in_thread(lambda: _answered(ready, ready.model.respond))


def ask_many(engine: Engine, cells: Sequence[Cell]) -> list[Exchange]:
    """Ask cells of one model, all at once where it takes batches; the exchanges in the order of the cells."""
    found = [make_ready(engine, cell) for cell in cells]
    waiting = [ready for ready in found if isinstance(ready, Ready)]
    requests = [request_of(ready.trial) for ready in waiting]
    if waiting and isinstance(model := waiting[0].model, BatchModel):
        responses = iter(model.respond_many(requests))
    else:
        responses = (ready.model.respond(request) for ready, request in zip(waiting, requests, strict=True))
    return [
        each if isinstance(each, Exchange) else _answered(each, each.model.respond, next(responses)) for each in found
    ]


async def known(exchange: Exchange) -> Exchange:
    """The exchange, where nothing more is asked."""
    return exchange


async def _asked(ready: Ready, asking: Sequence[Callable[[], Coroutine[Any, Any, Response]]]) -> Exchange:
    responses = list[Response]()
    for each in asking:
        responses.append(await each())
        if responses[-1].error is not None:
            break
    return _finished(ready, responses)


def _answered(ready: Ready, respond: Callable[[Request], Response], first: Response | None = None) -> Exchange:
    """The exchange of what is asked of a model, one after the other; the `first` response may be there already."""
    responses = list[Response]()
    for request in ready.requests:
        responses.append(first if first is not None and not responses else respond(request))
        if responses[-1].error is not None:
            break
    return _finished(ready, responses)


def make_ready(engine: Engine, cell: Cell) -> Ready | Exchange:
    """Build a cell's prompt and load its model; the exchange, where it ends there: an error, or a trial to skip."""
    begun = time.perf_counter()
    try:
        trial = engine.trial(cell)
    except InputError as error:
        return exchange_of(engine, cell, Response(error=ModelError("client", str(error))))
    build_s = time.perf_counter() - begun
    try:
        model = engine.model(cell)
    except InputError as error:
        # A model that cannot be loaded would fail every further cell too.
        return exchange_of(engine, cell, Response(error=ModelError("client", str(error), fatal=True)))
    exchange = exchange_of(
        engine,
        cell,
        NOT_ASKED,
        question=trial.asked.question,
        reference=trial.asked.reference,
        trial=trial,
        flags=trial.prompt.flags,
        build_s=build_s,
    )
    # Documents that are cut as upstream cuts them leave no room for what stands around them. Rows of a data set have a
    # length of their own, and that of their cell is a class.
    suite, rows = trial.suite, engine.series_of(cell).task.rows
    needed = trial.prompt.tokens + suite.answer_tokens + (suite.length_buffer if suite.length_means == "total" else 0)
    length = needed if rows or suite.length_means == "context" else max(cell.length, needed)
    window = model.window
    too_long = window is not None and length > window
    told = f"length {length} is" if suite.length_means == "total" else f"prompt and answer, {length} tokens, are"
    skipped = trial.skipped or (f"{told} over the model's window of {window} tokens" if too_long else "")
    if skipped:
        return replace(exchange, skipped=skipped)
    second = engine.follow_up(trial) if trial.asked.follow_up is not None else None
    return Ready(trial, model, exchange, second, engine.canary_trial(cell) if second is None else None)


def exchange_of(engine: Engine, cell: Cell, response: Response, **facts: Any) -> Exchange:
    """The exchange of a cell, with further `facts` of its trial or of its stored answer."""
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
        **facts,
    )


def _finished(ready: Ready, responses: Sequence[Response]) -> Exchange:
    """The exchange of the responses, checked; there are fewer than requests where the last one is an error."""
    trial, response = ready.trial, responses[0]
    error = response.error
    if error is not None and error.too_long:
        return replace(ready.exchange, response=replace(response, error=None), skipped=error.message)
    exchange = replace(ready.exchange, response=response)
    if error is not None:
        return exchange
    answers = [needle.answer for needle in trial.asked.needles if needle.answer] or [trial.asked.answer]
    exchange = with_check(exchange, check_answer(trial.prompt.tokens, answers, response))
    if ready.second is not None:
        return with_follow_up(exchange, ready.second, responses[1])
    if ready.marks is None:
        return exchange
    counted = response.prompt_tokens is not None
    return with_check(exchange, check_canaries(ready.marks[0], responses[1], counted=counted))


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
    assert exchange.trial is not None
    assert exchange.trial.asked.follow_up is not None
    first, joined = exchange.response, exchange.trial.asked.follow_up.joined
    if response.error is not None:
        return replace(exchange, response=replace(first, text="", error=response.error))
    both = replace(
        first,
        text=joined.format(first=first.text.strip(), second=response.text.strip()),
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


# Answers of one prompt differ with what else is computed at the time: the batch that it is part of, the cached prefix
# that it starts from (Thinking Machines, "Defeating Nondeterminism in LLM Inference", 2025).
_TOGETHER = 4  # requests of one probe that are in flight, or in one batch, at once


def probed_cells(cells: Iterable[Cell], count: int, seed: int) -> frozenset[Cell]:
    """`count` cells out of all, spread by chance; the same ones with any worker count."""
    return frozenset(sorted(cells, key=lambda cell: sha256(f"{seed} {cell.id}".encode()).digest())[:count])


def probe(engine: Engine, exchange: Exchange, probed: Iterable[Cell]) -> Exchange:
    """The exchange with the answers to its prompt, asked again; other `probed` cells are its batch mates."""
    trial, cell = exchange.trial, exchange.cell
    # The answer that is scored is one to two questions: asking the first again says little about it.
    if trial is None or trial.asked.follow_up or exchange.response.error is not None or exchange.skipped:
        return exchange
    model = engine.model(cell)
    others = sorted((each for each in probed if each.model == cell.model and each != cell), key=lambda c: c.length)
    batched = isinstance(model, BatchModel)
    batch_mates = [request_of(engine.trial(each)) for each in others[: _TOGETHER - 1]] if batched else []
    return replace(exchange, again=tuple(_ask_again(model, request_of(trial), batch_mates)))


def _ask_again(model: Model, request: Request, batch_mates: Sequence[Request]) -> Iterator[Again]:
    """The same request once more: warm (just asked), cold (nothing kept; local models only), and in a batch.

    A batch is one with `batch_mates` for a local model, and copies of the request in flight together for a server.
    """
    yield Again("warm", model.respond(request))
    if isinstance(model, BatchModel):
        model.forget()
        yield Again("cold", model.respond(request))
        if batch_mates and model.batch_size > 1:
            yield Again("batch", model.respond_many([request, *batch_mates[: model.batch_size - 1]])[0])
        return
    pool = ThreadPoolExecutor(_TOGETHER, thread_name_prefix="needlework-stability")
    try:
        for response in pool.map(model.respond, [request] * _TOGETHER):
            yield Again("batch", response)
    finally:
        pool.shutdown(wait=False)  # who ends the run does not wait for the server; no `with`, which would
