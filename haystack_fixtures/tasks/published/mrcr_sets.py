"""MRCR of OpenAI and of DeepMind, user's copies: two benchmarks with different prompts and scores."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Message
from needlework.core.settings import Suite
from needlework.haystack_fixtures.documents.data_set import OPTION, DataSetLayout, RowSummary, iso_date
from needlework.haystack_fixtures.haystacks.conversations import Conversation
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.tasks.published.data_sets import sized_rows
from needlework.haystack_fixtures.tasks.task import Question

OPENAI_MRCR_LAYOUT = DataSetLayout(
    name="OpenAI MRCR",
    columns=("prompt", "answer", "random_string_to_prepend", "n_needles", "desired_msg_index"),
    text="prompt",
    count="n_chars",
    hub="openai/mrcr",
    corrected="2025-12-05",
)
DEEPMIND_MRCR_LAYOUT = DataSetLayout(name="MRCR v2", columns=("queries", "answer"), text="queries")
_CHARS_PER_TOKEN = 4.9  # of both data sets, in o200k tokens
DEEPMIND_STRING = 12  # characters of the string that an answer of DeepMind's begins with
_ROUND = re.compile(r"\n\n(?=User:)")
_SIDES = "\n\nAssistant:"


@dataclass(frozen=True, slots=True)
class MrcrPieces:
    """The pieces written for one ask, in the order of the conversation."""

    texts: tuple[str, ...]
    target: int  # number of the wanted one, from 0


def pieces_of(rounds: Sequence[tuple[str, str]], piece: str, at: int | None = None) -> MrcrPieces:
    """The pieces with the same ask as the wanted one, of rounds of ask and piece.

    `at`: which round is wanted; `None`: the one whose piece it is. A piece that is in no round stands alone.
    """
    if at is None or not 0 <= at < len(rounds) or rounds[at][1].strip() != piece.strip():
        at = next((number for number, (_, text) in enumerate(rounds) if text.strip() == piece.strip()), None)
    if at is None:
        return MrcrPieces((piece,), 0)
    ask = rounds[at][0].strip()
    same = [number for number, (each, _) in enumerate(rounds) if each.strip() == ask]
    return MrcrPieces(tuple(rounds[number][1].strip() for number in same), same.index(at))


def mrcr_reference(answer: str, string: str, pieces: MrcrPieces) -> dict[str, Any]:
    """The reference of an answer: the string and the piece, and the other pieces of that ask by number.

    Guessing among the pieces of the right ask gives one in so many.
    """
    others = [(f"#{number + 1}", text) for number, text in enumerate(pieces.texts) if number != pieces.target]
    return {
        "answers": (answer,),
        "given": (string,),
        "distractors": tuple(text for _, text in others),
        "kinds": {text: name for name, text in others},
        "chance": 1 / len(pieces.texts),
        "floor": 0.0,
        "wanted": f"#{pieces.target + 1}",
        "same_ask": len(pieces.texts),
        "language": "en",
    }


_OPENAI = sized_rows(
    OPENAI_MRCR_LAYOUT,
    lambda entry: f"n{entry.row['n_needles']}",
    lambda entry: (entry.chars + len(entry.row["answer"])) / _CHARS_PER_TOKEN,
)


def _messages_of(prompt: str, number: int) -> tuple[Message, ...]:
    """The messages of a row. Raises `InputError`."""
    where = f"row {number + 1}"
    try:
        messages = [Message(message["role"], message["content"]) for message in json.loads(prompt)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(OPTION, where, f"its prompt is no JSON list of messages ({error})") from None
    if any(turn.role not in ("user", "assistant") or not isinstance(turn.content, str) for turn in messages):
        raise InputError(OPTION, where, "its messages are not all of user and assistant, with texts")
    if len(messages) < 2 or messages[-1].role != "user":
        raise InputError(OPTION, where, "its last message is not the user's question")
    return tuple(messages)


def openai_mrcr_reference(prompt: str, entry: RowSummary) -> dict[str, Any]:
    """The reference of a row. Raises `InputError`."""
    row, messages = entry.row, _messages_of(prompt, entry.number)
    string, index = row["random_string_to_prepend"], row["desired_msg_index"]
    replies = [at for at, turn in enumerate(messages) if turn.role == "assistant" and at]
    rounds = [(messages[at - 1].content, messages[at].content) for at in replies]
    at = replies.index(index + 1) if isinstance(index, int) and index + 1 in replies else None
    return mrcr_reference(row["answer"], string, pieces_of(rounds, row["answer"].removeprefix(string), at))


def _openai_mrcr(suite: Suite, cell: Cell, _seed: int) -> Question:
    """Messages are sent as the rows have them; nothing is added and nothing cut."""
    entry = _OPENAI.of(suite)[cell.needle]
    prompt, row = _OPENAI.data(suite).text(entry.number), entry.row
    messages = _messages_of(prompt, entry.number)
    piece = row["answer"].removeprefix(row["random_string_to_prepend"]).strip()
    index = row["desired_msg_index"]
    places = [at for at, turn in enumerate(messages) if turn.role == "assistant" and turn.content.strip() == piece]
    target = index + 1 if isinstance(index, int) and index + 1 in places else next(iter(places), None)
    return Question(
        question=messages[-1].content,
        answer=row["answer"],
        reference={
            **openai_mrcr_reference(prompt, entry),
            "needles": row["n_needles"],
            "row": entry.number,
            **_OPENAI.reference(suite),
            "added": iso_date(row.get("date_added")),
        },
        context=Conversation(messages[:-1], target, by_window=True),
        material=sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest(),
        verbatim=True,
    )


def _deepmind_group(entry: RowSummary) -> str:
    """`n8` where the row tells the places of its pieces."""
    places = len(re.findall(r"\d+\s*,\s*\d+", str(entry.row.get("relevant_context_positions", ""))))
    return f"n{places}" if places else "rows"


def _deepmind_size(entry: RowSummary) -> float:
    tokens = str(entry.row.get("context_len", ""))
    return float(tokens) if re.fullmatch(r"\d+(\.\d+)?", tokens) else entry.chars / _CHARS_PER_TOKEN


_DEEPMIND = sized_rows(DEEPMIND_MRCR_LAYOUT, _deepmind_group, _deepmind_size)


def deepmind_mrcr_reference(queries: str, entry: RowSummary) -> dict[str, Any]:
    """The reference of a row."""
    answer = entry.row["answer"].strip()
    parts = (part.removeprefix("User:").partition(_SIDES) for part in _ROUND.split(queries))
    rounds = [(ask.strip(), piece.strip()) for ask, side, piece in parts if side]
    string, piece = answer[:DEEPMIND_STRING], answer[DEEPMIND_STRING:].strip()
    return mrcr_reference(answer, string, pieces_of(rounds, piece))


def _deepmind_mrcr(suite: Suite, cell: Cell, _seed: int) -> Question:
    entry = _DEEPMIND.of(suite)[cell.needle]
    queries = _DEEPMIND.data(suite).text(entry.number)
    at = queries.rfind(str(entry.row.get("view_ops") or "Prepend "))
    conversation, question = (queries[:at], queries[at:]) if at >= 0 else (queries, "")
    reference = deepmind_mrcr_reference(queries, entry)
    return Question(
        question=question,
        answer=entry.row["answer"].strip(),
        reference=reference | {"needles": reference["same_ask"], "row": entry.number} | _DEEPMIND.reference(suite),
        context=Document(conversation, truncation="never"),
        verbatim=True,
    )


TASKS = (_OPENAI.task("openai_mrcr", _openai_mrcr), _DEEPMIND.task("deepmind_mrcr", _deepmind_mrcr))
