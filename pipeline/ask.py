"""Asks a trial: sends its requests, checks the answers, probes their stability."""

import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.models.event_loop import event_loop, in_thread
from needlework.models.model import BatchModel, DistantModel, Model, ModelError, Request, Response
from needlework.pipeline.engine import Engine
from needlework.pipeline.exchange import NOT_ASKED, Again, Check, Exchange, check_answer, check_canaries


@dataclass(frozen=True, slots=True)
class Ready:
    """A trial whose prompt is built and fits, and the model to ask."""

    trial: Trial
    model: Model
    exchange: Exchange  # still without an answer
    second: Callable[[str], Trial] | None = None
    """Makes the trial of a second request from the first answer: the follow-up question, or that for the canaries."""
    canaries: Canaries | None = None  # the marks at both ends of the context that the second request asks for


def ask(engine: Engine, cell: Cell) -> Exchange:
    """Ask one cell, and wait. Faults of model or server are the exchange's error."""
    return ask_many(engine, [cell])[0]


def ask_many(engine: Engine, cells: Sequence[Cell]) -> list[Exchange]:
    """Ask cells of one model, in batches where it takes them; returns the exchanges in order."""
    made = [make_ready(engine, cell) for cell in cells]
    ready = [item for item in made if isinstance(item, Ready)]
    requests = [request_of(item.trial) for item in ready]
    if ready and isinstance(model := ready[0].model, BatchModel):
        responses: Iterable[Response] = model.respond_many(requests)
    else:
        responses = (item.model.respond(request) for item, request in zip(ready, requests, strict=True))
    exchanges: list[Exchange] = []
    waiting = iter(responses)
    for item in made:
        if isinstance(item, Exchange):
            exchanges.append(item)
            continue
        response = next(waiting)
        second = item.second(response.text) if item.second and response.error is None else None
        second_response = item.model.respond(request_of(second)) if second else None
        exchanges.append(_finished(item, response, second, second_response))
    return exchanges


def start_asking(engine: Engine, cell: Cell) -> Coroutine[Any, Any, Exchange]:
    """Prepare a cell; the returned coroutine asks it. A fault is an error of the exchange."""
    ready = make_ready(engine, cell)
    if isinstance(ready, Exchange):
        return unchanged(ready)
    return _send_all(ready, _begin(ready.model, request_of(ready.trial)))


async def unchanged(exchange: Exchange) -> Exchange:
    """Return an exchange that is complete already: a coroutine for `LookAhead`."""
    return exchange


async def _send_all(ready: Ready, first: Coroutine[Any, Any, Response]) -> Exchange:
    response = await first
    second = ready.second(response.text) if ready.second and response.error is None else None
    if second is None:
        return _finished(ready, response, None, None)
    # Of a new layout `begin` asks the server how it counts that, and waits: in the event loop it would wait for ever.
    begun = await in_thread(partial(_begin, ready.model, request_of(second)))
    return _finished(ready, response, second, await begun)


def _begin(model: Model, request: Request) -> Coroutine[Any, Any, Response]:
    if isinstance(model, DistantModel):
        return model.begin(request)
    return in_thread(partial(model.respond, request))


def make_ready(engine: Engine, cell: Cell) -> Ready | Exchange:
    """Build a cell's prompt and load its model; an exchange if that fails, or the trial is skipped."""
    begun = time.perf_counter()
    try:
        trial = engine.trial(cell)
    except TooShortError as error:  # needles differ in length: `prepare` has tried one trial of each series
        return exchange_of(engine, cell, NOT_ASKED, skipped=str(error))
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
        question=trial.asked.reference.get("question", trial.asked.question),
        reference=trial.asked.reference,
        trial=trial,
        flags=trial.prompt.flags,
        build_s=build_s,
        skipped=trial.skipped or _why_too_long(engine, trial, model.window),
    )
    if exchange.skipped:
        return exchange
    builder = engine.builder(cell)
    if trial.asked.follow_up is not None:
        return Ready(trial, model, exchange, partial(builder.follow_up, trial))
    canaries = builder.canaries(trial.suite, cell)
    if canaries is None:
        return Ready(trial, model, exchange)
    asks_for_them = builder.canary_trial(trial.suite, cell, canaries)
    return Ready(trial, model, exchange, lambda _answer: asks_for_them, canaries)


def _why_too_long(engine: Engine, trial: Trial, window: int | None) -> str:
    """The reason why a trial does not fit the model's window; empty if it does.

    A document that is cut by its authors' rule may leave no room for template and question. For rows of a data set the
    cell's length is that of a class, and the prompt's counts.
    """
    suite, is_total = trial.suite, trial.suite.length_means == "total"
    length = trial.prompt.tokens + suite.answer_tokens + (suite.length_buffer if is_total else 0)
    if is_total and not engine.series_of(trial.cell).task.rows:
        length = max(trial.cell.length, length)
    if window is None or length <= window:
        return ""
    subject = f"length {length} is" if is_total else f"prompt and answer, {length} tokens, are"
    return f"{subject} over the model's window of {window} tokens"


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


