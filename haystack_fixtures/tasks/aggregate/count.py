"""How many sentences of the text say one thing? From none to twenty of them, and some that nearly say it."""

from __future__ import annotations

from needlework.haystack_fixtures.draws import below, draws, sample
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.words import words
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

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


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language, rng = suite.language, draws("count", 1, seed, cell.repeat)
    count = below(rng, _MOST + 1)
    places = sample(rng, words("aggregate", language, "places"), count + _DECOYS)
    needles = [Needle(f"marker{i}", _MARKER[language].format(place=place), "", "") for i, place in enumerate(places)]
    for i in range(count, len(places)):
        needles[i] = Needle(f"decoy{i - count}", _DECOY[language].format(place=places[i]), "", "")
    chance = 1 / (_MOST + 1)
    return Asked(
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
