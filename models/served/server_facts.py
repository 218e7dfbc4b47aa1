"""The facts of a run's server: its self-description; window, template and model name, learnt once for all workers."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from needlework.core.errors import printable
from needlework.core.files import cache_key, learnt_once
from needlework.models.model import Calibration, Request, Response
from needlework.models.served.calibration import Growth, Replays, calibrate, layout_of, new_short_requests
from needlework.models.served.errors import UnreachableError
from needlework.models.served.reply import count, field_of, list_of, table_of
from needlework.models.tokenizers.tokenizer import Tokenizer, approximation

if TYPE_CHECKING:
    from needlework.models.served.transport import Transport

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
        self.known_window: Window | None = None  # as far as it was asked for
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
        """Add to an answer what it proves: its model, the server, and how that counts.
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
            missed = self.known_window is not None and self.known_window.tokens is None and not self.known_window.exact
            if self.known_window is None or (missed and self._answered and self._tries["window"] < _TRIES):
                self._tries["window"] += 1
                self.known_window = Window(**self._once("window", self._learn_window))
            return self.known_window

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
        if self.known_window is not None:
            facts["window_source"] = self.known_window.source
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


_LOAD_S = 300.0  # Ollama reads some hundred GiB from disk at worst


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that prompt and answer may have together; `source` says who told, for the manifest."""

    tokens: int | None  # `None` where nobody tells; then `exact` says that the server was there to be asked
    source: str
    exact: bool = True  # whether it is what this server gives, and not the most that its model could take
    slots: int | None = None  # how many requests the server works on at once, where it tells


Fetch = Callable[..., Any]
"""`fetch(url, body, wait_s)` gets a JSON document: GET, or POST with a `body`. `None` for anything but a JSON document
with status 200. Raises `UnreachableError` where nobody answers within `wait_s` seconds, or says that the server is not
ready."""


_MOST = 10**9  # tokenizers without a limit write 1e30


def discover_window(fetch: Fetch, base_url: str, name: str) -> Window:
    """Ask one kind of server after another. Never raises; costs a handful of small requests at most.

    Only addresses of the host in `base_url` are asked. A model that Ollama has not loaded is loaded: before that it
    does not say which window it will give.
    """
    base, root = _base_and_root(base_url)
    most: list[Window] = []
    silent = Window(None, "the server does not tell")
    try:
        for window in _windows(fetch, base, root, name):
            if window.exact:
                return window
            most.append(window)
    except UnreachableError:
        silent = Window(None, "the server did not answer when asked for its window", exact=False)
    return min(most, key=lambda window: window.tokens or _MOST, default=silent)


def _base_and_root(base_url: str) -> tuple[str, str]:
    base = base_url.partition("?")[0].rstrip("/")
    return base, base.removesuffix("/v1").removesuffix("/openai")


_LISTED = (
    "max_model_len", "context_window", "context_length", "max_context_length", "max_sequence_length", "max_seq_len",
    "max_input_tokens", "parameters.max_seq_len",
)  # fmt: skip


def _windows(fetch: Fetch, base: str, root: str, name: str) -> Iterator[Window]:
    """What one kind of server after another says: there is no standard for it."""
    # vLLM, SGLang, Aphrodite, TabbyAPI; OpenRouter, Groq, Mistral, Together and other gateways.
    entry = model_entry(fetch(f"{base}/models"), name)
    if loaded := _tokens(entry, "loaded_context_length"):  # LM Studio, where the largest possible stands beside it
        yield Window(loaded, "/v1/models loaded_context_length")
    elif field := next((field for field in _LISTED if _tokens(entry, field)), ""):
        # OpenRouter: the providers may give less than the model's own length.
        both = filter(None, (_tokens(entry, field), _tokens(entry, "top_provider.context_length")))
        yield Window(min(both), f"/v1/models {field}", entry.get("state") != "not-loaded")
    for field in ("meta.n_ctx", "meta.n_ctx_train"):  # llama.cpp: of all slots together, and of the training
        if tokens := _tokens(entry, field):
            yield Window(tokens, f"/v1/models {field}", exact=False)
    # llama.cpp: the window of one slot. A router has one for each model, and must not load it now.
    props = table_of(fetch(f"{root}/props?model={quote(name, safe='')}&autoload=false"))
    if tokens := _tokens(props, "default_generation_settings.n_ctx"):
        yield Window(tokens, "/props default_generation_settings.n_ctx", slots=_tokens(props, "total_slots"))
    yield from _ollama(fetch, root, name)
    # LM Studio: the length that the model was loaded with.
    entry = model_entry(fetch(f"{root}/api/v1/models"), name)
    for instance in list_of(entry.get("loaded_instances")):
        if tokens := _tokens(table_of(instance), "config.context_length"):
            yield Window(tokens, "/api/v1/models loaded_instances.config.context_length")
    if tokens := _tokens(entry, "max_context_length"):
        yield Window(tokens, "/api/v1/models max_context_length (the model's own; it is not loaded)", exact=False)
    # Text Generation Inference, and KoboldCpp.
    for path, field in (("/info", "max_total_tokens"), ("/api/extra/true_max_context_length", "value")):
        if tokens := _tokens(table_of(fetch(f"{root}{path}")), field):
            yield Window(tokens, f"{path} {field}")


def _ollama(fetch: Fetch, root: str, name: str) -> Iterator[Window]:
    """Ollama: the allocated window. Its default is far below the model's, and it cuts longer prompts."""

    def allocated() -> int | None:
        rows = list_of(table_of(fetch(f"{root}/api/ps")).get("models"))
        row = next((row for row in rows if isinstance(row, dict) and _is_named(row, name)), {})
        return _tokens(row, "context_length")

    model = table_of(fetch(f"{root}/api/show", {"model": name}))
    lengths = {key: value for key, value in table_of(model.get("model_info")).items() if key[-15:] == ".context_length"}
    trained = next((tokens for value in lengths.values() if (tokens := _tokens({"": value}, ""))), None)
    if not trained and "modelfile" not in model:
        return
    tokens = allocated()
    if tokens is None and fetch(f"{root}/api/generate", {"model": name, "stream": False}, _LOAD_S):
        tokens = allocated()
    if tokens:
        yield Window(tokens, "/api/ps context_length")
    if fixed := re.search(r"^\s*num_ctx\s+0*([1-9]\d*)\s*$", str(model.get("parameters") or ""), re.MULTILINE):
        yield Window(int(fixed[1]), "/api/show num_ctx")
    if trained:
        yield Window(trained, "/api/show context_length (the model's own; the server may give less)", exact=False)