def _finished(ready: Ready, response: Response, second: Trial | None, second_response: Response | None) -> Exchange:
    """The exchange of the responses, with all checks; without a second if the first has an error."""
    trial, error = ready.trial, response.error
    if error is not None and error.too_long:
        return replace(ready.exchange, response=replace(response, error=None), skipped=error.message)
    exchange = replace(ready.exchange, response=response)
    if error is not None:
        return exchange
    answers = [needle.answer for needle in trial.asked.needles if needle.answer] or [trial.asked.answer]
    exchange = with_check(exchange, check_answer(trial.prompt.tokens, answers, response))
    if second is None or second_response is None:
        return exchange
    if ready.canaries is None:
        return with_follow_up(exchange, second, second_response)
    is_counted = response.prompt_tokens is not None
    return with_check(exchange, check_canaries(ready.canaries, second_response, counted=is_counted))


def with_check(exchange: Exchange, check: Check) -> Exchange:
    """The exchange with the result of a further check; `invalid_why` keeps the first reason."""
    if not (check.invalid or check.flags or check.why):
        return exchange
    return replace(
        exchange,
        invalid=tuple(dict.fromkeys((*exchange.invalid, *check.invalid))),
        invalid_why=exchange.invalid_why or check.why,
        flags=tuple(dict.fromkeys((*exchange.flags, *check.flags))),
    )


def with_follow_up(exchange: Exchange, second: Trial, response: Response) -> Exchange:
    """The exchange with the response to its follow-up (`second`): both answers are scored as one text.

    Times and prompt tokens stay those of the first request, which has the document; a fault of either is a fault of the
    exchange. A summary that ends at its token limit is valid, with a flag.
    """
    assert exchange.trial is not None
    then = exchange.trial.asked.follow_up
    assert then is not None
    first, is_summary = exchange.response, bool(then.summary)
    if response.error is not None:
        return replace(exchange, response=replace(first, text="", error=response.error))
    completions = [each.completion_tokens for each in (first, response) if each.completion_tokens is not None]
    both = replace(
        first,
        text=then.joined.format(first=first.text.strip(), second=response.text.strip()),
        summary=first.text if is_summary else "",
        follow_up_tokens=second.prompt.tokens if response.prompt_tokens is None else response.prompt_tokens,
        reasoning="\n\n".join(part for part in (first.reasoning, response.reasoning) if part),
        finish_reason=response.finish_reason if is_summary or first.finish_reason == "stop" else first.finish_reason,
        completion_tokens=sum(completions) if completions else None,
    )
    check = check_answer(second.prompt.tokens, [second.asked.answer], response)
    if is_summary and first.finish_reason == "length":
        check = replace(check, flags=(*check.flags, "summary_cut"))
    return with_check(replace(exchange, response=both), check)


def request_of(trial: Trial) -> Request:
    """The request of a trial."""
    return Request(
        prompt=trial.prompt,
        template=trial.suite.template,
        answer_budget=trial.suite.answer_budget,
        thinking_budget=trial.suite.thinking_budget,
        cell=trial.cell,
        needles=trial.asked.needles,
        answer=trial.asked.answer,
    )


# The answer to a prompt may change with its batch, and with the cached prefix that it starts from (Thinking Machines,
# "Defeating Nondeterminism in LLM Inference", 2025).
_TOGETHER = 4  # requests of one probe in flight, or in a batch


def probed_cells(cells: Iterable[Cell], count: int, seed: int) -> frozenset[Cell]:
    """A random sample of `count` cells, the same with any number of workers."""
    return frozenset(sorted(cells, key=lambda cell: sha256(f"{seed} {cell.id}".encode()).digest())[:count])


def probe(engine: Engine, exchange: Exchange, probed: Iterable[Cell]) -> Exchange:
    """The exchange with the answers to its prompt asked again; other `probed` cells share its batch."""
    trial, cell = exchange.trial, exchange.cell
    # With a follow-up, asking the first question again would not repeat the answer.
    if trial is None or trial.asked.follow_up or exchange.response.error is not None or exchange.skipped:
        return exchange
    model = engine.model(cell)
    mates: list[Request] = []
    if isinstance(model, BatchModel):
        others = sorted(
            (other for other in probed if other.model == cell.model and other != cell), key=lambda other: other.length
        )
        mates = [request_of(engine.trial(other)) for other in others[: _TOGETHER - 1]]
    return replace(exchange, again=tuple(_ask_again(model, request_of(trial), mates)))


def _ask_again(model: Model, request: Request, batch_mates: Sequence[Request]) -> Iterator[Again]:
    """Repeat the request: warm (just asked), cold (no cached prefix; local models), and in a batch.

    A batch is one with `batch_mates` for a local model, and copies of the request in flight together for a server.
    """
    yield Again("warm", model.respond(request))
    if isinstance(model, BatchModel):
        model.forget()
        yield Again("cold", model.respond(request))
        if batch_mates and model.batch_size > 1:
            yield Again("batch", model.respond_many([request, *batch_mates[: model.batch_size - 1]])[0])
        return
    for answer in [event_loop().submit(_begin(model, request)) for _ in range(_TOGETHER)]:
        yield Again("batch", answer.result())
