"""Graders of MRCR, GraphWalks and LongBench v2."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from needlework.scoring.reading import verdict_for
from needlework.scoring.scores import Reference, Score, Scorer, expected_text

_SHOWN = 160

# GraphWalks. Each reads a list of nodes behind `Final Answer:` and takes F1 of the two sets. They differ in which line
# they read, in capitals, in what may follow the list, and in what an empty set is worth. The card's code takes the
# brackets off the whole match, label included, so that the first node never counts; and F1 is 1 there where nothing is
# right at all.
#
# `parts` (else `answers`) are the nodes; neither: the right set is empty.
_LABEL = "Final Answer:"
_CARD = re.compile(r"Final Answer: ?\[.*\]")
_OPENBENCH = re.compile(r"final answer:\s*\[(.*)\]\s*$", re.IGNORECASE)
_LM_EVAL = re.compile(r"Final Answer:\s*\[(.*)\]")

Nodes = tuple[str, ...] | None
"""The nodes of an answer as one system reads them; `None`: it found no list."""


def _card_nodes(response: str) -> Nodes:
    """The data card's reading, of the last line; the first name has the words `Final Answer: [` before it."""
    listed = _CARD.search(response.split("\n")[-1])
    return _names(listed[0].strip("[]")) if listed else None


def _openbench_nodes(response: str) -> Nodes:
    """openbench's reading (d03922c): of the last line, in any case, the list at its end; each name once."""
    last = response.split("\n")[-1]
    listed = _OPENBENCH.search(last) if _LABEL.lower() in last.lower() else None
    return tuple(dict.fromkeys(_names(listed[1]))) if listed else None


def _lm_eval_nodes(response: str, *, flexible: bool = False) -> Nodes:
    """lm-evaluation-harness's reading (4e7e0d4): the last line, or (`flexible`) the last with a list."""
    lines = response.rstrip("\n").split("\n")
    for line in reversed(lines) if flexible else lines[-1:]:
        if listed := _LM_EVAL.search(line):
            return tuple(name.strip("'\"") for name in _names(listed[1]))
    return None


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for name in (item.strip() for item in listed.split(",")) if name)


def _graphwalks_scorer(
    name: str, read: Callable[[str], Nodes], *, none_right: float = 0.0, both_empty: float
) -> Scorer:
    """`none_right`: F1 without a right node; `both_empty`: F1 if none is named and none is wanted."""

    def judge(answer: str, reference: Reference) -> Score:
        nodes = read(answer)
        named, right = set(nodes or ()), set(reference.parts or reference.answers)
        recall = len(named & right) / len(right) if right else both_empty if not named else 0.0
        precision = len(named & right) / len(named) if named else both_empty if not right else 0.0
        both = recall + precision
        value = 2 * (recall * precision) / both if both > 0 else none_right
        details = {"precision": precision, "recall": recall, "nodes": len(nodes or ()), "readable": nodes is not None}
        why = f"{len(nodes)} nodes read" if nodes is not None else "no list could be read"
        return Score(value, verdict_for(value, answer, partial_from=0.0), ", ".join(nodes or ())[:_SHOWN], why, details)

    return Scorer(name, 1, judge)


CARD = _graphwalks_scorer("graphwalks_card_compat", _card_nodes, none_right=1.0, both_empty=0.0)
OPENBENCH = _graphwalks_scorer("graphwalks_openbench_compat", _openbench_nodes, both_empty=1.0)
LM_EVAL = _graphwalks_scorer("graphwalks_lm_eval_compat", _lm_eval_nodes, both_empty=0.0)
LM_EVAL_FLEXIBLE = _graphwalks_scorer(
    "graphwalks_lm_eval_flexible_compat", lambda response: _lm_eval_nodes(response, flexible=True), both_empty=0.0
)


# LongBench v2. The authors' rule takes the first letter behind their own words, also out of a longer word (`is Amber`
# is A), and knows no other wording. evalscope's takes the last capital of the whole reply where no `ANSWER:` has a
# letter behind it.
OPTIONS = frozenset("ABCD")

_BRACKETED = re.compile(r"The correct answer is \(([A-D])\)")
_PLAIN = re.compile(r"The correct answer is ([A-D])")

_MARKER = re.compile(r"ANSWER\s*:\s*\**\s*", re.IGNORECASE)
_LABELS = (
    re.compile(r"[\(\[（【]\s*([A-Za-z\d](?:\s*[,，]\s*[A-Za-z\d])*)\s*[\)\]）】]"),
    re.compile(r"([A-Za-z\d][A-Za-z\d ,]*)"),
)
_LETTERS = re.compile(r"(?:[^A-Za-z\d]*[ABCD]+(?![A-Za-z\d]))*")  # leading: `A` of `A and B`, `A, C` of `A, C`


def authors_letter(response: str) -> str | None:
    """The authors' `extract_answer` (THUDM/LongBench 2e00731); `None`: no letter."""
    text = response.replace("*", "")
    letter = _BRACKETED.search(text) or _PLAIN.search(text)
    return letter[1] if letter else None


def evalscope_letter(response: str) -> str:
    """evalscope's reading of one of four choices (fde259d2); empty: no letter."""
    for marker in reversed(list(_MARKER.finditer(response))):
        for label in _LABELS:
            listed = label.match(response, marker.end())
            leading = _LETTERS.match(listed[1]) if listed else None
            if letters := leading[0].strip().rstrip(".") if leading else "":
                return letters if letters in OPTIONS else ""
    last = next((char for char in reversed(response) if char.isupper()), "")
    return last if last in OPTIONS else ""


