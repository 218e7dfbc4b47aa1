"""Learning from examples, key-value lists, copying."""

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled, uuid4
from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language
from needlework.haystack_fixtures.tasks.words import nonsense, table, words

# Every class has four words of its own. A shot has two of them and two that all classes share. The first two rounds of
# shots show every word of every class, and every shared word with two classes. What is asked for is an input of shared
# words and two words of one class that came apart there: only these tell the class.
_CLASSES = 6
_CLASS_WORDS = 4
_SHARED = 2 * _CLASSES
_NUMBERS = range(10, 100)
_ROUNDS = ((0, 1), (2, 3))


def _shot(
    rng: Random, turn: int, number: int, words: Sequence[str], shared: Sequence[str], avoided: Sequence[str]
) -> str:
    """The input of a class's shot in a round; never the words that are asked about."""
    if turn < len(_ROUNDS):
        pair = (number + turn) % _CLASSES
        return " ".join(shuffled(rng, [words[word] for word in _ROUNDS[turn]] + list(shared[2 * pair : 2 * pair + 2])))
    while True:
        drawn = sample(rng, words, 2) + sample(rng, shared, 2)
        if set(drawn) != set(avoided):
            return " ".join(shuffled(rng, drawn))


def _icl(suite: Suite, cell: Cell, seed: int) -> Question:
    rng = draws("icl", 1, seed, cell.repeat)
    drawn = list(islice(nonsense(rng), _CLASSES * _CLASS_WORDS + _SHARED))
    classes = [drawn[start : start + _CLASS_WORDS] for start in range(0, _CLASSES * _CLASS_WORDS, _CLASS_WORDS)]
    shared = drawn[_CLASSES * _CLASS_WORDS :]
    numbers = [str(number) for number in sample(rng, _NUMBERS, _CLASSES)]
    answer = below(rng, _CLASSES)
    text = " ".join(shuffled(rng, [classes[answer][pick(rng, part)] for part in _ROUNDS] + sample(rng, shared, 2)))

    def units(n: int) -> list[str]:
        shots = draws("icl", 1, seed, cell.repeat, "shots")
        lines: list[str] = []
        while len(lines) < n:
            position = len(lines) // _CLASSES
            lines += [
                f"{_shot(shots, position, number, classes[number], shared, text.split())} -> {numbers[number]}\n"
                for number in shuffled(shots, range(_CLASSES))
            ]
        return lines[:n]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        return numbers[answer], {"shots": n}

    return Question(
        question=table("examples", suite.language)["icl"].format(text=text),
        answer=numbers[answer],
        reference={
            "answers": (numbers[answer],),
            "distractors": tuple(number for number in numbers if number != numbers[answer]),
            "chance": 1 / _CLASSES,
            "floor": 1 / len(_NUMBERS),
        },
        context=Listing(units, resolve=resolve, fewest=_CLASSES * len(_ROUNDS)),
    )


def _draw_pair(seed: int, repeat: int, number: int) -> tuple[str, str]:
    rng = draws("key_value", 1, seed, repeat, number)
    return uuid4(rng), uuid4(rng)


def _key_value(suite: Suite, cell: Cell, seed: int) -> Question:
    key, value = _draw_pair(seed, cell.repeat, 0)
    question = table("examples", suite.language)["key_value"].format(key=key)
    assert cell.depth is not None

    def units(size: int) -> list[str]:
        pairs = (_draw_pair(seed, cell.repeat, number) for number in range(1, size + 1))
        return [f'"{other}": "{wrong}",\n' for other, wrong in pairs]

    return Question(
        needles=(Needle("pair", f'"{key}": "{value}",', question, value, key=key),),
        depths=(cell.depth,),
        question=question,
        answer=value,
        reference={"answers": (value,)},
        # An object may not end with a comma: the last pair is empty.
        context=Listing(units, opening="{\n", closing='"": ""\n}'),
    )


_SIZES = (25, 50, 100, 250, 500, 1000)  # words to copy
_TEMPLATE = 40  # tokens around the words, at least
_TOKENS = {"en": 1, "zh": 6}  # of a word; what a tokenizer that has few Chinese words may need


def _size(label: str, suite: Suite) -> int:
    return int(without_language(label, suite).removeprefix("n"))


def _copy_lengths(suite: Suite, label: str) -> tuple[int, ...]:
    """The shortest length that may hold the words: at any other the prompt would be the same."""
    needed = _size(label, suite) * _TOKENS[suite.language] + _TEMPLATE + suite.kept_free
    return (min((length for length in suite.lengths if needed <= length), default=max(suite.lengths)),)


def _copy_labels(suite: Suite) -> tuple[str, ...]:
    """The sizes that the longest prompt may hold, and that the answer budget allows to be said."""
    longest, around = max(suite.lengths), _TEMPLATE + suite.kept_free
    most = min(suite.answer_budget, longest - around)
    sizes = [size for size in _SIZES if size * _TOKENS[suite.language] <= most]
    least = _SIZES[0] * _TOKENS[suite.language]
    if suite.answer_budget < least:
        raise InputError("--answer-budget", suite.answer_budget, f"task copy needs {least} or more")
    if not sizes:
        raise TooShortError(longest, "its shortest text and the answer need more", least + around)
    return tuple(labelled(f"n{size}", suite) for size in sizes)


def _copy(suite: Suite, cell: Cell, seed: int) -> Question:
    size = _size(cell.needle, suite)
    rng = draws("copy", 1, seed, cell.repeat, size)
    word, odd = pick(rng, words("copying", suite.language, "pairs")).split(":")
    copied = [word] * size
    copied[below(rng, size)] = odd
    sentences = table("examples", suite.language)
    text = str(sentences["between"]).join(copied)
    return Question(
        question=sentences["copy"],
        answer=text,
        reference={"answers": (text,), "parts": (word, odd), "keyword": odd},
        verbatim=True,
        context=Listing(lambda _n: (text,), fewest=1, most=1, fill=False),
    )


TASKS = (
    our_task("key_value", _key_value),
    our_task("copy", _copy, labels=_copy_labels, lengths=_copy_lengths),
    our_task("icl", _icl),
)
