"""An HTTP server on this machine whose answers are a function of its requests."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class HttpRequest:
    """One request; names of `headers` in lower case, `data` is empty for GET."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes = b""

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


@contextmanager
def http_server(answer):
    """Run one while the block lasts; the value is its address without a path. `answer` is called in many threads."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            headers = {name.lower(): value for name, value in self.headers.items()}
            data = self.rfile.read(int(headers.get("content-length", 0)))
            reply = answer(HttpRequest(self.command, self.path, headers, data))
            try:
                self.send_response(reply.status)
                fields = {"Content-Type": reply.kind, "Content-Length": str(len(reply.data)), **reply.headers}
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.data)
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

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
