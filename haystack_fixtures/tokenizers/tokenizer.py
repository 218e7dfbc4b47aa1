"""What a tokenizer must do for us, and the value it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.prompts.prompt import Message


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Text with its tokens. Compared by identity.

    `ids`: int32 [tokens]. `starts`: int64 [tokens], the character offset at which each token's text begins
    (not decreasing; several tokens of one character share an offset).
    """

    text: str
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def count(self) -> int:
        """How many tokens there are."""
        return len(self.ids)


def char_starts(places: NDArray[np.int64], text: str, data: bytes) -> NDArray[np.int64]:
    """Character offsets of byte offsets in `data`, the text in UTF-8; a byte inside a character belongs to it."""
    if len(data) == len(text) or not len(places):
        return places
    # The character of a byte was begun by the last byte that is not a continuation (10xxxxxx, below -64 as a number).
    begun: NDArray[np.int64] = (np.frombuffer(data, np.int8) >= -64).cumsum(dtype=np.int64)[places] - 1
    return begun


def approximation(tokenizer: object) -> float:
    """The share, 0..1, by which a tokenizer's counts may be off: 0 for the model's own."""
    return float(getattr(tokenizer, "error", 0.0))


def words_apart(tokenizer: object) -> bool:
    """Whether a new word begins at every space behind a printable ASCII character, whatever stands before and after:
    two texts that are parted there have the tokens together that each has by itself."""
    return bool(getattr(tokenizer, "words_apart", False))


def counting(tokenizer: Tokenizer) -> Callable[[str], int]:
    """What counts the tokens of short texts: the tokenizer's own `count`, which need not make them, or `encode`."""
    found = getattr(tokenizer, "count", None)
    return found if callable(found) else lambda text: tokenizer.encode(text).count


class Tokenizer(Protocol):
    """A tokenizer as the model under test uses it.

    `fingerprint` identifies vocabulary, merges and chat template together (sha256). `bos` are the ids that stand
    before every raw prompt; a chat template writes its own.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def bos(self) -> tuple[int, ...]: ...
    @property
    def has_chat_template(self) -> bool: ...

    def encode(self, text: str) -> Encoded:
        """Tokenise text; adds no special tokens, understands those written in the text as the model would."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens left out."""
        ...

    def render_chat(self, messages: Sequence[Message]) -> str:
        """The exact text that the model sees for these messages, up to where its answer begins."""
        ...
