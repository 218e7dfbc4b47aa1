"""Makes docs/images/rating.png: `python -m tests.results.web.rating_picture [FILE [dark]]`.

The document and the questions are this project's own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.chromium import chromium_driver
from tests.results.web.chrome import Chrome
from tests.results.web.rating_site import write_rows
from tests.results.web.served import served

ROOT = Path(__file__).parents[3]
ENTER = "\ue007"
ASKED = {
    "How can one see that nobody cut the answer off?": (
        "By the finish reason; a trial that was cut off is `censored`, has no score, and bounds stand beside the mean.",
        {
            "aster-9b": "The finish reason is recorded. Where an answer was cut off the trial counts as censored: it"
            " gets no score, and the bounds of what it could have been stand beside the mean.",
            "birch-70b": "Every record has a hash of the prompt, so a cut answer cannot go unnoticed.",
            "cedar-32k": "Such trials are marked censored and have no score.",
        },
    ),
    "What happens to a run that is killed?": (
        "The same command goes on where it stopped and ends with the same files.",
        {
            "aster-9b": "It goes on from the journal when the same command is given again.",
            "birch-70b": "All answers are asked again.",
            "cedar-32k": "The run is void, exit code 11.",
        },
    ),
    "When is a trial invalid?": (
        "When the model did not see the prompt that was built, or its answer belongs to another one.",
        {
            "aster-9b": "When the server truncated the prompt, or token counts do not match.",
            "birch-70b": "When the model did not see our prompt, or the answer is not one to this prompt.",
            "cedar-32k": "The text does not say.",
        },
    ),
}


def main(picture: Path, look: str = "") -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in ("aster-9b", "birch-70b", "cedar-32k"):
            rows = [{"query": q, "gt": gold, f"{model}_pred": texts[model]} for q, (gold, texts) in ASKED.items()]
            write_rows(folder / f"{model}.pred.jsonl", rows)
        document = (ROOT / "docs/trust.md").read_text(encoding="utf-8")
        gold = [reference for reference, _ in ASKED.values()]
        write_rows(folder / "docs.jsonl", [{"instructions": list(ASKED), "outputs": gold, "input": document}])
        with served(folder, folder / "docs.jsonl") as (_, address):
            _take(address, picture, dark=look == "dark")


def _take(address: str, picture: Path, *, dark: bool) -> None:
    with TemporaryDirectory() as profile, chromium_driver(Path(profile)) as driver:
        chrome = Chrome(driver)
        chrome.open(f"{address}rating/", width=1200, height=800, dark=dark)
        driver.find_element("id", "name").send_keys("Ann" + ENTER)
        chrome.until("return document.querySelectorAll('.block').length")
        while "cut the answer" not in chrome.texts("#question")[0]:
            before = chrome.texts("#number")
            chrome.press("5", "2", "3")  # the next question comes by itself
            chrome.until("return document.getElementById('number').textContent !== arguments[0]", before[0])
        chrome.ask("document.getElementById('words').value = 'censored'; reading.search()")
        marks = {"The finish": "5", "Such trial": "3", "Every reco": "1"}
        texts = [text[:10] for text in chrome.texts(".answer")]
        chrome.press(*map(marks.__getitem__, texts[:2]))
        chrome.until("return document.querySelectorAll('[aria-pressed=true]').length === 2")
        field = "document.querySelectorAll('textarea')[arguments[0]].value = arguments[1]"
        chrome.ask(field, min(1, texts.index("Such trial")), "does not say by what")
        chrome.ask("return keepAll()")
        chrome.until("return document.getElementById('notice').textContent.endsWith('comment kept')")
        chrome.ask("choose(2); scrollTo(0, 0)")
        chrome.until("return new Promise(done => setTimeout(done, 500, true))")  # the place that was found stands still
        chrome.ask(
            "document.getElementById('pages').scrollTop += document.getElementById('pages').clientHeight / 2 - 40"
        )
        chrome.until("return new Promise(done => setTimeout(done, 200, true))")
        chrome.picture(picture)
    Image.open(picture).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/rating.png"), *sys.argv[2:])
