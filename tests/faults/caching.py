"""Faults of a server's memory: whose answer it gives, and whether it gives the same one twice."""

import threading
from dataclasses import replace
from typing import Any

from tests.faults.answering import others
from tests.faults.turns import Said


def replays(said, turn):
    """The answer to the request before."""
    with turn.session.lock:
        before: Said = turn.session.memory.get("before", said)
        turn.session.memory["before"] = said
    return replace(said, content=before.content)


def replays_alike(size):
    """The first answer to any prompt that begins with the same characters, as caches give that look at no more."""

    def say(said, turn):
        with turn.session.lock:
            known: Said = turn.session.memory.setdefault(f"begins {turn.rendered()[:size]}", said)
        return replace(said, content=known.content)

    return say


def swaps(said, turn):
    """Two requests in flight at once get each other's answers."""
    mine: dict[str, Any] = {"said": said, "met": threading.Event(), "theirs": None}
    with turn.session.lock:
        partner = turn.session.memory.pop("waiting", None)
        if partner is None:
            turn.session.memory["waiting"] = mine
        else:
            partner["theirs"], mine["theirs"] = said, partner["said"]
            partner["met"].set()
    if partner is None and not mine["met"].wait(0.5):
        with turn.session.lock:
            if turn.session.memory.get("waiting") is mine:
                del turn.session.memory["waiting"]
        mine["met"].wait(0.05)
    theirs: Said | None = mine["theirs"]
    return said if theirs is None else replace(said, content=theirs.content)


def flips(said, turn):
    """Every second call with the same prompt gets another value, at temperature 0."""
    if turn.attempt % 2 or not turn.reading.value:
        return said
    return replace(said, content=turn.reading.answering(others(turn, 1)[0]))
