"""Facts, and a world in which they happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# How often a fact of a kind may happen to one thing, or lead one person into one room: as often as it can be said in
# other words, since no sentence may stand in a text twice.
SAID = {"go": 4, "take": 3, "drop": 3, "give": 3}


@dataclass(frozen=True, slots=True)
class Fact:
    """What happened: `go`, `take`, `drop`, `give` (to `other`), or `either` (in `place` or in `other`)."""

    kind: str
    person: str
    place: str = ""
    thing: str = ""
    other: str = ""


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
