"""The rows of a forward pass over a token tree: what each belongs to, and what it has to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from needlework.haystack_fixtures.models.local.attention_whole import FEWEST, Whole
from needlework.haystack_fixtures.models.local.token_tree import Path, Piece, Run, length, path_to, pieces

Span = tuple[int, int, Path]


@dataclass(slots=True)
class Tails:
    """Keys and values of the answers that are being written together: by layer [answers, kv heads, room, head size].

    `used`: tokens of each answer that are there, the one being computed included.
    """

    used: int = 0
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def write(self, layer: int, key: Any, value: Any) -> tuple[Any, Any]:
        """Add one token for each answer (`key`, `value`: [kv heads, answers, head size]); returns all there are."""
        for tensors, new in ((self.keys, key), (self.values, value)):
            old = tensors.get(layer)
            if old is None or old.shape[2] < self.used:
                heads, answers, size = new.shape
                grown = new.new_empty(answers, heads, max(32, 2 * (self.used - 1)), size)
                if old is not None:
                    grown[:, :, : self.used - 1] = old[:, :, : self.used - 1]
                tensors[layer] = grown
            tensors[layer][:, :, self.used - 1] = new.transpose(0, 1)
        return self.keys[layer][:, :, : self.used], self.values[layer][:, :, : self.used]

    def keep(self, answers: Sequence[int]) -> None:
        """Drop the answers that have ended."""
        for tensors in (self.keys, self.values):
            for layer, tensor in tensors.items():
                tensors[layer] = tensor[list(answers)]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one forward pass: runs of prompt tokens, or (with `tails`) one new token of each answer.

    `spans`: first and last row, and the path behind which they stand. `positions`: of every row in its prompt.
    `store`: device where keys and values are kept, if not their own. `whole`: spans that `attend_whole` does, each with
    the path that ends with it; `apart`: the other ones, which `pieces` are for. `seen`: by layer, keys and values of
    each piece, cut out once for all the passes that look at the same pieces.
    """

    spans: tuple[Span, ...]
    positions: tuple[int, ...]
    pieces: tuple[Piece, ...]
    runs: tuple[Run, ...] = ()
    tails: Tails | None = None
    store: str | None = None
    apart: tuple[Span, ...] = ()
    whole: tuple[Span, ...] = ()
    attend_whole: Whole | None = None
    seen: dict[int, list[tuple[Any, Any]]] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """Pieces of the row that has most, its own run or tail included."""
        return 1 + max((piece.level + 1 for piece in self.pieces), default=0)


def rows_of_runs(runs: Sequence[Run], store: str | None = None, attend_whole: Whole | None = None) -> Rows:
    """The forward pass that computes these runs."""
    spans: list[Span] = []
    whole: list[Span] = []
    apart: list[Span] = []
    positions: list[int] = []
    for run in runs:
        first, begin, end = len(positions), run.chain.start + run.begin, run.chain.start + run.end
        positions.extend(range(begin, end))
        span = (first, len(positions), path_to(run.chain, run.begin))
        spans.append(span)
        if attend_whole is not None and end - begin >= FEWEST:
            whole.append((first, len(positions), path_to(run.chain, run.end)))
        else:
            apart.append(span)
    return Rows(
        tuple(spans),
        tuple(positions),
        tuple(pieces(apart, cut=False)),
        tuple(runs),
        store=store,
        apart=tuple(apart),
        whole=tuple(whole),
        attend_whole=attend_whole,
    )


def rows_of_answers(paths: Sequence[Path], tails: Tails) -> Rows:
    """The forward passes that compute one token of each answer; `next_rows` makes it the next one."""
    spans = tuple((row, row + 1, path) for row, path in enumerate(paths))
    positions = tuple(length(path) + tails.used - 1 for path in paths)
    return Rows(spans, positions, tuple(pieces(spans, cut=True)), (), tails)


def next_rows(rows: Rows) -> Rows:
    """The pass after this one: each answer has one more token."""
    assert rows.tails is not None
    rows.tails.used += 1
    return replace(rows, positions=tuple(position + 1 for position in rows.positions))
