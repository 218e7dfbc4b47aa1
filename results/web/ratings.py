"""Answers that people rate, from runs and L-Eval's files, joined by question; their ratings."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError
from needlework.core.grid import slug
from needlework.core.record import SCORED, UNDECIDED
from needlework.results.files.read_run import read_run
from needlework.results.leval.predictions import json_rows
from needlework.results.records.samples import as_asked, grouped
from needlework.results.statistics.agreement import AnswerRating
from needlework.results.style import one_line
from needlework.results.web.app import change_record, digest_of, read_record
from needlework.results.web.command import ServedFiles


class RatedAnswer(Struct, frozen=True):
    """An answer, of all models that gave it: equal ones are shown, and rated, once."""

    id: str  # the same while item and text are, so that a rating is of this text
    text: str  # without the blanks around it: how an answer begins tells one model from another
    by_model: dict[str, str]  # the text as each model gave it


class RatedItem(Struct, frozen=True):
    """A question with its answers."""

    id: str
    question: str
    references: tuple[str, ...]
    answers: tuple[RatedAnswer, ...]
    document: str | None  # its text, if known
    group: str  # what it shares with other items, whose ratings are then not independent
    trial: tuple[Path, str] | None  # the run and the record's id, of which the context can be built again
    plain: bool  # whether it is asked as the task asks it, not in a control


class RatedItems(Struct, frozen=True):
    """All there is to rate. `broken`: what could not be read, in lines."""

    items: tuple[RatedItem, ...]
    broken: tuple[str, ...]

    @property
    def models(self) -> list[str]:
        """Whose answers they are."""
        return sorted({model for item in self.items for answer in item.answers for model in answer.by_model})

    @property
    def is_grouped(self) -> bool:
        """Whether some items are known to share a document or a needle."""
        return len({item.group for item in self.items}) < len(self.items)


class _SourceAnswer(NamedTuple):
    """One answer of a file."""

    file: Path
    model: str
    text: str
    question: str
    references: tuple[str, ...]
    data_key: tuple[str, str]  # question and reference as L-Eval's data has them
    id: str = ""  # a record's; with question and references it tells which question is answered
    group: str = ""
    plain: bool = True


def read_items(sources: ServedFiles) -> RatedItems:
    """Read all answers. Raises `InputError` where a file cannot be read at all.

    A question that a file has more than once is as many items. Where two files have different answers of one model to
    one question, these are two models, and the file's name is added to the model's.
    """
    answers: list[_SourceAnswer] = []
    broken: list[str] = []
    document_of: dict[tuple[str, str], str] = {}  # by question and reference
    for path in (*sources.predictions, *sources.annotated):
        lines = list(json_rows(read_record(path).decode("utf-8-sig", "replace")))
        broken += [f"{path.name}, line {number}: is no JSON object" for number, row in lines if row is None]
        rows = [row for _, row in lines if row]
        answers += _of_rows(path, rows)
        for row in rows:
            questions, golds = row.get("instructions"), row.get("outputs")
            if isinstance(row.get("input"), str) and isinstance(questions, list) and isinstance(golds, list):
                for data_key in zip(map(str, questions), map(str, golds), strict=False):
                    document_of.setdefault(data_key, row["input"])
    for run in sources.runs:
        try:
            answers += _of_run(run)
        except InputError as error:  # a run that cannot be read does not hide the others
            broken.append(str(error))
    return RatedItems(tuple(_joined(answers, document_of)), tuple(broken))


def sample_items(items: Sequence[RatedItem], questions: int | None) -> tuple[RatedItem, ...]:
    """A sample of `questions` (`None`: all), in order; each question of a run in one of its contexts.

    Of the contexts of a question, controls and retrievers included, one without either comes first, then the one that
    most models answered; then ids decide, so that everyone gets the same sample.
    """
    plain = {item.question: item.references for item in items if item.trial and item.plain}

    def question_of(item: RatedItem) -> tuple[object, ...]:
        references = item.references if item.plain else plain.get(item.question, item.references)
        return (item.question, references) if item.trial else (item.id,)

    groups = grouped(items, question_of).values()
    models = {item.id: sum(len(answer.by_model) for answer in item.answers) for item in items}
    names = sorted(min((not item.plain, -models[item.id], item.id) for item in group)[-1] for group in groups)
    return tuple(item for item in items if item.id in names[:questions])


def item_order(seed: str, rater: str, items: Iterable[RatedItem]) -> list[RatedItem]:
    """Order the items for a rater, those of one group together, so that a document is read once."""
    groups = grouped(sorted(items, key=lambda item: item.id), lambda item: item.group)
    name = rater.casefold()
    order = shuffled(draws("rating groups", seed, name), sorted(groups))
    return [item for group in order for item in shuffled(draws("rating items", seed, name, group), groups[group])]


def answer_order(seed: str, rater: str, item: RatedItem) -> list[RatedAnswer]:
    """Order an item's answers as their labels A, B, C."""
    return shuffled(draws("rating answers", seed, rater.casefold(), item.id), item.answers)


