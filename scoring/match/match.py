"""The default scorer: the value that an answer states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from needlework.scoring.match.claims import (
    CLOSING,
    LONG,
    Claim,
    conclusion,
    first_sentence,
    is_bound,
    is_list,
    is_one_of_two,
    read_claims,
    refusal_end,
    split_at_question,
    weight,
    without_harmless,
    without_next_turn,
)
from needlework.scoring.match.folding import MARK, fold, fold_lines
from needlework.scoring.match.owners import (
    asks_for_code,
    every_word,
    is_foreign,
    is_strange,
    known_words,
    owner,
    vocabulary,
)
from needlework.scoring.match.values import Mention, find_mentions, fold_moments, has_moment
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

# 1. Spellings are folded (`folding`). 2. Found are the accepted values, the known wrong ones, and others of the same
# shape (`values`). 3. Values that are denied, corrected, replaced, supposed (`claims`) or another key's (`owners`) are
# out. 4. A concluding sentence decides, if it gives a value. 5. Else the last value that is given; one of two in a
# list (`A or B`) is none. 6. A known wrong value is `distractor`; no value and a refusal is `refused`; two values of
# one shape of which nothing is said are `unclear`. Cut off is what stands before a repetition of the question, a next
# question that a base model goes on with, and all of a long text (1000 letters) but its first sentence and its end.
_SHOWN = 160
_SCANNED = 3000
_OUT = {"denied": "denied, old or only supposed", "withdrawn": "taken back", "other": "given as another's"}


@dataclass(frozen=True, slots=True)
class _ExpectedAnswer:
    """A folded reference. `parts`: the spellings of each value; `alone`: other values in the answer say nothing."""

    parts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    statement: str
    question: str
    moments: bool
    size: int
    alone: bool = False


@dataclass(frozen=True, slots=True)
class _StatedValue:
    """A value of the answer, and what is said of it."""

    mention: Mention
    claim: Claim
    owner: str
    strange: bool


def match_score(answer: str, reference: Reference) -> Score:
    """Judge one answer by the rule of this module. A reference without any value raises `ValueError`."""
    return _score(fold_lines(answer), _expect(reference))


def affirms(answer: str, value: str, reference: Reference) -> bool:
    """Whether an answer gives one value, neither denied nor taken back nor copied, whatever else it gives."""
    if not folded_value(value):
        return False
    expected = _expect(replace(reference, answers=(value,), parts=(), distractors=()))
    return _score(fold_lines(answer), replace(expected, alone=True, size=max(1, len(reference.parts)))).value == 1


def folded_value(text: str) -> str:
    """Fold a value, without the quotes and stops around it."""
    folded = fold(text)
    return folded.lstrip(" \"'").rstrip(" .,;:!?。，；：！？、…\"'") or folded


_UMLAUTS = {ord(letter): f"{base}e" for letter, base in zip("äöüÄÖÜ", "aouAOU", strict=True)}
_folded = lru_cache(1024)(fold)


@lru_cache(1024)
def spellings(text: str) -> tuple[str, ...]:
    """A value folded, and with its umlauts written out (`Goettingen`)."""
    written_out = text.translate(_UMLAUTS)
    return tuple(dict.fromkeys(value for value in map(folded_value, (text, written_out)) if value))


def _expect(reference: Reference) -> _ExpectedAnswer:
    accepted = tuple(value for answer in reference.answers for value in spellings(answer))
    parts = tuple(each for each in map(spellings, reference.parts) if each) or ((accepted,) if accepted else ())
    if not parts:
        raise ValueError("the reference has no value to match: give answers or parts")
    wrong = tuple(value for value in map(folded_value, reference.distractors) if value)
    statement = folded_value(reference.statement) if reference.statement else ""
    moments = any(map(has_moment, (value for part in parts for value in part)))
    if moments:
        parts = tuple(tuple(map(fold_moments, part)) for part in parts)
        wrong, statement = tuple(map(fold_moments, wrong)), fold_moments(statement)
    return _ExpectedAnswer(parts, wrong, statement, _folded(reference.question), moments, len(parts))


def _score(lines: str, expected: _ExpectedAnswer) -> Score:
    if not lines:
        return Score(0.0, "empty", why="no text")
    lines = fold_moments(lines) if expected.moments else lines
    pieces = split_at_question(without_next_turn(lines), expected.question)
    if pieces is None:
        return _judge(without_next_turn(lines), expected, opening=True)
    before, after = pieces
    score = Score(0.0, "wrong", before[:_SHOWN], "only repeats the question or the prompt")
    if any(char.isalnum() for char in after):
        score = _judge(after, expected, opening=False)
        if score.value > 0 or score.verdict in ("distractor", "unclear"):
            return score
    opening = before[: first_sentence(before).end]
    earlier = _judge(opening, expected, opening=True) if opening and weight(opening) <= LONG else score
    return earlier if earlier.value > 0 else score


def _judge(lines: str, expected: _ExpectedAnswer, *, opening: bool) -> Score:
    half = _SCANNED + CLOSING * expected.size
    whole = len(lines) <= 2 * half
    lines = lines if whole else f"{lines[:half]}\n{lines[-half:]}"
    text = lines.replace("\n", " ")
    values = [value for part in expected.parts for value in part]
    mentions = find_mentions(text, values, expected.distractors, expected.statement)
    known = any(mention.kind != "alike" for mention in mentions)
    read = (
        _state_values(lines, mentions, expected)
        if known
        else [_StatedValue(mention, "given", "", False) for mention in mentions]
    )
    if not whole or weight(text) > LONG + CLOSING * (expected.size - 1):
        first = min(first_sentence(lines).end, CLOSING) if opening else 0
        last, quote = len(text) - CLOSING * expected.size, len(expected.statement)
        read = [
            each
            for each in read
            if each.mention.span.start < first
            or (each.mention.span.start >= last and each.mention.span.end - each.mention.span.start != (quote or -1))
        ]
    if not read:
        return _miss(text, "values stand only inside a long copied text" if mentions else "no value in the answer")
    if expected.alone:
        right = [each for each in read if each.mention.kind == "right"]
        if right and right[-1].claim in ("given", "other"):
            return Score(1.0, "found", right[-1].mention.value, "affirms the value")
        return _miss(text, "the value is not affirmed")
    return _judge_parts(text, read, expected) if expected.size > 1 else _judge_one(lines, read)


def _state_values(lines: str, mentions: Sequence[Mention], expected: _ExpectedAnswer) -> list[_StatedValue]:
    pieces, at = [], 0
    for mention in mentions:
        pieces += [lines[at : mention.span.start], MARK]
        at = mention.span.end
    sketch = without_harmless("".join([*pieces, lines[at:]]))
    places = [place for place, char in enumerate(sketch) if char == MARK]
    part_of = {value: f"part {number}" for number, part in enumerate(expected.parts) for value in part}
    names = [part_of.get(mention.value, mention.value) for mention in mentions]
    foreign = is_foreign(sketch, expected.question)
    quotes = [mention.span.end - mention.span.start == (len(expected.statement) or -1) for mention in mentions]
    codes = [any(map(str.isdigit, mention.value)) for mention in mentions]
    has_key = asks_for_code(expected.question)
    owners = [
        "" if foreign else owner(sketch, place, expected.question, strict=code and has_key)
        for code, place in zip(codes, places, strict=True)
    ]
    owners = ["asked" if quote else whose for quote, whose in zip(quotes, owners, strict=True)]
    known = known_words(expected.question) | known_words(expected.statement)
    claims = read_claims(sketch, [names.index(name) for name in names], owners, every_word(expected.question))
    claims = [
        "denied" if claim == "given" and re.match(r"[\d$€£¥]", mention.value) and is_bound(sketch, place) else claim
        for mention, claim, place in zip(mentions, claims, places, strict=True)
    ]
    strange = [
        claim == "given"
        and not quote
        and bool(expected.question)
        and not (foreign and code)
        and is_strange(sketch, place, known | vocabulary() if set(claims) > {"given"} else known)
        for claim, quote, code, place in zip(claims, quotes, codes, places, strict=True)
    ]
    return [_StatedValue(*each) for each in zip(mentions, claims, owners, strange, strict=True)]


def _judge_one(lines: str, read: Sequence[_StatedValue]) -> Score:
    text = lines.replace("\n", " ")
    final = next((each.claim for each in reversed(read) if each.mention.kind == "right"), "given")
    stated = [each for each in read if each.claim == "given"]
    if final in ("denied", "withdrawn"):
        stated = [each for each in stated if each.mention.kind != "right"]
    readable = [each for each in stated if not each.strange] or stated
    end = conclusion(lines)
    concluded = [each for each in stated if end and each.mention.span.start >= end.start]
    is_concluded = 0 < len(concluded) < len(stated)
    decides = concluded or readable
    decides = [each for each in decides if each.owner == "asked"] or decides
    if not decides:
        out = next((each for each in reversed(read) if each.mention.kind == "right"), None)
        return _miss(text, f"the value is {_OUT[out.claim]}" if out else "no accepted value in the answer")
    last = decides[-1]
    right = {each.mention.kind == "right" for each in decides}
    known = [each.mention.value for each in decides if each.mention.kind == "distractor"]
    beside = _in_one_list(lines, stated)
    decoyed = last.mention.kind == "distractor" and not (last.strange and len(right) > 1)
    if decoyed or (known and beside):
        return Score(0.0, "distractor", known[-1], "gives a known wrong value")
    if beside or (last.mention.kind == "right" and is_one_of_two(_without_others(text, decides), *last.mention.span)):
        return Score(0.0, "wrong", text[:_SHOWN], "gives the value or another one")
    if last.strange and len(right) > 1:
        return Score(0.0, "unclear", text[:_SHOWN], "what the text says of two values cannot be told")
    if last.mention.kind != "right":
        if True in right and last.mention.kind == "alike" and not is_concluded:
            return Score(0.0, "unclear", text[:_SHOWN], "gives two values of one shape")
        return _miss(text, "gives another value" if True in right else "no accepted value in the answer", stated)
    if last.strange:
        return Score(0.0, "unclear", text[:_SHOWN], "what the text says of the value cannot be told")
    return Score(1.0, "found", last.mention.value, f"gives {last.mention.value[:60]!r}")


def _without_others(text: str, read: Sequence[_StatedValue]) -> str:
    """The text with all right values but the last blanked out: `a7 or a-7` gives one."""
    for each in read[:-1]:
        if each.mention.kind == "right":
            start, end = each.mention.span
            text = f"{text[:start]}{'~' * (end - start)}{text[end:]}"
    return text


def _in_one_list(lines: str, read: Sequence[_StatedValue]) -> bool:
    """Whether right and wrong values stand side by side, as alternatives or in one list."""
    last = max((each.mention.span for each in read if each.mention.kind == "right"), default=None)
    return any(
        last in (one.mention.span, other.mention.span)
        and (one.mention.kind == "right") != (other.mention.kind == "right")
        and is_list(lines[one.mention.span.end : other.mention.span.start])
        for one, other in pairwise(read)
    )


def _judge_parts(text: str, read: Sequence[_StatedValue], expected: _ExpectedAnswer) -> Score:
    last = {each.mention.value: each for each in read}
    stated = {value for value, each in last.items() if each.claim == "given"}
    found = [part for part in expected.parts if any(value in stated for value in part)]
    wrong = [value for value in stated if last[value].mention.kind == "distractor"]
    alike = [value for value in stated if last[value].mention.kind == "alike"]
    strange = [each.strange for each in last.values() if each.mention.kind == "right"]
    if any(strange) and not all(strange):
        return Score(0.0, "unclear", text[:_SHOWN], "what the text says of a value cannot be told")
    extra = len(wrong) + (len(alike) if len(alike) > 1 else 0)
    details = {"parts": len(expected.parts), "parts_found": len(found), "extra": extra}
    if not found:
        miss = _miss(text, "no part found", [last[value] for value in alike])
        verdict: Verdict = "distractor" if wrong else miss.verdict
        return Score(0.0, verdict, wrong[-1] if wrong else miss.answer, miss.why, details)
    value = len(found) / (len(expected.parts) + extra)
    why = f"{len(found)} of {len(expected.parts)} parts" + (f", {extra} wrong values" if extra else "")
    names = ", ".join(value for part in found for value in part if value in stated)
    return Score(value, "found" if value == 1 else "partial", names[:_SHOWN], why, details)


def _miss(text: str, why: str, stated: Sequence[_StatedValue] = ()) -> Score:
    """A miss: refused, unless a value is `given` after the words that decline (`not sure: 1234`)."""
    declined = refusal_end(text)
    if declined is not None and all(each.mention.span.start < declined for each in stated):
        return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
    return Score(0.0, "wrong", text[:_SHOWN], why)


MATCH = Scorer("match", 5, match_score)
