"""Ask some cells again: a model that decodes greedily should give the same answer every time, and many do not.

Answers of one prompt differ with what else is computed at the time: the batch that it is part of, the cached prefix
that it starts from (Thinking Machines, "Defeating Nondeterminism in LLM Inference", 2025).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel, Model, Request
from needlework.haystack_fixtures.trials.exchange import Again

_TOGETHER = 4  # requests of one probe that are in flight, or in one batch, at once


def probed_cells(cells: Iterable[Cell], count: int, seed: int) -> frozenset[Cell]:
    """`count` cells out of all, spread by chance; the same ones with any worker count."""
    return frozenset(sorted(cells, key=lambda cell: sha256(f"{seed} {cell.id}".encode()).digest())[:count])


def ask_again(model: Model, request: Request, others: Sequence[Request]) -> tuple[Again, ...]:
    """The same request once more: warm (just asked), cold (nothing kept; local models only), and in company.

    Company is a batch with `others` for a local model, and copies of the request in flight together for a server.
    """
    return tuple(_ask(model, request, others[: _TOGETHER - 1]))


def _ask(model: Model, request: Request, others: Sequence[Request]) -> Iterator[Again]:
    yield Again("warm", model.respond(request))
    if isinstance(model, BatchModel):
        model.forget()
        yield Again("cold", model.respond(request))
        if others and model.batch_size > 1:
            yield Again("batch", model.respond_many([request, *others[: model.batch_size - 1]])[0])
        return
    with ThreadPoolExecutor(_TOGETHER, thread_name_prefix="needlework-stability") as pool:
        for response in pool.map(model.respond, [request] * _TOGETHER):
            yield Again("batch", response)
