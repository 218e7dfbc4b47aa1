"""The facts of a run's server, learnt once for all workers: window, template, identity, model name."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from needlework.core.errors import printable
from needlework.core.files import cache_key, learnt_once
from needlework.models.model import Calibration, Request, Response
from needlework.models.served.calibration import (
    Growth,
    Replays,
    calibrate,
    layout_of,
    new_short_requests,
)
from needlework.models.served.probes import Window, fingerprint
from needlework.models.served.transport import Transport
from needlework.models.tokenizers.tokenizer import Tokenizer, approximation

_TRIES = 2


@dataclass(eq=False)
class ServerFacts:
    """Learns facts on first use, once for all threads (and for all workers, by `shared`)."""

    transport: Transport
    tokenizer: Tokenizer
    ask: Callable[[Request], Response]  # puts a request to the server
    strict: bool  # answers of another model do not count
    shared: Path | None  # the folder of facts that the workers of a run have learnt

    def __post_init__(self) -> None:
        self._name = " ".join(str(fact) for fact in self.transport.identity.values())
        self._asking = threading.Lock()
        self._naming = threading.Lock()
        self._window: Window | None = None
        self._server: dict[str, str] | None = None
        self._first_name: str | None = None
        self._calibrations: dict[tuple[str, ...], Calibration] = {}
        self._tries: Counter[str | tuple[str, ...]] = Counter()
        self._replays = Replays()
        self._growth = Growth(approximation(self.tokenizer))
        self._answered = False

    def before(self, request: Request) -> Calibration | None:
        """Learn the facts for a trial before it is asked; `None` for other requests. May wait.

        Requests to a judge need no identity check.
        """
        calibration = None
        if request.cell is not None:
            self.window()
            calibration = self.calibration(request).of(len(request.prompt.messages))
            if calibration.status != "failed" or self._answered:
                self.server()
        self._replays.ask(request)
        return calibration

    def after(self, request: Request, calibration: Calibration | None, response: Response) -> Response:
        """Add to an answer what it proves: whose it is, how it was counted, by which server.
        Asks nothing, and waits for nothing."""
        response = self._with_replay(request, response)
        if response.error is not None or calibration is None:
            return response
        self._answered = True
        about = calibration.status == "approximate"
        flag, why = self._name_problem(response.model)
        return replace(
            response,
            cut=self._growth.problem(request.prompt.tokens, response) if about else response.cut,
            stale=calibration.why if calibration.status == "stale" else response.stale,
            calibration=calibration,
            server=fingerprint(self._server or {}),
            flags=(*response.flags, flag) if flag else response.flags,
            other_model=why if self.strict else "",
        )

    def _name_problem(self, name: str) -> tuple[str, str]:
        """(flag, why) if the answering model's name is not the first reply's, or not the one asked for."""
        if not name:
            return "", ""
        with self._naming:
            if self._first_name is None:
                self._first_name = str(self._once("model", lambda: ({"model": name}, True))["model"])
            first, requested = self._first_name, self.transport.model_name
        if not same_model(name, first):
            return "model_changed", f"the server answered as {name!r}, and as {first!r} before"
        if requested and not same_model(name, requested):
            return "other_model", f"the server answered as {name!r}, and {requested!r} was asked for"
        return "", ""

    def _with_replay(self, request: Request, response: Response) -> Response:
        """The response, marked `stale` if it is the answer to another request."""
        problem = "" if response.error else self._replays.problem(request, response.text, response.id)
        return replace(response, stale=problem) if problem else response

    def window(self) -> Window:
        """The server's window; asked for once, and again when the server answers if it did not before."""
        with self._asking:
            missed = self._window is not None and self._window.tokens is None and not self._window.exact
            if self._window is None or (missed and self._answered and self._tries["window"] < _TRIES):
                self._tries["window"] += 1
                self._window = Window(**self._once("window", self._learn_window))
            return self._window

    @property
    def known_window(self) -> Window:
        """The server's window as far as it is known; asks nothing."""
        return self._window or Window(None, "")

    def server(self) -> str:
        """The fingerprint of the server's self-description, asked for once; empty if nobody answers."""
        with self._asking:
            if self._server is None:
                self._server = self._once("server", self._learn_server)
            return fingerprint(self._server)

    def calibration(self, request: Request) -> Calibration:
        """The calibration for prompts laid out like this one; two short requests on the first call.

        What failed is tried once more, after the server has answered a trial.
        """
        layout = layout_of(request, self.tokenizer)
        with self._asking:
            known = self._calibrations.get(layout)
            failed = known is not None and known.status == "failed"
            if known is None or (failed and self._answered and self._tries[layout] < _TRIES):
                known = Calibration(**self._once(f"calibration {layout}", lambda: self._learn_calibration(request)))
                self._calibrations[layout] = known
                self._replays.ids_differ |= known.ids_differ
                self._tries[layout] += 1
            return known

    def summary(self) -> dict[str, str | int | float | None]:
        """The facts learnt so far, for the manifest; asks nothing."""
        facts: dict[str, str | int | float | None] = {}
        if self._window is not None:
            facts["window_source"] = self._window.source
        facts |= {f"server {name}": value for name, value in sorted((self._server or {}).items())}
        for layout, known in sorted(self._calibrations.items()):
            counted = known.status in ("exact", "approximate")
            status = f"{known.status}, {known.template_tokens:+d} tokens" if counted else known.status
            facts[f"calibration {' '.join(layout)}".strip()] = f"{status}: {known.why}" if known.why else status
        return facts

    def _once(self, fact: str, learn: Callable[[], tuple[dict[str, Any], bool]]) -> dict[str, Any]:
        if self.shared is None:
            return learn()[0]
        return learnt_once(self.shared / cache_key(self._name, fact), learn)

    def _learn_server(self) -> tuple[dict[str, Any], bool]:
        hide = self.transport.redactor.hide
        facts = {name: printable(hide(value), 300) for name, value in self.transport.identify().items()}
        return facts, bool(facts)

    def _learn_window(self) -> tuple[dict[str, Any], bool]:
        tokens = self.transport.options.window
        window = self.transport.window() if tokens is None else Window(tokens, "--model-arg window")
        return asdict(window), window.tokens is not None

    def _learn_calibration(self, request: Request) -> tuple[dict[str, Any], bool]:
        shorts = new_short_requests(request, self.tokenizer)
        stored = self.transport.short_answers(request)
        counts, responses = stored or ([short.prompt.tokens for short in shorts], self._ask_both(shorts))
        messages = [len(short.prompt.messages) for short in shorts]
        calibration = calibrate(counts, responses, approximation(self.tokenizer), messages)
        return asdict(calibration), calibration.status != "failed"

    def _ask_both(self, shorts: Sequence[Request]) -> list[Response]:
        for short in shorts:
            self._replays.ask(short)
        # At once: every trial of the run waits for both.
        threads = ThreadPoolExecutor(len(shorts))
        try:
            return list(map(self._with_replay, shorts, threads.map(self.ask, shorts)))
        finally:
            threads.shutdown(wait=False)  # who ends the run does not wait for the server; no `with`, which would


_FILE = re.compile(r"\.(gguf|ggml|bin|safetensors)$")
_TAG = re.compile(r"[-:@](latest|default)$")
# What a provider adds to a plain name: a date or a short number of the version.
_VERSION = re.compile(r"[-:@_.](\d{3,4}|\d{2}-\d{2}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2})(-preview)?$")


def same_model(one: str, other: str) -> bool:
    """Whether two names are the same but for a date, a tag (`:latest`), an owner or a folder.

    Two different dates of one name are two models.
    """
    first, second = _plain(one), _plain(other)
    return first == second or _VERSION.sub("", first) == second or _VERSION.sub("", second) == first


def _plain(name: str) -> str:
    base = re.split(r"[/\\]", name.strip().rstrip("/\\").lower())[-1]
    return _TAG.sub("", _FILE.sub("", base))
