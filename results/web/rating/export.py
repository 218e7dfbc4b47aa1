"""An annotator's ratings as files: L-Eval's counts, and every rating with its comment and time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import slug
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.web.rating.items import Items
from needlework.results.web.rating.marks import WHOLE_ITEM, Annotator
from needlework.results.web.rating.order import answer_order, item_order, label
from needlework.results.web.rating.tables import Marks, mark_of, ratings_of

Kind = Literal["results", "ratings"]
KINDS: dict[str, Kind] = {"results": "results", "ratings": "ratings"}


def file_name(kind: Kind, annotator: Annotator) -> str:
    """`results_from_NAME.jsonl` as L-Eval calls it, or `ratings_from_NAME.jsonl`."""
    return f"{kind}_from_{slug(annotator.name)}.jsonl"


def export(kind: Kind, items: Items, seed: str, annotator: Annotator, marks: Marks) -> bytes:
    """The content of a file."""
    if kind == "results":
        return json.dumps(_counts(items, annotator, marks)).encode("ascii")
    return "".join(f"{json.dumps(row)}\n" for row in _rows(items, seed, annotator, marks)).encode("ascii")


def write(path: Path, content: bytes, *, over: bool) -> bool:
    """Write a file. Returns False where there is one of other content, and `over` does not say to replace it."""
    try:
        if not over and path.exists() and path.read_bytes() != content:
            return False
        write_whole(path, content)
    except OSError as error:
        raise InputError("file", path, f"cannot be written ({error.strerror})") from None
    return True


def _counts(items: Items, annotator: Annotator, marks: Marks) -> dict[str, Counter[str]]:
    """L-Eval's (cd34b05, `Evaluation/web_human_eval.py`): a key for each model, `5.0` for a rating of 5."""
    counts: dict[str, Counter[str]] = {}
    for each in ratings_of(items, annotator, marks):
        counts.setdefault(each.model, Counter())[str(float(each.rating))] += 1
    return counts


def _rows(items: Items, seed: str, annotator: Annotator, marks: Marks) -> Iterator[dict[str, Any]]:
    """In the order in which the annotator saw them."""
    for place, item in enumerate(item_order(seed, annotator.name, items.items), 1):
        about = {"annotator": annotator.name, "item": item.id, "place": place, "question": item.question}
        whole = marks.get((item.id, WHOLE_ITEM))
        if whole is not None and whole.skipped:
            yield {**about, "skipped": whole.comment, "time": whole.at}
        for at, same in enumerate(answer_order(seed, annotator.name, item)):
            mark = mark_of(item, same, marks)
            for answer in same if mark.rating is not None or mark.comment else ():
                yield {
                    **about,
                    "references": list(item.references),
                    "model": answer.model,
                    "answer_sha256": sha256(answer.text.encode("utf-8", "surrogatepass")).hexdigest(),
                    "shown_as": label(at),
                    "rating": mark.rating,
                    "comment": mark.comment,
                    "time": mark.at,
                    "names_were_shown": annotator.shown is not None and mark.at > annotator.shown,
                }
