"""A real HTTP server on this machine whose answers are planted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What the planted server does with one request. `cut`: close the connection after so many bytes of the body.

    `body`: text, an object, or what makes an object of the request.
    """

    status: int = 200
    body: str | dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    cut: int | None = None
    wait_s: float = 0.0


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    return Answer(status, {"error": {"message": message, **more}}, headers or {})


def good(text: str = "Paris", **message: Any) -> dict[str, Any]:
    """A whole answer."""
    return {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
    }


def events(*chunks: dict[str, Any] | str, done: bool = True) -> Answer:
    """An answer as a stream of events."""
    lines = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * done
    return Answer(body="".join(f"data: {line}\n\n" for line in lines), kind="text/event-stream")


@dataclass
class PlantedServer:
    """A real HTTP server that gives the planted answers one after another, the last one again and again.

    `told`: what it says of itself, by path (an `Answer` or an object); such requests are in `looked_up`, and in none
    of the other lists.
    """

    url: str
    plan: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)

    def plant(self, *answers: Answer | dict[str, Any]) -> None:
        self.plan[:] = [answer if isinstance(answer, Answer) else Answer(body=answer) for answer in answers]


class QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that hang up: a late thread would print it into another test's output."""

    def handle_error(self, *args: Any) -> None:
        pass


@contextmanager
def planted_server() -> Iterator[PlantedServer]:
    """Run one while the block lasts."""
    state = PlantedServer("")
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lock:
                state.looked_up.append(self.path)
                state.headers.append({name.lower(): value for name, value in self.headers.items()})
            found = state.told.get(self.path, Answer(404, {"error": "not here"}))
            self._send(found if isinstance(found, Answer) else Answer(body=found))

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.partition("?")[0].endswith("/completions"):
                self.do_GET()
                return
            with lock:
                state.requests.append(request)
                state.headers.append({name.lower(): value for name, value in self.headers.items()})
                state.paths.append(self.path)
                answer = state.plan.pop(0) if len(state.plan) > 1 else state.plan[0]
            time.sleep(answer.wait_s)
            self._send(answer, request)

        def _send(self, answer: Answer, request: dict[str, Any] | None = None) -> None:
            said = answer.body(request or {}) if callable(answer.body) else answer.body
            body = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(answer.status)
            for name, value in {
                "Content-Type": answer.kind,
                "Content-Length": str(len(body)),
                **answer.headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield state
    server.shutdown()
    server.server_close()
