"""The default scorer: the value that an answer states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from needlework.scoring.match.claims import declined_until, familiar_words
from needlework.scoring.match.mentions import (
    CLOSING,
    LONG,
    Reading,
    conclusion,
    find_mentions,
    first_sentence,
    is_one_of_two,
    is_quote,
    preferred,
    read_values,
    sketch_of,
    split_at_question,
    weight,
)
from needlework.scoring.match.normalize import fold, fold_lines
from needlework.scoring.match.owners import Asked, asked_for
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

# Text is folded (`folding`), values are found in all their spellings (`mentions`), and each is read in what stands
# around it (`standing`, `corrections`, `owners`): a value that is denied, corrected, replaced, supposed or another
# key's is not given. Then:
#
# * what stands before a repetition of the question is the prompt, not the answer, unless it opens with the value; a
# next
# question that a base model goes on with is no answer either;
# * in a long answer (1000 letters) the value counts in the first sentence or near the end: elsewhere it was copied;
# * the last mention decides between `it is A` and `it is not A`;
# * a value that is given with another one counts where the other is another key's or stands beside the point
# (`rivals`), or where the last sentence concludes with the value alone;
# * several needles: the share of parts, with every known wrong value as one more part that was missed;
# * where the words around the value cannot be read, the verdict is `unclear`, which is no score.
_SHOWN = 160
_SCANNED = 3000
_NEXT = re.compile(
    r"\n\s*(?:q(?:uestion)?|user|human|passage|document|context|instruction|input|frage|问题|问|質問)\s*\d*\s*[:.]"
)
_WORDS = {
    "denied": "denied",
    "old": "given as an old one",
    "other": "given as another's",
    "supposed": "only supposed",
    "withdrawn": "taken back",
    "unread": "given beside another one",
}


def match_score(answer: str, reference: Reference) -> Score:
    """Judge one answer; see the module for the rule. A reference without any value raises `ValueError`."""
    lines = fold_lines(answer)
    return _bare(lines, reference) or _score(lines, wanted_of(reference))


def affirms(answer: str, value: str, reference: Reference) -> bool:
    """Whether an answer gives one value, whole, neither denied nor taken back nor copied, whatever else it gives."""
    if not folded_value(value):
        return False
    wanted = wanted_of(replace(reference, answers=(value,), parts=(), distractors=()))
    wanted = replace(wanted, alone=True, size=max(1, len(reference.parts)))
    return _score(fold_lines(answer), wanted).value == 1


def _bare(lines: str, reference: Reference) -> Score | None:
    """The score of an answer that is the value and no word more, as most are: nothing around it has to be read.

    It is what `_score` says, at a tenth of its price: patterns are made anew for every question.
    """
    if not 0 < len(lines) <= _SHOWN or reference.parts or reference.distractors:
        return None
    bare = without_stops(lines.replace("\n", " "))
    if bare.replace(" ", "").isalnum() and any(bare in spellings(each) for each in reference.answers):
        return Score(1.0, "found", bare, f"gives {bare[:60]!r}")
    return None


def _score(lines: str, wanted: ExpectedAnswer) -> Score:
    if not lines:
        return Score(0.0, "empty", why="no text")
    lines = _without_next_question(lines, wanted)
    pieces = split_at_question(lines, wanted.question)
    if pieces is None:
        return _judge(lines, wanted, opening=True)
    before, after = pieces
    if any(char.isalnum() for char in after):
        score = _judge(after, wanted, opening=False)
        if score.value > 0 or score.verdict in ("distractor", "unclear"):
            return score
    else:
        score = Score(0.0, "wrong", before[:_SHOWN], "only repeats the question or the prompt")
    opening = before[: first_sentence(before).end]
    earlier = _judge(opening, wanted, opening=True) if opening and weight(opening) <= LONG else score
    return earlier if earlier.value > 0 else score


def _without_next_question(lines: str, wanted: ExpectedAnswer) -> str:
    """Leave out a further question and its answer, where an answer stands before them."""
    found = _NEXT.search(lines) if "\n" in lines else None
    before = lines[: found.start()] if found else ""
    if not before or weight(before) > LONG:
        return lines
    return before if find_mentions(before.replace("\n", " "), wanted.values, wanted.distractors, "") else lines


def _judge(lines: str, wanted: ExpectedAnswer, *, opening: bool) -> Score:
    size = wanted.size
    half = _SCANNED + CLOSING * size
    whole = len(lines) <= 2 * half
    if not whole:
        lines = f"{lines[:half]}\n{lines[-half:]}"
    text = lines.replace("\n", " ")
    mentions = find_mentions(text, wanted.values, wanted.distractors, wanted.statement)
    if not mentions:
        return _miss(text, "no accepted value in the answer")
    quote = len(wanted.statement)
    familiar = familiar_words(wanted.question, wanted.statement)
    read = read_values(lines, mentions, wanted.asked, parts=wanted.parts, quote=quote, familiar=familiar)
    if not whole or weight(text) > LONG + CLOSING * (size - 1):
        first = min(first_sentence(lines).end, CLOSING) if opening else 0
        last = len(text) - CLOSING * size
        read = [
            each for each in read if each.start < first or (each.start >= last and not is_quote(each.mention, quote))
        ]
        if not read:
            return _miss(text, "values stand only inside a long copied text")
    if wanted.alone:
        return _judge_alone(text, read)
    if size > 1:
        return _judge_parts(text, read, wanted)
    score = _judge_one(lines, read)
    if score.value > 0 or len(read) < 2:
        return score
    end = conclusion(lines)
    concluded = [each for each in read if end and each.start >= end.start]
    if concluded and len(concluded) < len(read):
        final = _judge_one(lines, concluded)
        return final if final.value > 0 or score.verdict == "unclear" else score
    return score


def _judge_alone(text: str, read: Sequence[Reading]) -> Score:
    """Words that cannot be read, and other keys' names, say nothing against a value that is looked for by itself."""
    told = [each for each in read if each.mention.kind == "right"]
    if told and told[-1].said in ("given", "unread", "other"):
        return Score(1.0, "found", told[-1].mention.value)
    return _miss(text, "the value is not affirmed")


