"""What the tests ask a page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip


class Browser:
    """A page in a browser, and what the tests ask it."""

    def __init__(self, driver: Any, folder: Path, address: str, requests: list[str]) -> None:
        self.driver = driver
        self._folder = folder
        self._address = address
        self.requests = requests

    def show(self, text: str, *, width: int = 1280, dark: bool = False, media: str = "") -> None:
        """Open a page, and wait until it has unpacked its trials."""
        (self._folder / "report.html").write_text(text, encoding="utf-8")
        self.requests.clear()
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        self.driver.get("about:blank")  # a click of the last page may still rest over a cell
        self.driver.get_log("browser")
        self.driver.get(f"{self._address}/report.html")
        self.driver.set_script_timeout(30)
        self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            const look = () => document.querySelector("html:not(.js), html.unpacked") ? done() : setTimeout(look, 5);
            look();
        """)

    def ask(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        return list(self.ask("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector))

    def click(self, selector: str, number: int = 0) -> None:
        self.driver.find_elements("css selector", selector)[number].click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def color(self, selector: str) -> str:
        return str(self.ask("return getComputedStyle(document.querySelector(arguments[0])).backgroundColor", selector))

    def focused(self) -> tuple[int, int]:
        """Column and row of the cell that has the focus."""
        column, row = self.ask("const a = document.activeElement; return [a.cellIndex, a.parentElement.rowIndex]")
        return column, row
