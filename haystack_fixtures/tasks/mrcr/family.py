"""Many pieces of one kind in one conversation: give the K-th of them again (the form of OpenAI's MRCR).

The wanted pieces stand among others of the same format, of the same topic, and of neither. Pieces, their order and K
are the same at every depth and length.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from needlework.haystack_fixtures.draws import below, draws, pick, sample, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.conversation import GrowingConversation, Round
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.mrcr.pieces import Format, grammar, piece
from needlework.haystack_fixtures.tasks.parts.fitting import fitting, long_enough
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, without_language

_PIECES = {"n2": 2, "n4": 4, "n8": 8}
# As many statements of other tasks take as much room (see `fitting`).
_ROOM = {"n2": 20, "n4": 36, "n8": 72}
_ALIKE = 0.6  # most that two wanted pieces have in common (Indel similarity)
_BEGINNING = 12  # characters with which no two of them begin alike
_NEAR = 3  # every third of the other rounds has the wanted topic, or the wanted format and a topic of few
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
_STRING = 12
_ORDINAL = {1: "1st", 2: "2nd", 3: "3rd"}
_ASK = {"en": "Write {format} about {topic}.", "zh": "写一{format}关于{topic}的{name}。"}
_QUESTION = {
    "en": "Which is the {ordinal} {name} about {topic} that you wrote in our conversation, counting from 1? Prepend "
    "{string} to it and reply with nothing else: {string}, then that {name} word for word.",
    "zh": "我们对话中你写的第{k}{format}关于{topic}的{name}是哪一{format}（从1数起）？请把{string}写在它的开头，"
    "只回答这些内容：{string}，然后是那{format}{name}的原文。",
}
_LAST = {"en": Round("What else did you note today?", "This."), "zh": Round("今天你还记了什么？", "这些。")}

Recipe = tuple[object, ...]


def wanted_number(seed: int, repeat: int, count: int) -> int:
    """Which of the pieces is asked for, from 1: each of them once in as many repeats."""
    block, place = divmod(repeat, count)
    return shuffled(draws("mrcr", 1, seed, count, "order", block), range(1, count + 1))[place]


def depths_around(depth: float, wanted: int, count: int) -> tuple[float, ...]:
    """Depths in percent: the wanted one at `depth`, those before it evenly from the start, the others to the end."""
    before = [depth * number / wanted for number in range(wanted - 1)]
    after = [depth + (100 - depth) * number / (count - wanted + 1) for number in range(1, count - wanted + 1)]
    return (*before, depth, *after)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language, count = suite.language, _PIECES[cell.needle.partition("_")[0]]
    recipe = ("mrcr", 1, seed, cell.repeat, count, language)
    kind, topic, string, pieces, near = _material(language, count, recipe)
    k = wanted_number(seed, cell.repeat, count)
    ask = _asked_for(language, kind, topic)
    question = _QUESTION[language].format(
        string=string, k=k, ordinal=_ORDINAL.get(k, f"{k}th"), name=kind.name, format=kind.ask, topic=topic
    )
    assert cell.depth is not None
    return Asked(
        needles=tuple(
            Needle(f"piece{n}", text, question, "", ask=ask, distractor_answers=(string + text,) if n != k else ())
            for n, text in enumerate(pieces, 1)
        ),
        depths=depths_around(cell.depth, k, count),
        question=question,
        answer=string + pieces[k - 1],
        # Without the K-th and those behind it there are K - 1.
        needed=tuple(range(k - 1, count)),
        reference={
            "answers": (string + pieces[k - 1],),
            "given": (string,),
            "distractors": (*pieces[: k - 1], *pieces[k:], *(each.reply for each, _ in near)),
            "kinds": {text: f"#{n}" for n, text in enumerate(pieces, 1)} | {each.reply: why for each, why in near},
            "wanted": f"#{k}",
            "question": question,
            "language": language,
            "chance": 1 / count,
            "floor": 1 / count,
        },
        context=GrowingConversation(
            lambda n: [each for each, _ in islice(_others(language, kind, topic, recipe), n)], _LAST[language]
        ),
        verbatim=True,
    )


@lru_cache(256)
def _material(language: str, count: int, recipe: Recipe) -> tuple[Format, str, str, list[str], list[tuple[Round, str]]]:
    """Wanted format and topic, the string to prepend, the wanted pieces, and rounds like theirs with their likeness."""
    rng, made = draws(*recipe), grammar(language)
    kind, topic = pick(rng, made.formats), pick(rng, made.topics)
    string = "".join(pick(rng, _LETTERS) for _ in range(_STRING))
    others = islice(_others(language, kind, topic, recipe), 4 * count * _NEAR)
    near = [(each, why) for each, why in others if why][: 2 * count]
    return kind, topic, string, _apart(language, kind, topic, recipe, count), near


def _apart(language: str, kind: Format, topic: str, recipe: Recipe, count: int) -> list[str]:
    """The wanted pieces; none is much like another, and no two begin alike."""
    from rapidfuzz.distance import Indel  # 48 modules, for this family alone

    found: list[str] = []
    number = 0
    while len(found) < count:
        number += 1
        made = piece(language, kind, topic, (*recipe, "wanted", number), topic)
        if all(
            made[:_BEGINNING] != other[:_BEGINNING] and Indel.normalized_similarity(made, other) <= _ALIKE
            for other in found
        ):
            found.append(made)
    return found


def _others(language: str, kind: Format, topic: str, recipe: Recipe) -> Iterator[tuple[Round, str]]:
    """The other rounds, without end, each with what it has in common with the wanted ones: `topic`, `format`, nothing.

    Those that have something are of few kinds, which come again and again.
    """
    rng, made = draws(*recipe, "others"), grammar(language)
    formats = [each for each in made.formats if each != kind]
    topics = [each for each in made.topics if each != topic]
    like = [(each, topic, "topic") for each in sample(rng, formats, 2)]
    like += [(kind, each, "format") for each in sample(rng, topics, 2)]
    number = 0
    while True:
        number += 1
        other, about, why = pick(rng, like) if below(rng, _NEAR) == 0 else (pick(rng, formats), pick(rng, topics), "")
        text = piece(language, other, about, (*recipe, "others", number), topic)
        yield Round(_asked_for(language, other, about), text), why


def _asked_for(language: str, kind: Format, topic: str) -> str:
    return _ASK[language].format(format=kind.ask, topic=topic, name=kind.name)


TASK = Task(
    "mrcr",
    "one of several pieces of a conversation, word for word",
    lambda suite: tuple(labelled(label, suite) for label in fitting(suite, _ROOM)),
    lambda suite: suite.depths,
    _ask,
    scorer="mrcr",
    lengths=lambda suite, label: long_enough(suite, _ROOM[without_language(label, suite)]),
    suite={"prompt": "conversation", "lengths": "4k,8k", "depths": "0,50,100", "answer_budget": 384},
)
TASKS = (TASK,)
