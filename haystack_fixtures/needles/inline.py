"""Needles that are said with the run, without a file: JSON in the place of a needle set's name.

So keys, manifests and worker processes have them whole, and needles are the same however they were said.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.needles.needle import JointQuestion, Needle, NeedleSet

NAME = "needle"
_OPTION = "--needle"


def inline_spec(needles: Sequence[str], question: str, answer: str = "") -> str:
    """The JSON of needles with their one question; texts stay as they are, line breaks at their ends too.

    `answer`: the right one; without it an answer is compared with the needles. Raises `InputError` for blank texts, and
    for two needles that are one.
    """
    for text in (*needles, question):
        if not text.strip():
            raise InputError(_OPTION, text, "give a text that is not empty")
    if len({text.strip() for text in needles}) < len(needles):
        raise InputError(_OPTION, needles[-1], "two needles have the same text: give every one its own")
    said = {"needles": list(needles), "question": question.strip(), "answer": answer.strip()}
    return json.dumps({key: value for key, value in said.items() if value}, ensure_ascii=False)


def is_inline(spec: str) -> bool:
    """Whether a needle set's name is one of these."""
    return spec.startswith("{")


def has_answer(spec: str) -> bool:
    """Whether there is more to compare an answer with than the needles themselves."""
    return not is_inline(spec) or "answer" in _read(spec)


def load_inline(spec: str, language: str) -> NeedleSet:
    """The set of such a name. Raises `InputError`."""
    said = _read(spec)
    texts, question, answer = said["needles"], said["question"], said.get("answer", "")
    several = len(texts) > 1
    # What all of them together answer is the answer of none.
    answers = ["" if several and answer else answer or text.strip() for text in texts]
    needles = tuple(
        Needle(f"{NAME}{number}" if several else NAME, text, question, right)
        for number, (text, right) in enumerate(zip(texts, answers, strict=True), 1)
    )
    joint = JointQuestion(question, answer or "\n".join(answers), answer)
    return NeedleSet(NAME, language, "the run's own", needles, joint, sha256(spec.encode()).hexdigest())


def _read(spec: str) -> dict[str, Any]:
    try:
        said = json.loads(spec)
        again = inline_spec(said["needles"], said["question"], said.get("answer", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        remedy = 'is no JSON of needles: give --needle and --question, or {"needles": ["..."], "question": "..."}'
        raise InputError("--needle-set", spec, remedy) from None
    found: dict[str, Any] = json.loads(again)
    if isinstance(said["needles"], str) or not found.get("needles"):
        raise InputError("--needle-set", spec, '"needles" is a list of texts')
    return found
