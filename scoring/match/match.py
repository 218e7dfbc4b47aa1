"""The default scorer: the value that an answer states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from needlework.scoring.folding import fold, fold_lines
from needlework.scoring.match.claims import read_claims
from needlework.scoring.match.values import Mention, find_mentions
from needlework.scoring.reading import conclusion, first_sentence, outside_copies, own_words, refusal_end
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

# The rule in ten points is in docs/match.md: spellings are folded (`folding`), the part that counts is cut out
# (`reading`), values are located (`values`) and those that the text takes away are left out (`claims`). A concluding
# sentence decides, or else the last value.
_SHOWN = 160
_OUT = {"denied": "denied, old or only supposed", "withdrawn": "taken back"}
_UMLAUTS = {ord(letter): f"{base}e" for letter, base in zip("äöüÄÖÜ", "aouAOU", strict=True)}


@dataclass(frozen=True, slots=True)
class _ExpectedAnswer:
    """A folded reference. `parts`: the spellings of each value."""

    parts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    statement: str
    question: str


def match_score(answer: str, reference: Reference) -> Score:
    """Judge one answer by the rule of this module. A reference without any value raises `ValueError`."""
    expected = _expect(reference)
    lines = fold_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    stated = own_words(lines, expected.question)
    if stated != lines and not any(char.isalnum() for char in stated):
        return Score(0.0, "wrong", lines[:_SHOWN], "only repeats the question or the prompt")
    lines = outside_copies(stated, len(expected.parts))
    values = _read_values(lines, expected, copied=lines != stated)
    return _judge_parts(lines, values, expected) if len(expected.parts) > 1 else _judge_one(lines, values)


def affirms(answer: str, value: str, reference: Reference) -> bool:
    """Whether an answer gives one value, neither denied nor taken back nor copied, whatever else it gives."""
    if not folded_value(value):
        return False
    expected = _expect(replace(reference, answers=(value,), parts=(), distractors=()))
    stated = own_words(fold_lines(answer), expected.question)
    lines = outside_copies(stated, max(1, len(reference.parts)))
    right = [each for each in _read_values(lines, expected, copied=lines != stated) if each.kind == "right"]
    return bool(right) and right[-1].claim not in ("denied", "withdrawn")


_folded = lru_cache(1024)(fold)


def folded_value(text: str) -> str:
    """Fold a value, without the quotes and stops around it."""
    folded = _folded(text)
    return folded.lstrip(" \"'").rstrip(" .,;:!?。，；：！？、…\"'") or folded


def spellings(text: str) -> tuple[str, ...]:
    """A value folded, and with its umlauts written out (`Goettingen`)."""
    return tuple(dict.fromkeys(filter(None, map(folded_value, (text, text.translate(_UMLAUTS))))))


def _expect(reference: Reference) -> _ExpectedAnswer:
    accepted = tuple(value for answer in reference.answers for value in spellings(answer))
    parts = tuple(filter(None, map(spellings, reference.parts))) or ((accepted,) if accepted else ())
    if not parts:
        raise ValueError("the reference has no value to match: give answers or parts")
    wrong = tuple(filter(None, map(folded_value, reference.distractors)))
    return _ExpectedAnswer(parts, wrong, folded_value(reference.statement), _folded(reference.question))


def _read_values(lines: str, expected: _ExpectedAnswer, *, copied: bool) -> list[Mention]:
    """The values of an answer with its claims. `copied`: of the needle's sentence the first alone counts."""
    accepted = [value for part in expected.parts for value in part]
    mentions = find_mentions(lines.replace("\n", " "), accepted, expected.distractors, expected.statement)
    opening = first_sentence(lines).end if copied else len(lines)
    mentions = [each for each in mentions if not each.quoted or each.span.start < opening]
    if all(each.kind == "alike" for each in mentions):
        return mentions
    part_of = {value: f"part {number}" for number, part in enumerate(expected.parts) for value in part}
    named = [part_of.get(each.value, each.value) for each in mentions]
    return read_claims(lines, mentions, named, expected.question, f"{expected.question} {expected.statement}")


def _judge_one(lines: str, values: Sequence[Mention]) -> Score:
    shown, end = lines[:_SHOWN].replace("\n", " "), conclusion(lines)
    final = next((each.claim for each in reversed(values) if each.kind == "right"), None)
    stated = [each for each in values if each.is_stated and (each.kind != "right" or final not in _OUT)]
    concluded = [each for each in stated if end and each.span.start >= end.start]
    decides = concluded or [each for each in stated if each.claim != "unfamiliar"] or stated
    if not decides:
        return _miss(lines, f"the value is {_OUT[final]}" if final in _OUT else "no value in the answer")
    last, right = decides[-1], [each for each in decides if each.kind == "right"]
    known = [each.value for each in decides if each.kind == "distractor"]
    if right and right[-1].claim == "listed" and not known:
        return Score(0.0, "wrong", shown, "gives the value or another one")
    if right and last.claim == "unfamiliar":
        return Score(0.0, "unclear", shown, "what the text says of the value cannot be told")
    if known and (last.kind == "distractor" or right[-1].claim == "listed"):
        return Score(0.0, "distractor", known[-1], "gives a known wrong value")
    if last.kind == "right":
        return Score(1.0, "found", last.value, f"gives {last.value[:60]!r}")
    return _miss(lines, "gives another value" if right else "no accepted value in the answer", stated)


def _judge_parts(lines: str, values: Sequence[Mention], expected: _ExpectedAnswer) -> Score:
    last = {each.value: each for each in values}
    stated = {value: each for value, each in last.items() if each.is_stated}
    if len({each.claim == "unfamiliar" for each in stated.values() if each.kind == "right"}) > 1:
        return Score(0.0, "unclear", lines[:_SHOWN], "what the text says of a value cannot be told")
    right = [value for part in expected.parts for value in [each for each in part if each in stated][:1]]
    wrong = [value for value, each in stated.items() if each.kind == "distractor"]
    alike = [each for each in stated.values() if each.kind == "alike"]
    extra = len(wrong) + (len(alike) if len(alike) > 1 else 0)
    details = {"parts": len(expected.parts), "parts_found": len(right), "extra": extra}
    if not right:
        miss = _miss(lines, "no part found", alike)
        verdict: Verdict = "distractor" if wrong else miss.verdict
        return Score(0.0, verdict, wrong[-1] if wrong else miss.answer, miss.why, details)
    value = len(right) / (len(expected.parts) + extra)
    why = f"{len(right)} of {len(expected.parts)} parts" + (f", {extra} wrong values" if extra else "")
    return Score(value, "found" if value == 1 else "partial", ", ".join(right)[:_SHOWN], why, details)


def _miss(lines: str, why: str, stated: Sequence[Mention] = ()) -> Score:
    """A miss: refused, unless a value is `stated` after the words that decline (`not sure: 1234`)."""
    text = lines.replace("\n", " ")
    declined = refusal_end(text)
    if declined is not None and all(each.span.start < declined for each in stated):
        return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
    return Score(0.0, "wrong", text[:_SHOWN], why)


MATCH = Scorer("match", 7, match_score)
