"""Version 2 of `match`, to compare with earlier scores (`match@2`); other scorers find values with it.

Does the final answer give the reference value, whole, affirmed, and nothing else?

Text is normalised (`normalize`), values are whole (`values`), denials do not count (`polarity`). Then:

* what stands before a repetition of the question is the prompt, not the answer, unless it opens with the value;
* in a long answer (1000 letters) the value counts in the first sentence or near the end: elsewhere it was copied;
* a value that is given with a known wrong one, with two look-alikes or as an alternative (`A or B`) is not an answer,
  unless the last sentence concludes with it alone (`so the answer is A`);
* the last mention decides between `it is A` and `it is not A`;
* several needles: the share of parts, with every known wrong value as one more part that was missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from needlework.scoring.answers.candidates import Candidate, find_candidates, is_hedged
from needlework.scoring.answers.normalize import flatten, normalize, normalize_lines, normalize_value
from needlework.scoring.answers.passages import CLOSING, LONG, conclusion, first_sentence, split_at_question, weight
from needlework.scoring.answers.polarity import refusal_end
from needlework.scoring.answers.values import Cover, find_plain
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

_MAX_ALIKE = 1
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A reference, normalised. `parts` has one tuple of spellings for each value that is wanted.

    `size`: how many values the whole answer is to give. `alone`: no other value is held against the answer.
    """

    parts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    statement: str
    question: str
    size: int = 1
    alone: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for part in self.parts for value in part)


def match_score(answer: str, reference: Reference) -> Score:
    """Judge one answer; see the module for the rule. A reference without any value raises `ValueError`."""
    return _score(normalize_lines(answer), _wanted(reference))


def affirms(answer: str, value: str, reference: Reference) -> bool:
    """Say whether an answer gives one value, whole, affirmed and not copied, whatever else it gives."""
    plain = normalize_value(value)
    if not plain:
        return False
    wanted = _wanted(replace(reference, answers=(plain,), parts=(), distractors=()))
    wanted = replace(wanted, alone=True, size=max(1, len(reference.parts)))
    return _score(normalize_lines(answer), wanted).value == 1


def _score(lines: str, wanted: _Wanted) -> Score:
    if not lines:
        return Score(0.0, "empty", why="no text")
    pieces = split_at_question(lines, wanted.question)
    if pieces is None:
        return _judge(lines, wanted, opening=True)
    before, after = pieces
    if any(char.isalnum() for char in after):
        score = _judge(after, wanted, opening=False)
        if score.value > 0 or score.verdict == "distractor":
            return score
    else:
        score = Score(0.0, "wrong", before[:_SHOWN], "only repeats the question or the prompt")
    opening = before[: first_sentence(before).end]
    earlier = _judge(opening, wanted, opening=True) if opening and weight(opening) <= LONG else score
    return earlier if earlier.value > 0 else score


def _wanted(reference: Reference) -> _Wanted:
    spellings = tuple(value for value in map(normalize_value, reference.answers) if value)
    parts = tuple((value,) for value in map(normalize_value, reference.parts) if value)
    if not parts and not spellings:
        raise ValueError("the reference has no value to match: give answers or parts")
    return _Wanted(
        parts or (spellings,),
        tuple(value for value in map(normalize_value, reference.distractors) if value),
        normalize_value(reference.statement) if reference.statement else "",
        normalize(reference.question) if reference.question else "",
        len(parts) or 1,
    )


def _judge(lines: str, wanted: _Wanted, *, opening: bool) -> Score:
    text = flatten(lines)
    candidates = find_candidates(text, wanted.values, wanted.distractors, wanted.statement, alike=not wanted.alone)
    if not candidates:
        return _miss(text, "no accepted value in the answer")
    long = LONG + CLOSING * (wanted.size - 1)
    if len(text) * 3 > long and weight(text) > long:
        kept = _outside_copies(lines, text, candidates, wanted, opening=opening)
        if not kept:
            return _miss(text, "values stand only inside a long copied text")
        candidates = kept
    if len(wanted.parts) > 1:
        return _judge_parts(text, candidates, wanted)
    end = conclusion(lines)
    concluded = [candidate for candidate in candidates if end and candidate.span.start >= end.start]
    score = _judge_one(text, candidates)
    if concluded and score.value == 0 and len(concluded) < len(candidates):
        return _judge_one(text, concluded)
    return score


def _judge_one(text: str, candidates: Sequence[Candidate]) -> Score:
    given = [candidate for candidate in candidates if not candidate.denied]
    wrong = [candidate for candidate in given if candidate.kind == "distractor"]
    alike = {candidate.value for candidate in given if candidate.kind == "alike"}
    right = [candidate for candidate in candidates if candidate.kind == "right"]
    if not right or right[-1].denied:
        if wrong:
            return Score(0.0, "distractor", wrong[-1].value, "gives a known wrong value")
        return _miss(text, "denies the value" if right else "no accepted value in the answer", given)
    if wrong:
        return Score(0.0, "distractor", wrong[-1].value, "gives the value together with a known wrong one")
    if len(alike) > _MAX_ALIKE or is_hedged(text, given):
        return Score(0.0, "wrong", text[:_SHOWN], f"lists {len(alike) + 1} candidate values")
    hit = right[-1]
    return Score(1.0, "found", hit.value, f"{hit.value[:60]!r} at character {hit.span.start}")


def _judge_parts(text: str, candidates: Sequence[Candidate], wanted: _Wanted) -> Score:
    last = {candidate.value: candidate for candidate in candidates}
    given = {value: candidate for value, candidate in last.items() if not candidate.denied}
    found = [part for part in wanted.parts if any(value in given for value in part)]
    wrong = [value for value, candidate in given.items() if candidate.kind == "distractor"]
    alike = [value for value, candidate in given.items() if candidate.kind == "alike"]
    extra = len(wrong) + (len(alike) if len(alike) > _MAX_ALIKE else 0)
    details = {"parts": len(wanted.parts), "parts_found": len(found), "extra": extra}
    if not found:
        miss = _miss(text, "no part found", [last[value] for value in alike])
        verdict: Verdict = "distractor" if wrong else miss.verdict
        return Score(0.0, verdict, wrong[-1] if wrong else miss.answer, miss.why, details)
    value = len(found) / (len(wanted.parts) + extra)
    why = f"{len(found)} of {len(wanted.parts)} parts" + (f", {extra} wrong values" if extra else "")
    names = ", ".join(value for part in found for value in part if value in given)
    return Score(value, "found" if value == 1 else "partial", names[:_SHOWN], why, details)


def _outside_copies(
    lines: str, text: str, candidates: Sequence[Candidate], wanted: _Wanted, *, opening: bool
) -> list[Candidate]:
    """Keep the candidates that start in the first sentence, or near the end and not in a copied needle sentence."""
    first = first_sentence(lines).end if opening else 0
    closing = len(text) - CLOSING * wanted.size
    quotes = Cover(find_plain(text, wanted.statement))
    return [
        candidate
        for candidate in candidates
        if candidate.span.start < min(first, CLOSING)
        or (candidate.span.start >= closing and not quotes.holds(candidate.span))
    ]


def _miss(text: str, why: str, given: Sequence[Candidate] = ()) -> Score:
    """A miss: refused, unless a value of the right shape is `given` after the words that decline (`not sure: 1234`)."""
    declined = refusal_end(text)
    if declined is not None and all(candidate.span.start < declined for candidate in given):
        return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
    return Score(0.0, "wrong", text[:_SHOWN], why)


MATCH_2 = Scorer("match@2", 2, match_score)
