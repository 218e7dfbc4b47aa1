"""States of a small world in stories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.statements import draw_people, stratified
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths


# `Niamh went to the attic.` `Niamh picked up the lamp.` `Where is the lamp?` Facts stand in their order, apart from
# each other in the text. Every right answer is as likely as any other that its question allows.
def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    kind = cell.needle.removesuffix(f"_{language}")
    rng = draws(cell.task, 1, seed, cell.repeat, kind, language)
    story = KINDS[cell.task][kind](rng, language)
    texts = told(rng, story.facts, language)
    question = QUESTIONS[language][kind].format(**story.asked)
    return Question(
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


QUESTIONS = {
    "en": {
        "where_person": "Where is {person} now? Reply with the place only.",
        "where_object": "Where is the {thing} now? Reply with the place only.",
        "where_before": "Where was {person} right before going to the {place}? Reply with the place only.",
        "who_has": "Who has the {thing} now? Reply with the name only.",
        "how_many": "How many things is {person} carrying now? Reply with a number from 0 to 5.",
        "yes_no": "Is {person} in the {place} now? Reply with yes or no.",
        "yes_no_maybe": "Is {person} in the {place} now? Reply with yes, no or maybe.",
    },
    "zh": {
        "where_person": "{person}现在在哪里？请只回答地点。",
        "where_object": "{thing}现在在哪里？请只回答地点。",
        "where_before": "{person}去{place}之前紧接着是在哪里？请只回答地点。",
        "who_has": "{thing}现在在谁手里？请只回答姓名。",
        "how_many": "{person}现在拿着几样东西？请用0到5的数字回答。",
        "yes_no": "{person}现在在{place}吗？请回答是或否。",
        "yes_no_maybe": "{person}现在在{place}吗？请回答是、否或不确定。",
    },
}


def told(rng: Random, facts: Sequence[Fact], language: str) -> list[str]:
    """The facts as sentences that all differ."""
    texts: dict[str, None] = {}
    for fact in facts:
        fields = {"person": fact.person, "place": fact.place, "thing": fact.thing, "other": fact.other}
        forms = shuffled(rng, SENTENCES[language][fact.kind])
        texts[next(text for form in forms if (text := form.format(**fields)) not in texts)] = None
    return list(texts)


# Several sentences of a kind: no sentence may stand in a text twice.
SENTENCES = {
    "en": {
        "go": (
            "{person} went to the {place}.",
            "{person} walked over to the {place}.",
            "{person} moved to the {place}.",
            "{person} came into the {place}.",
        ),
        "take": ("{person} picked up the {thing}.", "{person} took the {thing}.", "{person} got hold of the {thing}."),
        "drop": (
            "{person} put down the {thing}.",
            "{person} dropped the {thing}.",
            "{person} left the {thing} behind.",
        ),
        "give": (
            "{person} handed the {thing} to {other}.",
            "{person} gave the {thing} to {other}.",
            "{person} passed the {thing} to {other}.",
        ),
        "either": ("{person} is now either in the {place} or in the {other}.",),
    },
    "zh": {
        "go": (
            "{person}去了{place}。",
            "{person}走到了{place}。",
            "{person}来到了{place}。",
            "{person}转到了{place}。",
        ),
        "take": ("{person}拿起了{thing}。", "{person}捡起了{thing}。", "{person}取走了{thing}。"),
        "drop": ("{person}放下了{thing}。", "{person}丢下了{thing}。", "{person}搁下了{thing}。"),
        "give": (
            "{person}把{thing}给了{other}。",
            "{person}把{thing}交给了{other}。",
            "{person}把{thing}递给了{other}。",
        ),
        "either": ("{person}现在不是在{place}就是在{other}。",),
    },
}


@dataclass(frozen=True, slots=True)
class Fact:
    """What happened: `go`, `take`, `drop`, `give` (to `other`), or `either` (in `place` or in `other`)."""

    kind: str
    person: str
    place: str = ""
    thing: str = ""
    other: str = ""


def _where_before(rng: Random, language: str) -> WorldStory:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    moves = [
        (person, before, place)
        for person in people
        for before, place in zip(world.visited[person], world.visited[person][1:], strict=False)
        if world.visited[person].count(place) == 1
    ]
    if not moves:
        return _where_before(rng, language)
    person, before, place = pick(rng, moves)
    needed = _of_person(world.facts, [person], ["go"])
    floor = 1 / len(ROOMS[language])
    return WorldStory(tuple(world.facts), {"person": person, "place": place}, before, rooms, needed, floor, (place,))


def _random_world(rng: Random, people: Sequence[str], rooms: Sequence[str], things: Sequence[str]) -> World:
    world = World()
    for person in people:
        world.happen(Fact("go", person, place=pick(rng, rooms)))
    while len(world.facts) < _EVENTS:
        possible = world.possible(rooms, things)
        world.happen(pick(rng, possible[pick(rng, sorted(possible))]))
    return world


class World:
    """Who is where and holds what, while facts happen. Things come into being where they are first taken."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.room: dict[str, str] = {}
        self.visited: dict[str, list[str]] = {}
        self.holder: dict[str, str] = {}
        self.lies_in: dict[str, str] = {}

    def happen(self, fact: Fact) -> None:
        """Let a fact happen that is possible."""
        self.facts.append(fact)
        if fact.kind == "go":
            self.room[fact.person] = fact.place
            self.visited.setdefault(fact.person, []).append(fact.place)
        elif fact.kind == "drop":
            del self.holder[fact.thing]
            self.lies_in[fact.thing] = self.room[fact.person]
        else:
            self.lies_in.pop(fact.thing, None)
            self.holder[fact.thing] = fact.other or fact.person

    def possible(self, rooms: Sequence[str], things: Sequence[str]) -> dict[str, list[Fact]]:
        """Every fact that may happen next, by kind; everybody is somewhere."""
        found: dict[str, list[Fact]] = {
            "go": [
                Fact("go", person, place=place)
                for person, here in self.room.items()
                for place in rooms
                if place != here and self.visited[person].count(place) < SAID["go"]
            ]
        }
        often = {(fact.kind, fact.thing): 0 for fact in self.facts}
        for fact in self.facts:
            often[fact.kind, fact.thing] += 1
        for person, here in self.room.items():
            for thing in things:
                if thing not in self.holder and self.lies_in.get(thing, here) == here:
                    found.setdefault("take", []).append(Fact("take", person, thing=thing))
                if self.holder.get(thing) == person:
                    found.setdefault("drop", []).append(Fact("drop", person, thing=thing))
                    found.setdefault("give", []).extend(
                        Fact("give", person, thing=thing, other=other)
                        for other, there in self.room.items()
                        if other != person and there == here
                    )
        fresh = {
            kind: [fact for fact in facts if kind == "go" or often.get((kind, fact.thing), 0) < SAID[kind]]
            for kind, facts in found.items()
        }
        return {kind: facts for kind, facts in fresh.items() if facts}


