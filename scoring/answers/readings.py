"""The values of an answer, each with what is said of it and whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from needlework.scoring.answers.corrections import taken_back
from needlework.scoring.answers.folding import MARK
from needlework.scoring.answers.keys import Asked, Owner, without_key
from needlework.scoring.answers.mentions import Mention, sketch_of
from needlework.scoring.answers.owners import owner
from needlework.scoring.answers.standing import Standing, standings
from needlework.scoring.answers.wording import strange_values

Said = Standing | Literal["withdrawn", "other", "unread"]
"""`unread`: there are words beside the value, and it cannot be told what they say of it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of the answer: what is said of it, and whose it is."""

    mention: Mention
    said: Said
    owner: Owner

    @property
    def start(self) -> int:
        """Where it stands in the answer."""
        return self.mention.span.start


def read_values(
    lines: str,
    mentions: Sequence[Mention],
    asked: Asked,
    *,
    parts: Sequence[Sequence[str]],
    quote: int,
    familiar: frozenset[str],
) -> list[Reading]:
    """Read every mention in a folded text with its line breaks.

    `parts`: the spellings of each value that is wanted; `quote`: the length of the needle's sentence, which is the
    asked key's wherever it is quoted; `familiar`: the words of the question and the needle.
    """
    sketch = sketch_of(lines, mentions)
    part_of = {value: f"part {number}" for number, part in enumerate(parts) for value in part}
    known = list(dict.fromkeys(part_of.get(mention.value, mention.value) for mention in mentions))
    values = tuple(known.index(part_of.get(mention.value, mention.value)) for mention in mentions)
    told = without_key(sketch, asked)
    back = taken_back(told, values)
    found: list[Reading] = []
    place = -1
    for rank, (mention, standing) in enumerate(zip(mentions, standings(told), strict=True)):
        place = sketch.find(MARK, place + 1)
        whose: Owner = "asked" if is_quote(mention, quote) else owner(sketch, place, asked)
        said: Said = "withdrawn" if rank in back else standing
        if said == "given" and whose in ("other", "unread"):
            said = "other" if whose == "other" else "unread"
        found.append(Reading(mention, said, whose))
    contrast = any(each.said not in ("given", "unread", "supposed") for each in found)
    strange = strange_values(sketch, [mention.value for mention in mentions], familiar, contrast=contrast)
    return [
        replace(each, said="unread")
        if rank in strange and each.said == "given" and not is_quote(each.mention, quote)
        else each
        for rank, each in enumerate(found)
    ]


def is_quote(mention: Mention, quote: int) -> bool:
    """Whether a mention is the needle's whole sentence, of `quote` letters."""
    return quote > 0 and mention.span.end - mention.span.start == quote
