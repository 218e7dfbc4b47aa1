"""Facts of a server: identity, model name, shared between workers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from needlework.core.files import cache_key, learnt_once
from needlework.models.model import Calibration, Request, Response
from needlework.models.served.calibration import (
    QUICK_S,
    Fetch,
    Growth,
    Replays,
    Window,
    calibrate,
    layout_of,
    model_entry,
    new_short_requests,
    short_message_counts,
)
from needlework.models.served.errors import HangUpError, UnreachableError, UnreadableError
from needlework.models.served.http_client import Allowed, HttpClient
from needlework.models.served.reply_fields import table_of
from needlework.models.tokenizers.tokenizer import Tokenizer, approximation

_TRIES = 2


class ServerFacts:
    """Learns on first use, once for each kind of fact, whatever the number of threads (and of workers, by `shared`).

    `ask` puts a request to the server, `discover` asks it for its window. Nothing is asked before it is needed.
    """

    def __init__(
        self,
        *,
        name: str,
        asked: str,
        strict: bool,
        ask: Callable[[Request], Response],
        discover: Callable[[], Window],
        identify: Callable[[], dict[str, str]],
        tokenizer: Tokenizer,
        shared: Path | None,
        ask_short: Callable[[Request], tuple[list[int], list[Response]]] | None = None,
    ) -> None:
        """`name`: model, server and decoding, which the workers of a run share facts by, in the folder `shared`.

        `asked`: the model's name as it is asked for, empty where that says nothing of the model. `strict`: answers of
        another model do not count. `identify` asks the server who it is. `ask_short(request)`: our counts of the two
        short requests of the calibration, and their responses, where `ask` is not to be used.
        """
        self._name = name
        self._asked = asked
        self._strict = strict
        self._answering: str | None = None
        self._ask = ask
        self._discover = discover
        self._identify = identify
        self._ask_short = ask_short or self._ask_both
        self._server: dict[str, str] = {}
        self._signs: str | None = None
        self._tokenizer = tokenizer
        self._shared = shared
        self._lock = threading.Lock()  # held while the server is asked
        self._naming = threading.Lock()
        self._window: Window | None = None
        self._looked = 0
        self._calibrations: dict[tuple[str, ...], Calibration] = {}
        self._failures: dict[tuple[str, ...], int] = {}
        self._replays = Replays()
        self._growth = Growth(approximation(tokenizer))
        self._answered = False

    def checked(self, request: Request) -> Response:
        """Ask, with what goes before and after it."""
        expected = self.before(request)
        return self.after(request, expected, self._ask(request))

    def before(self, request: Request) -> Calibration | None:
        """Learn what is to be known before a trial is asked; `None` for what is no trial. May wait for the server.

        Who judges need not say who it is.
        """
        calibration = None
        if request.cell is not None:
            self.window()
            calibration = self.calibration(request).of(len(request.prompt.messages))
        if calibration is not None and (calibration.status != "failed" or self._answered):
            self.server()
        self._replays.ask(request)
        return calibration

    def after(self, request: Request, calibration: Calibration | None, response: Response) -> Response:
        """Say of the answer to a trial what it proves: whose it is, how it was counted, by which server. Asks nothing,
        and waits for nothing.
        """
        response = self._witnessed(request, response)
        if response.error is not None or calibration is None:
            return response
        self._answered = True
        about = calibration.status == "approximate"
        checked = replace(
            response,
            cut=self._growth.problem(request.prompt.tokens, response) if about else response.cut,
            stale=calibration.why if calibration.status == "stale" else response.stale,
            calibration=calibration,
            server=self._signs or "",
        )
        return self._named(checked)

    def _named(self, response: Response) -> Response:
        """The response with what its model's name tells: another than the first reply's, or than was asked for."""
        told = response.model
        if not told:
            return response
        with self._naming:
            if self._answering is None:
                self._answering = str(self._once("model", lambda: ({"model": told}, True))["model"])
            first = self._answering
        if not same_model(told, first):
            flag, why = "model_changed", f"the server answered as {told!r}, and as {first!r} before"
        elif self._asked and not same_model(told, self._asked):
            flag, why = "other_model", f"the server answered as {told!r}, and {self._asked!r} was asked for"
        else:
            return response
        return replace(response, flags=(*response.flags, flag), other_model=why if self._strict else "")

    def _witnessed(self, request: Request, response: Response) -> Response:
        if response.error is not None:
            return response
        stale, finish = self._replays.problem(request, response.text, response.id), _finish(request, response)
        if not stale and finish == response.finish_reason:
            return response
        return replace(response, stale=stale, finish_reason=finish)

    def window(self) -> Window:
        """The server's window; asked for on the first call, and again once the server answers if it did not then."""
        with self._lock:
            missed = self._window is not None and self._window.tokens is None and not self._window.exact
            if self._window is None or (missed and self._answered and self._looked < _TRIES):
                self._looked += 1
                self._window = Window(**self._once("window", self._learn_window))
            return self._window

    @property
    def known_window(self) -> Window:
        """The server's window as far as it is known; asks nothing."""
        return self._window or Window(None, "")

    def server(self) -> str:
        """Signs that stand for what the server says of itself, see `who_answers`; it is asked once.

        Empty where nobody answers.
        """
        with self._lock:
            if self._signs is None:
                self._server = {str(name): str(told) for name, told in self._once("server", self._learn_server).items()}
                self._signs = fingerprint(self._server)
            return self._signs

    def calibration(self, request: Request) -> Calibration:
        """How the server counts prompts laid out like this one; two short requests on the first call.

        What failed is tried once more, after the server has answered a trial.
        """
        layout = layout_of(request, self._tokenizer)
        with self._lock:
            known = self._calibrations.get(layout)
            failed = known is not None and known.status == "failed"
            if known is None or (failed and self._answered and self._failures[layout] < _TRIES):
                known = Calibration(**self._once(f"calibration {layout}", lambda: self._learn_calibration(request)))
                self._calibrations[layout] = known
                self._replays.ids_differ |= known.ids_differ
                self._failures[layout] = self._failures.get(layout, 0) + (known.status == "failed")
            return known

    def told(self) -> dict[str, str | int | float | None]:
        """What has been learnt so far, for the manifest; asks nothing."""
        found: dict[str, str | int | float | None] = {}
        if self._window is not None:
            found["window_source"] = self._window.source
        found |= {f"server {name}": told for name, told in sorted(self._server.items())}
        for layout, known in sorted(self._calibrations.items()):
            said = (
                f"{known.status}, {known.template_tokens:+d} tokens"
                if known.status in ("exact", "approximate")
                else known.status
            )
            found[f"calibration {' '.join(layout)}".strip()] = f"{said}: {known.why}" if known.why else said
        return found

    def _once(self, fact: str, learn: Callable[[], tuple[dict[str, Any], bool]]) -> dict[str, Any]:
        if self._shared is None:
            return learn()[0]
        return learnt_once(self._shared / cache_key(self._name, fact), learn)

    def _learn_server(self) -> tuple[dict[str, Any], bool]:
        found = self._identify()
        return found, bool(found)

    def _learn_window(self) -> tuple[dict[str, Any], bool]:
        found = self._discover()
        return asdict(found), found.tokens is not None

    def _learn_calibration(self, request: Request) -> tuple[dict[str, Any], bool]:
        counts, responses = self._ask_short(request)
        failed = next((i for i, response in enumerate(responses) if response.error is not None), len(responses))
        found = calibrate(
            counts,
            responses[: failed + 1],
            error=approximation(self._tokenizer),
            messages=short_message_counts(request),
        )
        return asdict(found), found.status != "failed"

    def _ask_both(self, request: Request) -> tuple[list[int], list[Response]]:
        requests = new_short_requests(request, self._tokenizer)
        for each in requests:
            self._replays.ask(each)
        # At once: every trial of the run waits for both.
        threads = ThreadPoolExecutor(len(requests))
        try:
            answers = threads.map(self._ask, requests)
            counts = [each.prompt.tokens for each in requests]
            return counts, [self._witnessed(each, answer) for each, answer in zip(requests, answers, strict=True)]
        finally:
            threads.shutdown(wait=False)  # who ends the run does not wait for the server; no `with`, which would