def _longbench_v2_scorer(name: str, read: Callable[[str], str | None]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        letter, right = read(answer) or "", expected_text(reference)
        value = float(bool(letter) and letter == right)
        why = "the right letter" if value else f"{letter} is not {right[:20]}" if letter else "no letter"
        return Score(value, verdict_for(value, answer), letter, why, {"letter": letter})

    return Scorer(name, 1, judge)


AUTHORS = _longbench_v2_scorer("longbench_v2_authors_compat", authors_letter)
EVALSCOPE = _longbench_v2_scorer("longbench_v2_evalscope_compat", evalscope_letter)


# Rows without a reply are not in its files, and so in no denominator. `compensated`: a reply without a letter counts as
# a guess, a quarter.
GUESS = 0.25


@dataclass(frozen=True, slots=True)
class GradedReply:
    """One row with a reply. `difficulty`: easy, hard. `length`: short, medium, long. `letter`: if any."""

    difficulty: str
    length: str
    letter: str | None
    answer: str


def authors_table(rows: Sequence[GradedReply], *, compensated: bool = False) -> dict[str, float | None]:
    """Percent of `overall`, `easy`, `hard`, `short`, `medium`, `long`; `None` for a group without rows.

    Whatever is not easy counts as hard, and what is neither short nor medium as long, as in the authors' script.
    """
    groups: dict[str, list[float]] = {name: [] for name in ("overall", "easy", "hard", "short", "medium", "long")}
    for row in rows:
        value = GUESS if compensated and row.letter is None else float(row.letter == row.answer)
        groups["overall"].append(value)
        groups["easy" if row.difficulty == "easy" else "hard"].append(value)
        groups[row.length if row.length in ("short", "medium") else "long"].append(value)
    return {name: round(100 * sum(values) / len(values), 1) if values else None for name, values in groups.items()}


# MRCR. All of them part the string that the question asks to prepend from both texts, and take the ratio of Python's
# `difflib.SequenceMatcher` with its autojunk rule: from 200 characters of the second text on, a character that makes up
# more than a hundredth of it (and one more) is no place to begin a match, so that nearly equal texts can lose half of
# the score. The order of the two texts matters.
#
# `answers[0]` is the string with the piece behind it; `given[0]` is the string, where the question names one.
_PARTIAL = 0.5
_HASH = 12  # characters of the string in Google DeepMind's data


def card_ratio(response: str, answer: str, string: str) -> float:
    """OpenAI's data card and openbench (d03922c), 0..1: 0 if the response does not begin with the string at once."""
    if not response.startswith(string):
        return 0.0
    return ratio(response.removeprefix(string), answer.removeprefix(string))


def evalscope_ratio(response: str, answer: str, string: str) -> float:
    """evalscope (fde259d2), 0..1: as the card, on the response without leading white space."""
    return card_ratio(response.lstrip(), answer, string)


def deepmind_ratio(response: str, answer: str) -> float:
    """Google DeepMind's MRCR v2 (eval_hub 67b7fd2), 0..1.

    The first 12 characters of the answer are the string. What follows its last occurrence in the response is compared,
    wherever that stands; the answer is the first text of the two.
    """
    answer, response = answer.strip(), response.strip()
    string = answer[:_HASH]
    at = response.rfind(string)
    if len(answer) < _HASH or at < 0:
        return 0.0
    return ratio(answer[_HASH:].strip(), response[at + _HASH :].strip())


def ratio(first: str, second: str) -> float:
    """The likeness of two texts, 0..1, by difflib with its autojunk rule."""
    return SequenceMatcher(None, first, second).ratio()


def string_of(reference: Reference) -> str:
    """The string that the question asks to prepend; empty where it names none."""
    return reference.given[0] if reference.given else ""


def _mrcr_scorer(name: str, rule: Callable[[str, str, str], float]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        value = rule(answer, expected_text(reference), string_of(reference))
        why = f"ratio {value:.4f}" if value else "nothing alike behind the string, or the string is not where it counts"
        return Score(value, verdict_for(value, answer, partial_from=_PARTIAL), answer[:_SHOWN], why)

    return Scorer(name, 1, judge)


MRCR_CARD = _mrcr_scorer("mrcr_card_compat", card_ratio)
MRCR_OPENBENCH = _mrcr_scorer("mrcr_openbench_compat", card_ratio)
MRCR_EVALSCOPE = _mrcr_scorer("mrcr_evalscope_compat", evalscope_ratio)
DEEPMIND = _mrcr_scorer("mrcr_deepmind_compat", lambda response, answer, _string: deepmind_ratio(response, answer))


# The card: the first bin holds both of its ends, every other one its upper end only. openbench (d03922c) and evalscope
# (fde259d2): the middle bins hold their lower end, so that 16,384 tokens are one bin higher, and what is in no bin
# counts in the first.
BINS = tuple(pairwise(4096 * 2**power for power in range(9)))
"""(lower end, upper end) of each bin, tokens."""


def card_bin(tokens: int) -> int | None:
    """Number of the card's bin for so many tokens, from 0; `None`: it is in none."""
    return next((number for number, (low, high) in enumerate(BINS) if low + (number > 0) <= tokens <= high), None)


def harness_bin(tokens: int) -> int:
    """Number of the bin as openbench and evalscope count, from 0."""
    for number, (low, high) in enumerate(BINS):
        closed = number in (0, len(BINS) - 1)
        if low <= tokens < high or (closed and tokens == high):
            return number
    return 0
