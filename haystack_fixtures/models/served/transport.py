"""What carries a request to a model elsewhere, and its answer back: OpenAI's form over HTTP, or a provider's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from needlework.haystack_fixtures.models.model import Request
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.facts.window import Window
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.reading.reply import Reply
from needlework.haystack_fixtures.redact import Redactor


class Transport(Protocol):
    """One server and one model there. Asked many things at once; but for `attempt` each call may block."""

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """What can change answers, free of secrets; `server` is where it is."""
        ...

    @property
    def asked(self) -> str:
        """The model's name as it is asked for; empty where that says nothing of the model."""
        ...

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets that are sent."""
        ...

    @property
    def dialect(self) -> Any:
        """What the server has taught us about itself, as one value."""
        ...

    async def attempt(self, request: Request, dialect: Any, allowed: Allowed, begun: float) -> Reply | Fault:
        """Ask once, in the reader. Never raises. `begun`: the `time.perf_counter()` time."""
        ...

    def learn(self, fault: Fault, dialect: Any) -> bool:
        """Whether to ask again in another dialect: the server refused the way we asked, and not what we asked."""
        ...

    def discover(self) -> Window:
        """The window that was given, else what the server tells of it."""
        ...

    def count_text(self, text: str) -> int | None:
        """Tokens of a text, a constant number for what stands around it included; `None` where nobody counts."""
        ...

    def identify(self) -> dict[str, str]:
        """What the server says of itself."""
        ...

    def abort(self) -> None:
        """Close the connections; requests in flight end at once. From any thread."""
        ...
