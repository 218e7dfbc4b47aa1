"""True or false in the story, and in the real world: `True [fact: False]` (SFiction).

The score is the mean of both parts, `loyalty` and `fact`. Compatible: in each part the first word that has `true` or
`false` in it; the part behind the first `[fact:` loses its last character. An answer without `[fact:`, which ended
upstream's run, has no second part, and its details say so (`fact_missing`).

Strict: the part in the last `[fact: ...]`; whole words, `not true` is false, `true or false` says nothing, and where
both are said `the answer is` beats the first.
"""

from __future__ import annotations

import re

from needlework.scoring.leval.exact_core import SHOWN, exact_match, gold_of
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

MARK = "[fact:"
_NOTHING = "<error>"
_EITHER = re.compile(r"\btrue\s*(?:or|/|,)\s*false\b|\bfalse\s*(?:or|/|,)\s*true\b")
_SAID = re.compile(
    r"(?P<not>(?:\bnot|n['’]t|\bneither)\s+(?:(?:be|entirely|really|actually|strictly)\s+)?)?"
    r"\b(?P<word>untrue|true|false)\b"
)
_CUE = re.compile(r"\b(?:answer|statement)\b[^.\n]{0,40}?\b(?:is|:)\W*", re.IGNORECASE)


def compat_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as upstream reads them: `true`, `false` or `<error>`."""
    pieces = answer.lower().split(MARK)
    return _compat_word(pieces[0]), _compat_word(pieces[1][:-1] if len(pieces) > 1 else "")


def stated_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as an answer states them: `true`, `false` or `<error>`."""
    loyalty, mark, fact = answer.lower().rpartition(MARK)
    if not mark:
        return _stated(answer.lower()), _NOTHING
    return _stated(loyalty), _stated(fact.strip().removesuffix("]"))


def _compat_word(text: str) -> str:
    for word in text.split():
        for value in ("true", "false"):
            if value in word:
                return value
    return _NOTHING


def _stated(text: str) -> str:
    plain = _EITHER.sub(" ", text)
    said = _values(plain)
    if len(set(said)) > 1:
        concluded = [values[0] for cue in _CUE.finditer(plain) if (values := _values(plain[cue.end() :][:40]))]
        said = concluded[-1:] or said
    return said[0] if said else _NOTHING


def _values(text: str) -> list[str]:
    return ["true" if (match["word"] == "true") != bool(match["not"]) else "false" for match in _SAID.finditer(text)]


def _score(answer: str, taken: tuple[str, str], gold: tuple[str, str]) -> Score:
    pairs = zip(taken, gold, strict=True)
    loyalty, fact = (exact_match(said, right) if right != _NOTHING else 0.0 for said, right in pairs)
    value = (loyalty + fact) / 2
    missing = MARK not in answer.lower()
    said, right = " | ".join(taken), " | ".join(gold)
    why = "has no [fact: ...]" if missing else f"{said} for {right}"
    details: dict[str, float | str | bool] = {"loyalty": loyalty, "fact": fact, "taken": said, "gold": right}
    details["fact_missing"] = missing
    return Score(value, verdict_for(value, answer), said[:SHOWN], why, details)


def _compat(answer: str, reference: Reference) -> Score:
    return _score(answer, compat_parts(answer), compat_parts(gold_of(reference)))


def _strict(answer: str, reference: Reference) -> Score:
    return _score(answer, stated_parts(answer), stated_parts(gold_of(reference)))


SCI_FI = Scorer("leval_sci_fi", 1, _strict)
SCI_FI_COMPAT = Scorer("leval_sci_fi_compat", 1, _compat)
