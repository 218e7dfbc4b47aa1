"""One request on its way through the server: what was asked, what was seen, what is said, what goes over the wire."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from needlework.core.prompts import Message
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.faults.oracle import Reading


@dataclass(slots=True)
class Seen:
    """What the server did with one prompt: how often it came, and whether the fault changed anything that time."""

    requests: int = 0
    touched: bool = False
    hasty: int = 0


@dataclass(slots=True)
class Session:
    """What a server remembers of one client: a fault with memory (a cache, a storm) starts afresh for each.

    `seen`: by the sha256 of the rendered prompt, as our own records name it.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: dict[str, Seen] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    prompts: list[tuple[int, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer before it is written down. `message` holds further fields of the message."""

    content: Any
    finish: str | None
    usage: Mapping[str, Any] | None
    reasoning: str | None = None
    message: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes to send. `pieces` go out one by one with `pause_s` seconds before each, the first after `wait_s`.

    `cut`: the connection ends before the body does. `drip_s`: seconds before each byte of the head.
    """

    pieces: tuple[bytes, ...]
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    pause_s: float = 0.0
    cut: bool = False
    drip_s: float = 0.0


@dataclass(slots=True)
class Turn:
    """One request. `attempt`: how often this very prompt has come, 1 at first. `ids`: what the model is shown."""

    session: Session
    tokenizer: Tokenizer
    chat: bool
    stream: bool
    budget: int
    messages: tuple[Message, ...]
    raw: str
    attempt: int = 1
    ids: tuple[int, ...] = ()
    reading: Reading = field(default_factory=lambda: Reading("", ""))

    def rendered(self, messages=None):
        """The whole text that the model's template makes of the request."""
        return self.tokenizer.render_chat(self.messages if messages is None else messages) if self.chat else self.raw

    def count(self, text):
        """Tokens of a text."""
        return len(self.tokenizer.encode(text).ids)

    @property
    def sha(self):
        """What names this prompt in our records."""
        return sha256(self.rendered().encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def number(self):
        """The place of this prompt among those of its session: faults of several kinds take turns by it."""
        return list(self.session.seen).index(self.sha)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a server differs from an honest one, stage by stage; `None` is honest.

    `admit`: what it sends instead of an answer, or `None` to go on. `take`: the messages that reach the template.
    `see`: the token ids that reach the model. `say`: the answer that it gives. `send`: the bytes that leave.
    `everywhere`: sent for every request, whatever it asks. `window`: what `/v1/models` tells of the window.
    `closes_reused`: a connection that is used a second time is closed without a byte.
    """

    admit: Callable[[Turn], Wire | None] | None = None
    take: Callable[[tuple[Message, ...]], tuple[Message, ...]] | None = None
    see: Callable[[tuple[int, ...], Turn], tuple[int, ...]] | None = None
    say: Callable[[Said, Turn], Said] | None = None
    send: Callable[[Wire, Turn], Wire] | None = None
    everywhere: Wire | None = None
    window: int | None = None
    closes_reused: bool = False
