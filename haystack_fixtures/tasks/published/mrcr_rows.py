"""What rows of both published MRCRs have in common: the pieces written for one ask, and which of them is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CHARS_PER_TOKEN = 4.9  # of both data sets, in o200k tokens


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces written for one ask, in the order of the conversation; `wanted`: number of the wanted one, from 0."""

    texts: tuple[str, ...]
    wanted: int


def pieces_of(rounds: Sequence[tuple[str, str]], piece: str, at: int | None = None) -> Pieces:
    """The pieces with the same ask as the wanted one, of rounds of ask and piece.

    `at`: which round is wanted; `None`: the one whose piece it is. A piece that is in no round stands alone.
    """
    if at is None or not 0 <= at < len(rounds) or rounds[at][1].strip() != piece.strip():
        at = next((number for number, (_, text) in enumerate(rounds) if text.strip() == piece.strip()), None)
    if at is None:
        return Pieces((piece,), 0)
    ask = rounds[at][0].strip()
    same = [number for number, (each, _) in enumerate(rounds) if each.strip() == ask]
    return Pieces(tuple(rounds[number][1].strip() for number in same), same.index(at))


def reference_of(answer: str, string: str, pieces: Pieces) -> dict[str, Any]:
    """What an answer is scored with: the string and the piece, the other pieces of the same ask by their number.

    Guessing among the pieces of the right ask gives one in so many.
    """
    others = [(f"#{number + 1}", text) for number, text in enumerate(pieces.texts) if number != pieces.wanted]
    return {
        "answers": (answer,),
        "given": (string,),
        "distractors": tuple(text for _, text in others),
        "kinds": {text: name for name, text in others},
        "chance": 1 / len(pieces.texts),
        "floor": 0.0,
        "wanted": f"#{pieces.wanted + 1}",
        "same_ask": len(pieces.texts),
        "language": "en",
    }
