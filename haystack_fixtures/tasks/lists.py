"""Tasks over a whole context: counts, distinct values, numbers, common words, examples, pairs, copying."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import islice
from random import Random
from statistics import median
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled, uuid4
from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language
from needlework.haystack_fixtures.tasks.words import nonsense, table, words

_MOST_PLACES = 20  # to count
_DECOYS = 3
_FEWEST_PARAGRAPHS = 6
_FEWEST_NUMBERS = 3
_LOWEST = 100_000
_SPREAD = 400_000  # of where the numbers of a trial begin, and of how far they reach
_ASKED_NUMBER: dict[str, Callable[[list[int]], float]] = {"largest": max, "smallest": min, "median": median}
# A round has every common word once and as many others, in an order of its own. The others are dealt from a pool ten
# times as large: a common word comes ten times as often as any of them, in RULER 30 times against 3.
_COMMON = 10
_OTHERS = 100
_FEWEST_WORDS = 6 * _COMMON  # three rounds: common words come three times, all others once


def _sentences(task: str, language: str) -> Mapping[str, str]:
    return table("aggregate", language, task)


def _draw_words(rng: Random, language: str, *kinds: str) -> dict[str, str]:
    return {kind: pick(rng, words("aggregate", language, f"{kind}s")) for kind in kinds}


def _count(suite: Suite, cell: Cell, seed: int) -> Question:
    language, rng = suite.language, draws("count", 1, seed, cell.repeat)
    count = below(rng, _MOST_PLACES + 1)
    places = sample(rng, words("aggregate", language, "places"), count + _DECOYS)
    sentences = _sentences("count", language)
    needles = [Needle(f"marker{n}", sentences["marker"].format(place=name)) for n, name in enumerate(places[:count])]
    needles += [Needle(f"decoy{n}", sentences["decoy"].format(place=name)) for n, name in enumerate(places[count:])]
    chance = 1 / (_MOST_PLACES + 1)
    return Question(
        needles=tuple(needles),
        depths=tuple(round(100 * rng.random(), 2) for _ in needles),
        question=sentences["question"],
        answer=str(count),
        reference={"answers": (str(count),), "chance": chance, "floor": chance},
        avoid=(sentences["bird"],),
    )


def _draw_paragraph(rng: Random, language: str, taken: Set[str]) -> str:
    while True:
        fields = _draw_words(rng, language, "place", "name", "work")
        things = [_draw_words(rng, language, "thing")["thing"] for _ in range(2)]
        work = _draw_words(rng, language, "work")["work"]
        text = _sentences("distinct", language)["text"].format(**fields, thing=things[0], work2=work, thing2=things[1])
        if text not in taken and things[0] != things[1] and work != fields["work"]:
            return text


def _paragraphs(seed: int, repeat: int, language: str, count: int) -> list[str]:
    """The first paragraphs of one trial, without their numbers.

    Each paragraph is a new one with a probability that is itself drawn evenly from 0 to 1: so of n paragraphs every
    number from 1 to n is as likely to be different as any other, and no guess is better than 1 / n.
    """
    rng = draws("distinct", 1, seed, repeat)
    share = rng.random()
    different: list[str] = []
    taken: set[str] = set()
    paragraphs: list[str] = []
    while len(paragraphs) < count:
        if not paragraphs or rng.random() < share:
            different.append(_draw_paragraph(rng, language, taken))
            taken.add(different[-1])
            paragraphs.append(different[-1])
        else:
            paragraphs.append(pick(rng, different))
    return paragraphs


def _distinct(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    sentences = _sentences("distinct", language)

    def units(n: int) -> list[str]:
        texts = _paragraphs(seed, cell.repeat, language, n)
        return [sentences["numbered"].format(number=number, text=text) for number, text in enumerate(texts, 1)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        answer = str(len(set(_paragraphs(seed, cell.repeat, language, n))))
        return answer, {"answers": (answer,), "paragraphs": n, "chance": 1 / n, "floor": 1 / n}

    return Question(
        question=sentences["question"],
        answer="",
        reference={},
        context=Listing(units, resolve=resolve, fewest=_FEWEST_PARAGRAPHS),
    )


def _state_numbers(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[int]]:
    """The first sentences of one trial and their numbers, all of them different."""
    rng = draws("numbers", 1, seed, repeat)
    # Ranges differ: else the largest of many numbers would always be near the same one.
    lowest, reach = _LOWEST + below(rng, _SPREAD), _LOWEST + below(rng, _SPREAD)
    sentences: dict[int, str] = {}
    while len(sentences) < count:
        value = lowest + below(rng, reach)
        fields = _draw_words(rng, language, "thing", "name", "place")
        sentences.setdefault(value, _sentences("numbers", language)["sentence"].format(**fields, value=value))
    return list(sentences.values()), list(sentences)


def _numbers(suite: Suite, cell: Cell, seed: int) -> Question:
    language, label = suite.language, without_language(cell.needle, suite)

    def units(n: int) -> list[str]:
        sentences, _ = _state_numbers(seed, cell.repeat, language, 2 * n + 1)
        return [first + second for first, second in zip(sentences[1::2], sentences[2::2], strict=True)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        _, values = _state_numbers(seed, cell.repeat, language, 2 * n + 1)
        answer = str(_ASKED_NUMBER[label](values))
        return answer, {"answers": (answer,), "numbers": len(values), "chance": 1 / len(values)}

    (first,), _ = _state_numbers(seed, cell.repeat, language, 1)
    return Question(
        question=_sentences("numbers", language)[label],
        answer="",
        reference={"floor": 0.0},
        # One sentence, and then two at a time: an odd number of numbers has a median that is one of them.
        context=Listing(units, resolve=resolve, opening=first, fewest=_FEWEST_NUMBERS),
    )


def _word_list(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[str]]:
    """The common words of one trial, and the first words of its list."""
    rng = draws("common_words", 1, seed, repeat)
    chosen = sample(rng, words("keys", language, "nouns"), _COMMON + _OTHERS)
    common, others = chosen[:_COMMON], chosen[_COMMON:]
    dealt: list[str] = []
    listed: list[str] = []
    while len(listed) < count:
        dealt = dealt or shuffled(rng, others)
        listed += shuffled(rng, common + dealt[:_COMMON])
        dealt = dealt[_COMMON:]
    return common, listed[:count]


def _common_words(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language

    def units(n: int) -> list[str]:
        return [f"{word}\n" for word in _word_list(seed, cell.repeat, language, n)[1]]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        common, listed = _word_list(seed, cell.repeat, language, n)
        others = tuple(word for word in Counter(listed) if word not in common)
        chance = _COMMON / (_COMMON + len(others))
        return ", ".join(common), {"parts": tuple(common), "distractors": others, "words": n, "chance": chance}

    return Question(
        question=_sentences("common_words", language)["question"],
        answer="",
        # Any ten words of the data file: each is a common one that often.
        reference={"answers": (), "floor": _COMMON / len(words("keys", language, "nouns"))},
        context=Listing(units, resolve=resolve, fewest=_FEWEST_WORDS),
    )


# Every class has four words of its own. A shot has two of them and two that all classes share. The first two rounds of
# shots show every word of every class, and every shared word with two classes. What is asked for is an input of shared
# words and two words of one class that came apart there: only these tell the class.
_CLASSES = 6
_CLASS_WORDS = 4
_SHARED = 2 * _CLASSES
_CLASS_NUMBERS = range(10, 100)
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
    numbers = [str(number) for number in sample(rng, _CLASS_NUMBERS, _CLASSES)]
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
            "floor": 1 / len(_CLASS_NUMBERS),
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


_COPY_SIZES = (25, 50, 100, 250, 500, 1000)  # words to copy
_TEMPLATE = 40  # tokens around the words, at least
_WORD_TOKENS = {"en": 1, "zh": 6}  # what a tokenizer with few Chinese words may need


def _copy_size(label: str, suite: Suite) -> int:
    return int(without_language(label, suite).removeprefix("n"))


def _copy_lengths(suite: Suite, label: str) -> tuple[int, ...]:
    """The shortest length that may hold the words: at any other the prompt would be the same."""
    needed = _copy_size(label, suite) * _WORD_TOKENS[suite.language] + _TEMPLATE + suite.kept_free
    return (min((length for length in suite.lengths if needed <= length), default=max(suite.lengths)),)


def _copy_labels(suite: Suite) -> tuple[str, ...]:
    """The sizes that the longest prompt may hold, and that the answer budget allows to be said."""
    longest, around = max(suite.lengths), _TEMPLATE + suite.kept_free
    most = min(suite.answer_budget, longest - around)
    sizes = [size for size in _COPY_SIZES if size * _WORD_TOKENS[suite.language] <= most]
    least = _COPY_SIZES[0] * _WORD_TOKENS[suite.language]
    if suite.answer_budget < least:
        raise InputError("--answer-budget", suite.answer_budget, f"task copy needs {least} or more")
    if not sizes:
        raise TooShortError(longest, "its shortest text and the answer need more", least + around)
    return tuple(labelled(f"n{size}", suite) for size in sizes)


def _copy(suite: Suite, cell: Cell, seed: int) -> Question:
    size = _copy_size(cell.needle, suite)
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
    our_task("count", _count),
    our_task("distinct", _distinct),
    our_task("numbers", _numbers),
    our_task("common_words", _common_words),
    our_task("key_value", _key_value),
    our_task("copy", _copy, labels=_copy_labels, lengths=_copy_lengths),
    our_task("icl", _icl),
)
