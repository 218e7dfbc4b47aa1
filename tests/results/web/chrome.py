"""What the tests ask a page in a browser."""

import time

from needlework.results.web.app import PARAMETER
from tests.chromium import Page
from tests.results.web.site import TOKEN

_PATIENCE_S = 10.0


class Chrome(Page):
    """A browser with one page open."""

    def __init__(self, driver):
        super().__init__(driver)
        self._known: set[str] = set()

    def open(self, address, *, width=1280, height=900, dark=False):
        """Go to an address, in a window of so many CSS pixels; 320 wide is 1280 at 400 % zoom."""
        self.look(width=width, height=height, dark=dark)
        site = "/".join(address.split("/", 3)[:3])
        if address.startswith("http:") and site not in self._known:
            self._known.add(site)
            self.driver.get(f"{site}/?{PARAMETER}={TOKEN}")  # the address that a server prints
            self.driver.add_cookie({"name": "needlework-name", "value": "Ann"})
        self.driver.get(address)

    def until(self, script, *arguments):
        """Wait until the script gives something, and return it; an `AssertionError` after ten seconds."""
        return patiently(lambda: self.ask(script, *arguments), script)

    def log(self):
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def patiently(look, what):
    """Look until there is something, and return it."""
    end = time.monotonic() + _PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, f"not within {_PATIENCE_S:.0f} s: {what}"
        time.sleep(0.02)
    return found
