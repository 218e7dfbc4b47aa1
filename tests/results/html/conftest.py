"""A real browser: Debian's chromium and chromium-driver, driven by selenium."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.chromium import Page, chromium_driver


class Browser(Page):
    """A page in a browser, and what the tests ask it."""

    def __init__(self, driver, folder, address, requests):
        super().__init__(driver)
        self._folder = folder
        self._address = address
        self.requests = requests

    def show(self, text, *, width=1280, dark=False, media="", unfold=True):
        """Open a page, wait until it has unpacked its trials, and `unfold` what is closed."""
        (self._folder / "report.html").write_text(text, encoding="utf-8")
        self.requests.clear()
        self.look(width=width, dark=dark, media=media)
        self.driver.get("about:blank")  # a click of the last page may still rest over a cell
        self.driver.get_log("browser")
        self.driver.get(f"{self._address}/report.html")
        self.driver.set_script_timeout(30)
        self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            const look = () => document.querySelector("html:not(.js), html.unpacked") ? done() : setTimeout(look, 5);
            look();
        """)
        if unfold:
            self.ask("document.querySelectorAll('details.more').forEach(part => { part.open = true; })")

    def color(self, selector):
        return str(self.ask("return getComputedStyle(document.querySelector(arguments[0])).backgroundColor", selector))

    def focused(self):
        """Column and row of the cell that has the focus."""
        column, row = self.ask("const a = document.activeElement; return [a.cellIndex, a.parentElement.rowIndex]")
        return column, row


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
