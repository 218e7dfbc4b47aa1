"""A real browser: Debian's chromium and chromium-driver, driven by selenium."""

import pytest

from tests.chromium import Page, chromium_driver
from tests.loopback import HttpAnswer, http_server


class Browser(Page):
    """A page in a browser, and what the tests ask it."""

    def __init__(self, driver):
        super().__init__(driver)
        self.text, self.address, self.requests = "", "", []
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})  # whatever window has it

    def answer(self, request):
        self.requests.append(request.path)
        # The tests write one page after another to one address.
        return HttpAnswer(self.text, kind="text/html", headers={"Cache-Control": "no-store"})

    def show(self, text, *, width=1280, dark=False, media="", unfold=True):
        """Open a page, wait until it has unpacked its trials, and `unfold` what is closed."""
        self.text = text
        self.requests.clear()
        self.look(width=width, dark=dark, media=media)
        self.driver.get("about:blank")  # a click of the last page may still rest over a cell
        self.driver.get_log("browser")
        self.driver.get(f"{self.address}/report.html")
        self.driver.set_script_timeout(120)
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
    with chromium_driver(tmp_path_factory.mktemp("profile")) as driver:
        browser = Browser(driver)
        with http_server(browser.answer) as browser.address:
            yield browser
