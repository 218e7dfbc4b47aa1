"""Servers on this machine: any HTTP server, and OpenAI-compatible ones that say whatever a test wants."""

import json
import random
import re
import socket
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from needlework.models.served.calibration import FILLER
from needlework.models.tokenizers.tokenizer import load_tokenizer


@dataclass(frozen=True)
class HttpRequest:
    """One request; names of `headers` in lower case, `data` is empty for GET."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes = b""
    is_reused: bool = False
    """Whether its connection has had a POST before."""

    @property
    def body(self):
        return json.loads(self.data or b"{}")


@dataclass(frozen=True)
class HttpAnswer:
    """What goes out; `body` is text, bytes or an object."""

    body: Any = b""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def data(self):
        text = self.body if isinstance(self.body, str | bytes) else json.dumps(self.body)
        return text.encode() if isinstance(text, str) else text

    def send(self, handler):
        """Write it to the connection of a `BaseHTTPRequestHandler`."""
        handler.send_response(self.status)
        fields = {"Content-Type": self.kind, "Content-Length": str(len(self.data)), **self.headers}
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.data)


def kept_port():
    """A free port for a server that ends and comes back: systems give higher ones to whoever asks for any."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return probe.getsockname()[1]


@contextmanager
def http_server(answer, *, port=0):
    """Run one while the block lasts; the value is its address without a path. `answer` is called in many threads."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        is_reused = False

        def do_GET(self):
            headers = {name.lower(): value for name, value in self.headers.items()}
            data = self.rfile.read(int(headers.get("content-length", 0)))
            request = HttpRequest(self.command, self.path, headers, data, self.is_reused)
            self.is_reused |= self.command == "POST"
            try:
                answer(request).send(self)
            except OSError:
                self.close_connection = True

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

        def handle_error(self, *args):
            """Say nothing of clients that hang up: a late thread would print it into another test's output."""

    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


_NEEDLE = re.compile(r"The \w+ code for (.+?) is (\d{7})\.")


@dataclass(frozen=True)
class Asked:
    """One request: its prompt as one text, its header fields in lower case, its body, its path."""

    prompt: str
    headers: dict[str, str]
    body: dict[str, Any]
    path: str

    @property
    def value(self):
        """The needle's value, if the prompt has a needle of ours."""
        found = _NEEDLE.search(self.prompt)
        return found[2] if found else ""

    @property
    def is_trial(self):
        """Whether it is a cell's prompt: not a short request of the calibration, nor a question about the server."""
        return bool(self.value) and FILLER not in self.prompt


@dataclass(frozen=True)
class Said:
    """What the server says: `text` in a whole answer, or `raw` bytes as they are."""

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    raw: bytes | None = None
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    tokens: int | None = None  # of the prompt, as `usage` tells them; counted where this is `None`
    message: dict[str, Any] = field(default_factory=dict)  # further fields of the message, beside its text
    fields: dict[str, Any] = field(default_factory=dict)  # further fields of the whole answer


def honest(asked):
    """The right answer."""
    return Said(f"The code is {asked.value}." if asked.value else "OK.")


def mixed(asked):
    """Right, wrong, refused, empty or cut off, as the prompt's hash says: the same for the same prompt."""
    kind = int(sha256(asked.prompt.encode()).hexdigest()[:4], 16) % 10
    if not asked.value or kind < 6:
        return honest(asked)
    return (
        Said("It is 1234."),
        Said("I'm sorry, but I can't help with that."),
        Said(""),
        Said("Well,", finish_reason="length"),
    )[kind - 6]


@dataclass
class Loopback:
    """The running server. `asked`: how often each prompt with a needle came, by its sha256.

    `say` gives a `Said`, an `HttpAnswer`, or an object. `told`: what the server says of itself, by path; such requests
    are in `looked_up`, and in none of the other lists.
    """

    url: str = ""
    say: Callable[[Asked], Said] = honest
    latency_s: tuple[float, float] = (0.0, 0.0)
    asked: Counter[str] = field(default_factory=Counter)
    requests: list[Asked] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def plant(self, *answers):
        """Give these answers one after another, the last one again and again; functions make them of a body."""
        coming = list(answers)

        def say(asked):
            with self.changed:
                answer = coming.pop(0) if len(coming) > 1 else coming[0]
            return answer(asked.body) if callable(answer) else answer

        self.say = say

    def wait_for(self, requests, timeout_s):
        """Wait until so many trials have been asked, in all."""
        with self.changed:
            return self.changed.wait_for(lambda: self.asked.total() >= requests, timeout_s)


@contextmanager
def loopback(say=honest, latency_s=(0.0, 0.0)):
    """Run one while the block lasts. `latency_s`: each answer takes a random time between the two."""
    state = Loopback(say=say, latency_s=latency_s)
    tokenizer = load_tokenizer("tiktoken:cl100k_base")
    chance = random.Random(0)

    def answer(request):
        path = request.path.partition("?")[0]
        if not path.endswith(("/completions", "/embeddings")):
            with state.changed:
                state.looked_up.append(path)
            told = state.told.get(path, error(404, "not here"))
            return told if isinstance(told, HttpAnswer) else HttpAnswer(told)
        body = request.body
        prompt = body.get("prompt") or "\n\n".join(each["content"] for each in body.get("messages", ()))
        asked = Asked(prompt, request.headers, body, request.path)
        key = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
        with state.changed:
            if asked.is_trial:
                state.asked[key] += 1
            state.in_flight += 1
            state.most_in_flight = max(state.most_in_flight, state.in_flight)
            state.requests.append(asked)
            state.changed.notify_all()
        time.sleep(chance.uniform(*state.latency_s))
        try:
            said = state.say(asked)
        finally:
            with state.changed:
                state.in_flight -= 1
        if not isinstance(said, Said):
            return said if isinstance(said, HttpAnswer) else HttpAnswer(said)
        if said.raw is None:
            said = _whole(said, "prompt" in body, said.tokens or len(tokenizer.encode(prompt).ids))
        return HttpAnswer(said.raw, said.status, said.kind, said.headers)

    with http_server(answer) as url:
        state.url = f"{url}/v1"
        yield state


def _whole(said, raw_template, tokens):
    choice: dict[str, Any] = {"index": 0, "finish_reason": said.finish_reason}
    message = {"role": "assistant", "content": said.text, **said.message}
    choice |= {"text": said.text} if raw_template else {"message": message}
    usage = {"prompt_tokens": tokens, "completion_tokens": max(1, len(said.text) // 4)}
    body = json.dumps({"choices": [choice], "usage": usage, **said.fields}).encode()
    return Said(raw=body, status=said.status, headers=said.headers)


def error(status, message):
    return HttpAnswer({"error": {"message": message}}, status)


def good(text="Paris", tokens=7, **more):
    """A whole answer, of a server that counts so many tokens, or none."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens, "completion_tokens": 5}}
    return {"choices": [choice], **usage, **more}


def word_counts(text, size=64):
    """A vector of how often each word stands in a text, by the word's hash: texts with the same words are near."""
    counts = [0.0] * size
    for word in text.lower().replace("?", " ").replace(".", " ").split():
        counts[zlib.crc32(word.encode()) % size] += 1.0
    return counts


def embeddings(asked):
    """What an embeddings endpoint says: a vector for each text, in another order than they were asked."""
    rows = [{"index": at, "embedding": word_counts(text)} for at, text in enumerate(asked.body["input"])]
    return Said(raw=json.dumps({"object": "list", "data": rows[::-1]}).encode())
