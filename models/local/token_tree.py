"""A tree of the tokens that prompts share, and its rows in a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from needlework.models.local.attention import FEWEST, Whole

Ids = NDArray[np.int32]


@dataclass(eq=False, slots=True)
class TokenChain:
    """Tokens that one prompt was the first to have; it hangs behind the first `at` tokens of `parent`.

    `start`: position of its first token in every prompt that passes here. `filled`: how many of its tokens have been
    computed. `keys`, `values`: by layer, tensors [key/value heads, tokens, head size]. `ends`: by number of tokens,
    what the model says behind them, for each prompt that ends there (`None` until computed).
    """

    ids: Ids
    parent: TokenChain | None = None
    at: int = 0
    start: int = 0
    filled: int = 0
    children: dict[tuple[int, int], TokenChain] = field(default_factory=dict)
    ends: dict[int, Any] = field(default_factory=dict)
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The first `tokens` tokens of a chain. A prompt's path is a sequence of these, from the root on."""

    chain: TokenChain
    tokens: int


Path = tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Tokens `begin` to `end` of a chain, computed in one forward pass."""

    chain: TokenChain
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `first` to `last` of a forward pass look at tokens `begin` to `end` of a chain, each row at all of them.

    `level`: how many pieces each of these rows has before this one; equal for all of them.
    """

    first: int
    last: int
    chain: TokenChain
    begin: int
    end: int
    level: int


class TokenTree:
    """Every prompt added, up to what `trim` dropped."""

    def __init__(self) -> None:
        self._root = TokenChain(np.empty(0, np.int32))
        self.tokens = 0

    def find(self, ids: Ids) -> Path:
        """The longest beginning of `ids` that is there."""
        chain, path, done = self._root, [], 0
        while True:
            shared = common_prefix(chain.ids, ids[done:])
            if chain is not self._root:
                path.append(Stretch(chain, shared))
            done += shared
            child = chain.children.get((shared, int(ids[done]))) if done < len(ids) else None
            if child is None:
                return tuple(path)
            chain = child

    def add(self, ids: Ids) -> tuple[Path, TokenChain | None]:
        """The whole path of a prompt, and the chain that had to be made for what was missing.

        A prompt that ends where earlier ones went on, unasked what follows, has its last token computed again.
        """
        path = self.find(ids)
        known = length(path)
        if known == len(ids):
            last = path[-1]
            if last.tokens in last.chain.ends:
                return path, None
            if last.tokens > last.chain.filled:
                last.chain.ends[last.tokens] = None
                return path, None
            path = _without_last_token(path)
            known -= 1
        parent, at = (path[-1].chain, path[-1].tokens) if path else (self._root, 0)
        chain = TokenChain(ids[known:].copy(), parent, at, known)
        chain.ends[len(chain.ids)] = None
        parent.children.setdefault((at, int(ids[known])), chain)
        self.tokens += len(chain.ids)
        return (*path, Stretch(chain, len(chain.ids))), chain

    def trim(self, keep: Iterable[Path]) -> None:
        """Drop everything but these paths, and free its memory."""
        kept: dict[TokenChain, int] = {}
        for path in keep:
            for stretch in path:
                kept[stretch.chain] = max(stretch.tokens, kept.get(stretch.chain, 0))
        for chain in (self._root, *kept):
            chain.children = {place: child for place, child in chain.children.items() if child in kept}
        for chain, tokens in kept.items():
            _shorten(chain, tokens)
        self.tokens = sum(kept.values())


def common_prefix(first: Ids, second: Ids) -> int:
    """Number of ids that two sequences share from the start."""
    size = min(len(first), len(second))
    differs = first[:size] != second[:size]
    return int(differs.argmax()) if differs.any() else size


def length(path: Path) -> int:
    """Tokens of a path."""
    return sum(stretch.tokens for stretch in path)


def ordered(prompts: Sequence[Ids]) -> list[int]:
    """Places of the prompts in the order of their ids: what shares a beginning stands together."""
    return sorted(range(len(prompts)), key=lambda each: prompts[each].astype(">u4").tobytes())


def tree_size(prompts: Sequence[Ids]) -> int:
    """Nodes of the prefix tree of these prompts: the fewest tokens that must be computed to know them all."""
    order = ordered(prompts)
    shared = (common_prefix(prompts[one], prompts[two]) for one, two in pairwise(order))
    return sum(map(len, prompts)) - sum(shared)


def trunk_first(prompts: Sequence[Ids]) -> list[int]:
    """Places of the prompts, those first that share most with another one.

    Added in this order, the haystack that many prompts have in common becomes one chain with short side chains, so
    that each path has few stretches.
    """
    order = ordered(prompts)
    shared = [common_prefix(prompts[one], prompts[two]) for one, two in pairwise(order)]
    most = dict(zip(order, map(max, zip([0, *shared], [*shared, 0], strict=True)), strict=True))
    return sorted(order, key=lambda each: most[each], reverse=True)


