"""One request on its way through the server: what was asked and seen, what is said, what goes over the wire."""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from needlework.core.prompts import Message
from needlework.models.tokenizers.tokenizer import Tokenizer

_ONE = (
    (re.compile(r"What (?:is|was) ([^?\n]{3,200})\?"), "en"),
    (re.compile(r"([^。？！，\n]{3,80}?)(?<!分别)是什么？"), "zh"),
)
# `What are the first mark and the last mark of the text?`, `What are the codes for these places: A; B?`
_SEVERAL = (
    (re.compile(r"What are (?:[^?:\n]{3,80}: )?([^?\n]{3,400}?)(?: of the \w+)?\?"), "en"),
    (re.compile(r"([^。？！，\n]{3,200}?)分别是什么？"), "zh"),
)
_REFUSAL = {"en": "I'm sorry, the document does not mention that.", "zh": "抱歉，文档中没有提到这一点。"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was asked and what the prompt says of it; `value` is empty where it says nothing."""

    subject: str
    value: str
    language: str = "en"
    several: bool = False

    @property
    def answer(self):
        """One sentence, as a model would say it."""
        if not self.value:
            return _REFUSAL[self.language]
        if self.several:
            return f"{self.value}."
        if self.language == "zh":
            return f"{self.subject}是{self.value}。"
        return f"{self.subject[:1].upper()}{self.subject[1:]} is {self.value}."

    def answering(self, value):
        """The same sentence with another value; what it would say anyway where it found none."""
        return Reading(self.subject, value, self.language, self.several).answer if self.value else self.answer


def read(prompt):
    """Find the last question (`What is X?`, `What are X and Y?`) and the statements that answer it (`X is V.`)."""
    kinds = [(*row, False) for row in _ONE] + [(*row, True) for row in _SEVERAL]
    asked = [(match, language, many) for pattern, language, many in kinds for match in pattern.finditer(prompt)]
    if not asked:
        return Reading("", "")
    last, language, many = max(asked, key=lambda found: found[0].end())
    subject = " ".join(last[1].split())
    if not many:
        return Reading(subject, _stated(subject, prompt, language), language)
    head, joined, tail = subject.rpartition("的") if language == "zh" else ("", "", subject)
    parts = [f"{head}{joined}{part}" for part in re.split(r"; | and |、|和", tail)]
    values = [_stated(part, prompt, language) for part in parts]
    return Reading(subject, ", ".join(value or "unknown" for value in values) if any(values) else "", language, True)


def _stated(subject, prompt, language):
    words = r"\s+".join(re.escape(word) for word in subject.split())
    if language == "zh":
        says = rf"{words}是(.+?)[。\n]"
    else:
        says = rf"{words}(?:\s+of\s+this\s+\w+)?\s+is\s+(.+?)(?:[.!](?:\s|$)|\n|$)"
    stated = re.search(says, prompt, re.IGNORECASE)
    return stated[1].strip() if stated else ""


@dataclass(slots=True)
class Seen:
    """What the server did with one prompt: how often it came, and whether the fault changed anything that time."""

    requests: int = 0
    touched: bool = False
    hasty: int = 0


@dataclass(slots=True)
class Session:
    """What a server with one fault remembers.

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

    def send(self, handler):
        """Write it to the connection of a `BaseHTTPRequestHandler`."""
        handler.close_connection = self.cut
        time.sleep(self.wait_s)
        if self.cut and not self.pieces:
            return
        is_stream = self.kind == EVENTS
        handler.send_response(self.status)
        size = {"Transfer-Encoding": "chunked"} if is_stream else {"Content-Length": str(sum(map(len, self.pieces)))}
        for name, value in {"Content-Type": self.kind, **self.headers, **size}.items():
            handler.send_header(name, value)
        if self.drip_s:
            head, handler._headers_buffer = b"".join(handler._headers_buffer), []
            for byte in head:
                handler.wfile.write(bytes([byte]))
                time.sleep(self.drip_s)
        handler.end_headers()
        for piece in self._first_half() if self.cut else self.pieces:
            time.sleep(self.pause_s)
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_stream else piece)
        if is_stream and not self.cut:
            handler.wfile.write(b"0\r\n\r\n")

    def _first_half(self):
        if len(self.pieces) == 1:
            return (self.pieces[0][: len(self.pieces[0]) // 2],)
        return self.pieces[: len(self.pieces) // 2]


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


MODEL = "oracle"
EVENTS = "text/event-stream"


def body(said, name, *, chat):
    """The answer as one JSON object; `name` is its id."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": said.finish, "logprobs": None}
    if chat:
        reasoning = {} if said.reasoning is None else {"reasoning_content": said.reasoning}
        choice["message"] = {"role": "assistant", "content": said.content, **reasoning, **said.message}
    else:
        choice["text"] = said.content
    kind = "chat.completion" if chat else "text_completion"
    answer = {**_head(name, kind), "choices": [choice]}
    return as_json(answer if said.usage is None else {**answer, "usage": said.usage})


def events(said, name, *, chat, counted):
    """The answer as server-sent events, a word at a time; `counted`: whether `usage` comes in a last event."""
    kind = "chat.completion.chunk" if chat else "text_completion"
    chunks: list[dict[str, Any]] = []
    if chat:
        chunks.append({"delta": {"role": "assistant", **said.message}})
        if said.reasoning is not None:
            chunks += [{"delta": {"reasoning_content": word}} for word in words(said.reasoning)]
    parts = words(said.content) if isinstance(said.content, str) else [said.content]
    chunks += [{"delta": {"content": part}} if chat else {"text": part} for part in parts]
    chunks.append({"delta": {}, "finish_reason": said.finish} if chat else {"text": "", "finish_reason": said.finish})
    made = [
        {**_head(name, kind), "choices": [{"index": 0, "logprobs": None, "finish_reason": None, **chunk}]}
        for chunk in chunks
    ]
    if counted and said.usage is not None:
        made.append({**_head(name, kind), "choices": [], "usage": said.usage})
    return Wire((*(event(chunk) for chunk in made), b"data: [DONE]\n\n"), kind=EVENTS)


def words(text):
    """A text in pieces as a tokenizer would give them; together they are the text."""
    return re.findall(r"\s*\S{1,8}|\s+$", text)


def event(data):
    """One server-sent event."""
    return b"data: " + _dumped(data) + b"\n\n"


def as_json(data, status=200, **headers):
    """A JSON body."""
    return Wire((_dumped(data),), status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def error(status, message, code=None, **headers):
    """An error as OpenAI's own API words it."""
    return as_json({"error": {"message": message, "type": "error", "param": None, "code": code}}, status, **headers)


def page(status, title):
    """A proxy's HTML page."""
    html = f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return Wire((html.encode(),), status, "text/html")


def _head(name, kind):
    return {"id": name, "object": kind, "created": 1, "model": MODEL}


def _dumped(data):
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


def turn_of(request, *, chat, session, tokenizer):
    """Read a request's body. Raises `KeyError` or `TypeError` for what is none."""
    budget = request.get("max_completion_tokens") or request.get("max_tokens") or 256
    return Turn(
        session=session,
        tokenizer=tokenizer,
        chat=chat,
        stream=bool(request.get("stream")),
        budget=int(budget),
        messages=tuple(Message(row["role"], row["content"]) for row in request["messages"]) if chat else (),
        raw="" if chat else request["prompt"],
    )


def respond(turn, behaviour, *, count_in_stream):
    """Answer one request and note what was done to it. `count_in_stream`: the client wants `usage` in its stream."""
    with turn.session.lock:
        seen = turn.session.seen.setdefault(turn.sha, Seen())
        seen.requests += 1
        turn.attempt = seen.requests
    refused = behaviour.admit(turn) if behaviour.admit else None
    if refused is not None:
        seen.touched = True
        return refused
    taken = behaviour.take(turn.messages) if behaviour.take else turn.messages
    bos = () if turn.chat else turn.tokenizer.bos
    whole = (*bos, *(int(each) for each in turn.tokenizer.encode(turn.rendered(taken)).ids))
    turn.ids = behaviour.see(whole, turn) if behaviour.see else whole
    turn.reading = read(turn.tokenizer.decode(turn.ids))
    honest = _said(turn)
    said = behaviour.say(honest, turn) if behaviour.say else honest
    name = f"cmpl-{turn.sha[:12]}-{turn.attempt}"
    if turn.stream:
        plain = events(said, name, chat=turn.chat, counted=count_in_stream)
    else:
        plain = body(said, name, chat=turn.chat)
    sent = behaviour.send(plain, turn) if behaviour.send else plain
    seen.touched |= taken != turn.messages or turn.ids != whole or _unlike(said, honest) or sent != plain
    return sent


def _said(turn):
    text, finish = turn.reading.answer, "stop"
    ids = turn.tokenizer.encode(text).ids
    if len(ids) > turn.budget:
        text, finish = turn.tokenizer.decode([int(each) for each in ids[: turn.budget]]), "length"
    return Said(text, finish, usage(len(turn.ids), min(len(ids), turn.budget)))


def usage(prompt, completion):
    """Token counts as the API words them."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _unlike(said, honest):
    # By text: a NaN is unlike itself.
    return json.dumps(asdict(said), default=repr) != json.dumps(asdict(honest), default=repr)
