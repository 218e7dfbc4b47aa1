"""How many tokens a server's window holds, asked of the server itself.

There is no standard for it. Each probe knows one kind of server: what it is asked, and where the number stands in what
it says. A number is either the window that this server really gives (`exact`), or the most that its model could take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from needlework.haystack_fixtures.models.served.http.failures import UnreachableError
from needlework.haystack_fixtures.models.served.reading.fields import table_of

_MOST = 10**9  # tokenizers without a limit write 1e30
QUICK_S = 5.0
_LOAD_S = 300.0  # Ollama reads some hundred GiB from disk at worst


@dataclass(frozen=True, slots=True)
class Window:
    """`tokens` is `None` where nobody tells; then `exact` says that the server was there to be asked.

    `source` says who told, for the manifest. `slots`: how many requests the server works on at once, where it tells.
    """

    tokens: int | None
    source: str
    exact: bool = True
    slots: int | None = None


class Fetch(Protocol):
    """Gets a JSON document: GET, or POST with a `body`. `None` for anything but a JSON document with status 200.

    Raises `UnreachableError` where nobody answers within `wait_s` seconds, or says that the server is not ready.
    """

    def __call__(self, url: str, body: Mapping[str, Any] | None = None, wait_s: float = QUICK_S) -> Any: ...


def discover_window(fetch: Fetch, base_url: str, name: str) -> Window:
    """Ask one kind of server after another. Never raises; costs a handful of small requests at most.

    Only addresses of the host in `base_url` are asked. A model that Ollama has not loaded is loaded: before that it
    does not say which window it will give.
    """
    base = base_url.partition("?")[0].rstrip("/")
    root = base.removesuffix("/v1").removesuffix("/openai")
    most: list[Window] = []
    silent = Window(None, "the server does not tell")
    try:
        for probe in _PROBES:
            for found in probe(fetch, base, root, name):
                if found.exact:
                    return found
                most.append(found)
    except UnreachableError:
        silent = Window(None, "the server did not answer when asked for its window", exact=False)
    return min(most, key=lambda window: window.tokens or _MOST, default=silent)


def _models(fetch: Fetch, base: str, _root: str, name: str) -> Iterator[Window]:
    """vLLM, SGLang, Aphrodite, TabbyAPI; OpenRouter, Groq, Mistral, Together, Fireworks, LiteLLM and other gateways."""
    entry = model_entry(fetch(f"{base}/models"), name)
    loaded = _tokens(entry.get("loaded_context_length"))  # LM Studio, where the largest possible stands beside it
    names = (
        "max_model_len", "context_window", "context_length", "max_context_length", "max_sequence_length",
        "max_seq_len", "max_input_tokens",
    )  # fmt: skip
    told = [(name, _tokens(entry.get(name))) for name in names]
    told += [("parameters.max_seq_len", _tokens(table_of(entry.get("parameters")).get("max_seq_len")))]
    known = next(((name, tokens) for name, tokens in told if tokens), None)
    if loaded:
        yield Window(loaded, "/v1/models loaded_context_length")
    elif known:
        # OpenRouter: the providers may give less than the model's own length.
        top = _tokens(table_of(entry.get("top_provider")).get("context_length"))
        yield Window(min(known[1] or _MOST, top or _MOST), f"/v1/models {known[0]}", entry.get("state") != "not-loaded")
    meta = table_of(entry.get("meta"))  # llama.cpp: of all slots together, and of the training
    for key in ("n_ctx", "n_ctx_train"):
        tokens = _tokens(meta.get(key))
        if tokens:
            yield Window(tokens, f"/v1/models meta.{key}", exact=False)


def _props(fetch: Fetch, _base: str, root: str, name: str) -> Iterator[Window]:
    """llama.cpp: the window of one slot. A router has one for each model, and must not load it for a question."""
    told = table_of(fetch(f"{root}/props?model={quote(name, safe='')}&autoload=false"))
    tokens = _tokens(table_of(told.get("default_generation_settings")).get("n_ctx"))
    if tokens:
        yield Window(tokens, "/props default_generation_settings.n_ctx", slots=_tokens(told.get("total_slots")))


def _ollama(fetch: Fetch, _base: str, root: str, name: str) -> Iterator[Window]:
    """Ollama: what it has allocated. Its default is far below what the model could take, and longer prompts are cut."""
    shown = table_of(fetch(f"{root}/api/show", {"model": name}))
    info = table_of(shown.get("model_info"))
    trained = next((found for key, value in info.items() if _is_length(key) and (found := _tokens(value))), None)
    if not trained and "modelfile" not in shown:
        return
    allocated = _running(fetch(f"{root}/api/ps"), name)
    if allocated is None and fetch(f"{root}/api/generate", {"model": name, "stream": False}, _LOAD_S):
        allocated = _running(fetch(f"{root}/api/ps"), name)
    if allocated:
        yield Window(allocated, "/api/ps context_length")
    parameters = str(shown.get("parameters") or "").splitlines()
    fixed = next((words[1] for line in parameters if len(words := line.split()) == 2 and words[0] == "num_ctx"), "")
    if fixed.isdecimal() and int(fixed):
        yield Window(int(fixed), "/api/show num_ctx")
    if trained:
        yield Window(trained, "/api/show context_length (the model's own; the server may give less)", exact=False)


def _lm_studio(fetch: Fetch, _base: str, root: str, name: str) -> Iterator[Window]:
    """LM Studio: the length that the model was loaded with."""
    entry = model_entry(fetch(f"{root}/api/v1/models"), name)
    for instance in _list(entry.get("loaded_instances")):
        tokens = _tokens(table_of(table_of(instance).get("config")).get("context_length"))
        if tokens:
            yield Window(tokens, "/api/v1/models loaded_instances.config.context_length")
    tokens = _tokens(entry.get("max_context_length"))
    if tokens:
        yield Window(tokens, "/api/v1/models max_context_length (the model's own; it is not loaded)", exact=False)


def _tgi(fetch: Fetch, _base: str, root: str, _name: str) -> Iterator[Window]:
    """Text Generation Inference."""
    tokens = _tokens(table_of(fetch(f"{root}/info")).get("max_total_tokens"))
    if tokens:
        yield Window(tokens, "/info max_total_tokens")


def _kobold(fetch: Fetch, _base: str, root: str, _name: str) -> Iterator[Window]:
    """KoboldCpp."""
    tokens = _tokens(table_of(fetch(f"{root}/api/extra/true_max_context_length")).get("value"))
    if tokens:
        yield Window(tokens, "/api/extra/true_max_context_length")


_PROBES: tuple[Callable[[Fetch, str, str, str], Iterator[Window]], ...] = (
    _models,
    _props,
    _ollama,
    _lm_studio,
    _tgi,
    _kobold,
)


def model_entry(told: Any, name: str) -> Mapping[str, Any]:
    """What `/v1/models` says of a model: its own row in a list of models, or the only row there is."""
    listed = told if isinstance(told, list) else table_of(told).get("data") or table_of(told).get("models")
    rows = [row for row in _list(listed) if isinstance(row, dict)]
    for row in rows:
        instances = [table_of(each).get("id") for each in _list(row.get("loaded_instances"))]
        if _is_named(row, name) or name in instances or name in _list(row.get("aliases")):
            return row
    return rows[0] if len(rows) == 1 else {}


def _running(told: Any, name: str) -> int | None:
    for row in _list(table_of(told).get("models")):
        if isinstance(row, dict) and _is_named(row, name):
            return _tokens(row.get("context_length"))
    return None


def _is_named(row: Mapping[str, Any], name: str) -> bool:
    # Ollama's names have a tag, `latest` where none is written.
    return any(row.get(key) in (name, f"{name}:latest") for key in ("id", "name", "model", "key"))


def _is_length(key: str) -> bool:
    return key.endswith(".context_length")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tokens(value: Any) -> int | None:
    """A sensible number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST:
        return None
    return int(value)
