"""Checks by token counts: templates, context window, cut prompts, replayed answers."""

from __future__ import annotations

import random
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from needlework.core.prompts import Message, Needle, bare_prompt, plain_turns, raw_text
from needlework.models.model import Calibration, Request, Response, starts_answer
from needlework.models.served.errors import UnreachableError
from needlework.models.served.reply_fields import table_of
from needlework.models.tokenizers.tokenizer import Tokenizer

# The short requests are the trial itself with another text: the same messages, template, question and end, the document
# replaced by the needle alone (with another value) between sentences of no interest. What the server's template adds or
# leaves out is then the same as in the trial. Every message of the second request is longer than that of the first, so
# that a server which drops one of them, or counts with another tokenizer, shows two different differences.
#
# Of a conversation, hundreds of messages, the short requests have one round and three.
FILLER = "On 12 March 1921 the ferry Ægir left Skagen at 6:45 with 38 crates of tea; 红房子在河边。 "
_MOST_PER_MESSAGE = 16  # tokens that a template adds for a message beside ours, or leaves out
_REPEATS = (1, 2)  # sentences of filler in the first and in the second request


def layout_of(request: Request, tokenizer: Tokenizer) -> tuple[str, ...]:
    """What the constant depends on: the endpoint, the roles in their order, and a raw prompt's last words."""
    asked = _asked(request)
    if request.prompt.conversation:
        roles = [message.role for message in asked if message.role == "system"]
        return (request.template, *roles, "turns", _end(request, tokenizer))
    return (request.template, *(message.role for message in asked), _end(request, tokenizer))


def new_short_requests(request: Request, tokenizer: Tokenizer) -> tuple[Request, Request]:
    """The two requests for a trial, with values of their own that nobody can know. Not trials: they have no cell."""
    short, draw = _short_conversation if request.prompt.conversation else _short, random.SystemRandom()
    one, other = (short(request, tokenizer, FILLER * repeats, draw) for repeats in _REPEATS)
    return one, other


def short_message_counts(request: Request) -> tuple[int, int]:
    """How many messages the two short requests for a trial have."""
    asked = _asked(request)
    if not request.prompt.conversation:
        return len(asked), len(asked)
    system = sum(message.role == "system" for message in asked)
    return system + 3, system + 7  # the question behind one round, and behind three


