"""A small world told fact by fact: people go to rooms, take things, hand them over, put them down (the form of bAbI).

`Niamh went to the attic.` `Niamh picked up the lamp.` `Where is the lamp?` Facts stand in their order, apart from each
other in the text. Every right answer is as likely as any other that its question allows.
"""

from __future__ import annotations

from needlework.haystack_fixtures.draws import draws
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.statement_keys import stratified
from needlework.haystack_fixtures.tasks.state_world.stories import KINDS
from needlework.haystack_fixtures.tasks.state_world.words import QUESTIONS, told
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language
    kind = cell.needle.removesuffix(f"_{language}")
    rng = draws(cell.task, 1, seed, cell.repeat, kind, language)
    story = KINDS[cell.task][kind](rng, language)
    texts = told(rng, story.facts, language)
    question = QUESTIONS[language][kind].format(**story.asked)
    return Asked(
        needles=tuple(
            Needle(f"fact{number + 1}", text, "", "", key=fact.person)
            for number, (text, fact) in enumerate(zip(texts, story.facts, strict=True))
        ),
        depths=stratified(rng, len(texts)),
        question=question,
        answer=story.answer,
        reference={
            "answers": (story.answer,),
            "labels": story.labels,
            "given": story.given,
            "question": question,
            "language": language,
            "chance": 1 / (len(story.labels) - len(story.given)),
            "floor": story.floor,
        },
        needed=story.needed,
    )


def _task(name: str, about: str, *, absent: bool) -> Task:
    return Task(
        name,
        about,
        lambda suite: tuple(labelled(kind, suite) for kind in KINDS[name]),
        no_depths,
        _ask,
        family="state_world",
        scorer="labels",
        version=1,
        absent=absent,
    )


WHERE = _task("state_where", "who and what is where, after people have moved and handed things over", absent=True)
# A text that says nothing of a person leaves these questions answerable: with 0, or with maybe.
CLOSED = _task(
    "state_closed", "how many, yes or no, yes, no or maybe, after people have moved and taken things", absent=False
)
TASKS = (WHERE, CLOSED)
