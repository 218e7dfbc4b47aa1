"""Makes docs/images/editing-questions.png: `python -m tests.results.web.editing_questions_picture [FILE [dark]]`.

The documents are this project's own, and so are the questions; the check is the real one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.chromium import chromium_driver
from tests.results.web.chrome import Chrome
from tests.results.web.served import served

ROOT = Path(__file__).parents[3]
ENTER = "\ue007"
ASKED = [
    ("What does an L-Eval model get that never saw the document?", "the floor", "leval.md"),
    ("From how many shared shingles are two documents twins?", "90 %", "documents.md"),
    ("Which scorer takes the first of the letters A-D in an answer?", "leval_letter", "leval.md"),
    ("What does the exit code 11 of a run mean?", "gates failed", "ci.md"),
    ("Where are the pages for people served?", "127.0.0.1", "pages.md"),
    ("What is a reply kept under?", "the hash of model and prompt", "documents.md"),
    ("How many ways does a server go wrong in the planted faults?", "68", "faults.md"),
    ("Which test compares two runs, pair by pair?", "McNemar", "statistics.md"),
]


def main(path: Path, theme: str = "light") -> None:
    """Take the picture."""
    folder = Path(tempfile.mkdtemp())
    documents = folder / "manuals"
    documents.mkdir()
    for source in sorted((ROOT / "docs").glob("*.md")):
        shutil.copy(source, documents)
    rows = {str(at): dict(zip(("question", "answer", "answer_doc"), row, strict=True)) for at, row in enumerate(ASKED)}
    questions = folder / "manuals.questions.json"
    questions.write_text(json.dumps(rows), encoding="utf-8")
    command = [sys.executable, "-m", "needlework"]
    subprocess.run([*command, "questions", "check", str(documents), str(questions)], cwd=ROOT, check=True)
    checked = folder / "manuals.questions.checked.json"
    with served(checked, "--documents", documents) as (_, address):
        _take(f"{address}editing/0/", folder / "profile", path, dark=theme == "dark")
    shutil.rmtree(folder, ignore_errors=True)


def _take(address: str, profile: Path, path: Path, *, dark: bool) -> None:
    said = "return document.getElementById('notice').textContent.includes(arguments[0])"
    with chromium_driver(profile) as driver:
        page = Chrome(driver)
        for by, decisions in (("Bob", ("a", "", "r3", "a")), ("Ann", ("a", "r4", "", "a", "", ""))):
            page.open(f"{address}?by={by}&pair=0", width=1280, height=820, dark=dark)
            page.until(said, f"you are {by}")
            for at, keys in enumerate(decisions):
                page.until("return document.getElementById('title').textContent === arguments[0]", f"Pair {at}")
                page.press(*keys)
                if keys:
                    page.until(said, f"pair {at}: ")  # the next pair comes by itself
                else:
                    page.press("j")
        page.open(f"{address}?by=Ann&pair=2", width=1280, height=820, dark=dark)
        page.until("return document.querySelectorAll('#competitors li').length")
        page.until("return document.querySelectorAll('#document mark').length")
        page.until("return new Promise(done => setTimeout(done, 500, true))")  # the place stands still
        page.picture(path)
        Image.open(path).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/editing-questions.png"), *sys.argv[2:])
