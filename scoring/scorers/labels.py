"""Answers from a closed set: the labels that an answer names, but for those of the question, must be the right ones.

The rule is bAbI's as BABILong scores it, with whole words, denials and conclusions: a concluding last sentence decides,
else the first sentence that names a label. Of yes, no and maybe only the first clause with one of them counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from needlework.scoring.answers.normalize import flatten, normalize, normalize_lines, normalize_value
from needlework.scoring.answers.passages import conclusion, split_at_question, weight
from needlework.scoring.answers.polarity import refusal_end
from needlework.scoring.answers.standing import is_negated
from needlework.scoring.answers.values import find_whole
from needlework.scoring.scores import Reference, Score, Scorer

_SHOWN = 160
_SPELLED = 80  # letters of an answer in which a number may be written as a word
_PIECES = 50  # sentences to look at
_READ = 600  # letters of each of them
_POLAR: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "yes": ("yes",),
        "no": ("no",),
        "maybe": ("maybe", "perhaps", "possibly", "uncertain", "not certain", "unclear", "cannot be determined"),
        "是": ("是", "是的", "对", "正确"),
        "否": ("否", "不是", "不在", "不对", "不正确", "错误"),
        "不确定": ("不确定", "无法确定", "不能确定", "不一定", "说不准", "可能", "也许"),
    }
)
_NUMBERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "0": ("zero", "none", "nothing", "零"),
        "1": ("one", "一"),
        "2": ("two", "二", "两"),
        "3": ("three", "三"),
        "4": ("four", "四"),
        "5": ("five", "五"),
    }
)
_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
_CLAUSE = re.compile(r"[,;:.!?，；：。！？\n]")
_PREFACE = re.compile(r"^\W*(?:the (?:final )?answer is|answer|答案是|答案为|答案|回答)\W*")


def labels_score(answer: str, reference: Reference) -> Score:
    """1 where the labels named are the right ones, else 0. Details: `named`, with commas.

    Right are `parts`, else `answers`. A reference without any raises `ValueError`.
    """
    right = {label for label in map(normalize_value, reference.parts or reference.answers) if label}
    if not right:
        raise ValueError("the reference has no label to match: give answers or parts")
    labels = [label for label in map(normalize_value, reference.labels) if label] or sorted(right)
    given = set(map(normalize_value, reference.given))
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    pieces = split_at_question(lines, normalize(reference.question)) if reference.question else None
    text = lines if pieces is None else pieces[1]
    named = _named(text, labels) - given
    shown = ", ".join(sorted(named))[:_SHOWN] or flatten(lines)[:_SHOWN]
    details = {"named": ",".join(sorted(named))}
    if named == right:
        return Score(1.0, "found", shown, "names the right label and no other", details)
    if named:
        return Score(0.0, "wrong", shown, "names another label", details)
    refused = refusal_end(flatten(text)) is not None
    return Score(0.0, "refused" if refused else "wrong", shown, "names no label", details)


def _named(lines: str, labels: Sequence[str]) -> set[str]:
    """The labels of the sentence, or clause, that decides."""
    polar = all(label in _POLAR for label in labels)
    end = conclusion(lines)
    last = lines[end.start :] if end else ""
    for piece in (last, *(_CLAUSE if polar else _SENTENCE).split(lines, _PIECES)):
        found = _labels_of(
            _PREFACE.sub("", flatten(piece[:_READ])), labels, polar=polar, spelled=weight(lines) <= _SPELLED
        )
        if found:
            return found
    return set()


def _labels_of(text: str, labels: Sequence[str], *, polar: bool, spelled: bool) -> set[str]:
    """The labels that stand in a text, the longest where they overlap, but for denied ones."""
    table = {label: (label, *_POLAR.get(label, ()), *(_NUMBERS.get(label, ()) if spelled else ())) for label in labels}
    spans = [(span, label) for label, words in table.items() for word in words for span in find_whole(text, word)]
    longest: list[tuple[int, int]] = []
    found: set[str] = set()
    for span, label in sorted(spans, key=lambda pair: pair[0].start - pair[0].end):
        if any(low <= span.start and span.end <= high for low, high in longest):
            continue
        longest.append(span)
        if polar or not is_negated(text, *span):
            found.add(label)
    return found


LABELS = Scorer("labels", 3, labels_score)
