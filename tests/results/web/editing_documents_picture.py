"""Makes docs/images/editing-documents.png: `python -m tests.results.web.editing_documents_picture [FILE [KIND]]`.

KIND: dark, narrow or rows.

The document is CPython's language reference, as pydoc has it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory

from tests.chromium import chromium_driver
from tests.results.web.chrome import Chrome
from tests.results.web.served import served

PAIRS = {
    "When is a name local to a block?": "If a name is bound in a block, unless it is declared nonlocal or global.",
    "Which exception is raised when a name is not found at all?": "",
    "May `from m import *` stand inside a function?": "No. This form may only be used at the module level.",
}


def rows() -> list[dict[str, object]]:
    """The whole reference first, then some of its topics."""
    whole = "\n\n".join(topics[each] for each in ("naming", *sorted(set(topics) - {"naming"})))
    long = {"input": whole, "instructions": list(PAIRS), "outputs": list(PAIRS.values()), "evaluation": "LLM"}
    others = [
        {"input": topics[each], "instructions": ["What is it for?"] * n, "outputs": ["…"] * n, "source": each}
        for n, each in enumerate(sorted(topics)[:12], 1)
    ]
    return [{**long, "source": "CPython, pydoc_data.topics"}, *others]


def main(path: Path, kind: str = "") -> None:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "python_reference.jsonl"
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows()), encoding="utf-8")
        with served(source) as (_, address):
            _picture(f"{address}editing/0/", path, kind)


def _picture(address: str, path: Path, kind: str) -> None:
    how = {"width": 400 if kind == "narrow" else 1200, "height": 720, "dark": kind == "dark"}
    ready = "return document.body.dataset.ready"
    with TemporaryDirectory() as profile, chromium_driver(Path(profile)) as driver:
        chrome = Chrome(driver)
        chrome.open(f"{address}0/", **how)
        chrome.until(ready)
        chrome.press("Ann", "\ue007")
        if kind == "rows":
            chrome.press("+", "x")
            chrome.until("return /^kept/.test($('kept').textContent)")
            chrome.open(f"{address}1/", **how)
            chrome.until(ready)
            chrome.click("#done")
            chrome.until("return /^kept/.test($('kept').textContent)")
            chrome.open(address, **how)
        else:
            chrome.press("/", *"NameError")
            chrome.until("return $('words').sought === 'NameError'")
            chrome.ask(
                "const at = long.text.indexOf(arguments[0]);"
                "getSelection().removeAllRanges(); getSelection().addRange(long.range(at, at + arguments[0].length));"
                "pairs.current = $('pairs').children[1]; quote()",
                'a "NameError" exception is raised',
            )
            chrome.until("return /^kept/.test($('kept').textContent)")
        chrome.picture(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/editing-documents.png"), *sys.argv[2:])
