"""`python -m perf.pictures [NAME ...]` (`make pictures`): the docs' pictures, from real runs.

Each run lies in `results/runs/pictures-NAME` and goes on where it was stopped: a second call asks nothing that is
answered. All of them take about 20 minutes of two cores. What shows pages of `needlework serve` (`docs/pages.md`) or
servers (`matrix-kv-cache.png`) is not drawn here.
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics

from perf.screenshot import screenshot

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
RUNS = ROOT / "results" / "runs"
DOCUMENTS = RUNS / "pictures-of-documents"
QUESTIONS = RUNS / "pictures-of-documents.json"

# Of the language reference that comes with Python: short articles, and a question about each of some.
_ABOUT = {
    "assert": ("Which command line option makes the built-in variable __debug__ False?", "-O"),
    "power": ("Which error does raising 0.0 to a negative power give?", "ZeroDivisionError"),
    "del": ("Which exception is raised when a name that is deleted is unbound?", "NameError"),
    "nonlocal": ("Which PEP is the specification for the nonlocal statement?", "PEP 3104"),
    "return": ("What does a return statement in a generator function cause to be raised?", "StopIteration"),
    "global": (
        "Which built-in function takes a string whose global statements do not affect the block around?",
        "exec",
    ),
    "shifting": ("Which special methods customize the shifting operations?", "__lshift__ and __rshift__"),
    "yield": ("What kind of function is a yield expression only used to define?", "a generator function"),
}
_OTHERS = (
    "break", "continue", "else", "if", "while", "lambda", "imaginary", "unary", "integers", "booleans", "in",
    "slicings", "for", "augassign", "dict", "exceptions", "subscriptions", "attribute-references", "exprlists",
    "specialattrs",
)  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """A run by its options, and its files for the docs' pictures (`pattern` -> name in docs/images)."""

    options: tuple[str, ...]
    pictures: dict[str, str]
    report: str = ""  # a picture of report.html's first screen: its name in docs/images


DRAWINGS = {
    "quick": Drawing(("--heatmap-numbers",), {"heatmap-niah-*.png": "quick-smollm2.png"}, "report-quick.png"),
    "families": Drawing(
        ("--preset", "families", "--language", "en", "-k", "len512 or len1000 or copy or mrcr or graph"),
        {"tasks-*.png": "families-smollm2.png"},
    ),
    "documents": Drawing(
        (
            *("--preset", "own-documents", "--documents", str(DOCUMENTS), "--questions", str(QUESTIONS)),
            *("--task", "doc_position,doc_size", "--lengths", "2k"),
        ),
        {"documents-size-*.png": "documents-size.png", "documents-position-*.png": "documents-position.png"},
    ),
    # Of a simulated model, as its caption says: the embedded one holds no bar long enough for a bracket.
    "asked": Drawing(
        (
            *("--adaptive", "--adaptive-bar", "85.6,relative", "--model", "mock:curve=4k:1,16k:0.97,32k:0.6"),
            *("--lengths", "4k:128k", "--length-spacing", "doubling", "--depths", "0:100:11"),
        ),
        {"asked-*.png": "asked.png"},
    ),
}


def draw(name: str) -> None:
    """Run what is not answered yet, and put the pictures where the docs show them. Raises `SystemExit`."""
    drawing, folder = DRAWINGS[name], RUNS / f"pictures-{name}"
    if name == "documents":
        write_documents()
    command = [sys.executable, "-m", "pytest", "benchmarks", "--run-name", folder.name, *drawing.options]
    subprocess.run(command, cwd=ROOT, check=False)  # cells that score nothing are no failure of the picture
    for pattern, picture in drawing.pictures.items():
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise SystemExit(f"{folder}: has no {pattern}; see what pytest says above")
        shutil.copyfile(paths[0], IMAGES / picture)
        print(f"{paths[0].relative_to(ROOT)} -> docs/images/{picture}")
    if drawing.report:
        screenshot(folder / "report.html", IMAGES / drawing.report)


def write_documents() -> None:
    """Articles of the language reference as files, and the questions about them."""
    DOCUMENTS.mkdir(parents=True, exist_ok=True)
    for topic in (*_ABOUT, *_OTHERS):
        (DOCUMENTS / f"{topic}.txt").write_text(topics[topic], encoding="utf-8")
    pairs = {
        str(number): {"question": question, "answer": answer, "answer_doc": f"{topic}.txt"}
        for number, (topic, (question, answer)) in enumerate(_ABOUT.items())
    }
    QUESTIONS.write_text(json.dumps(pairs, indent=1), encoding="utf-8")


def main() -> None:
    """Draw those that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m perf.pictures", description="Draw the docs' pictures.")
    parser.add_argument("name", nargs="*", metavar="NAME", help="which: all, if none is named")
    names = parser.parse_args().name or list(DRAWINGS)
    if unknown := [name for name in names if name not in DRAWINGS]:
        parser.error(f"NAME: {unknown[0]!r}: use some of {', '.join(DRAWINGS)}")
    for name in names:
        draw(name)


if __name__ == "__main__":
    main()
