"""Learning from examples, key-value lists, copying."""

from __future__ import annotations

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
from needlework.haystack_fixtures.tasks.statements import nonsense, words
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

# Every class has four words of its own. A shot has two of them and two that all classes share. The first two rounds of
# shots show every word of every class, and every shared word with two classes. What is asked for is an input of shared
# words and two words of one class that came apart there: only these tell the class.
_CLASSES = 6
_OWN = 4  # words of a class
_SHARED = 2 * _CLASSES
_NUMBERS = range(10, 100)
_ROUNDS = ((0, 1), (2, 3))
_QUESTION = {
    "en": "Each line of the document gives an input and the number of its class. What is the number for the input "
    '"{text}"? Reply with the number only.',
    "zh": "文档的每一行给出一个输入和它所属类别的编号。输入“{text}”的编号是多少？请只回答编号。",
}


def _shot(
    rng: Random, place: int, number: int, own: Sequence[str], shared: Sequence[str], asked: Sequence[str] = ()
) -> str:
    """The input of a class's shot in a round; never the words that are asked about."""
    if place < len(_ROUNDS):
        pair = (number + place) % _CLASSES
        return " ".join(shuffled(rng, [own[word] for word in _ROUNDS[place]] + list(shared[2 * pair : 2 * pair + 2])))
    while True:
        words = sample(rng, own, 2) + sample(rng, shared, 2)
        if set(words) != set(asked):
            return " ".join(shuffled(rng, words))


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    rng = draws("icl", 1, seed, cell.repeat)
    found = list(islice(nonsense(rng), _CLASSES * _OWN + _SHARED))
    classes = [found[start : start + _OWN] for start in range(0, _CLASSES * _OWN, _OWN)]
    shared = found[_CLASSES * _OWN :]
    numbers = [str(number) for number in sample(rng, _NUMBERS, _CLASSES)]
    asked = below(rng, _CLASSES)
    text = " ".join(shuffled(rng, [classes[asked][pick(rng, part)] for part in _ROUNDS] + sample(rng, shared, 2)))
    question = _QUESTION[suite.language].format(text=text)

    def units(n: int) -> list[str]:
        shots = draws("icl", 1, seed, cell.repeat, "shots")
        lines: list[str] = []
        while len(lines) < n:
            place = len(lines) // _CLASSES
            lines += [
                f"{_shot(shots, place, number, classes[number], shared, text.split())} -> {numbers[number]}\n"
                for number in shuffled(shots, range(_CLASSES))
            ]
        return lines[:n]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        return numbers[asked], {"shots": n}

    return Question(
        needles=(),
        depths=(),
        question=question,
        answer=numbers[asked],
        reference={
            "answers": (numbers[asked],),
            "distractors": tuple(number for number in numbers if number != numbers[asked]),
            "question": question,
            "language": suite.language,
            "chance": 1 / _CLASSES,
            "floor": 1 / len(_NUMBERS),
        },
        context=Listing(units, resolve=resolve, fewest=_CLASSES * len(_ROUNDS)),
    )


ICL_TASK = Task(
    "icl",
    "the class of an input, learnt from the examples in the prompt",
    lambda suite: (labelled(f"c{_CLASSES}", suite),),
    no_depths,
    _ask,
    scorer="number",
    version=1,
    absent=False,
)
TASKS = (ICL_TASK,)


_KEY_VALUE_QUESTION = {
    "en": 'The object above maps keys to values. Which value belongs to the key "{key}"? Reply with the value only.',
    "zh": "上面的对象由键和值组成。键“{key}”对应的值是什么？请只回答该值。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return (labelled("uuid", suite),)


def _pair(seed: int, repeat: int, number: int) -> tuple[str, str]:
    rng = draws("key_value", 1, seed, repeat, number)
    return uuid4(rng), uuid4(rng)


def _key_value_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    key, value = _pair(seed, cell.repeat, 0)
    question = _KEY_VALUE_QUESTION[suite.language].replace("{key}", key)
    assert cell.depth is not None

    def units(size: int) -> list[str]:
        pairs = (_pair(seed, cell.repeat, number) for number in range(1, size + 1))
        return [f'"{other}": "{wrong}",\n' for other, wrong in pairs]

    needle = Needle("pair", f'"{key}": "{value}",', question, value, key=key)
    return Question(
        needles=(needle,),
        depths=(cell.depth,),
        question=question,
        answer=value,
        reference={"answers": (value,), "question": question, "language": suite.language},
        # An object may not end with a comma: the last pair is empty.
        context=Listing(units, opening="{\n", closing='"": ""\n}'),
    )


KEY_VALUE_TASK = Task(
    "key_value", "one value out of an object of UUID pairs", _labels, lambda suite: suite.depths, _key_value_ask
)
KEY_VALUE_TASKS = (KEY_VALUE_TASK,)


_SIZES = (25, 50, 100, 250, 500, 1000)  # words
_TEMPLATE = 40  # tokens around the words, at least
_TOKENS = {"en": 1, "zh": 6}  # of a word; what a tokenizer that has few Chinese words may need
_BETWEEN = {"en": " ", "zh": ""}
_COPYING_QUESTION = {
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


def _copying_labels(suite: Suite) -> tuple[str, ...]:
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


def _copying_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    size = _size(cell.needle)
    rng = draws("copy", 1, seed, cell.repeat, size)
    word, odd = pick(rng, words("copying", suite.language, "pairs")).split(":")
    said = [word] * size
    said[below(rng, size)] = odd
    text = _BETWEEN[suite.language].join(said)
    question = _COPYING_QUESTION[suite.language]
    return Question(
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
    _copying_labels,
    no_depths,
    _copying_ask,
    scorer="copy",
    version=1,
    absent=False,
    lengths=_lengths,
)
COPYING_TASKS = (TASK,)
