"""Ask some cells again: a model that decodes greedily should give the same answer every time, and many do not.

Answers of one prompt differ with what else is computed at the time: the batch that it is part of, the cached prefix
that it starts from (Thinking Machines, "Defeating Nondeterminism in LLM Inference", 2025).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

from needlework.haystack_fixtures.asking.ask import request_of
from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel, Model, Request
from needlework.haystack_fixtures.trials.exchange import Again, Exchange

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
    return replace(exchange, again=ask_again(model, request_of(trial), batch_mates))


def ask_again(model: Model, request: Request, batch_mates: Sequence[Request]) -> tuple[Again, ...]:
    """The same request once more: warm (just asked), cold (nothing kept; local models only), and in a batch.

    A batch is one with `batch_mates` for a local model, and copies of the request in flight together for a server.
    """
    return tuple(_ask(model, request, batch_mates))


def _ask(model: Model, request: Request, batch_mates: Sequence[Request]) -> Iterator[Again]:
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
