"""An OpenAI-compatible server of ours that reads its prompts honestly and has one planted fault.

    python -m tests.faults.server --list
    python -m tests.faults.server --fault truncates_head --port 8000

It answers at `/v1` with the fault it was started with, and at `/FAULT/v1` and `/FAULT/SESSION/v1` with any other; a
session is a client with a memory of its own.
"""

import argparse
import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from needlework.core.files import default_cache_dir
from needlework.models.specs import resolve_tokenizer
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.faults import turns
from tests.faults.catalogue import CATALOGUE, HONEST
from tests.faults.turns import Seen, Session, respond, turn_of

TOKENIZER = "tiktoken:cl100k_base"
_POSTS = {"v1/chat/completions": True, "v1/completions": False}


@dataclass(slots=True)
class Desk:
    """What all requests share. `broken`: faults of the bench itself, which are never part of a fault."""

    tokenizer: Tokenizer
    default: str
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    broken: list[str] = field(default_factory=list)
    url: str = ""

    def session(self, fault, name):
        """The memory of one client with one fault."""
        return self.sessions.setdefault((fault, name), Session())

    def base_url(self, fault, session):
        """Where a client finds a fault."""
        return f"{self.url}/{fault}/{session}/v1"

    def find(self, path):
        """(fault, session, what is asked) of a path such as `/FAULT/SESSION/v1/models`."""
        parts = path.partition("?")[0].strip("/").split("/")
        fault = parts.pop(0) if parts[0] in CATALOGUE else self.default
        known = ("v1", "props", "api", "health", "tokenize", "")
        session = parts.pop(0) if parts and parts[0] not in known else "default"
        return fault, session, "/".join(parts)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    desk: Desk
    _used = False

    def do_GET(self):
        fault, _, asked = self.desk.find(self.path)
        behaviour = CATALOGUE[fault].behaviour
        if behaviour.everywhere is not None:
            self._send(behaviour.everywhere)
        elif asked in ("v1/models", f"v1/models/{turns.MODEL}"):
            row: dict[str, Any] = {"id": turns.MODEL, "object": "model", "owned_by": "tests"}
            if behaviour.window is not None:
                row["max_model_len"] = behaviour.window
            self._send(turns.as_json(row if asked != "v1/models" else {"object": "list", "data": [row]}))
        else:
            self._send(turns.error(404, f"no such path: {self.path}"))

    def do_POST(self):
        fault, session, asked = self.desk.find(self.path)
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        behaviour = CATALOGUE[fault].behaviour
        if asked not in _POSTS:
            self._send(turns.error(404, f"no such path: {self.path}"))
            return
        try:
            request = json.loads(sent)
            memory = self.desk.session(fault, session)
            turn = turn_of(request, chat=_POSTS[asked], session=memory, tokenizer=self.desk.tokenizer)
        except (ValueError, KeyError, TypeError) as error:
            self._send(turns.error(400, f"not a request: {error}"))
            return
        if behaviour.closes_reused and self._used:
            memory.seen.setdefault(turn.sha, Seen()).touched = True
            self.close_connection = True
            return
        self._used = True
        wanted = (request.get("stream_options") or {}).get("include_usage") is True
        try:
            answer = behaviour.everywhere or respond(turn, behaviour, count_in_stream=wanted)
        except Exception as error:  # noqa: BLE001 - told at the end of the bench, never mistaken for a planted fault
            self.desk.broken.append(f"{fault}: {type(error).__name__}: {error}")
            answer = turns.error(500, "the bench itself failed")
        self._send(answer)

    def _send(self, answer):
        if self.desk.closing.wait(answer.wait_s):
            self.close_connection = True
            return
        if answer.cut and not answer.pieces:
            self.close_connection = True
            return
        chunked = answer.kind == turns.EVENTS
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        size = sum(map(len, answer.pieces))
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(size))))
        try:
            self._drip(answer.drip_s)
            self.end_headers()
            for piece in _first_half(answer.pieces) if answer.cut else answer.pieces:
                if answer.pause_s and self.desk.closing.wait(answer.pause_s):
                    break
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if chunked and not answer.cut:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True  # the client has given up
        if answer.cut:
            self.close_connection = True

    def _drip(self, pause_s):
        """Send what there is of the head a byte at a time."""
        head, self._headers_buffer = (b"".join(self._headers_buffer), []) if pause_s else (b"", self._headers_buffer)
        for byte in head:
            self.wfile.write(bytes([byte]))
            if self.desk.closing.wait(pause_s):
                break

    def log_message(self, *args):
        """Say nothing: the bench prints a table."""


def _first_half(pieces):
    if len(pieces) == 1:
        return (pieces[0][: len(pieces[0]) // 2],)
    return pieces[: len(pieces) // 2]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """A client that went away is part of the bench; anything else is told as usual."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def running(default=HONEST, *, port=0, tokenizer=TOKENIZER):
    """A server on 127.0.0.1 while the block lasts; its threads do the work."""
    desk = Desk(resolve_tokenizer("mock:perfect", {}, tokenizer, default_cache_dir()), default)
    server = _Server(("127.0.0.1", port), type("BoundHandler", (Handler,), {"desk": desk}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    desk.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield desk
    finally:
        desk.closing.set()
        server.shutdown()
        server.server_close()


def main(argv=None):
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.server", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fault", default=HONEST, choices=list(CATALOGUE), metavar="NAME", help="see --list")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--tokenizer", default=TOKENIZER, help="what counts: tiktoken:NAME, smollm2, a folder")
    parser.add_argument("--list", action="store_true", help="print every fault and stop")
    given = parser.parse_args(argv)
    if given.list:
        for fault in CATALOGUE.values():
            print(f"{fault.number or '':>3} {fault.name:28} {fault.met}")
        return
    with running(given.fault, port=given.port, tokenizer=given.tokenizer) as desk:
        print(f"{desk.url}/v1", flush=True)
        try:
            desk.closing.wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
