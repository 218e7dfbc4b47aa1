"""What a mock judge says: it counts words, in the form of reply that each of our judges' prompts asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256

from needlework.haystack_fixtures.prompts.prompt import Message

_SECTION = re.compile(r"^\[(?:End of [^\]]+|(Question|Reference|Accepted answers|Answer(?: [AB])?))\]$", re.MULTILINE)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_ABSTAINS = ("not found", "没有提到")
_BLIND = "mock:judge knows the prompts of needlework alone; in another one give mock:judge=SHARE, which draws"


def judged(messages: Sequence[Message], share: float | None) -> str:
    """The reply to a judge's prompt: the share of the reference's words that stand in the answer, as a mark or verdict.

    Words of the question do not count. Of two answers the one with more of them is better. `share`: so many of all
    answers, 0..1, are called right, whatever they say.
    """
    system, user = (messages[0].content, messages[-1].content) if messages else ("", "")
    if share is not None:
        drawn = int(sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:12], 16) / 16**12
        return _reply(system, float(drawn < share))
    said = _sections(user)
    recall = partial(_recall, question=said.get("Question", ""))
    if "Answer A" in said:
        first, second = (recall(said.get("Reference", ""), said.get(f"Answer {which}", "")) for which in "AB")
        return f"mock: by words alone. [[{'A' if first > second else 'B' if second > first else 'C'}]]"
    if "Answer" not in said:
        return _BLIND
    answer = said["Answer"]
    if "Accepted answers" in said:
        accepted = [line.removeprefix("- ") for line in said["Accepted answers"].splitlines() if line.strip()]
        return _reply(system, max((recall(each, answer) for each in accepted), default=0.0))
    if "Reference" in said:
        return _reply(system, recall(said["Reference"], answer))
    return _reply(system, float(any(words in answer.casefold() for words in _ABSTAINS)))


def _reply(system: str, share: float) -> str:
    """`share` as the system text asks for it: `[[7]]`, a mark in JSON, else right or wrong."""
    if "double square brackets" in system:
        return f"mock: by words alone. [[{max(1, int(10 * share))}]]"
    if '"verdict"' in system:
        return f'{{"reasoning": "mock: by words alone", "verdict": {int(10 * share)}}}'
    return f'{{"reason": "mock: by words alone", "correct": {"true" if share == 1 else "false"}}}'


def _sections(user: str) -> Mapping[str, str]:
    """The parts of a message by name; of an answer that holds such a heading itself, all up to its end."""
    found: dict[str, str] = {}
    parts = list(_SECTION.finditer(user))
    for at, part in enumerate(parts):
        if part[1] and part[1] not in found:
            last = part[1] == "Answer"
            end = len(user) if last or at + 1 == len(parts) else parts[at + 1].start()
            found[part[1]] = user[part.end() : end].strip()
            if last:
                break
    return found


def _recall(reference: str, answer: str, question: str) -> float:
    """The share of the reference's words, those of the question left out, that the answer has."""
    told, there, asked = (set(_WORD.findall(text.casefold())) for text in (reference, answer, question))
    wanted = told - asked or told
    return len(wanted & there) / len(wanted) if wanted else 0.0
