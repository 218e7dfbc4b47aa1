"""Makes docs/images/browsing.png of a run: `python -m tests.results.web.browsing_picture RUN [FILE [dark]]`.

The run is a real one, of the default preset; its first trial that was missed is shown, else its first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from tests.chromium import chromium_driver
from tests.results.web.chrome import Chrome
from tests.results.web.served import served


def main(run: str, path: str = "docs/images/browsing.png", look: str = "light") -> None:
    """Take the picture."""
    with (
        TemporaryDirectory() as folder,
        served(run, "--state", Path(folder) / "people.sqlite") as (_, address),
        chromium_driver(Path(folder) / "profile") as driver,
    ):
        chrome = Chrome(driver)
        how: Any = {"width": 1280, "height": 820, "dark": look == "dark"}
        chrome.open(f"{address}browse/0/?outcome=wrong", **how)
        if not chrome.texts("a.open"):
            chrome.open(f"{address}browse/0/", **how)
        chrome.open(chrome.ask("return document.querySelector('a.open').href"), **how)
        chrome.until("return document.getElementById('record')?.dataset.state")
        chrome.until("return new Promise(done => setTimeout(done, 500, true))")  # the needle's place stands still
        chrome.picture(Path(path))
    Image.open(path).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