def _joined(answers: Sequence[_SourceAnswer], document_of: Mapping[tuple[str, str], str]) -> Iterator[RatedItem]:
    """Join models' answers to one question into an item; asked twice in a file, it is two items."""
    by_file = grouped(answers, lambda of: (of.file, of.model, of.question, of.references, of.id))
    keyed = [((*key[2:], time), answer) for key, times in by_file.items() for time, answer in enumerate(times)]
    of_models = grouped(keyed, lambda pair: (pair[0], pair[1].model)).items()
    ambiguous = {model for (_, model), pairs in of_models if len({answer.text for _, answer in pairs}) > 1}
    for key, pairs in grouped(keyed, lambda pair: pair[0]).items():
        name, models = _digest(*key), {}
        for _, answer in pairs:
            file = f" ({answer.file.parent.name}/{answer.file.name})" if answer.model in ambiguous else ""
            models[one_line(f"{answer.model}{file}")] = answer
        sources = list(models.values())
        texts = grouped(sorted((model, of.text) for model, of in models.items()), lambda pair: pair[1].strip())
        document = document_of.get(sources[0].data_key)
        group = next((answer.group for answer in sources if answer.group), "")
        yield RatedItem(
            id=name,
            question=sources[0].question,
            references=sources[0].references,
            answers=tuple(RatedAnswer(_digest(name, text), text, dict(pairs)) for text, pairs in texts.items()),
            document=document,
            group=_digest(group or document or name),
            trial=(sources[0].file, sources[0].id) if sources[0].id else None,
            plain=all(answer.plain for answer in sources),
        )


def _digest(*parts: object) -> str:
    return digest_of(json.dumps(parts).encode())


def _of_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[_SourceAnswer]:
    """The answers of L-Eval's rows. Where a file marks rows that people are to judge, only those."""
    answered = [row for row in rows if any(key.endswith("_pred") for key in row)]
    for row in [row for row in answered if row.get("evaluation") == "human"] or answered:
        question, gold = row.get("query"), row.get("gt")
        for model, text in row.items():
            if (
                model.endswith("_pred")
                and isinstance(question, str)
                and isinstance(gold, str)
                and isinstance(text, str)
            ):
                yield _SourceAnswer(path, model, text, question, (gold,), (question, gold))


def _of_run(run: Path) -> Iterator[_SourceAnswer]:
    """The trials that a model answered, whatever the score."""
    records = read_run(run).records
    plain = {id(record) for record in as_asked(records) if record.reference.get("absent") is not True}
    for record in records:
        if record.outcome in (*SCORED, *UNDECIDED):
            question, references = str(record.question or ""), tuple(record.expected)
            yield _SourceAnswer(
                run,
                record.model,
                record.response.text or record.answer,
                question,
                references,
                data_key=(str(record.reference.get("question") or question), references[0] if references else ""),
                id=record.id or record.key,
                group=f"{record.task_label} {record.panel} {record.sample_number}",
                plain=id(record) in plain,
            )


class RatingMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rater's rating of an answer, and the comment."""

    rating: int | None = None
    comment: str = ""
    at: str = ""  # when the rating was made, UTC


class Rater(msgspec.Struct, omit_defaults=True):
    """One person."""

    name: str
    shown: str = ""  # when models' names were shown to them, UTC
    marks: dict[str, dict[str, RatingMark]] = {}  # by item and answer
    skipped: dict[str, RatingMark] = {}  # items that cannot be rated, with the reason as comment

    def mark(self, item: RatedItem, answer: RatedAnswer) -> RatingMark:
        """The mark of an answer; of one that was rated before 0.1.0, when each model's had its own, the newest."""
        marks = self.marks.get(item.id, {})
        ids = [answer.id, *(_digest(item.id, model, text) for model, text in answer.by_model.items())]
        return max((marks[name] for name in ids if name in marks), key=lambda mark: mark.at, default=RatingMark())

    def saw_names(self, mark: RatingMark) -> bool:
        """Whether a mark was made after names were shown."""
        return bool(self.shown) and mark.at > self.shown

    def state(self, item: RatedItem) -> str:
        """The progress of an item: `skipped`, `rated` (all its answers), `begun` or `open`."""
        rated = [self.mark(item, answer).rating is not None for answer in item.answers]
        return "skipped" if item.id in self.skipped else "rated" if all(rated) else "begun" if any(rated) else "open"


class RatingsContent(msgspec.Struct):
    """The content of the ratings file. `seed`: for the orders of questions and answers."""

    seed: str
    raters: list[Rater] = []

    @property
    def is_shown(self) -> bool:
        """Whether models' names were shown to everybody who has begun."""
        return bool(self.raters) and all(rater.shown for rater in self.raters)

    def rater(self, name: str) -> Rater:
        """The rater of a name, a new one if there is none; upper and lower case are equal."""
        return next((rater for rater in self.raters if rater.name.casefold() == name.casefold()), Rater(name))


def read_ratings(path: Path, content: bytes | None = None) -> RatingsContent:
    """Read the file of ratings, or its `content`. Raises `InputError` if it is broken or missing."""
    try:
        return msgspec.json.decode(read_record(path) if content is None else content, type=RatingsContent)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError("--state", path, f"is no file of ratings ({error}); name another") from None


def change_ratings(path: Path, edit: Callable[[RatingsContent], None]) -> None:
    """Change the file of ratings; creates it if needed. Raises `InputError`."""

    def change(before: bytes) -> bytes:
        content = read_ratings(path, before) if before else RatingsContent(token_hex(8))
        edit(content)
        return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"

    change_record(path, change)


def label(index: int) -> str:
    """The label of an answer on the page: A for the first."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def ratings_of(items: RatedItems, rater: Rater) -> Iterator[AnswerRating]:
    """The ratings of answers that are shown now; those of answers gone from the files are left out."""
    for item in items.items:
        for answer in item.answers:
            mark = rater.mark(item, answer)
            for model in answer.by_model if mark.rating is not None else ():
                late = rater.saw_names(mark)
                yield AnswerRating(rater.name, model, item.group, mark.rating or 0, late, answer.id)


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
        for index, answer in enumerate(answer_order(seed, rater.name, item)):
            mark = rater.mark(item, answer)
            for model, text in answer.by_model.items() if mark != RatingMark() else ():
                yield {
                    **about,
                    "references": list(item.references),
                    "model": model,
                    "answer_sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
                    "shown_as": label(index),
                    "rating": mark.rating,
                    "comment": mark.comment,
                    "time": mark.at,
                    "names_were_shown": rater.saw_names(mark),
                }
