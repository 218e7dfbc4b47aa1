"""Ratings: their file, and what is exported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from needlework.core.errors import InputError
from needlework.results.statistics.agreement import AnswerRating
from needlework.results.web.rated_answers import RatedAnswer, RatedItem, RatedItems, answer_order, item_order
from needlework.results.web.store import change_record, read_record

_OPTION = "--state"


class RatingMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rater gave one answer. `at`: when the rating was made, UTC."""

    rating: int | None = None
    comment: str = ""
    at: str = ""


class Rater(msgspec.Struct, omit_defaults=True):
    """One person. `shown`: when models' names were shown to them, UTC. `marks`: by item and answer.

    `skipped`: items that cannot be rated, with the reason as comment.
    """

    name: str
    shown: str = ""
    marks: dict[str, dict[str, RatingMark]] = {}
    skipped: dict[str, RatingMark] = {}

    def mark(self, item: RatedItem, same: Sequence[RatedAnswer]) -> RatingMark:
        """The newest mark of answers that say the same."""
        marks = self.marks.get(item.id, {})
        return max((marks[each.id] for each in same if each.id in marks), key=lambda m: m.at, default=RatingMark())

    def saw_names(self, mark: RatingMark) -> bool:
        """Whether a mark was made after names were shown."""
        return bool(self.shown) and mark.at > self.shown

    def state(self, item: RatedItem) -> str:
        """How far an item is: `skipped`, `rated` (all its answers), `begun` or `open`."""
        rated = [self.mark(item, same).rating is not None for same in item.answers]
        return "skipped" if item.id in self.skipped else "rated" if all(rated) else "begun" if any(rated) else "open"


class RatingsContent(msgspec.Struct):
    """The content of the file. `seed`: what orders of questions and answers are drawn from."""

    seed: str
    raters: list[Rater] = []

    @property
    def is_shown(self) -> bool:
        """Whether models' names were shown to everybody who has begun."""
        return bool(self.raters) and all(rater.shown for rater in self.raters)

    def rater(self, name: str) -> Rater:
        """The rater of a name, a new one where there is none; capitals make no other name."""
        return next((each for each in self.raters if each.name.casefold() == name.casefold()), Rater(name))


def read_ratings(path: Path) -> RatingsContent:
    """Read the file of ratings. Raises `InputError` where it is broken or gone."""
    return _decoded(path, read_record(path, _OPTION))


def change_ratings(path: Path, edit: Callable[[RatingsContent], None]) -> None:
    """Change the content of the file in place; makes a file where there is none. Raises `InputError`."""

    def change(before: bytes) -> bytes:
        content = _decoded(path, before) if before else RatingsContent(token_hex(8))
        edit(content)
        return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"

    change_record(path, change, _OPTION)


def _decoded(path: Path, content: bytes) -> RatingsContent:
    try:
        return msgspec.json.decode(content, type=RatingsContent)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(_OPTION, path, f"is no file of ratings ({error}); name another") from None


def label(index: int) -> str:
    """What an answer is called on the page: A for the first."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def ratings_of(items: RatedItems, rater: Rater) -> Iterator[AnswerRating]:
    """The ratings of answers that are shown now; those of answers that are not in the files any more are left out."""
    for item in items.items:
        for same in item.answers:
            mark = rater.mark(item, same)
            if mark.rating is not None:
                for answer in same:
                    late = rater.saw_names(mark)
                    yield AnswerRating(rater.name, answer.model, item.group, mark.rating, late, same[0].id)


def counts_file(items: RatedItems, rater: Rater) -> bytes:
    """L-Eval's (cd34b05, `Evaluation/web_human_eval.py`): a key for each model, `5.0` for a rating of 5."""
    counts: dict[str, Counter[str]] = {}
    for rating in ratings_of(items, rater):
        counts.setdefault(rating.model, Counter())[str(float(rating.rating))] += 1
    return json.dumps(counts).encode("ascii")


def ratings_file(items: RatedItems, seed: str, rater: Rater) -> bytes:
    """Every rating and skip as a row of jsonl, in the order in which the rater saw them."""
    return "".join(f"{json.dumps(row)}\n" for row in _rating_rows(items, seed, rater)).encode("ascii")


def _rating_rows(items: RatedItems, seed: str, rater: Rater) -> Iterator[dict[str, Any]]:
    for number, item in enumerate(item_order(seed, rater.name, items.items), 1):
        about = {"annotator": rater.name, "item": item.id, "place": number, "question": item.question}
        if item.id in rater.skipped:
            yield {**about, "skipped": rater.skipped[item.id].comment, "time": rater.skipped[item.id].at}
        for index, same in enumerate(answer_order(seed, rater.name, item)):
            mark = rater.mark(item, same)
            for answer in same if mark != RatingMark() else ():
                yield {
                    **about,
                    "references": list(item.references),
                    "model": answer.model,
                    "answer_sha256": sha256(answer.text.encode("utf-8", "surrogatepass")).hexdigest(),
                    "shown_as": label(index),
                    "rating": mark.rating,
                    "comment": mark.comment,
                    "time": mark.at,
                    "names_were_shown": rater.saw_names(mark),
                }