def _tokens(table: Mapping[str, Any], field: str) -> int | None:
    """A sensible number of tokens at a path of a table."""
    tokens = count(field_of(table, field)) or _MOST
    return tokens if tokens < _MOST else None


def model_entry(listing: Any, name: str) -> Mapping[str, Any]:
    """The entry of a model in `/v1/models`: its own row in a list of models, or the only row."""
    table = table_of(listing)
    rows = [row for row in list_of(listing) or list_of(table.get("data") or table.get("models")) if table_of(row)]
    for row in rows:
        instances = [table_of(instance).get("id") for instance in list_of(row.get("loaded_instances"))]
        if _is_named(row, name) or name in instances or name in list_of(row.get("aliases")):
            return table_of(row)
    return table_of(rows[0]) if len(rows) == 1 else {}


def _is_named(row: Mapping[str, Any], name: str) -> bool:
    # Ollama's names have a tag, `latest` where none is written.
    return any(row.get(key) in (name, f"{name}:latest") for key in ("id", "name", "model", "key"))


# A server that is started again with another configuration has the same address and the same model name. Answers of one
# must not be taken for answers of the other. Where each kind of server tells about itself, and what of it can change
# answers; nothing that changes by itself. `models`: the model's own entry in the list.
_FACTS: Mapping[str, str] = {
    "models": (
        "id root max_model_len quantization dtype context_length"
        " meta.n_ctx meta.n_params meta.size meta.n_vocab meta.ftype"
    ),
    # llama.cpp, vLLM, SGLang, Text Generation Inference
    "/props": "total_slots model_path model_ftype build_info chat_template default_generation_settings.n_ctx",
    "/version": "version",
    "/get_server_info": (
        "version model_path revision dtype quantization kv_cache_dtype context_length tp_size attention_backend"
        " chat_template"
    ),
    "/info": "version sha model_id model_sha model_dtype max_total_tokens max_input_tokens",
    # Ollama
    "/api/show": "details.format details.quantization_level details.parameter_size parameters template",
}
_LONG = 200  # characters; longer values (templates) are told by their hash


def who_answers(fetch: Fetch, base_url: str, name: str) -> dict[str, str]:
    """The server's self-description, by name; empty if it says nothing or is away. Never raises.

    Only addresses of the host in `base_url` are asked, a handful of small requests.
    """
    base, root = _base_and_root(base_url)
    facts: dict[str, str] = {}
    try:
        for path, fields in _FACTS.items():
            if path == "models":
                reply = model_entry(fetch(f"{base}/models"), name)
            else:
                reply = table_of(fetch(root + path, {"model": name} if path == "/api/show" else None))
            for field in fields.split():
                value = field_of(reply, field)
                if value not in (None, "", [], {}):
                    facts[field.rpartition(".")[2]] = _short(str(value))
    except UnreachableError:
        return {}
    return facts


def _short(value: str) -> str:
    return value if len(value) <= _LONG else f"sha256 {sha256(value.encode()).hexdigest()[:12]}"


def fingerprint(facts: Mapping[str, str]) -> str:
    """Twelve characters that stand for these facts; empty for none."""
    return sha256(json.dumps(sorted(facts.items())).encode()).hexdigest()[:12] if facts else ""
