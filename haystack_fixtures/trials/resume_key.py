"""Keys of trials: a hash of everything that can change an answer, so that a resumed run knows what it has."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from json import JSONEncoder
from typing import Any

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
from needlework.haystack_fixtures.tasks.task import Asked
from needlework.haystack_fixtures.writing.json_encoder import encoder_of

RECIPE_VERSION = 1
_VARYING = ("cell", "depths", "needles", "question")
_encode = encoder_of(JSONEncoder(sort_keys=True, ensure_ascii=False))


def recipe_frame(constant: Mapping[str, Any]) -> tuple[str, ...]:
    """A recipe's JSON around what differs between the cells of a suite: written once for all of them."""
    parts = [""]
    for name in sorted({*constant, *_VARYING}):
        parts[-1] += f"{', ' if parts != [''] else '{'}{_encode(name)}: "
        if name in _VARYING:
            parts.append("")
        else:
            parts[-1] += _encode(constant[name])
    parts[-1] += "}"
    return tuple(parts)


def _turns(asked: Asked) -> tuple[str, ...]:
    """Hash of a conversation that is given as it is: no draw says what it is."""
    if not isinstance(asked.context, Conversation):
        return ()
    told = _encode([[turn.role, turn.text] for turn in asked.context.turns])
    return (sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),)


def trial_key(frame: tuple[str, ...], cell: Cell, asked: Asked) -> str:
    """The sha256 of the recipe of one trial."""
    extra = (asked.introduction, asked.material, asked.answer_prefix, *_turns(asked))
    varying = (
        [cell.task, cell.length, cell.depth, cell.needle, cell.repeat],
        asked.depths,
        [[*([needle.ask] if needle.ask else []), needle.text, *needle.distractors] for needle in asked.needles]
        + ([["", *asked.distractors]] if asked.distractors else []),
        [asked.question, *extra] if any(extra) else asked.question,
    )
    pairs = zip(frame[:-1], map(_encode, varying), strict=True)
    recipe = "".join([part for pair in pairs for part in pair]) + frame[-1]
    return sha256(recipe.encode("utf-8", "surrogatepass")).hexdigest()
