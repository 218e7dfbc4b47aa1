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
from needlework.core.grid import slug
from needlework.results.statistics.agreement import AnswerRating
from needlework.results.web.rated_answers import RatedAnswer, RatedItem, RatedItems, answer_order, item_order
from needlework.results.web.store import change_record, read_record

_OPTION = "--state"


class RatingMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rater gave one answer."""

    rating: int | None = None
    comment: str = ""
    at: str = ""  # when the rating was made, UTC


class Rater(msgspec.Struct, omit_defaults=True):
    """One person."""

    name: str
    shown: str = ""  # when models' names were shown to them, UTC
    marks: dict[str, dict[str, RatingMark]] = {}  # by item and answer
    skipped: dict[str, RatingMark] = {}  # items that cannot be rated, with the reason as comment

    def mark(self, item: RatedItem, same: Sequence[RatedAnswer]) -> RatingMark:
        """The newest mark of answers that say the same."""
        marks = self.marks.get(item.id, {})
        known = [marks[answer.id] for answer in same if answer.id in marks]
        return max(known, key=lambda mark: mark.at, default=RatingMark())

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
        return next((rater for rater in self.raters if rater.name.casefold() == name.casefold()), Rater(name))


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
            for answer in same if mark.rating is not None else ():
                late = rater.saw_names(mark)
                yield AnswerRating(rater.name, answer.model, item.group, mark.rating or 0, late, same[0].id)


def rating_files(items: RatedItems, content: RatingsContent) -> dict[str, bytes]:
    """The files of all raters by name, which name the models: none before names are shown to everybody.

    `results_from_NAME.jsonl` is L-Eval's (cd34b05, `Evaluation/web_human_eval.py`): a key for each model, `5.0` for a
    rating of 5. `ratings_from_NAME.jsonl` has every rating and skip as a row, in the order in which the rater saw them.
    """
    files = {}
    for rater in content.raters if content.is_shown else ():
        counts: dict[str, Counter[str]] = {}
        for rating in ratings_of(items, rater):
            counts.setdefault(rating.model, Counter())[str(float(rating.rating))] += 1
        files[f"results_from_{slug(rater.name)}.jsonl"] = json.dumps(counts).encode("ascii")
        rows = "".join(f"{json.dumps(row)}\n" for row in _rating_rows(items, content.seed, rater))
        files[f"ratings_from_{slug(rater.name)}.jsonl"] = rows.encode("ascii")
    return files


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