_PEOPLE, _ROOMS, _THINGS, _EVENTS = 4, 6, 4, 11


def _of_person(facts: Sequence[Fact], people: Sequence[str], kinds: Sequence[str]) -> tuple[int, ...]:
    return tuple(number for number, fact in enumerate(facts) if fact.person in people and fact.kind in kinds)


def _cast(rng: Random, language: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """People, rooms and things of one story."""
    people = tuple(draw_people(rng, language, _PEOPLE))
    return people, tuple(sample(rng, ROOMS[language], _ROOMS)), tuple(sample(rng, THINGS[language], _THINGS))


ROOMS = {
    "en": ("kitchen", "garden", "hallway", "attic", "cellar", "library", "office", "workshop"),
    "zh": ("厨房", "花园", "走廊", "阁楼", "地窖", "书房", "办公室", "车间"),
}
THINGS = {
    "en": ("apple", "lamp", "ball", "hammer", "map", "kettle", "bell", "spoon"),
    "zh": ("苹果", "台灯", "皮球", "锤子", "地图", "水壶", "铃铛", "勺子"),
}


@dataclass(frozen=True, slots=True)
class WorldStory:
    """Facts in their order, and what is asked of them. `labels`: every answer that the question allows.

    `given`: labels that the question names. `needed`: numbers of the facts that the answer rests on. `floor`: the score
    of the best constant answer.
    """

    facts: tuple[Fact, ...]
    asked: dict[str, str]
    answer: str
    labels: tuple[str, ...]
    needed: tuple[int, ...]
    floor: float
    given: tuple[str, ...] = ()


def _yes_no(rng: Random, language: str) -> WorldStory:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    person, truth = pick(rng, people), below(rng, 2)
    elsewhere = [room for room in rooms if room != world.room[person]]
    place = world.room[person] if truth == YES else pick(rng, elsewhere)
    labels = POLAR[language][:2]
    needed = _of_person(world.facts, [person], ["go"])
    return WorldStory(tuple(world.facts), {"person": person, "place": place}, labels[truth], labels, needed, 1 / 2)


YES, NO, MAYBE = 0, 1, 2


POLAR = {"en": ("yes", "no", "maybe"), "zh": ("是", "否", "不确定")}


def _where_object(rng: Random, language: str) -> WorldStory:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    handled = sorted({fact.thing for fact in world.facts if fact.thing})
    if not handled:
        return _where_object(rng, language)
    thing = pick(rng, handled)
    holder = world.holder.get(thing)
    place = world.lies_in[thing] if holder is None else world.room[holder]
    holders = [fact.other or fact.person for fact in world.facts if fact.thing == thing]
    about = {number for number, fact in enumerate(world.facts) if fact.thing == thing}
    needed = tuple(sorted(about | set(_of_person(world.facts, holders, ["go"]))))
    return WorldStory(tuple(world.facts), {"thing": thing}, place, rooms, needed, 1 / len(ROOMS[language]))


def _who_has(rng: Random, language: str) -> WorldStory:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    if not world.holder:
        return _who_has(rng, language)
    thing = pick(rng, sorted(world.holder))
    needed = tuple(number for number, fact in enumerate(world.facts) if fact.thing == thing)
    return WorldStory(tuple(world.facts), {"thing": thing}, world.holder[thing], people, needed, 0.0)


def _where_person(rng: Random, language: str) -> WorldStory:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    person = pick(rng, people)
    needed = _of_person(world.facts, [person], ["go"])
    return WorldStory(
        tuple(world.facts), {"person": person}, world.room[person], rooms, needed, 1 / len(ROOMS[language])
    )


def _yes_no_maybe(rng: Random, language: str) -> WorldStory:
    """What is known last of the person is one room (yes, no), or one of two (maybe; no for a third)."""
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    person, truth = pick(rng, people), below(rng, 3)
    facts = list(world.facts)
    known = [world.room[person]]
    if truth == MAYBE or (truth == NO and below(rng, 2)):
        known = sample(rng, [room for room in rooms if room != world.room[person]], 2)
        last = max(number for number, fact in enumerate(facts) if person in (fact.person, fact.other))
        facts.insert(last + 1 + below(rng, len(facts) - last), Fact("either", person, place=known[0], other=known[1]))
    place = pick(rng, [room for room in rooms if room not in known] if truth == NO else known)
    labels = POLAR[language]
    needed = _of_person(facts, [person], ["go", "either"])
    return WorldStory(tuple(facts), {"person": person, "place": place}, labels[truth], labels, needed, 1 / 3)


def _how_many(rng: Random, language: str) -> WorldStory:
    """The person takes some things and puts some of them down; somebody else takes one too."""
    people, rooms, _ = _cast(rng, language)
    person, other = people[:2]
    count, dropped = below(rng, _MOST + 1), below(rng, 3)
    things = sample(rng, THINGS[language], count + dropped + 1)
    taken, gone = things[1:], set(sample(rng, things[1:], dropped))
    own = [Fact("go", person, place=rooms[0])]
    for thing in taken:
        own.append(Fact("take", person, thing=thing))
        if thing in gone:
            own.append(Fact("drop", person, thing=thing))
    own.insert(1 + below(rng, len(own)), Fact("go", person, place=rooms[1]))
    others = [Fact("go", other, place=rooms[2]), Fact("take", other, thing=things[0])]
    others += [Fact("go", people[2], place=rooms[3]), Fact("go", people[3], place=rooms[4])]
    order = shuffled(rng, [True] * len(own) + [False] * len(others))
    own_facts, other_facts = iter(own), iter(others)
    facts = tuple(next(own_facts if mine else other_facts) for mine in order)
    labels = tuple(str(number) for number in range(_MOST + 1))
    needed = tuple(number for number, fact in enumerate(facts) if fact.person == person)
    return WorldStory(facts, {"person": person}, str(count), labels, needed, 1 / len(labels))


_MOST = 5
KINDS: dict[str, dict[str, _Maker]] = {
    "state_where": {
        "where_person": _where_person,
        "where_object": _where_object,
        "where_before": _where_before,
        "who_has": _who_has,
    },
    "state_closed": {"how_many": _how_many, "yes_no": _yes_no, "yes_no_maybe": _yes_no_maybe},
}


WHERE = _task("state_where", "who and what is where, after people have moved and handed things over", absent=True)
# A text that says nothing of a person leaves these questions answerable: with 0, or with maybe.
CLOSED = _task(
    "state_closed", "how many, yes or no, yes, no or maybe, after people have moved and taken things", absent=False
)
TASKS = (WHERE, CLOSED)


_Maker = Callable[[Random, str], WorldStory]


# How often a fact of a kind may happen to one thing, or lead one person into one room: as often as it can be said in
# other words, since no sentence may stand in a text twice.
SAID = {"go": 4, "take": 3, "drop": 3, "give": 3}