def _finish(request: Request, response: Response) -> str | None:
    """The finish reason: `length` where just the whole budget was used, whatever the server says; `unfinished` where it
    ended with reasoning alone.
    """
    said, budget = response.finish_reason, request.answer_budget + request.thinking_budget
    if said == "content_filter":
        return said
    if response.completion_tokens in (budget, budget + 1):  # some count the end token; more: no limit was heeded
        return "length"
    return "unfinished" if said != "length" and "reasoning_only" in response.flags else said


_NOT_READY = (502, 503, 504)  # llama.cpp while it loads, a proxy before a server that is not up
_LARGEST = 32 * 2**20  # bytes; OpenRouter's list of models has about one million


def json_fetch(http: HttpClient) -> Fetch:
    """A `Fetch` through an open HTTP client, which speaks to its own server alone and follows no redirects."""

    def fetch(url: str, body: Mapping[str, Any] | None = None, wait_s: float = QUICK_S) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        try:
            reply = http.send("GET" if sent is None else "POST", url, sent, Allowed(wait_s, wait_s), _LARGEST)
            if reply.status in _NOT_READY:
                raise UnreachableError(f"HTTP {reply.status}")
            return json.loads(reply.body) if reply.status == 200 else None
        except TimeoutError:
            raise UnreachableError("no answer in time") from None
        except (HangUpError, UnreadableError, ValueError, RecursionError):
            return None

    return fetch


