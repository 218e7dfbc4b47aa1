"""An OpenAI-compatible server of ours that reads its prompts honestly and has one planted fault.

    python -m tests.faults.server --list
    python -m tests.faults.server --fault truncates_head --port 8000

It answers at `/v1` with the fault it was started with, and at `/FAULT/v1` with any other.
"""

import argparse
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from needlework.models.tokenizers.tokenizer import Tokenizer, load_tokenizer
from tests.faults import turns
from tests.faults.catalogue import CATALOGUE, HONEST
from tests.faults.turns import Seen, Session, Wire, respond, turn_of
from tests.loopback import http_server

TOKENIZER = "tiktoken:cl100k_base"
_POSTS = {"v1/chat/completions": True, "v1/completions": False}


@dataclass(slots=True)
class Desk:
    """What all requests share. `broken`: faults of the bench itself, which are never part of a fault."""

    tokenizer: Tokenizer
    default: str
    sessions: dict[str, Session] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    url: str = ""

    def session(self, fault):
        """What a server with this fault remembers."""
        return self.sessions.setdefault(fault, Session())

    def base_url(self, fault):
        """Where a client finds a fault."""
        return f"{self.url}/{fault}/v1"

    def answer(self, request):
        """What goes out for a request, to a path such as `/FAULT/v1/models`."""
        fault, _, path = request.path.partition("?")[0].strip("/").partition("/")
        if fault not in CATALOGUE:
            fault, path = self.default, f"{fault}/{path}"
        behaviour = CATALOGUE[fault].behaviour
        if behaviour.everywhere is not None:
            return behaviour.everywhere
        if request.method == "GET" and path in ("v1/models", f"v1/models/{turns.MODEL}"):
            row: dict[str, Any] = {"id": turns.MODEL, "object": "model", "owned_by": "tests"}
            if behaviour.window is not None:
                row["max_model_len"] = behaviour.window
            return turns.as_json(row if path != "v1/models" else {"object": "list", "data": [row]})
        if request.method == "GET" or path not in _POSTS:
            return turns.error(404, f"no such path: {request.path}")
        memory = self.session(fault)
        try:
            turn = turn_of(request.body, chat=_POSTS[path], session=memory, tokenizer=self.tokenizer)
        except (ValueError, KeyError, TypeError) as error:
            return turns.error(400, f"not a request: {error}")
        if behaviour.closes_reused and request.is_reused:
            memory.seen.setdefault(turn.sha, Seen()).touched = True
            return Wire((), cut=True)
        is_counted = (request.body.get("stream_options") or {}).get("include_usage") is True
        try:
            return respond(turn, behaviour, count_in_stream=is_counted)
        except Exception as error:  # noqa: BLE001 - told at the end of the bench, never mistaken for a planted fault
            self.broken.append(f"{fault}: {type(error).__name__}: {error}")
            return turns.error(500, "the bench itself failed")


@contextmanager
def running(default=HONEST, *, port=0):
    """A server on 127.0.0.1 while the block lasts; its threads do the work."""
    desk = Desk(load_tokenizer(TOKENIZER), default)
    with http_server(desk.answer, port=port) as desk.url:
        yield desk


def main(argv=None):
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.server", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fault", default=HONEST, choices=list(CATALOGUE), metavar="NAME", help="see --list")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--list", action="store_true", help="print every fault and stop")
    given = parser.parse_args(argv)
    if given.list:
        for fault in CATALOGUE.values():
            print(f"{fault.number or '':>3} {fault.name:28} {fault.met}")
        return
    with running(given.fault, port=given.port) as desk:
        print(f"{desk.url}/v1", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
