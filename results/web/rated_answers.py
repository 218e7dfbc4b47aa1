"""Answers that people rate: read from runs and L-Eval's files, joined by question."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError
from needlework.core.record import SCORED, UNDECIDED
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS
from needlework.results.files.read_run import run_records
from needlework.results.records.samples import as_asked
from needlework.results.style import one_line
from needlework.results.web.command import PREDICTIONS, ServedFiles
from needlework.results.web.store import digest_of, read_record


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """One model's answer. `id`: stays the same while item, model and text do, so that a rating is of this text."""

    id: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class RatedItem:
    """A question with its answers; equal ones are together: they are shown, and rated, once.

    `document`: its number, if known. `group`: what it shares with other items, whose ratings are then not independent.
    `trial`: the run and the record's id, of which the context can be built again; `plain`: asked as the task asks it.
    """

    id: str
    question: str
    references: tuple[str, ...]
    answers: tuple[tuple[RatedAnswer, ...], ...]
    document: int | None
    group: str
    trial: tuple[Path, str] | None
    plain: bool


@dataclass(frozen=True, slots=True)
class RatedItems:
    """All there is to rate, and the texts of documents. `broken`: what could not be read, in lines."""

    items: tuple[RatedItem, ...]
    documents: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Whose answers they are."""
        return tuple(sorted({answer.model for item in self.items for same in item.answers for answer in same}))

    @property
    def is_grouped(self) -> bool:
        """Whether some items are known to share a document or a needle."""
        return len({item.group for item in self.items}) < len(self.items)


@dataclass(frozen=True, slots=True)
class _SourceAnswer:
    """One answer of a file. `question`, `references` and `id` (a record's) together tell which question it answers.

    `data_key`: question and reference as L-Eval's data has them. `group`, `plain`: as `RatedItem` has them.
    """

    file: Path
    question: str
    references: tuple[str, ...]
    model: str
    text: str
    data_key: tuple[str, str]
    group: str = ""
    id: str = ""
    plain: bool = True


@dataclass(slots=True)
class _Read:
    """What is read so far. `documents`: their numbers; `document_of`: by question and reference."""

    answers: list[_SourceAnswer] = field(default_factory=list)
    documents: dict[str, int] = field(default_factory=dict)
    document_of: dict[tuple[str, str], int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def read_items(sources: ServedFiles) -> RatedItems:
    """Read all answers. Raises `InputError` where a file cannot be read at all.

    A question that a file has more than once is as many items. Where two files have different answers of one model to
    one question, these are two models, and the file's name is added to the model's.
    """
    read = _Read()
    for path in sources.predictions:
        read.answers += _of_predictions(path, _rows(path, read))
    for path in (*sources.annotated, *sources.references):
        rows = _rows(path, read)
        read.answers += _of_references(path, rows)
        _add_documents(read, rows)
    for run in sources.runs:
        try:
            read.answers += _of_run(run)
        except InputError as error:  # a run that cannot be read does not hide the others
            read.broken.append(str(error))
    return RatedItems(tuple(_joined(read)), tuple(read.documents), tuple(read.broken))


def sampled(items: Sequence[RatedItem], questions: int | None) -> tuple[RatedItem, ...]:
    """Each question of a run in one of its contexts, of all questions so many, in their order.

    A question with its answer taken out, or after a search, is the same question; a context in which the task asks it
    as it is comes first, then the one that most models answered; among equals the draw is the same for everyone.
    """
    plain = {item.question: item.references for item in items if item.trial and item.plain}
    groups: dict[tuple[object, ...], list[RatedItem]] = defaultdict(list)
    for item in items:
        references = item.references if item.plain else plain.get(item.question, item.references)
        groups[(item.question, references) if item.trial else (item.id,)].append(item)
    chosen = [
        min(group, key=lambda each: (not each.plain, -sum(map(len, each.answers)), each.id))
        for group in groups.values()
    ]
    names = {item.id for item in sorted(chosen, key=lambda each: each.id)[:questions]}
    return tuple(item for item in items if item.id in names)


def item_order(seed: str, rater: str, items: Iterable[RatedItem]) -> list[RatedItem]:
    """Order the items for a rater, those of one group together: a document is read once for all questions about it."""
    groups: dict[str, list[RatedItem]] = defaultdict(list)
    for item in sorted(items, key=lambda each: each.id):
        groups[item.group].append(item)
    name = rater.casefold()
    order = shuffled(draws("rating groups", seed, name), sorted(groups))
    return [item for group in order for item in shuffled(draws("rating items", seed, name, group), groups[group])]


def answer_order(seed: str, rater: str, item: RatedItem) -> list[tuple[RatedAnswer, ...]]:
    """Order an item's answers as their labels A, B, C."""
    return shuffled(draws("rating answers", seed, rater.casefold(), item.id), item.answers)


def _joined(read: _Read) -> Iterator[RatedItem]:
    """Make an item of all answers to the same question, the same time that it is asked."""
    times: Counter[tuple[object, ...]] = Counter()
    keys = []
    texts: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for answer in read.answers:
        question = (answer.question, answer.references, answer.id)
        keys.append((*question, times[answer.file, answer.model, question]))
        times[answer.file, answer.model, question] += 1
        texts[keys[-1], answer.model].add(answer.text)
    ambiguous = {key[1] for key, different in texts.items() if len(different) > 1}
    items: dict[tuple[object, ...], dict[str, _SourceAnswer]] = defaultdict(dict)
    for key, answer in zip(keys, read.answers, strict=True):
        file = f" ({answer.file.parent.name}/{answer.file.name})" if answer.model in ambiguous else ""
        items[key][one_line(f"{answer.model}{file}")] = answer
    for key_parts, by_model in items.items():
        yield _item(_digest(*key_parts), dict(sorted(by_model.items())), read.document_of)


def _item(name: str, by_model: Mapping[str, _SourceAnswer], document_of: Mapping[tuple[str, str], int]) -> RatedItem:
    first = next(iter(by_model.values()))
    number = document_of.get(first.data_key)
    by_text: dict[str, list[RatedAnswer]] = defaultdict(list)
    for model, answer in by_model.items():
        by_text[answer.text.strip()].append(RatedAnswer(_digest(name, model, answer.text), model, answer.text))
    group = next((each.group for each in by_model.values() if each.group), "")
    return RatedItem(
        id=name,
        question=first.question,
        references=first.references,
        answers=tuple(map(tuple, by_text.values())),
        document=number,
        group=_digest(group or (name if number is None else f"document {number}")),
        trial=(first.file, first.id) if first.id else None,
        plain=all(answer.plain for answer in by_model.values()),
    )


def _digest(*parts: object) -> str:
    return digest_of(json.dumps(parts).encode())


def _rows(path: Path, read: _Read) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(read_record(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            row = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            read.broken.append(f"{path.name}, line {number}: is no JSON object")
        elif row:
            rows.append(row)
    return rows


def _for_humans(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The rows that people are to judge, where the file marks such rows, else all."""
    return [row for row in rows if row.get("evaluation") == "human"] or rows


def _of_predictions(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[_SourceAnswer]:
    """L-Eval's predictions. In the whole file of a task, the number of a row tells its document."""
    name = path.name.removesuffix(PREDICTIONS)
    task = LEVAL_TASKS.get(name)
    groups: dict[int, str] = {}
    if task is not None and len(rows) == task.expected == sum(task.questions):
        numbers = [number for number, count in enumerate(task.questions) for _ in range(count)]
        groups = {id(row): f"{name} {number}" for row, number in zip(rows, numbers, strict=True)}
    for row in _for_humans(rows):
        query, gt = row.get("query"), row.get("gt")
        if isinstance(query, str) and isinstance(gt, str):
            for key, text in row.items():
                if key.endswith("_pred") and isinstance(text, str):
                    yield _SourceAnswer(path, query, (gt,), key, text, (query, gt), groups.get(id(row), ""))


def _of_references(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[_SourceAnswer]:
    """L-Eval's `claude.gpt4.ref.jsonl`: documents whose rows have answers too, a list for each model."""
    for row in _for_humans([row for row in rows if _models_of(row)]):
        for key in _models_of(row):
            for question, reference, text in zip(row["instructions"], row["outputs"], row[key], strict=True):
                yield _SourceAnswer(path, question, (reference,), key, text, (question, reference))


def _models_of(row: Mapping[str, Any]) -> list[str]:
    """The fields of a document's row that have one answer for each of its questions."""
    if not (_is_texts(row.get("instructions")) and _is_texts(row.get("outputs"))):
        return []
    count = len(row["instructions"])
    named = [key for key in row if key.endswith(("_outputs", "_pred")) and _is_texts(row[key])]
    return [key for key in named if len(row[key]) == len(row["outputs"]) == count]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _of_run(run: Path) -> Iterator[_SourceAnswer]:
    """The trials that a model answered, whatever the score."""
    records = run_records(run)
    plain = {id(record) for record in as_asked(records) if record.reference.get("absent") is not True}
    for record in records:
        if record.outcome in (*SCORED, *UNDECIDED):
            question, references = str(record.question or ""), tuple(record.expected)
            yield _SourceAnswer(
                run,
                question,
                references,
                record.model,
                record.response.text or record.answer,
                data_key=(str(record.reference.get("question") or question), references[0] if references else ""),
                group=f"{record.task_label} {record.panel} {record.sample_number}",
                id=record.id or record.key,
                plain=id(record) in plain,
            )


def _add_documents(read: _Read, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        if isinstance(row.get("input"), str) and _is_texts(row.get("instructions")) and _is_texts(row.get("outputs")):
            number = read.documents.setdefault(row["input"], len(read.documents))
            for data_key in zip(row["instructions"], row["outputs"], strict=False):
                read.document_of.setdefault(data_key, number)
