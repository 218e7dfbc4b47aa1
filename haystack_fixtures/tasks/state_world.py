"""States of a small world in stories.

`Niamh went to the attic.` `Niamh picked up the lamp.` `Where is the lamp?` Facts stand in their order, apart from each
other in the text. Every right answer is as likely as any other that its question allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.statements import stratified
from needlework.haystack_fixtures.tasks.task import Question, our_task, without_language
from needlework.haystack_fixtures.tasks.words import draw_people, question_text, table, words

_PEOPLE, _ROOMS, _THINGS, _EVENTS = 4, 6, 4, 11
_MOST = 5  # things that a person carries
_YES, _NO, _MAYBE = 0, 1, 2
# How often a fact of a kind may happen to one thing, or lead one person into one room: as often as it can be told in
# other words, since no sentence may stand in a text twice.
_FORMS = {"go": 4, "take": 3, "drop": 3, "give": 3}


@dataclass(frozen=True, slots=True)
class Fact:
    """An event: `go`, `take`, `drop`, `give` (to `other`), or `either` (in `place` or in `other`)."""

    kind: str
    person: str
    place: str = ""
    thing: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class WorldStory:
    """Facts in their order, and what is asked of them."""

    facts: tuple[Fact, ...]
    fields: dict[str, str]
    answer: str
    labels: tuple[str, ...]  # every answer that the question allows
    needed: tuple[int, ...]  # numbers of the facts that the answer rests on
    floor: float  # the score of the best constant answer
    named: tuple[str, ...] = ()  # labels that the question names


class World:
    """People's places and things while facts happen. A thing's first place is where it is first taken."""

    def __init__(self, people: Sequence[str], rooms: Sequence[str], things: Sequence[str]) -> None:
        self.people, self.rooms, self.things = tuple(people), tuple(rooms), tuple(things)
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

    def possible(self) -> dict[str, list[Fact]]:
        """Every fact that may happen next, by kind; everybody is somewhere."""
        facts: dict[str, list[Fact]] = {"go": [], "take": [], "drop": [], "give": []}
        for person, here in self.room.items():
            facts["go"] += [
                Fact("go", person, place=room)
                for room in self.rooms
                if room != here and self.visited[person].count(room) < _FORMS["go"]
            ]
        for person, here in self.room.items():
            for thing in self.things:
                if thing not in self.holder and self.lies_in.get(thing, here) == here:
                    self._add(facts, Fact("take", person, thing=thing))
                if self.holder.get(thing) == person:
                    self._add(facts, Fact("drop", person, thing=thing))
                    for other, there in self.room.items():
                        if other != person and there == here:
                            self._add(facts, Fact("give", person, thing=thing, other=other))
        return {kind: options for kind, options in facts.items() if options}

    def _add(self, facts: Mapping[str, list[Fact]], fact: Fact) -> None:
        """Add a fact that can still be told in other words."""
        times = sum(each.kind == fact.kind and each.thing == fact.thing for each in self.facts)
        if times < _FORMS[fact.kind]:
            facts[fact.kind].append(fact)

    def needed(self, people: Sequence[str], kinds: Sequence[str] = ("go",)) -> tuple[int, ...]:
        """Numbers of the facts of these kinds about these people."""
        return tuple(n for n, fact in enumerate(self.facts) if fact.person in people and fact.kind in kinds)

    def about(self, thing: str) -> tuple[int, ...]:
        """Numbers of the facts about a thing."""
        return tuple(number for number, fact in enumerate(self.facts) if fact.thing == thing)


def _empty_world(rng: Random, language: str) -> World:
    people = draw_people(rng, language, _PEOPLE)
    rooms = sample(rng, words("state_world", language, "rooms"), _ROOMS)
    return World(people, rooms, sample(rng, words("state_world", language, "things"), _THINGS))


def _random_world(rng: Random, language: str) -> World:
    world = _empty_world(rng, language)
    for person in world.people:
        world.happen(Fact("go", person, place=pick(rng, world.rooms)))
    while len(world.facts) < _EVENTS:
        possible = world.possible()
        world.happen(pick(rng, possible[pick(rng, sorted(possible))]))
    return world


def _room_floor(language: str) -> float:
    return 1 / len(words("state_world", language, "rooms"))


def _where_person(rng: Random, language: str) -> WorldStory:
    world = _random_world(rng, language)
    person = pick(rng, world.people)
    answer, needed = world.room[person], world.needed([person])
    return WorldStory(tuple(world.facts), {"person": person}, answer, world.rooms, needed, _room_floor(language))


def _where_object(rng: Random, language: str) -> WorldStory:
    world = _random_world(rng, language)
    handled = sorted({fact.thing for fact in world.facts if fact.thing})
    if not handled:
        return _where_object(rng, language)
    thing = pick(rng, handled)
    holder = world.holder.get(thing)
    room = world.lies_in[thing] if holder is None else world.room[holder]
    holders = [fact.other or fact.person for fact in world.facts if fact.thing == thing]
    needed = tuple(sorted({*world.about(thing), *world.needed(holders)}))
    return WorldStory(tuple(world.facts), {"thing": thing}, room, world.rooms, needed, _room_floor(language))


def _where_before(rng: Random, language: str) -> WorldStory:
    world = _random_world(rng, language)
    moves = [
        (person, before, room)
        for person in world.people
        for before, room in zip(world.visited[person], world.visited[person][1:], strict=False)
        if world.visited[person].count(room) == 1
    ]
    if not moves:
        return _where_before(rng, language)
    person, before, room = pick(rng, moves)
    fields, needed, floor = {"person": person, "place": room}, world.needed([person]), _room_floor(language)
    return WorldStory(tuple(world.facts), fields, before, world.rooms, needed, floor, (room,))


def _who_has(rng: Random, language: str) -> WorldStory:
    world = _random_world(rng, language)
    if not world.holder:
        return _who_has(rng, language)
    thing = pick(rng, sorted(world.holder))
    holder = world.holder[thing]
    return WorldStory(tuple(world.facts), {"thing": thing}, holder, world.people, world.about(thing), 0.0)


def _yes_no(rng: Random, language: str) -> WorldStory:
    world = _random_world(rng, language)
    person, truth = pick(rng, world.people), below(rng, 2)
    here = world.room[person]
    room_asked = here if truth == _YES else pick(rng, [room for room in world.rooms if room != here])
    labels = words("state_world", language, "polar")[:2]
    fields = {"person": person, "place": room_asked}
    return WorldStory(tuple(world.facts), fields, labels[truth], labels, world.needed([person]), 1 / 2)


def _yes_no_maybe(rng: Random, language: str) -> WorldStory:
    """Last known of the person is one room (yes, no), or one of two (maybe; no for a third)."""
    world = _random_world(rng, language)
    person, truth = pick(rng, world.people), below(rng, 3)
    known = [world.room[person]]
    if truth == _MAYBE or (truth == _NO and below(rng, 2)):
        known = sample(rng, [room for room in world.rooms if room != world.room[person]], 2)
        last = max(number for number, fact in enumerate(world.facts) if person in (fact.person, fact.other))
        either = Fact("either", person, place=known[0], other=known[1])
        world.facts.insert(last + 1 + below(rng, len(world.facts) - last), either)
    room_asked = pick(rng, [room for room in world.rooms if room not in known] if truth == _NO else known)
    labels = words("state_world", language, "polar")
    needed = world.needed([person], ["go", "either"])
    return WorldStory(tuple(world.facts), {"person": person, "place": room_asked}, labels[truth], labels, needed, 1 / 3)


def _how_many(rng: Random, language: str) -> WorldStory:
    """The person takes some things and puts some of them down; somebody else takes one too."""
    world = _empty_world(rng, language)
    person, other, third, fourth = world.people
    count, dropped = below(rng, _MOST + 1), below(rng, 3)
    things = sample(rng, words("state_world", language, "things"), count + dropped + 1)
    gone = set(sample(rng, things[1:], dropped))
    acts = [Fact("go", person, place=world.rooms[0])]
    for thing in things[1:]:
        acts.append(Fact("take", person, thing=thing))
        if thing in gone:
            acts.append(Fact("drop", person, thing=thing))
    acts.insert(1 + below(rng, len(acts)), Fact("go", person, place=world.rooms[1]))
    others = [Fact("go", other, place=world.rooms[2]), Fact("take", other, thing=things[0])]
    others += [Fact("go", third, place=world.rooms[3]), Fact("go", fourth, place=world.rooms[4])]
    order = shuffled(rng, [True] * len(acts) + [False] * len(others))
    of_person, of_others = iter(acts), iter(others)
    facts = tuple(next(of_person if each else of_others) for each in order)
    labels = tuple(str(number) for number in range(_MOST + 1))
    needed = tuple(number for number, fact in enumerate(facts) if fact.person == person)
    return WorldStory(facts, {"person": person}, str(count), labels, needed, 1 / len(labels))


def _sentences(rng: Random, facts: Sequence[Fact], language: str) -> list[str]:
    """The facts as sentences that all differ."""
    texts: dict[str, None] = {}
    for fact in facts:
        fields = {"person": fact.person, "place": fact.place, "thing": fact.thing, "other": fact.other}
        forms = shuffled(rng, table("state_world", language, "sentences")[fact.kind])
        texts[next(text for form in forms if (text := form.format(**fields)) not in texts)] = None
    return list(texts)


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language, kind = suite.language, without_language(cell.needle, suite)
    rng = draws(cell.task, 1, seed, cell.repeat, kind, language)
    story = _KINDS[kind](rng, language)
    texts = _sentences(rng, story.facts, language)
    return Question(
        needles=tuple(
            Needle(f"fact{number}", text, key=fact.person)
            for number, (text, fact) in enumerate(zip(texts, story.facts, strict=True), 1)
        ),
        depths=stratified(rng, len(texts)),
        question=question_text("state_world", language, kind, **story.fields),
        answer=story.answer,
        reference={
            "answers": (story.answer,),
            "labels": story.labels,
            "given": story.named,
            "chance": 1 / (len(story.labels) - len(story.named)),
            "floor": story.floor,
        },
        needed=story.needed,
    )


_KINDS: dict[str, Callable[[Random, str], WorldStory]] = {
    "where_person": _where_person,
    "where_object": _where_object,
    "where_before": _where_before,
    "who_has": _who_has,
    "how_many": _how_many,
    "yes_no": _yes_no,
    "yes_no_maybe": _yes_no_maybe,
}
TASKS = tuple(our_task(name, _ask) for name in ("state_where", "state_closed"))
