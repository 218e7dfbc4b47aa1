"""A stand-in for a tokenizer that is not public: a known one whose tokens are counted as often as the other's would be.

Every token of the known one stands for none, one, two, ... of the other's, by its kind of text and by chance that is
fixed for each token: on the average of a text the count is the other's. What a token stands for does not depend on its
neighbours, so that texts are joined and cut as with any tokenizer. Counts are approximate; `error` says by how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.prompts.prompt import Message
from needlework.haystack_fixtures.tokenizers.tiktoken_ranks import TiktokenTokenizer
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded

KINDS = ("words", "digits", "scripts")
"""Kinds of tokens: `digits` has a digit, `scripts` a letter beyond ASCII, `words` is everything else."""
LOWEST, HIGHEST = 0.05, 20.0
"""Between these a scale lies."""
_FURTHER = 1 << 28  # added to the id of a token that is counted once more
_JOINED = 1 << 29  # where ids of tokens begin that are counted as one
_SPREAD, _WHOLE = 2654435761, 1 << 32  # multiplying by a prime near the golden ratio's share spreads ids evenly


class ScaledTokenizer:
    """A tiktoken encoding whose tokens count by `scale` (how many for one, by kind)."""

    bos: tuple[int, ...] = ()
    has_chat_template = True

    def __init__(
        self,
        name: str,
        inner: TiktokenTokenizer,
        scale: Mapping[str, float],
        error: float,
        calibration: Mapping[str, Any] | None = None,
    ) -> None:
        """`error`: the share, 0..1, by which counts of text like the calibration's were off. `calibration`: what it is
        made of again without the server, for a manifest."""
        self.name = name
        self.calibration = calibration
        self.error = error
        self.fingerprint = sha256(f"{inner.fingerprint} {sorted(scale.items())}".encode()).hexdigest()
        self._inner = inner
        self._times = times_of(inner, scale)
        self._joined: dict[tuple[int, ...], int] = {}
        self._parts: list[tuple[int, ...]] = []

    def encode(self, text: str) -> Encoded:
        """See `Tokenizer.encode`."""
        found = self._inner.encode(text)
        if not len(found.ids):
            return found
        times = self._times[found.ids]
        times[0] = max(times[0], 1)
        heads = np.flatnonzero(times)
        ids = found.ids[heads].copy()
        lengths = np.diff(np.append(heads, len(found.ids)))
        for at in np.flatnonzero(lengths > 1):
            ids[at] = self._join(tuple(found.ids[heads[at] : heads[at] + lengths[at]].tolist()))
        repeats = times[heads]
        repeated = np.repeat(ids, repeats)
        first = np.zeros(len(repeated), bool)
        first[np.cumsum(repeats) - repeats] = True
        repeated[~first] |= _FURTHER
        return Encoded(text, repeated.astype(np.int32), np.repeat(found.starts[heads], repeats))

    def decode(self, ids: Sequence[int]) -> str:
        """See `Tokenizer.decode`."""
        parts: list[int] = []
        for each in map(int, ids):
            if each & _FURTHER:
                continue
            parts += self._parts[each - _JOINED] if each >= _JOINED else [each]
        return self._inner.decode(parts)

    def render_chat(self, messages: Sequence[Message]) -> str:
        """The stand-in's own marks: what the provider's template adds is learnt from the first requests."""
        return self._inner.render_chat(messages)

    def _join(self, parts: tuple[int, ...]) -> int:
        known = self._joined.get(parts)
        if known is None:
            known = self._joined.setdefault(parts, _JOINED + len(self._parts))
            self._parts.append(parts)
        return known


def times_of(inner: TiktokenTokenizer, scale: Mapping[str, float]) -> NDArray[np.int64]:
    """How often each token of the vocabulary is counted: `floor(scale + u)`, `u` in [0, 1) by the token's id."""
    ids = np.arange(inner.size, dtype=np.int64)
    chance = (ids * _SPREAD % _WHOLE) / _WHOLE
    kinds = inner.kinds()
    wanted = np.array([scale[kind] for kind in KINDS])[kinds]
    times = np.floor(wanted + chance).astype(np.int64)
    times[inner.marks()] = 1
    return times


def fitted(inner: TiktokenTokenizer, text: str, tokens: int, kind: str, known: Mapping[str, float]) -> float:
    """The scale of one kind of tokens at which a text counts as `tokens`; the others' are `known`."""
    ids = inner.encode(text).ids
    kinds, at = inner.kinds()[ids], KINDS.index(kind)
    rest = times_of(inner, {**dict.fromkeys(KINDS, 1.0), **known})[ids][kinds != at].sum()
    chance = (ids[kinds == at].astype(np.int64) * _SPREAD % _WHOLE) / _WHOLE
    low, high = LOWEST, HIGHEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if rest + np.floor(middle + chance).sum() < tokens else (low, middle)
    return round(high, 4)
