"""Reproduce a text word for word: one word again and again, and once another (the form of Chroma's repeated words)."""

from __future__ import annotations

from needlework.haystack_fixtures.draws import below, draws, pick
from needlework.haystack_fixtures.errors import InputError, TooShortError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.words import words
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_SIZES = (25, 50, 100, 250, 500, 1000)  # words
_TEMPLATE = 40  # tokens around the words, at least
_TOKENS = {"en": 1, "zh": 6}  # of a word; what a tokenizer that has few Chinese words may need
_BETWEEN = {"en": " ", "zh": ""}
_QUESTION = {
    "en": "Reproduce the document exactly, word for word. Reply with its words only.",
    "zh": "请一字不差地照抄文档中的内容。请只回答这些词。",
}


def _prompt_tokens(suite: Suite, length: int) -> int:
    return length - suite.kept_free


def _size(label: str) -> int:
    return int(label.removeprefix("n").partition("_")[0])


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    """The shortest length that may hold the words: at any other the prompt would be the same."""
    needed = _size(label) * _TOKENS[suite.language] + _TEMPLATE
    room = [length for length in suite.lengths if needed <= _prompt_tokens(suite, length)]
    return (min(room, default=max(suite.lengths)),)


def _labels(suite: Suite) -> tuple[str, ...]:
    """The sizes that the longest prompt may hold, and that the answer budget allows to be said."""
    most = min(suite.answer_budget, _prompt_tokens(suite, max(suite.lengths)) - _TEMPLATE)
    sizes = [size for size in _SIZES if size * _TOKENS[suite.language] <= most]
    least = _SIZES[0] * _TOKENS[suite.language]
    if suite.answer_budget < least:
        raise InputError("--answer-budget", suite.answer_budget, f"task copy needs {least} or more")
    if not sizes:
        length = max(suite.lengths)
        least += _TEMPLATE + length - _prompt_tokens(suite, length)
        raise TooShortError(length, "its shortest text and the answer need more", least)
    return tuple(labelled(f"n{size}", suite) for size in sizes)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    size = _size(cell.needle)
    rng = draws("copy", 1, seed, cell.repeat, size)
    word, odd = pick(rng, words("copying", suite.language, "pairs")).split(":")
    said = [word] * size
    said[below(rng, size)] = odd
    text = _BETWEEN[suite.language].join(said)
    question = _QUESTION[suite.language]
    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer=text,
        reference={
            "answers": (text,),
            "parts": (word, odd),
            "keyword": odd,
            "question": question,
            "language": suite.language,
        },
        verbatim=True,
        context=Listing(lambda _n: (text,), fewest=1, most=1, fill=False),
    )


TASK = Task(
    "copy",
    "a text of 25 to 1,000 words, word for word",
    _labels,
    no_depths,
    _ask,
    scorer="copy",
    version=1,
    absent=False,
    lengths=_lengths,
)
TASKS = (TASK,)
