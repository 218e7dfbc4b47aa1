"""Debian's `chromium`, driven by selenium: opened, and what all tests ask a page in it."""

import shutil
from contextlib import contextmanager
from typing import Any

import pytest

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def chromium_driver(profile):
    """A driver with a profile of its own; skips where there is no browser."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install -e '.[dev]')")
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path):
        pytest.skip("needs Debian's chromium and chromium-driver (apt-get install them)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver: Any = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """A page in a browser."""

    def __init__(self, driver):
        self.driver = driver

    def look(self, *, width=1280, height=900, dark=False, media=""):
        """Make the window so many CSS pixels; 320 wide is 1280 at 400 % zoom."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector):
        return list(self.ask("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector))

    def click(self, selector, number=0):
        self.driver.find_elements("css selector", selector)[number].click()

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