_FILE = re.compile(r"\.(gguf|ggml|bin|safetensors)$")
_TAG = re.compile(r"[-:@](latest|default)$")
# What a provider adds to a plain name: a date or a short number of the version.
_VERSION = re.compile(r"[-:@_.](\d{3,4}|\d{2}-\d{2}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2})(-preview)?$")


def same_model(one: str, other: str) -> bool:
    """Whether one name is the other, or the other with a date, a tag (`:latest`), an owner or folder before it.

    Two different dates of one name are two models.
    """
    first, second = _plain(one), _plain(other)
    return first == second or _dated(first, second) or _dated(second, first)


def _plain(name: str) -> str:
    base = re.split(r"[/\\]", name.strip().rstrip("/\\").lower())[-1]
    return _TAG.sub("", _FILE.sub("", base))


def _dated(name: str, base: str) -> bool:
    version = _VERSION.search(name)
    return version is not None and name[: version.start()] == base


# A server that is started again with another configuration has the same address and the same model name. Answers of one
# must not be taken for answers of the other.

# Where each kind of server tells about itself, and what of it can change answers; nothing that changes by itself.
_TOLD: Mapping[str, tuple[str, ...]] = {
    # llama.cpp
    "/props": ("total_slots", "model_path", "model_ftype", "build_info", "chat_template"),
    # vLLM
    "/version": ("version",),
    # SGLang
    "/get_server_info": (
        "version", "model_path", "revision", "dtype", "quantization", "kv_cache_dtype", "context_length", "tp_size",
        "attention_backend", "chat_template",
    ),
    # Text Generation Inference
    "/info": ("version", "sha", "model_id", "model_sha", "model_dtype", "max_total_tokens", "max_input_tokens"),
}  # fmt: skip
_OF_MODEL = ("id", "root", "max_model_len", "quantization", "dtype", "context_length")
_OF_META = ("n_ctx", "n_params", "size", "n_vocab", "ftype")
_LONG = 200  # characters; longer values (templates) are told by their hash


def who_answers(fetch: Fetch, base_url: str, name: str) -> dict[str, str]:
    """What the server says of itself, by name; empty where it says nothing or is not there. Never raises.

    Only addresses of the host in `base_url` are asked, a handful of small requests.
    """
    base = base_url.partition("?")[0].rstrip("/")
    root = base.removesuffix("/v1").removesuffix("/openai")
    found: dict[str, str] = {}
    try:
        entry = model_entry(fetch(f"{base}/models"), name)
        found |= _kept(entry, _OF_MODEL) | _kept(table_of(entry.get("meta")), _OF_META)
        for path, names in _TOLD.items():
            told = table_of(fetch(root + path))
            found |= _kept(told, names)
            if path == "/props":
                found |= _kept(table_of(told.get("default_generation_settings")), ("n_ctx",))
        shown = table_of(fetch(f"{root}/api/show", {"model": name}))  # Ollama
        found |= _kept(table_of(shown.get("details")), ("format", "quantization_level", "parameter_size"))
        found |= _kept(shown, ("parameters", "template"))
    except UnreachableError:
        return {}
    return found


def fingerprint(facts: Mapping[str, str]) -> str:
    """Twelve signs that stand for these facts; empty for none."""
    return sha256(json.dumps(sorted(facts.items())).encode()).hexdigest()[:12] if facts else ""


def _kept(told: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    kept = {name: str(told[name]) for name in names if told.get(name) not in (None, "", [], {})}
    return {
        name: value if len(value) <= _LONG else f"sha256 {sha256(value.encode()).hexdigest()[:12]}"
        for name, value in kept.items()
    }
