"""OpenAI's MRCR on the user's copy of the data: conversations as they are, and the K-th piece of an ask to be repeated.

Messages are sent as the rows have them; nothing is added and nothing cut.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.data_set import iso_date
from needlework.haystack_fixtures.documents.data_sets.layout import OPTION, Entry, Layout
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
from needlework.haystack_fixtures.prompts.turns import Turn
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.published.mrcr_rows import CHARS_PER_TOKEN, Pieces, pieces_of, reference_of
from needlework.haystack_fixtures.tasks.published.rows import Rows, data_of
from needlework.haystack_fixtures.tasks.task import Asked

LAYOUT = Layout(
    name="OpenAI MRCR",
    columns=("prompt", "answer", "random_string_to_prepend", "n_needles", "desired_msg_index"),
    text="prompt",
    count="n_chars",
    hub="openai/mrcr",
    corrected="2025-12-05",
)


def _group(entry: Entry) -> str:
    return f"n{entry.row['n_needles']}"


def _size(entry: Entry) -> float:
    """About how many tokens prompt and answer have."""
    return (entry.chars + len(entry.row["answer"])) / CHARS_PER_TOKEN


ROWS = Rows(LAYOUT, _group, _size)


def messages_of(prompt: str, number: int) -> tuple[Turn, ...]:
    """The messages of a row. Raises `InputError`."""
    where = f"row {number + 1}"
    try:
        found = [Turn(message["role"], message["content"]) for message in json.loads(prompt)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(OPTION, where, f"its prompt is no JSON list of messages ({error})") from None
    if any(turn.role not in ("user", "assistant") or not isinstance(turn.text, str) for turn in found):
        raise InputError(OPTION, where, "its messages are not all of user and assistant, with texts")
    if len(found) < 2 or found[-1].role != "user":
        raise InputError(OPTION, where, "its last message is not the user's question")
    return tuple(found)


def pieces_in(messages: tuple[Turn, ...], entry: Entry) -> Pieces:
    """The pieces of the ask that a row asks about."""
    replies = [at for at, turn in enumerate(messages) if turn.role == "assistant" and at]
    rounds = [(messages[at - 1].text, messages[at].text) for at in replies]
    wanted = entry.row["desired_msg_index"]
    at = replies.index(wanted + 1) if isinstance(wanted, int) and wanted + 1 in replies else None
    return pieces_of(rounds, entry.row["answer"].removeprefix(entry.row["random_string_to_prepend"]), at)


def scored_with(prompt: str, entry: Entry) -> dict[str, Any]:
    """The reference of a row."""
    row = entry.row
    pieces = pieces_in(messages_of(prompt, entry.number), entry)
    return reference_of(row["answer"], row["random_string_to_prepend"], pieces)


def _ask(suite: Suite, cell: Cell, _seed: int) -> Asked:
    data, entry = data_of(LAYOUT, suite), ROWS.of(suite)[cell.needle]
    prompt = data.text(entry.number)
    messages, reference = messages_of(prompt, entry.number), scored_with(prompt, entry)
    piece = entry.row["answer"].removeprefix(entry.row["random_string_to_prepend"]).strip()
    told = entry.row["desired_msg_index"]
    places = [at for at, turn in enumerate(messages) if turn.role == "assistant" and turn.text.strip() == piece]
    wanted = told + 1 if isinstance(told, int) and told + 1 in places else next(iter(places), None)
    return Asked(
        needles=(),
        depths=(),
        question=messages[-1].text,
        answer=entry.row["answer"],
        reference=reference
        | {
            "question": messages[-1].text,
            "needles": entry.row["n_needles"],
            "row": entry.number,
            **ROWS.told(suite),
            "added": iso_date(entry.row.get("date_added")),
        },
        context=Conversation(messages[:-1], wanted, by_window=True),
        material=sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest(),
        verbatim=True,
    )


TASKS = (
    ROWS.task("openai_mrcr", "OpenAI MRCR: the K-th piece that was written for an ask, from a long conversation", _ask),
)