def calibrate(
    ours: Sequence[int], responses: Sequence[Response], error: float = 0.0, messages: Sequence[int] = (0, 0)
) -> Calibration:
    """What the responses to two short requests say, which have `ours` tokens by our count.

    `error`: the share by which our count may be off, where another tokenizer than the model's counts. `messages`: how
    many each has. Where these differ, a template that adds some tokens for each message is told from one that adds a
    constant; a trial's own count then shows whether that holds.
    """
    for response in responses:
        if response.error is not None:
            return Calibration("failed", why=f"a short request failed: {response.error.message}")
    stale = next((response.stale for response in responses if response.stale), "")
    if stale:
        return Calibration("stale", why=f"the server mixes requests up, as two short ones show: {stale}")
    ids_differ = are_unique(responses[0].id, responses[1].id)
    counts = [response.prompt_tokens for response in responses]
    if None in counts:
        return Calibration("no_usage", ids_differ=ids_differ, why="the server does not count tokens")
    for cached in (False, True):
        differences = [
            (response.prompt_tokens or 0) + (response.cached_tokens or 0) * cached - tokens
            for response, tokens in zip(responses, ours, strict=True)
        ]
        if error:
            why = f"another tokenizer than the model's counts, off by about {error:.1%}"
            return Calibration("approximate", min(differences, key=abs), ids_differ, why, error)
        if abs(differences[0] - differences[1]) <= 1:
            return Calibration("exact", min(differences, key=abs), ids_differ)
    more = messages[1] - messages[0]
    change = (responses[1].prompt_tokens or 0) - ours[1] - ((responses[0].prompt_tokens or 0) - ours[0])
    if more and change % more == 0 and abs(change // more) <= _MOST_PER_MESSAGE:
        each = change // more
        constant = (responses[0].prompt_tokens or 0) - ours[0] - each * messages[0]
        return Calibration("exact", constant, ids_differ, message_tokens=each)
    seen = ", ".join(f"{served} for {tokens}" for served, tokens in zip(counts, ours, strict=True))
    why = f"short requests show no constant difference ({seen}): it has another tokenizer than --tokenizer, or"
    return Calibration("inconsistent", why=f"{why} messages get lost")


def _asked(request: Request) -> tuple[Message, ...]:
    """The messages without a started answer: a server that closes it, and does not go on, then counts too many."""
    return request.prompt.messages[:-1] if starts_answer(request) else request.prompt.messages


def _short(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    needles = tuple(_revalued(needle, draw) for needle in request.needles)
    stated = " ".join(needle.text for needle in needles)
    document = filler + stated
    start, end = request.prompt.context
    context = request.prompt.text[start:end]
    messages = tuple(
        Message(message.role, _shortened(message.content, context, document, filler)) for message in _asked(request)
    )
    raw = raw_text(messages, _end(request, tokenizer)) or document
    return _with_messages(request, tokenizer, messages, raw, needles)


def _short_conversation(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    """The question behind few turns, in place of many: one round, or three with a filler of two sentences."""
    asked = _asked(request)
    value = str(draw.randrange(1_000_000, 10_000_000))
    rounds = [(Message("user", filler.strip()), Message("assistant", f"{filler}{value}"))]
    rounds += [(Message("user", "Go on."), Message("assistant", filler.strip()))] * (2 * (filler.count(FILLER) - 1))
    system = [Message("system", filler + message.content) for message in asked if message.role == "system"]
    question = Message(asked[-1].role, filler + asked[-1].content)
    messages = (*system, *(message for each in rounds for message in each), question)
    needle = Needle("value", f"{filler}{value}", "", value)
    return _with_messages(request, tokenizer, messages, plain_turns(messages, "en"), (needle,))


def _with_messages(
    request: Request, tokenizer: Tokenizer, messages: tuple[Message, ...], raw: str, needles: tuple[Needle, ...]
) -> Request:
    """The request with other messages and needles; `raw`: its text where there is no chat template."""
    chat = request.template == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if chat else raw
    bos = np.asarray(() if chat else tokenizer.bos, dtype=np.int32)
    prompt = bare_prompt(messages, text, np.concatenate([bos, tokenizer.encode(text).ids]))
    return replace(request, prompt=prompt, cell=None, needles=needles, answer="".join(each.answer for each in needles))


def _revalued(needle: Needle, draw: random.Random) -> Needle:
    """The needle with a number that stands nowhere else in place of its value."""
    value = str(draw.randrange(1_000_000, 10_000_000))
    if needle.answer and needle.answer in needle.text:
        return replace(needle, text=needle.text.replace(needle.answer, value), answer=value, accepted=())
    return replace(needle, text=f"{needle.question} {value}.", answer=value, accepted=())


def _shortened(content: str, context: str, document: str, filler: str) -> str:
    """A message with another document, or, where it has none, with filler before its own words."""
    return content.replace(context, document, 1) if context and context in content else filler + content


def _end(request: Request, tokenizer: Tokenizer) -> str:
    """What stands behind the last message where there is no chat template."""
    if request.template == "chat" and tokenizer.has_chat_template:
        return ""
    joined = raw_text(_asked(request), "")
    return request.prompt.text[len(joined) :].strip() if request.prompt.text.startswith(joined) else ""


def tokens_read(ours: int, response: Response) -> int:
    """Tokens that the server has read of a prompt of `ours`: some leave out of `usage` what stood in their cache."""
    served = response.prompt_tokens or 0
    whole = served + (response.cached_tokens or 0)
    return min(served, whole, key=lambda tokens: abs(tokens - ours))


_LEAST = 0.02  # share by which one prompt must be longer than another before equal counts say something
_ALIKE = 2  # tokens; counts that differ by no more are the same


class Growth:
    """What a server has counted so far. May be used from many threads at once.

    A prompt that is surely longer than another, by more than both counts may be off, and for which the server counts no
    more tokens, was cut: the server has a window that it does not tell of. The first of such prompts proves nothing by
    itself; of two that were cut to one size the longer one is told.
    """

    def __init__(self, error: float) -> None:
        """`error`: the share by which our counts may be off."""
        self._lock = threading.Lock()
        self._surely = 1 + max(_LEAST, 3 * error)
        self._counts: dict[int, int] = {}

    def problem(self, ours: int, response: Response) -> str:
        """Why the server has read less than this prompt of `ours` tokens; empty where nothing says so."""
        if response.prompt_tokens is None:
            return ""
        served = tokens_read(ours, response)
        with self._lock:
            shorter = [
                (tokens, counted)
                for tokens, counted in self._counts.items()
                if ours > self._surely * tokens and served <= counted + _ALIKE
            ]
            self._counts[ours] = min(served, self._counts.get(ours, served))
        if not shorter:
            return ""
        tokens, counted = max(shorter)
        return f"the server counted {served} tokens of a prompt of about {ours}, and {counted} of one of about {tokens}"


_NUMBER = re.compile(r"\d{5,}")
_GROUPING = re.compile(r"(?<=\d)[,，'’_\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_ID_SIGNS = 12  # Ollama's ids are numbers below 1000, and come again soon


class Replays:
    """What a server was asked and how it named its answers. May be used from many threads at once.

    Two kinds of evidence. The answer gives the value of another request's needle and none of its own, and that value
    stands nowhere in its own prompt: needle values are numbers of five digits or more, drawn at random, so no model
    guesses one. Or the response's id was given to another prompt before: only for servers whose ids were seen to be
    long and to differ (`ids_differ`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._ids: dict[str, str] = {}
        self.ids_differ = False

    def ask(self, request: Request) -> None:
        """Remember what a request is about to be asked."""
        with self._lock:
            self._values |= values_of(request)

    def problem(self, request: Request, text: str, id_: str) -> str:
        """Why this is the answer to another request; empty where nothing says so."""
        own, given = values_of(request), _numbers(text)
        with self._lock:
            others = (given & self._values) - own
            before = self._ids.setdefault(id_, request.prompt.text_sha256) if _is_unique(id_) else ""
        if self.ids_differ and before not in ("", request.prompt.text_sha256):
            return "the answer to another request: its id was given to another prompt before"
        foreign = [] if given & own else sorted(value for value in others if value not in request.prompt.text)
        if not foreign:
            return ""
        return f"the answer to another request: it gives {foreign[0]}, which that one asked for and this prompt lacks"


def are_unique(one: str, other: str) -> bool:
    """Whether the ids of two answers show that each answer gets one of its own."""
    return one != other and _is_unique(one) and _is_unique(other)


def values_of(request: Request) -> frozenset[str]:
    """The values of a request's needles that no model could guess."""
    return frozenset(needle.answer for needle in request.needles if _NUMBER.fullmatch(needle.answer))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", _GROUPING.sub("", text))))


def _is_unique(id_: str) -> bool:
    """Whether an id looks drawn from so many that none comes twice; `chatcmpl-` before it says nothing."""
    return sum(char.isalnum() for char in id_.rpartition("cmpl-")[2]) >= _ID_SIGNS


# There is no standard for it. Each probe knows one kind of server: what it is asked, and where the number stands in
# what it says. A number is either the window that this server really gives (`exact`), or the most that its model could
# take.
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
    trained = next(
        (found for key, value in info.items() if key.endswith(".context_length") and (found := _tokens(value))), None
    )
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


def _single_numbers(fetch: Fetch, _base: str, root: str, _name: str) -> Iterator[Window]:
    """Text Generation Inference, and KoboldCpp."""
    for path, field in (("/info", "max_total_tokens"), ("/api/extra/true_max_context_length", "value")):
        if tokens := _tokens(table_of(fetch(f"{root}{path}")).get(field)):
            yield Window(tokens, path if field == "value" else f"{path} {field}")


def _tokens(value: Any) -> int | None:
    """A sensible number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST:
        return None
    return int(value)


def model_entry(told: Any, name: str) -> Mapping[str, Any]:
    """What `/v1/models` says of a model: its own row in a list of models, or the only row there is."""
    listed = told if isinstance(told, list) else table_of(told).get("data") or table_of(told).get("models")
    rows = [row for row in _list(listed) if isinstance(row, dict)]
    for row in rows:
        instances = [table_of(each).get("id") for each in _list(row.get("loaded_instances"))]
        if _is_named(row, name) or name in instances or name in _list(row.get("aliases")):
            return row
    return rows[0] if len(rows) == 1 else {}


def _is_named(row: Mapping[str, Any], name: str) -> bool:
    # Ollama's names have a tag, `latest` where none is written.
    return any(row.get(key) in (name, f"{name}:latest") for key in ("id", "name", "model", "key"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _running(told: Any, name: str) -> int | None:
    for row in _list(table_of(told).get("models")):
        if isinstance(row, dict) and _is_named(row, name):
            return _tokens(row.get("context_length"))
    return None


_PROBES: tuple[Callable[[Fetch, str, str, str], Iterator[Window]], ...] = (
    _models,
    _props,
    _ollama,
    _lm_studio,
    _single_numbers,
)
