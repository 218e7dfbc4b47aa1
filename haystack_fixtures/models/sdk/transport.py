"""What the transports of all providers' own clients share."""

from __future__ import annotations

import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from needlework.haystack_fixtures.models.model import Request
from needlework.haystack_fixtures.models.reader import in_thread
from needlework.haystack_fixtures.models.sdk.args import NativeAddress, NativeOptions, Provider
from needlework.haystack_fixtures.models.sdk.faults import fault_of_client
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.reading.reply import Reply, TooSlowError
from needlework.haystack_fixtures.redact import Redactor, named_secrets, redactor, url_secrets, without_credentials

Event = TypeVar("Event")


class Clock:
    """When the first piece of an answer came, and whether its time is over."""

    def __init__(self, begun: float, total_s: float) -> None:
        self._begun = begun
        self._deadline = begun + total_s
        self.ttft_s: float | None = None
        self.answered = False

    def timed(self, events: Iterable[Event], says: Callable[[Event], bool]) -> Iterator[Event]:
        """The events; the first that `says` something is the first token. Raises `TooSlowError`."""
        for event in events:
            self.answered = True
            if time.perf_counter() > self._deadline:
                raise TooSlowError("the answer had begun and was not over when its time was (see --timeout)")
            if self.ttft_s is None and says(event):
                self.ttft_s = time.perf_counter() - self._begun
            yield event

    @contextmanager
    def ending(self, close: Callable[[], object]) -> Generator[None]:
        """Close a stream that never ends: a client passes over what only keeps a connection alive."""
        timer = threading.Timer(max(0.0, self._deadline - time.perf_counter()), close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class SdkTransport(ABC):
    """One model at one provider; `_ask` is each provider's own."""

    def __init__(
        self, provider: Provider, name: str, options: NativeOptions, where: NativeAddress, connection: Connection
    ) -> None:
        self._name = name
        self._options = options
        self._provider = provider
        self._too_long: re.Pattern[str] | None = connection.too_long_pattern
        secrets = [*options.headers.values(), *url_secrets(where.base_url), *named_secrets(options.extra_body)]
        self._redactor = redactor([where.key if where.key != "none" else None, *secrets])
        self._identity: dict[str, str | int | float | None] = {
            "spec": f"{provider.kind}:{name}",
            "server": without_credentials(where.base_url),
            "decoding": self._redactor.clean(options.decoding()),
        }

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return self._identity

    @property
    def asked(self) -> str:
        return self._name

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    @property
    def dialect(self) -> None:
        return None

    def learn(self, _fault: Fault, _dialect: None) -> bool:
        return False

    def identify(self) -> dict[str, str]:
        return {}

    async def attempt(self, request: Request, _dialect: None, allowed: Allowed, begun: float) -> Reply | Fault:
        return await in_thread(lambda: self._attempt(request, allowed, begun))

    def _attempt(self, request: Request, allowed: Allowed, begun: float) -> Reply | Fault:
        if request.template != "chat":
            words = f"--template raw: {self._provider.kind}: takes chat messages alone; give --template chat"
            return Fault("client", words, fatal=True)
        refused = self._refused(request)
        if refused:
            return Fault("client", refused, fatal=True)
        clock = Clock(begun, allowed.total_s)
        try:
            return self._ask(request, allowed, clock)
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a client thinks of
            if time.perf_counter() > begun + allowed.total_s:
                message = "the answer was not over when its time was (see --timeout)"
                return Fault("timeout", message, retry=True, sign="late")
            return fault_of_client(error, self._too_long, begun=clock.answered)

    def _refused(self, _request: Request) -> str:
        """Why the provider would take no request like this one; empty where it may."""
        return ""

    @abstractmethod
    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> Reply | Fault:
        """Ask the provider once."""
