"""MRCR of OpenAI and of DeepMind, on a user's copy."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Turn
from needlework.core.settings import Suite
from needlework.haystack_fixtures.documents.data_set import iso_date
from needlework.haystack_fixtures.documents.data_set_files import OPTION, DataSetLayout, RowSummary
from needlework.haystack_fixtures.haystacks.conversations import Conversation
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.tasks.published.data_sets import DataSetRows, data_of
from needlework.haystack_fixtures.tasks.task import Question

# Messages are sent as the rows have them; nothing is added and nothing cut.
LAYOUT = DataSetLayout(
    name="OpenAI MRCR",
    columns=("prompt", "answer", "random_string_to_prepend", "n_needles", "desired_msg_index"),
    text="prompt",
    count="n_chars",
    hub="openai/mrcr",
    corrected="2025-12-05",
)


def _group(entry: RowSummary) -> str:
    return f"n{entry.row['n_needles']}"


def _size(entry: RowSummary) -> float:
    """About how many tokens prompt and answer have."""
    return (entry.chars + len(entry.row["answer"])) / CHARS_PER_TOKEN


CHARS_PER_TOKEN = 4.9  # of both data sets, in o200k tokens


ROWS = DataSetRows(LAYOUT, _group, _size)


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


def pieces_in(messages: tuple[Turn, ...], entry: RowSummary) -> Pieces:
    """The pieces of the ask that a row asks about."""
    replies = [at for at, turn in enumerate(messages) if turn.role == "assistant" and at]
    rounds = [(messages[at - 1].text, messages[at].text) for at in replies]
    wanted = entry.row["desired_msg_index"]
    at = replies.index(wanted + 1) if isinstance(wanted, int) and wanted + 1 in replies else None
    return pieces_of(rounds, entry.row["answer"].removeprefix(entry.row["random_string_to_prepend"]), at)


def scored_with(prompt: str, entry: RowSummary) -> dict[str, Any]:
    """The reference of a row."""
    row = entry.row
    pieces = pieces_in(messages_of(prompt, entry.number), entry)
    return reference_of(row["answer"], row["random_string_to_prepend"], pieces)


def _ask(suite: Suite, cell: Cell, _seed: int) -> Question:
    data, entry = data_of(LAYOUT, suite), ROWS.of(suite)[cell.needle]
    prompt = data.text(entry.number)
    messages, reference = messages_of(prompt, entry.number), scored_with(prompt, entry)
    piece = entry.row["answer"].removeprefix(entry.row["random_string_to_prepend"]).strip()
    told = entry.row["desired_msg_index"]
    places = [at for at, turn in enumerate(messages) if turn.role == "assistant" and turn.text.strip() == piece]
    wanted = told + 1 if isinstance(told, int) and told + 1 in places else next(iter(places), None)
    return Question(
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


def pieces_of(rounds: Sequence[tuple[str, str]], piece: str, at: int | None = None) -> Pieces:
    """The pieces with the same ask as the wanted one, of rounds of ask and piece.

    `at`: which round is wanted; `None`: the one whose piece it is. A piece that is in no round stands alone.
    """
    if at is None or not 0 <= at < len(rounds) or rounds[at][1].strip() != piece.strip():
        at = next((number for number, (_, text) in enumerate(rounds) if text.strip() == piece.strip()), None)
    if at is None:
        return Pieces((piece,), 0)
    ask = rounds[at][0].strip()
    same = [number for number, (each, _) in enumerate(rounds) if each.strip() == ask]
    return Pieces(tuple(rounds[number][1].strip() for number in same), same.index(at))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces written for one ask, in the order of the conversation; `wanted`: number of the wanted one, from 0."""

    texts: tuple[str, ...]
    wanted: int


def reference_of(answer: str, string: str, pieces: Pieces) -> dict[str, Any]:
    """What an answer is scored with: the string and the piece, the other pieces of the same ask by their number.

    Guessing among the pieces of the right ask gives one in so many.
    """
    others = [(f"#{number + 1}", text) for number, text in enumerate(pieces.texts) if number != pieces.wanted]
    return {
        "answers": (answer,),
        "given": (string,),
        "distractors": tuple(text for _, text in others),
        "kinds": {text: name for name, text in others},
        "chance": 1 / len(pieces.texts),
        "floor": 0.0,
        "wanted": f"#{pieces.wanted + 1}",
        "same_ask": len(pieces.texts),
        "language": "en",
    }


TASKS = (
    ROWS.task("openai_mrcr", "OpenAI MRCR: the K-th piece that was written for an ask, from a long conversation", _ask),
)


# Another benchmark than OpenAI's, with other prompts, another string and another score.
DEEPMIND_MRCR_LAYOUT = DataSetLayout(name="MRCR v2", columns=("queries", "answer"), text="queries")
_STRING = 12  # characters of the string that the answer begins with
_ROUND = re.compile(r"\n\n(?=User:)")
_SIDES = "\n\nAssistant:"


def _deepmind_mrcr_group(entry: RowSummary) -> str:
    """`n8` where the row tells the places of its pieces."""
    places = len(re.findall(r"\d+\s*,\s*\d+", str(entry.row.get("relevant_context_positions", ""))))
    return f"n{places}" if places else "rows"


def _deepmind_mrcr_size(entry: RowSummary) -> float:
    """About how many tokens prompt and answer have."""
    told = str(entry.row.get("context_len", ""))
    return float(told) if re.fullmatch(r"\d+(\.\d+)?", told) else entry.chars / CHARS_PER_TOKEN


DEEPMIND_MRCR_ROWS = DataSetRows(DEEPMIND_MRCR_LAYOUT, _deepmind_mrcr_group, _deepmind_mrcr_size)


def deepmind_mrcr_scored_with(queries: str, entry: RowSummary) -> dict[str, Any]:
    """The reference of a row."""
    answer = entry.row["answer"].strip()
    parts = (part.removeprefix("User:").partition(_SIDES) for part in _ROUND.split(queries))
    rounds = [(ask.strip(), piece.strip()) for ask, side, piece in parts if side]
    return reference_of(answer, answer[:_STRING], pieces_of(rounds, answer[_STRING:].strip()))


def _deepmind_mrcr_ask(suite: Suite, cell: Cell, _seed: int) -> Question:
    data, entry = data_of(DEEPMIND_MRCR_LAYOUT, suite), DEEPMIND_MRCR_ROWS.of(suite)[cell.needle]
    queries = data.text(entry.number)
    final = str(entry.row.get("view_ops") or "Prepend ")
    at = queries.rfind(final)
    conversation, question = (queries[:at], queries[at:]) if at >= 0 else (queries, "")
    reference = deepmind_mrcr_scored_with(queries, entry)
    return Question(
        needles=(),
        depths=(),
        question=question,
        answer=entry.row["answer"].strip(),
        reference=reference
        | {"question": question, "needles": reference["same_ask"], "row": entry.number}
        | DEEPMIND_MRCR_ROWS.told(suite),
        context=Document(conversation, truncation="never"),
        verbatim=True,
    )


DEEPMIND_MRCR_TASKS = (
    DEEPMIND_MRCR_ROWS.task(
        "deepmind_mrcr",
        "Google DeepMind's MRCR v2: the K-th piece that was written for an ask, from a conversation as one text",
        _deepmind_mrcr_ask,
    ),
)
