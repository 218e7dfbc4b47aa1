"""Stories: facts in their order with a question, its answer, and every answer that it allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from needlework.haystack_fixtures.draws import below, pick, sample, shuffled
from needlework.haystack_fixtures.tasks.parts.people import draw_people
from needlework.haystack_fixtures.tasks.state_world.words import POLAR, ROOMS, THINGS
from needlework.haystack_fixtures.tasks.state_world.world import Fact, World

_PEOPLE, _ROOMS, _THINGS, _EVENTS = 4, 6, 4, 11
_MOST = 5
YES, NO, MAYBE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Story:
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


def _random_world(rng: Random, people: Sequence[str], rooms: Sequence[str], things: Sequence[str]) -> World:
    world = World()
    for person in people:
        world.happen(Fact("go", person, place=pick(rng, rooms)))
    while len(world.facts) < _EVENTS:
        possible = world.possible(rooms, things)
        world.happen(pick(rng, possible[pick(rng, sorted(possible))]))
    return world


def _of_person(facts: Sequence[Fact], people: Sequence[str], kinds: Sequence[str]) -> tuple[int, ...]:
    return tuple(number for number, fact in enumerate(facts) if fact.person in people and fact.kind in kinds)


def _where_person(rng: Random, language: str) -> Story:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    person = pick(rng, people)
    needed = _of_person(world.facts, [person], ["go"])
    return Story(tuple(world.facts), {"person": person}, world.room[person], rooms, needed, 1 / len(ROOMS[language]))


def _where_object(rng: Random, language: str) -> Story:
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
    return Story(tuple(world.facts), {"thing": thing}, place, rooms, needed, 1 / len(ROOMS[language]))


def _where_before(rng: Random, language: str) -> Story:
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
    return Story(tuple(world.facts), {"person": person, "place": place}, before, rooms, needed, floor, (place,))


def _who_has(rng: Random, language: str) -> Story:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    if not world.holder:
        return _who_has(rng, language)
    thing = pick(rng, sorted(world.holder))
    needed = tuple(number for number, fact in enumerate(world.facts) if fact.thing == thing)
    return Story(tuple(world.facts), {"thing": thing}, world.holder[thing], people, needed, 0.0)


def _how_many(rng: Random, language: str) -> Story:
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
    return Story(facts, {"person": person}, str(count), labels, needed, 1 / len(labels))


def _yes_no(rng: Random, language: str) -> Story:
    people, rooms, things = _cast(rng, language)
    world = _random_world(rng, people, rooms, things)
    person, truth = pick(rng, people), below(rng, 2)
    elsewhere = [room for room in rooms if room != world.room[person]]
    place = world.room[person] if truth == YES else pick(rng, elsewhere)
    labels = POLAR[language][:2]
    needed = _of_person(world.facts, [person], ["go"])
    return Story(tuple(world.facts), {"person": person, "place": place}, labels[truth], labels, needed, 1 / 2)


def _yes_no_maybe(rng: Random, language: str) -> Story:
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
    return Story(tuple(facts), {"person": person, "place": place}, labels[truth], labels, needed, 1 / 3)


def _cast(rng: Random, language: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """People, rooms and things of one story."""
    people = tuple(draw_people(rng, language, _PEOPLE))
    return people, tuple(sample(rng, ROOMS[language], _ROOMS)), tuple(sample(rng, THINGS[language], _THINGS))


_Maker = Callable[[Random, str], Story]
KINDS: dict[str, dict[str, _Maker]] = {
    "state_where": {
        "where_person": _where_person,
        "where_object": _where_object,
        "where_before": _where_before,
        "who_has": _who_has,
    },
    "state_closed": {"how_many": _how_many, "yes_no": _yes_no, "yes_no_maybe": _yes_no_maybe},
}
