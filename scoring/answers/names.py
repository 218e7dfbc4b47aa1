"""Names in an answer, as lists of words: where one begins and ends."""

from __future__ import annotations

from needlework.scoring.answers.keys import owner_words

LONGEST = 4
"""Words of a name; what follows is no part of it."""


def is_part_of_a_name(word: str) -> bool:
    words = owner_words()
    return word[0].isalnum() and word not in words["in_slot"] and word not in words["be"]


def name_at(tokens: list[str], start: int) -> list[str]:
    """The words of a name that begins at `start`: up to a sign, a verb, or four words."""
    words = owner_words()
    named: list[str] = []
    for word in tokens[start : start + LONGEST + 3]:
        if not is_part_of_a_name(word) or word in words["contracted"] or word in words["ends_a_name"]:
            break
        named.append(word)
        if is_possessive(word):
            break
    return plain(named)[:LONGEST]


def plain(words: list[str]) -> list[str]:
    return [word.removesuffix("'s").removesuffix("'") for word in words if word not in owner_words()["fillers"]]


def is_possessive(word: str) -> bool:
    return len(word) > 2 and word.endswith(("'s", "'")) and word not in owner_words()["contracted"]


def start_of_name(tokens: list[str], rank: int) -> int:
    while rank and is_part_of_a_name(tokens[rank - 1]) and tokens[rank - 1] not in owner_words()["fillers"]:
        rank -= 1
    return rank
