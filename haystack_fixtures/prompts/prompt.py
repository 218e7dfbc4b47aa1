"""The prompt value: what the model is sent, and the facts that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str = field(repr=False)


class Forms(Protocol):
    """A prompt as a whole text, as messages, and as ids; a form may be made when it is first asked for."""

    @property
    def text(self) -> str: ...
    @property
    def messages(self) -> tuple[Message, ...]: ...
    @property
    def ids(self) -> NDArray[np.int32]: ...
    @property
    def tokens(self) -> int:
        """How many ids there are."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """Forms that are at hand."""

    messages: tuple[Message, ...]
    text: str = field(repr=False)
    ids: NDArray[np.int32] = field(repr=False)

    @property
    def tokens(self) -> int:
        """See `Forms`."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class PlacedNeedle:
    """Where a needle came to stand.

    `start`, `end`: character span in the prompt text; the text there equals the needle. `tokens_before`: haystack
    tokens that stand before it (other needles not counted). `tokens`: its own. `requested`, `depth`: percent.
    """

    name: str
    start: int
    end: int
    tokens_before: int
    tokens: int
    requested: float
    depth: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """A built prompt.

    Of its `forms`, `text` is the whole rendered request (template, system prompt, context, question); `ids` int32
    [tokens] its canonical tokens, a BOS included once. `context` is the character span of the document in `text`.
    `slack`: tokens by which the prompt is shorter than its budget. `corpus_passes`: how much of the corpus was used,
    1.0 = all of it once, 2.5 = text repeats, 0 where the context is no corpus's text. `text_sha256`, `filler_sha256`:
    of the text, and of the context without needles. `truncated`: share of a document's tokens that was left out, 0..1.
    `conversation`: the context is turns, each a message. `error`: the share by which counts of tokens may be off, 0
    where the model's own tokenizer counts.
    """

    forms: Forms = field(repr=False)
    context: tuple[int, int]
    context_tokens: int
    placed: tuple[PlacedNeedle, ...]
    slack: int
    corpus_passes: float
    text_sha256: str
    filler_sha256: str
    flags: tuple[str, ...] = ()
    truncated: float = 0.0
    error: float = 0.0
    conversation: bool = False

    @property
    def text(self) -> str:
        """The whole rendered request."""
        return self.forms.text

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a chat is asked."""
        return self.forms.messages

    @property
    def ids(self) -> NDArray[np.int32]:
        """The text's canonical tokens."""
        return self.forms.ids

    @property
    def tokens(self) -> int:
        """Length of the rendered prompt in tokens."""
        return self.forms.tokens


def bare_prompt(messages: tuple[Message, ...], text: str, ids: Sequence[int] | NDArray[np.int32]) -> Prompt:
    """The prompt of a question without a context: no needles, nothing to prove but its own text."""
    return Prompt(
        forms=Written(messages, text, np.asarray(ids, np.int32)),
        context=(0, 0),
        context_tokens=0,
        placed=(),
        slack=0,
        corpus_passes=0.0,
        text_sha256=sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        filler_sha256="",
    )
