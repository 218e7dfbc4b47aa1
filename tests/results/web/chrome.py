"""What the tests ask a page in a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
_PATIENCE_S = 10.0


class Chrome:
    """A browser with one page open."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Go to an address, in a window of so many CSS pixels; 320 wide is 1280 at 400 % zoom."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(address)

    def ask(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        return list(self.ask("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector))

    def click(self, selector: str, number: int = 0) -> None:
        self.driver.find_elements("css selector", selector)[number].click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def until(self, script: str, *arguments: object) -> Any:
        """Wait until the script gives something, and return it; an `AssertionError` after ten seconds."""
        return patiently(lambda: self.ask(script, *arguments), script)

    def log(self) -> list[str]:
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def picture(self, path: Path) -> None:
        """Save what the window shows as PNG."""
        path.write_bytes(self.driver.get_screenshot_as_png())


def patiently(look: Callable[[], Any], what: str) -> Any:
    """Look until there is something, and return it."""
    end = time.monotonic() + _PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, f"not within {_PATIENCE_S:.0f} s: {what}"
        time.sleep(0.02)
    return found
