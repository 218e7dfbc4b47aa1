"""Tasks over a whole context: counts, distinct values, numbers, common words."""

from collections import Counter
from collections.abc import Callable, Mapping, Set
from random import Random
from statistics import median
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, our_task, without_language
from needlework.haystack_fixtures.tasks.words import table, words

_MOST = 20  # sentences to count
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
    count = below(rng, _MOST + 1)
    places = sample(rng, words("aggregate", language, "places"), count + _DECOYS)
    sentences = _sentences("count", language)
    needles = [Needle(f"marker{n}", sentences["marker"].format(place=name)) for n, name in enumerate(places[:count])]
    needles += [Needle(f"decoy{n}", sentences["decoy"].format(place=name)) for n, name in enumerate(places[count:])]
    chance = 1 / (_MOST + 1)
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


def _stated(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[int]]:
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
        sentences, _ = _stated(seed, cell.repeat, language, 2 * n + 1)
        return [first + second for first, second in zip(sentences[1::2], sentences[2::2], strict=True)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        _, values = _stated(seed, cell.repeat, language, 2 * n + 1)
        answer = str(_ASKED_NUMBER[label](values))
        return answer, {"answers": (answer,), "numbers": len(values), "chance": 1 / len(values)}

    (first,), _ = _stated(seed, cell.repeat, language, 1)
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


TASKS = (
    our_task("count", _count),
    our_task("distinct", _distinct),
    our_task("numbers", _numbers),
    our_task("common_words", _common_words),
)
