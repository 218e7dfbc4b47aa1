"""A server that has something on every page, with names and texts that are too long for a phone."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.results.web.chrome import Chrome
from tests.results.web.editing_questions_site import write_documents, write_questions
from tests.results.web.rating_site import predictions
from tests.results.web.run_folders import record, write_journal

LONG_NAME = "a" * 90
PAGES = (
    "", "rating/", "rating/of/1/", "rating/results",
    "editing/", "editing/0/", "editing/0/0/", "editing/1/", "editing/1/?by=Ann", "nowhere",
)  # fmt: skip
_LOADED = """
const at = (id) => document.getElementById(id);
return document.readyState === "complete" && (!at("work") || at("question").textContent)
  && (!at("desk") || document.body.dataset.ready || at("ask").open);
"""
ENTER = "\ue007"


def write_site(folder: Path) -> tuple[object, ...]:
    """What `needlework serve` is given."""
    more = {"details": {"flags": [], "recipe": "r" * 300}}
    absent = {"absent": True, "control": "absent"}
    records = [record(at, **more) for at in range(3)]
    records.append(record(4, needle="code_absent", reference=absent, outcome="wrong", score=0.0, **more))
    runs = [write_journal(folder / LONG_NAME / name, records) for name in (LONG_NAME, "other")]
    predictions(folder / "answers", {"one": ["x" * 500, "b"], "two": ["c", "d"]})
    row = {"input": "A long line of a document. " * 4000, "instructions": ["Which?"], "outputs": ["This."]}
    (folder / "days.jsonl").write_text(json.dumps(row))
    documents = write_documents(folder / "documents")
    questions = write_questions(folder / "q.json")
    return *runs, folder / "answers", folder / "days.jsonl", questions, "--documents", documents


def unexpected(log: list[str]) -> list[str]:
    """Lines of a browser's log but those of what is not there: these runs have no settings to build prompts from."""
    return [line for line in log if not re.search(r"404|/items/\d+/document", line)]


def visit(chrome: Chrome, address: str, path: str, *, width: int, height: int = 900, dark: bool = False) -> None:
    """Open a page as a person who has told their name sees it."""
    if path.startswith("rating/of"):
        chrome.open(f"{address}rating/", width=width, height=height, dark=dark)
        chrome.driver.find_element("id", "name").send_keys("Ann" + ENTER)
        chrome.until("return location.pathname.startsWith('/rating/of/')")
    chrome.open(f"{address}{path}", width=width, height=height, dark=dark)
    chrome.until(_LOADED)
    chrome.tell_name()
