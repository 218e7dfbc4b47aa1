"""A real browser: Debian's `chromium` and `chromium-driver`, driven by selenium."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.chromium import chromium_driver
from tests.results.html.browser import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser that shows the pages it is given; skips where there is none."""
    folder = tmp_path_factory.mktemp("page")
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):  # noqa: A002
            asked.append(self.path)

        def end_headers(self):
            self.send_header("Cache-Control", "no-store")  # the tests write one page after another to one address
            super().end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium_driver(tmp_path_factory.mktemp("profile")) as driver:
            yield Browser(driver, folder, f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        server.server_close()
