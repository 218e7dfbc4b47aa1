"""Tasks over a whole context: counts, distinct values, numbers, common words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from random import Random
from statistics import median
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import nouns, words
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

_MOST = 20
_DECOYS = 3
_BIRD = {"en": "red kite", "zh": "红鸢"}
_MARKER = {"en": "A red kite was seen over {place}.", "zh": "有人看见一只红鸢飞过{place}。"}
_DECOY = {"en": "A grey heron was seen over {place}.", "zh": "有人看见一只灰鹭飞过{place}。"}
_QUESTION = {
    "en": "How many sentences of the document say that a red kite was seen? The number is from 0 to 20. "
    "Reply with the number only.",
    "zh": "文档中有几句话说有人看见红鸢？这个数在0到20之间。请只回答这个数。",
}


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language, rng = suite.language, draws("count", 1, seed, cell.repeat)
    count = below(rng, _MOST + 1)
    places = sample(rng, words("aggregate", language, "places"), count + _DECOYS)
    needles = [Needle(f"marker{i}", _MARKER[language].format(place=place), "", "") for i, place in enumerate(places)]
    for i in range(count, len(places)):
        needles[i] = Needle(f"decoy{i - count}", _DECOY[language].format(place=places[i]), "", "")
    chance = 1 / (_MOST + 1)
    return Question(
        needles=tuple(needles),
        depths=tuple(round(100 * rng.random(), 2) for _ in needles),
        question=_QUESTION[language],
        answer=str(count),
        reference={
            "answers": (str(count),),
            "question": _QUESTION[language],
            "language": language,
            "chance": chance,
            "floor": chance,
        },
        avoid=(_BIRD[language],),
    )


TASK = Task(
    "count",
    "how many sentences say one thing",
    lambda suite: (labelled("to20", suite),),
    no_depths,
    _ask,
    family="aggregate",
    scorer="number",
    version=1,
    absent=False,
)


# Each paragraph is a new one with a probability that is itself drawn evenly from 0 to 1: so of n paragraphs every
# number from 1 to n is as likely to be different as any other, and no guess is better than 1 / n.
_FEWEST = 6
_NUMBERED = {"en": "Paragraph {number}: {text}\n", "zh": "段落{number}：{text}\n"}
_TEXT = {
    "en": "In {place}, {name} {work} the {thing} and {work2} the {thing2}.",
    "zh": "在{place}，{name}{work}{thing}，也{work2}{thing2}。",
}
_DISTINCT_QUESTION = {
    "en": "The document has numbered paragraphs, some of which come again word for word under another number. "
    "How many different paragraphs are there, each counted once? Reply with the number only.",
    "zh": "文档中的段落都有编号，有些段落以另一编号一字不差地重复出现。"
    "每个不同的段落只算一次，一共有几个不同的段落？请只回答这个数。",
}


def _new(rng: Random, language: str, taken: Set[str]) -> str:
    while True:
        fields = {name: pick(rng, words("aggregate", language, f"{name}s")) for name in ("place", "name", "work")}
        things = [pick(rng, words("aggregate", language, "things")) for _ in range(2)]
        work = pick(rng, words("aggregate", language, "works"))
        text = _TEXT[language].format(**fields, thing=things[0], work2=work, thing2=things[1])
        if text not in taken and things[0] != things[1] and work != fields["work"]:
            return text


def _paragraphs(seed: int, repeat: int, language: str, count: int) -> list[str]:
    """The first paragraphs of one trial, without their numbers."""
    rng = draws("distinct", 1, seed, repeat)
    share = rng.random()
    new: list[str] = []
    taken: set[str] = set()
    found: list[str] = []
    while len(found) < count:
        if not found or rng.random() < share:
            new.append(_new(rng, language, taken))
            taken.add(new[-1])
            found.append(new[-1])
        else:
            found.append(pick(rng, new))
    return found


def _distinct_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language

    def units(n: int) -> list[str]:
        texts = _paragraphs(seed, cell.repeat, language, n)
        return [_NUMBERED[language].format(number=number, text=text) for number, text in enumerate(texts, 1)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        answer = str(len(set(_paragraphs(seed, cell.repeat, language, n))))
        return answer, {"answers": (answer,), "paragraphs": n, "chance": 1 / n, "floor": 1 / n}

    return Question(
        needles=(),
        depths=(),
        question=_DISTINCT_QUESTION[language],
        answer="",
        reference={"question": _DISTINCT_QUESTION[language], "language": language},
        context=Listing(units, resolve=resolve, fewest=_FEWEST),
    )


DISTINCT_TASK = Task(
    "distinct",
    "how many different paragraphs there are",
    lambda suite: (labelled("paragraphs", suite),),
    no_depths,
    _distinct_ask,
    family="aggregate",
    scorer="number",
    version=1,
    absent=False,
)


_LABELS = ("largest", "smallest", "median")
_NUMBERS_FEWEST = 3
_LOWEST = 100_000
_SPREAD = 400_000  # of where the numbers of a trial begin, and of how far they reach
_SENTENCE = {
    "en": "The {thing} that {name} sent to {place} weighs {value} grams.\n",
    "zh": "{name}寄往{place}的{thing}重{value}克。\n",
}
_ASKED = {
    "en": {
        "largest": "What is the largest weight in grams that the document states?",
        "smallest": "What is the smallest weight in grams that the document states?",
        "median": "What is the median of all the weights in grams that the document states? As many of them are below "
        "it as above it.",
    },
    "zh": {
        "largest": "文档中写明的重量里，最大的是多少克？",
        "smallest": "文档中写明的重量里，最小的是多少克？",
        "median": "文档中写明的所有重量的中位数是多少克？比它大的和比它小的一样多。",
    },
}
_REPLY = {"en": " Reply with the number only.", "zh": "请只回答这个数。"}
_OF: dict[str, Any] = {"largest": max, "smallest": min, "median": median}


def _stated(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[int]]:
    """The first sentences of one trial and their numbers, all of them different."""
    rng = draws("numbers", 1, seed, repeat)
    # Ranges differ: else the largest of many numbers would always be near the same one.
    lowest, reach = _LOWEST + below(rng, _SPREAD), _LOWEST + below(rng, _SPREAD)
    sentences: list[str] = []
    values: dict[int, None] = {}
    while len(values) < count:
        value = lowest + below(rng, reach)
        fields = {kind: pick(rng, words("aggregate", language, f"{kind}s")) for kind in ("thing", "name", "place")}
        if value not in values:
            values[value] = None
            sentences.append(_SENTENCE[language].format(**fields, value=value))
    return sentences, list(values)


def _numbers_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    label = next(label for label in _LABELS if labelled(label, suite) == cell.needle)
    question = _ASKED[language][label] + _REPLY[language]

    def units(n: int) -> list[str]:
        sentences, _ = _stated(seed, cell.repeat, language, 2 * n + 1)
        return [first + second for first, second in zip(sentences[1::2], sentences[2::2], strict=True)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        _, values = _stated(seed, cell.repeat, language, 2 * n + 1)
        answer = str(_OF[label](values))
        return answer, {"answers": (answer,), "numbers": len(values), "chance": 1 / len(values)}

    first, _ = _stated(seed, cell.repeat, language, 1)
    return Question(
        needles=(),
        depths=(),
        question=question,
        answer="",
        reference={"question": question, "language": language, "floor": 0.0},
        # One sentence, and then two at a time: an odd number of numbers has a median that is one of them.
        context=Listing(units, resolve=resolve, opening=first[0], fewest=_NUMBERS_FEWEST),
    )


NUMBERS_TASK = Task(
    "numbers",
    "the largest, smallest or median of many stated numbers",
    lambda suite: tuple(labelled(label, suite) for label in _LABELS),
    no_depths,
    _numbers_ask,
    family="aggregate",
    scorer="number",
    version=1,
    absent=False,
)


# A round has every common word once and as many others, in an order of its own. The others are dealt from a pool ten
# times as large: a common word comes ten times as often as any of them, in RULER 30 times against 3.
_COMMON = 10
_OTHERS = 100
_COMMON_WORDS_FEWEST = 6 * _COMMON  # three rounds: common words come three times, all others once
_COMMON_WORDS_QUESTION = {
    "en": "The document is a list of words, one on each line. Ten of them come far more often than all others. "
    "Which ten? Reply with the ten words only, separated by commas, in any order.",
    "zh": "文档是一个词表，每行一个词。其中有十个词出现的次数远多于其他词。"
    "是哪十个？请只回答这十个词，用逗号隔开，顺序不限。",
}


def _slots(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[str]]:
    """The common words of one trial, and the first words of its list."""
    rng = draws("common_words", 1, seed, repeat)
    chosen = sample(rng, nouns(language), _COMMON + _OTHERS)
    common, others = chosen[:_COMMON], chosen[_COMMON:]
    dealt: list[str] = []
    slots: list[str] = []
    while len(slots) < count:
        dealt = dealt or shuffled(rng, others)
        slots += shuffled(rng, common + dealt[:_COMMON])
        dealt = dealt[_COMMON:]
    return common, slots[:count]


def _common_words_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language

    def units(n: int) -> list[str]:
        return [f"{word}\n" for word in _slots(seed, cell.repeat, language, n)[1]]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        common, slots = _slots(seed, cell.repeat, language, n)
        others = tuple(word for word in Counter(slots) if word not in common)
        chance = _COMMON / (_COMMON + len(others))
        return ", ".join(common), {"parts": tuple(common), "distractors": others, "words": n, "chance": chance}

    return Question(
        needles=(),
        depths=(),
        question=_COMMON_WORDS_QUESTION[language],
        answer="",
        reference={
            "answers": (),
            "question": _COMMON_WORDS_QUESTION[language],
            "language": language,
            # Any ten words of the data file: each is a common one that often.
            "floor": _COMMON / len(nouns(language)),
        },
        context=Listing(units, resolve=resolve, fewest=_COMMON_WORDS_FEWEST),
    )


COMMON_WORDS_TASK = Task(
    "common_words",
    "the ten words that come most often",
    lambda suite: (labelled("top10", suite),),
    no_depths,
    _common_words_ask,
    family="aggregate",
    scorer="word_list",
    version=1,
    absent=False,
)


TASKS = (TASK, DISTINCT_TASK, NUMBERS_TASK, COMMON_WORDS_TASK)
