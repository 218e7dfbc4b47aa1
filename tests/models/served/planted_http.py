"""A real HTTP server on this machine whose answers are planted, and a clock that only sleeping moves."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import HttpAnswer, http_server


def error(status, message):
    return HttpAnswer({"error": {"message": message}}, status)


def good(text="Paris", tokens=7, **more):
    """A whole answer, of a server that counts so many tokens, or none."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens, "completion_tokens": 5}}
    return {"choices": [choice], **usage, **more}


@dataclass
class PlantedServer:
    """A real HTTP server that gives the planted answers one after another, the last one again and again.

    An answer is an `HttpAnswer`, an object, or a function that makes an object of the request's body. `told`: what it
    says of itself, by path; such requests are in `looked_up`, and in none of the other lists.
    """

    url: str
    plan: list[Any] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)

    def plant(self, *answers):
        self.plan[:] = answers


@contextmanager
def planted_server():
    """Run one while the block lasts."""
    state = PlantedServer("")
    lock = threading.Lock()

    def answer(request):
        with lock:
            if not request.path.partition("?")[0].endswith("/completions"):
                state.looked_up.append(request.path)
                reply = state.told.get(request.path, error(404, "not here"))
            else:
                state.requests.append(request.body)
                state.paths.append(request.path)
                reply = state.plan.pop(0) if len(state.plan) > 1 else state.plan[0]
        reply = reply(request.body) if callable(reply) else reply
        return reply if isinstance(reply, HttpAnswer) else HttpAnswer(reply)

    with http_server(answer) as url:
        state.url = f"{url}/v1"
        yield state


class SleptTime:
    """Seconds since it was made, as far as somebody slept them."""

    def __init__(self):
        self.slept = []
        self._lock = threading.Lock()

    def now(self):
        with self._lock:
            return sum(self.slept)

    def sleep(self, seconds):
        with self._lock:
            self.slept.append(seconds)
