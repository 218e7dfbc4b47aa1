"""`report.html` in a real browser: Debian's `chromium` and `chromium-driver`, driven by selenium."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from results.html_report import write_html
from results.records import Record
from results.summary import OUTCOMES

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install -e '.[dev]')")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Debian's chromium and chromium-driver (apt-get install them)"
)

MakeRecord = Callable[..., Record]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
PLANTED = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>\x1b[31m 你好 \u202eabc"
SHOWN = (
    "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>⟨U+001B⟩[31m 你好 ⟨U+202E⟩abc"
)
CELLS = "table.heat tbody td"


class Browser:
    """A page in a browser, and what the tests ask it."""

    def __init__(self, driver: Any, folder: Path, address: str, requests: list[str]) -> None:
        self.driver = driver
        self._folder = folder
        self._address = address
        self.requests = requests

    def show(self, records: list[Record], *, width: int = 1280, dark: bool = False, media: str = "") -> None:
        write_html(self._folder / "report.html", records, title="A run", statistics=["effective length 4k"])
        self.requests.clear()
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        self.driver.get("about:blank")  # a click of the last page may still rest over a cell
        self.driver.get_log("browser")
        self.driver.get(f"{self._address}/report.html")

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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("page")
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            asked.append(self.path)

        def end_headers(self) -> None:
            self.send_header("Cache-Control", "no-store")  # the tests write one page after another to one address
            super().end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield Browser(driver, folder, f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        driver.quit()
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def records(make_record: MakeRecord) -> list[Record]:
    """4 lengths x 3 depths x 2 trials of one panel, every outcome, and one more panel."""
    made = []
    for column, length in enumerate((1000, 2000, 4000, 8000)):
        for row, depth in enumerate((0.0, 50.0, 100.0)):
            outcome = OUTCOMES[(column * 3 + row) % len(OUTCOMES)]
            text = PLANTED if (column, row) == (0, 0) else f"answer {column} {row}"
            made += [
                make_record(
                    length=length,
                    depth=depth,
                    repeat=repeat,
                    outcome=outcome,
                    response={"text": text},
                    prompt={"tokens": 980, "slack": 1, "sha256": "f" * 64},
                )
                for repeat in range(2)
            ]
    return [*made, make_record(model="通义千问", needle="实习地点", response={"text": PLANTED})]


def test_it_loads_silently_and_alone(browser: Browser, records: list[Record]) -> None:
    browser.show(records)

    assert browser.driver.get_log("browser") == []
    assert browser.requests == ["/report.html"]
    assert browser.ask("return performance.getEntriesByType('resource').length") == 0
    assert browser.driver.title == "A run"
    assert browser.ask("return document.querySelectorAll('table.heat[role=grid]').length") == 2
    assert len(browser.texts(CELLS)) == 12 + 1
    assert len(browser.texts(".chart svg")) == 2


def test_nothing_but_our_own_script_runs(browser: Browser, records: list[Record]) -> None:
    browser.show(records)
    browser.ask("""
        const script = document.createElement('script');
        script.textContent = "document.title = 'pwned'";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', `<img src=x onerror="document.title='pwned'">`);
    """)

    assert browser.driver.title == "A run"
    assert browser.requests == ["/report.html"]


def test_a_click_shows_what_the_model_said_and_nothing_of_it_runs(browser: Browser, records: list[Record]) -> None:
    browser.show(records)
    browser.click(CELLS)

    assert browser.texts("#pane article pre")[:2] == [SHOWN, "4711"]
    assert browser.ask("return document.querySelectorAll('#pane img, #pane script').length") == 0
    pane = browser.texts("#pane-body")[0]
    for fact in ("What is the code?", "4711", "match version 1", "f" * 64, "0.250 s", "Trial 1", "found"):
        assert fact in pane
    assert "length 1,000 · depth 0 %" in browser.texts("#pane-title")[0]
    assert browser.driver.title == "A run"
    assert browser.requests == ["/report.html"]
    assert browser.driver.get_log("browser") == []
    browser.click("#pane-close")
    assert browser.ask("return document.querySelector('#pane').hidden")


def test_everything_works_from_the_keyboard(browser: Browser, records: list[Record]) -> None:
    browser.show(records)
    browser.ask("document.querySelector('table.heat td[tabindex=\"0\"]').focus()")
    left, right, up, down, home, end, enter, escape = (
        "\ue012", "\ue014", "\ue013", "\ue015", "\ue011", "\ue010", "\ue007", "\ue00c",
    )  # fmt: skip

    assert browser.focused() == (1, 2)
    browser.press(right, down, down, down)
    assert browser.focused() == (2, 4)
    browser.press(end)
    assert browser.focused() == (4, 4)
    browser.press(right, up, left, home, left)
    assert browser.focused() == (1, 3)
    browser.press(up, up, up)
    assert browser.focused() == (1, 1)  # the means
    browser.press(enter)
    assert browser.ask("return document.querySelector('#pane').hidden")
    browser.press(down)
    assert "score 100 % (95 % interval" in browser.texts("#tip")[0]
    assert "length 1,000, " not in browser.ask("return document.activeElement.ariaLabel")
    assert "length 1,000 · depth 0 %" in browser.ask("return document.activeElement.ariaLabel")
    assert browser.ask("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press(enter)
    assert browser.ask("return document.activeElement.id") == "pane-title"
    browser.press(escape)
    assert browser.ask("return document.querySelector('#pane').hidden")
    assert browser.focused() == (1, 2)
    assert browser.ask("return document.querySelectorAll('table.heat td[tabindex]').length") == 2


def test_the_tooltip_follows_the_pointer(browser: Browser, records: list[Record]) -> None:
    browser.show(records)
    cell = browser.driver.find_elements("css selector", CELLS)[5]
    webdriver.ActionChains(browser.driver).move_to_element(cell).perform()

    tip = browser.texts("#tip")[0]
    assert browser.ask("return !document.querySelector('#tip').hidden")
    assert "length 2,000 · depth 50 %" in tip
    assert "2 " in tip


def test_filters_hide_panels_and_dim_cells(browser: Browser, records: list[Record]) -> None:
    browser.show(records)
    choose = """
        const select = document.querySelector(arguments[0]);
        select.value = arguments[1];
        select.dispatchEvent(new Event('change'));
    """
    shown = "return [...document.querySelectorAll('section.panel')].filter(e => !e.hidden).length"
    browser.ask(choose, "#filter-model", "通义千问")
    assert browser.ask(shown) == 1
    assert browser.texts("#filtered") == ["1 of 2 panels"]
    browser.ask(choose, "#filter-model", "")
    browser.ask(choose, "#filter-outcome", "wrong")

    assert browser.ask(shown) == 2
    assert browser.texts("#filtered") == ["2 of 2 panels, 1 cell with a trial that is wrong"]
    assert len(browser.texts(f"{CELLS}.dim")) == 12


def test_dark_and_light_and_print(browser: Browser, records: list[Record]) -> None:
    browser.show(records, dark=True)
    assert browser.color("body") == "rgb(20, 22, 26)"
    score = browser.color("td.c100")
    browser.show(records)
    assert browser.color("body") == "rgb(255, 255, 255)"
    assert browser.color("td.c100") == score == "rgb(253, 231, 37)"
    browser.click(CELLS)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    seen = "return arguments[0].map(s => getComputedStyle(document.querySelector(s)).display)"
    assert browser.ask(seen, ["#pane", "#filters", ".heat", ".chart"]) == ["none", "none", "table", "block"]
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")


@pytest.mark.parametrize("width", [320, 400, 1280])
@pytest.mark.parametrize(("columns", "rows"), [(35, 35), (100, 20)])
def test_wide_grids_scroll_inside_their_box(
    browser: Browser, make_record: MakeRecord, width: int, columns: int, rows: int
) -> None:
    many = [
        make_record(length=1000 * c + 1000, depth=100 * r / (rows - 1)) for c in range(columns) for r in range(rows)
    ]
    browser.show([*many, make_record(model="a-very-long-name-" * 8)], width=width)
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

    assert browser.ask(overflow) == 0
    assert len(browser.texts(CELLS)) == columns * rows + 1
    assert browser.ask("return document.querySelectorAll('.heat.small td, .heat.tiny td')[0].offsetWidth") >= 24
    browser.click(CELLS)
    assert browser.ask(overflow) == 0
    assert browser.driver.get_log("browser") == []


def test_the_page_without_a_script_has_the_scores(browser: Browser, records: list[Record]) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show(records)
        visible = browser.driver.find_element("css selector", "body").text
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert "Without JavaScript this page has every score" in visible
    assert "95 % interval" in visible
    assert "通义千问" in visible
