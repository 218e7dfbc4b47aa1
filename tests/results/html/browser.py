"""What the tests ask a page in a browser."""

from tests.chromium import Page


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