def passes(chains: Sequence[TokenChain], size: int) -> Iterator[list[TokenRun]]:
    """The tokens of chains, parents before children, cut into forward passes of at most `size` tokens."""
    runs: list[TokenRun] = []
    room = size
    for chain in chains:
        begin = 0
        while begin < len(chain.ids):
            end = min(len(chain.ids), begin + room)
            runs.append(TokenRun(chain, begin, end))
            room -= end - begin
            begin = end
            if room == 0:
                yield runs
                runs, room = [], size
    if runs:
        yield runs


def path_to(chain: TokenChain, tokens: int) -> Path:
    """The path that ends behind the first `tokens` tokens of a chain; a stretch of no tokens is left out."""
    path = [Stretch(chain, tokens)] if tokens else []
    while chain.parent is not None and chain.parent.parent is not None:
        path.append(Stretch(chain.parent, chain.at))
        chain = chain.parent
    return tuple(reversed(path))


def pieces(rows: Sequence[tuple[int, int, Path]], cut: bool) -> list[Piece]:
    """What spans of rows have to look at, so that neighbours look together at what they share.

    `rows`: first and last row of each span, in order, and the path behind which they stand. With `cut`, a chain is
    divided where any of the paths leaves it: every token is read once for all rows that need it. That pays for spans
    of one row; long spans read little compared with what they compute.
    """
    bounds: dict[TokenChain, list[int]] = {}
    if cut:
        ends: dict[TokenChain, set[int]] = {}
        for _, _, path in rows:
            for stretch in path:
                ends.setdefault(stretch.chain, set()).add(stretch.tokens)
        bounds = {chain: sorted(found) for chain, found in ends.items()}
    found: list[Piece] = []
    previous: list[int] = []  # where in `found` the pieces of the rows before stand, by level
    for first, last, path in rows:
        own: list[Piece] = []
        for stretch in path:
            begin = 0
            for end in bounds.get(stretch.chain, [stretch.tokens]):
                if end > stretch.tokens:
                    break
                own.append(Piece(first, last, stretch.chain, begin, end, len(own)))
                begin = end
        places: list[int] = []
        for level, piece in enumerate(own):
            place = previous[level] if level < len(previous) else None
            if place is not None and _continues(found[place], piece):
                found[place] = replace(found[place], last=last)
            else:
                place = len(found)
                found.append(piece)
            places.append(place)
        previous = places
    return found


def _continues(before: Piece, piece: Piece) -> bool:
    same = before.chain is piece.chain and (before.begin, before.end) == (piece.begin, piece.end)
    return same and before.last == piece.first


def _without_last_token(path: Path) -> Path:
    last = path[-1]
    return (*path[:-1], Stretch(last.chain, last.tokens - 1)) if last.tokens > 1 else path[:-1]


def _shorten(chain: TokenChain, tokens: int) -> None:
    if tokens == len(chain.ids):
        return
    chain.ids = chain.ids[:tokens].copy()
    chain.filled = min(chain.filled, tokens)
    chain.ends = {end: said for end, said in chain.ends.items() if end <= tokens}
    for tensors in (chain.keys, chain.values):
        for layer, tensor in tensors.items():
            tensors[layer] = tensor[:, :tokens].clone()


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
class TokenRows:
    """The rows of one forward pass: runs of prompt tokens, or (with `tails`) one new token of each answer.

    `spans`: first and last row, and the path behind which they stand. `positions`: of every row in its prompt.
    `store`: device where keys and values are kept, if not their own. `whole`: spans that `attend_whole` does, each with
    the path that ends with it; `apart`: the other ones, which `pieces` are for. `seen`: by layer, keys and values of
    each piece, cut out once for all the passes that look at the same pieces.
    """

    spans: tuple[Span, ...]
    positions: tuple[int, ...]
    pieces: tuple[Piece, ...]
    runs: tuple[TokenRun, ...] = ()
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


def rows_of_runs(runs: Sequence[TokenRun], store: str | None = None, attend_whole: Whole | None = None) -> TokenRows:
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
    return TokenRows(
        tuple(spans),
        tuple(positions),
        tuple(pieces(apart, cut=False)),
        tuple(runs),
        store=store,
        apart=tuple(apart),
        whole=tuple(whole),
        attend_whole=attend_whole,
    )


def rows_of_answers(paths: Sequence[Path], tails: Tails) -> TokenRows:
    """The forward passes that compute one token of each answer; `next_rows` makes it the next one."""
    spans = tuple((row, row + 1, path) for row, path in enumerate(paths))
    positions = tuple(length(path) + tails.used - 1 for path in paths)
    return TokenRows(spans, positions, tuple(pieces(spans, cut=True)), (), tails)


def next_rows(rows: TokenRows) -> TokenRows:
    """The pass after this one: each answer has one more token."""
    assert rows.tails is not None
    rows.tails.used += 1
    return replace(rows, positions=tuple(position + 1 for position in rows.positions))
