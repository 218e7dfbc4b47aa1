"""What a reviewer decides on: a row's question, answers and documents; and a row with another wording of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

Row = Mapping[str, Any]
_LONGEST = 20_000  # characters of a question, an answer or a name that a reviewer may write
_MOST = 200  # answers, supporting documents


@dataclass(frozen=True, slots=True)
class Pair:
    """`answers`: the reference first, then its aliases. `document`, `supporting`: names of documents."""

    question: str = ""
    answers: tuple[str, ...] = ()
    document: str = ""
    supporting: tuple[str, ...] = ()


def pair_of(row: Row) -> Pair:
    """The pair of a row of a questions file; what the row lacks is empty, so that a reviewer can mend it."""
    return Pair(
        question=_text(row.get("question")),
        answers=_texts(row.get("answer"), row.get("aliases")),
        document=row["answer_doc"] if isinstance(row.get("answer_doc"), str) else "",
        supporting=_texts(row.get("supporting_docs"), strip=False),
    )


def with_pair(row: Row, pair: Pair) -> dict[str, Any]:
    """The row with this pair: fields that say the same stay as they are, and all others of the row."""
    old, changed = pair_of(row), dict(row)
    if pair.question != old.question:
        changed["question"] = pair.question
    if pair.answers != old.answers:
        if isinstance(row.get("answer"), list):
            changed["answer"] = list(pair.answers)
            if "aliases" in row:
                changed["aliases"] = []
        else:
            changed["answer"] = pair.answers[0] if pair.answers else ""
            if "aliases" in row or len(pair.answers) > 1:
                changed["aliases"] = list(pair.answers[1:])
    if pair.document != old.document:
        changed["answer_doc"] = pair.document
    if pair.supporting != old.supporting:
        changed["supporting_docs"] = list(pair.supporting)
    return changed


def changed_fields(old: Pair, new: Pair) -> list[str]:
    """The names of the fields that differ."""
    return [each.name for each in fields(Pair) if getattr(old, each.name) != getattr(new, each.name)]


def fingerprint(pair: Pair) -> str:
    """Tells whether a file still says what a reviewer saw."""
    return sha256(json.dumps(pair_json(pair)).encode()).hexdigest()[:16]


def pair_json(pair: Pair) -> dict[str, Any]:
    """The pair as the page and the state file have it."""
    return {
        "question": pair.question,
        "answers": list(pair.answers),
        "document": pair.document,
        "supporting": list(pair.supporting),
    }


def pair_from(said: object) -> Pair:
    """The pair that a page sent. Raises `ValueError` that says what is wrong with it."""
    told = said if isinstance(said, dict) else {}
    question, document = told.get("question"), told.get("document")
    answers, supporting = told.get("answers"), told.get("supporting", [])
    if not isinstance(question, str) or not question.strip():
        raise ValueError("the question is empty")
    if not isinstance(document, str) or not document:
        raise ValueError("the answer document is empty")
    if not isinstance(answers, list) or not isinstance(supporting, list) or len(answers) + len(supporting) > _MOST:
        raise ValueError(f"answers and supporting documents are lists of at most {_MOST}")
    pair = Pair(question.strip(), _texts(answers), document, _texts(supporting, strip=False))
    if not pair.answers:
        raise ValueError("the answer is empty")
    if any(len(text) > _LONGEST for text in (pair.question, *pair.answers, pair.document, *pair.supporting)):
        raise ValueError(f"a text is longer than {_LONGEST} characters")
    return pair


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(*values: object, strip: bool = True) -> tuple[str, ...]:
    """The texts among values and lists of values, numbers written out, each once. Names of files keep their spaces."""
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    told = [str(each) for each in listed if isinstance(each, str | int | float) and not isinstance(each, bool)]
    return tuple(dict.fromkeys(text.strip() if strip else text for text in told if text.strip()))