def _judge_one(lines: str, read: Sequence[Reading]) -> Score:
    text = lines.replace("\n", " ")
    right = [each for each in read if each.mention.kind == "right"]
    given = [each for each in read if each.said == "given"]
    rivals = [each for each in given if each.mention.kind != "right"]
    known = [each.mention.value for each in rivals if each.mention.kind == "distractor"]
    told = [each for each in right if each.said != "unread"] or right
    if not told or (told[-1].said != "given" and rivals):
        if known:
            return Score(0.0, "distractor", known[-1], "gives a known wrong value")
        return _miss(
            text, f"the value is {_WORDS[told[-1].said]}" if told else "no accepted value in the answer", given
        )
    last = told[-1]
    if last.said == "unread":
        return Score(0.0, "unclear", text[:_SHOWN], "what the text says of the value cannot be told")
    if last.said in ("old", "other") and any(_is_right(each) for each in given):
        return Score(0.0, "unclear", text[:_SHOWN], "gives the value, and says that it is old or another's")
    if last.said != "given":
        return _miss(text, f"the value is {_WORDS[last.said]}", given)
    which = preferred(lines, read) if rivals else "right"
    if which == "wrong" or (which == "unread" and (known or len(rivals) > 1)):
        why = "gives the value together with another one"
        return Score(0.0, "distractor", known[-1], why) if known else Score(0.0, "wrong", text[:_SHOWN], why)
    if which == "unread":
        return Score(0.0, "unclear", text[:_SHOWN], "gives two values of one shape")
    if is_one_of_two(sketch_of(text, [each.mention for each in right]), right.index(last)):
        return Score(0.0, "wrong", text[:_SHOWN], "gives the value or another one")
    return Score(1.0, "found", last.mention.value, f"gives {last.mention.value[:60]!r}")


def _judge_parts(text: str, read: Sequence[Reading], wanted: ExpectedAnswer) -> Score:
    last = {each.mention.value: each for each in read}
    given = {value for value, each in last.items() if each.said == "given"}
    found = [part for part in wanted.parts if any(value in given for value in part)]
    if any(each.said == "unread" and each.mention.kind == "right" for each in last.values()):
        return Score(0.0, "unclear", text[:_SHOWN], "what the text says of a value cannot be told")
    wrong = [value for value in given if last[value].mention.kind == "distractor"]
    alike = [value for value in given if last[value].mention.kind == "alike"]
    extra = len(wrong) + (len(alike) if len(alike) > 1 else 0)
    details = {"parts": len(wanted.parts), "parts_found": len(found), "extra": extra}
    if not found:
        miss = _miss(text, "no part found", [last[value] for value in alike])
        verdict: Verdict = "distractor" if wrong else miss.verdict
        return Score(0.0, verdict, wrong[-1] if wrong else miss.answer, miss.why, details)
    value = len(found) / (len(wanted.parts) + extra)
    why = f"{len(found)} of {len(wanted.parts)} parts" + (f", {extra} wrong values" if extra else "")
    names = ", ".join(value for part in found for value in part if value in given)
    return Score(value, "found" if value == 1 else "partial", names[:_SHOWN], why, details)


def _is_right(reading: Reading) -> bool:
    return reading.mention.kind == "right"


def _miss(text: str, why: str, given: Sequence[Reading] = ()) -> Score:
    """A miss: refused, unless a value of the right shape is `given` after the words that decline (`not sure: 1234`)."""
    declined = declined_until(text)
    if declined is not None and all(each.start < declined for each in given):
        return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
    return Score(0.0, "wrong", text[:_SHOWN], why)


def wanted_of(reference: Reference) -> ExpectedAnswer:
    """Fold a reference. Raises `ValueError` where it has no value."""
    spelled = tuple(value for answer in reference.answers for value in spellings(answer))
    parts = tuple(each for each in map(spellings, reference.parts) if each)
    if not parts and not spelled:
        raise ValueError("the reference has no value to match: give answers or parts")
    statement = folded_value(reference.statement) if reference.statement else ""
    question = fold(reference.question) if reference.question else ""
    wrong = tuple(value for value in map(folded_value, reference.distractors) if value)
    parts = parts or (spelled,)
    return ExpectedAnswer(parts, wrong, statement, question, asked_for(question or statement), len(parts))


def folded_value(text: str) -> str:
    """Fold a value, without the quotes and stops around it."""
    return without_stops(fold(text))


def without_stops(folded: str) -> str:
    """A folded text without the quotes and stops around it; as it is where nothing else is there."""
    return folded.lstrip(" \"'").rstrip(_TRIM) or folded


_TRIM = " .,;:!?。，；：！？、…\"'"


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """A reference, folded. `parts` has one tuple of spellings for each value that is wanted.

    `alone`: only whether the value is affirmed, whatever else is given; `size`: how many values the answer may hold.
    """

    parts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    statement: str
    question: str
    asked: Asked
    size: int
    alone: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for part in self.parts for value in part)


@lru_cache(1024)
def spellings(text: str) -> tuple[str, ...]:
    """A value folded, and with its umlauts written out (`Goettingen`)."""
    spelled = (text,) if text.isascii() else (text, text.translate(_UMLAUTS))
    return tuple(dict.fromkeys(value for value in map(folded_value, spelled) if value))


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


MATCH = Scorer("match", 4, match_score)
