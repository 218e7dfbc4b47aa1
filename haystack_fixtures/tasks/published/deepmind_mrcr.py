"""Google DeepMind's MRCR v2 on the user's copy of the data: a conversation written out as one text.

Another benchmark than OpenAI's, with other prompts, another string and another score.
"""

from __future__ import annotations

import re
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.layout import Entry, Layout
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.document import Document
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.published.mrcr_rows import CHARS_PER_TOKEN, pieces_of, reference_of
from needlework.haystack_fixtures.tasks.published.rows import Rows, data_of
from needlework.haystack_fixtures.tasks.task import Asked

LAYOUT = Layout(name="MRCR v2", columns=("queries", "answer"), text="queries")
_STRING = 12  # characters of the string that the answer begins with
_ROUND = re.compile(r"\n\n(?=User:)")
_SIDES = "\n\nAssistant:"


def _group(entry: Entry) -> str:
    """`n8` where the row tells the places of its pieces."""
    places = len(re.findall(r"\d+\s*,\s*\d+", str(entry.row.get("relevant_context_positions", ""))))
    return f"n{places}" if places else "rows"


def _size(entry: Entry) -> float:
    """About how many tokens prompt and answer have."""
    told = str(entry.row.get("context_len", ""))
    return float(told) if re.fullmatch(r"\d+(\.\d+)?", told) else entry.chars / CHARS_PER_TOKEN


ROWS = Rows(LAYOUT, _group, _size)


def scored_with(queries: str, entry: Entry) -> dict[str, Any]:
    """The reference of a row."""
    answer = entry.row["answer"].strip()
    parts = (part.removeprefix("User:").partition(_SIDES) for part in _ROUND.split(queries))
    rounds = [(ask.strip(), piece.strip()) for ask, side, piece in parts if side]
    return reference_of(answer, answer[:_STRING], pieces_of(rounds, answer[_STRING:].strip()))


def _ask(suite: Suite, cell: Cell, _seed: int) -> Asked:
    data, entry = data_of(LAYOUT, suite), ROWS.of(suite)[cell.needle]
    queries = data.text(entry.number)
    final = str(entry.row.get("view_ops") or "Prepend ")
    at = queries.rfind(final)
    conversation, question = (queries[:at], queries[at:]) if at >= 0 else (queries, "")
    reference = scored_with(queries, entry)
    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer=entry.row["answer"].strip(),
        reference=reference
        | {"question": question, "needles": reference["same_ask"], "row": entry.number}
        | ROWS.told(suite),
        context=Document(conversation, truncation="never"),
        verbatim=True,
    )


TASKS = (
    ROWS.task(
        "deepmind_mrcr",
        "Google DeepMind's MRCR v2: the K-th piece that was written for an ask, from a conversation as one text",
        _ask,
    ),
)
