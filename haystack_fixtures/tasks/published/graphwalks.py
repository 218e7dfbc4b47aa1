"""GraphWalks on the user's copy of OpenAI's data: walks over a graph that is a list of edges, prompts as they are.

Text is never cut: a graph without some of its edges has another answer.
"""

from __future__ import annotations

from typing import Any

from needlework.haystack_fixtures.documents.data_sets.data_set import iso_date
from needlework.haystack_fixtures.documents.data_sets.layout import OPTION, Entry, Layout
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell, slug
from needlework.haystack_fixtures.haystacks.document import Document
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.published.rows import Rows, data_of
from needlework.haystack_fixtures.tasks.task import Asked

LAYOUT = Layout(
    name="GraphWalks",
    columns=("prompt", "problem_type"),
    text="prompt",
    count="prompt_chars",
    hub="openai/graphwalks",
    corrected="2026-02-27",
)
_ANSWERS = ("answer_nodes", "answer")  # what the files and the data card call it
_OPERATION = "Operation:"
_CHARS_PER_TOKEN = 1.7  # of lists of ten hexadecimal digits


def _group(entry: Entry) -> str:
    return slug(str(entry.row["problem_type"])).lower().replace("-", "_")


def _size(entry: Entry) -> float:
    """About how many tokens prompt and answer have."""
    return entry.chars / _CHARS_PER_TOKEN


ROWS = Rows(LAYOUT, _group, _size)


def nodes_of(entry: Entry) -> tuple[str, ...]:
    """The right nodes of a row. Raises `InputError`."""
    found = next((entry.row[name] for name in _ANSWERS if name in entry.row), None)
    if not isinstance(found, list) or not all(isinstance(node, str) for node in found):
        raise InputError(OPTION, f"row {entry.number + 1}", "has no list of texts answer_nodes")
    return tuple(found)


def _ask(suite: Suite, cell: Cell, _seed: int) -> Asked:
    data, entries = data_of(LAYOUT, suite), ROWS.of(suite)
    entry = entries[cell.needle]
    prompt, nodes = data.text(entry.number), nodes_of(entry)
    at = prompt.rfind(_OPERATION)
    graph, operation = (prompt[:at], prompt[at:]) if at >= 0 else (prompt, "")
    empty = sum(not nodes_of(each) for each in entries.values())
    return Asked(
        needles=(),
        depths=(),
        question=operation,
        answer=f"Final Answer: [{', '.join(nodes)}]",
        reference={"parts": nodes, "question": operation, "language": "en", "chance": 0.0}
        | {
            "floor": empty / len(entries),
            "problem_type": entry.row["problem_type"],
            "row": entry.number,
            **ROWS.told(suite),
            "added": iso_date(entry.row.get("date_added")),
        },
        context=Document(graph, truncation="never"),
        verbatim=True,
    )


def reference_of(entry: Entry) -> dict[str, Any]:
    """What an answer to a row is scored with."""
    return {"parts": nodes_of(entry)}


_ABOUT = "GraphWalks: nodes at a distance, and parents, in a list of edges"
TASKS = (ROWS.task("graphwalks", _ABOUT, _ask),)
