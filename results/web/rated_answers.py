"""Answers that people rate: read from runs and L-Eval's files, joined by question."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError
from needlework.core.record import SCORED, UNDECIDED
from needlework.results.files.read_run import run_records
from needlework.results.leval.predictions import json_rows
from needlework.results.records.samples import as_asked
from needlework.results.style import one_line
from needlework.results.web.command import ServedFiles
from needlework.results.web.store import digest_of, read_record


class RatedAnswer(NamedTuple):
    """One model's answer."""

    id: str  # the same while item, model and text are, so that a rating is of this text
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class RatedItem:
    """A question with its answers; equal ones are together: they are shown, and rated, once."""

    id: str
    question: str
    references: tuple[str, ...]
    answers: tuple[tuple[RatedAnswer, ...], ...]
    document: int | None  # its number, if known
    group: str  # what it shares with other items, whose ratings are then not independent
    trial: tuple[Path, str] | None  # the run and the record's id, of which the context can be built again
    plain: bool  # whether it is asked as the task asks it, not in a control


@dataclass(frozen=True, slots=True)
class RatedItems:
    """All there is to rate, and the texts of documents. `broken`: what could not be read, in lines."""

    items: tuple[RatedItem, ...]
    documents: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def models(self) -> list[str]:
        """Whose answers they are."""
        return sorted({answer.model for item in self.items for same in item.answers for answer in same})

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
    documents: dict[str, int] = {}
    document_of: dict[tuple[str, str], int] = {}  # by question and reference
    for path in sources.predictions:
        answers += _of_predictions(path, _rows(path, broken))
    for path in (*sources.annotated, *sources.references):
        rows = [row for row in _rows(path, broken) if _is_texts(row.get("instructions"), row.get("outputs"))]
        answers += _of_references(path, rows)
        for row in rows:
            if isinstance(row.get("input"), str):
                number = documents.setdefault(row["input"], len(documents))
                for data_key in zip(row["instructions"], row["outputs"], strict=False):
                    document_of.setdefault(data_key, number)
    for run in sources.runs:
        try:
            answers += _of_run(run)
        except InputError as error:  # a run that cannot be read does not hide the others
            broken.append(str(error))
    return RatedItems(tuple(_joined(answers, document_of)), tuple(documents), tuple(broken))


def sample_items(items: Sequence[RatedItem], questions: int | None) -> tuple[RatedItem, ...]:
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
        min(group, key=lambda item: (not item.plain, -sum(map(len, item.answers)), item.id))
        for group in groups.values()
    ]
    names = {item.id for item in sorted(chosen, key=lambda item: item.id)[:questions]}
    return tuple(item for item in items if item.id in names)


def item_order(seed: str, rater: str, items: Iterable[RatedItem]) -> list[RatedItem]:
    """Order the items for a rater, those of one group together: a document is read once for all questions about it."""
    groups: dict[str, list[RatedItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.id):
        groups[item.group].append(item)
    name = rater.casefold()
    order = shuffled(draws("rating groups", seed, name), sorted(groups))
    return [item for group in order for item in shuffled(draws("rating items", seed, name, group), groups[group])]


def answer_order(seed: str, rater: str, item: RatedItem) -> list[tuple[RatedAnswer, ...]]:
    """Order an item's answers as their labels A, B, C."""
    return shuffled(draws("rating answers", seed, rater.casefold(), item.id), item.answers)


def _joined(answers: Sequence[_SourceAnswer], document_of: Mapping[tuple[str, str], int]) -> Iterator[RatedItem]:
    """Make an item of all answers to the same question, the same time that it is asked."""
    times: Counter[tuple[object, ...]] = Counter()
    keys: list[tuple[object, ...]] = []
    texts: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for answer in answers:
        question = (answer.question, answer.references, answer.id)
        keys.append((*question, times[answer.file, answer.model, question]))
        times[answer.file, answer.model, question] += 1
        texts[keys[-1], answer.model].add(answer.text)
    ambiguous = {model for (_, model), different in texts.items() if len(different) > 1}
    models: dict[tuple[object, ...], dict[str, _SourceAnswer]] = defaultdict(dict)
    for key, answer in zip(keys, answers, strict=True):
        file = f" ({answer.file.parent.name}/{answer.file.name})" if answer.model in ambiguous else ""
        models[key][one_line(f"{answer.model}{file}")] = answer
    for key, by_model in models.items():
        name, sources = _digest(*key), list(by_model.values())
        by_text: dict[str, list[RatedAnswer]] = defaultdict(list)
        for model, answer in sorted(by_model.items()):
            by_text[answer.text.strip()].append(RatedAnswer(_digest(name, model, answer.text), model, answer.text))
        number = document_of.get(sources[0].data_key)
        group = next((answer.group for answer in sources if answer.group), "")
        yield RatedItem(
            id=name,
            question=sources[0].question,
            references=sources[0].references,
            answers=tuple(map(tuple, by_text.values())),
            document=number,
            group=_digest(group or (name if number is None else f"document {number}")),
            trial=(sources[0].file, sources[0].id) if sources[0].id else None,
            plain=all(answer.plain for answer in sources),
        )


def _digest(*parts: object) -> str:
    return digest_of(json.dumps(parts).encode())


def _rows(path: Path, broken: list[str]) -> list[dict[str, Any]]:
    """The rows of the file; lines about those that cannot be read are added to `broken`."""
    rows = list(json_rows(read_record(path).decode("utf-8-sig", "replace")))
    broken += [f"{path.name}, line {number}: is no JSON object" for number, row in rows if row is None]
    return [row for _, row in rows if row]


def _for_humans(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The rows that people are to judge, where the file marks such rows, else all."""
    return [row for row in rows if row.get("evaluation") == "human"] or rows


def _of_predictions(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[_SourceAnswer]:
    """L-Eval's predictions."""
    for row in _for_humans(rows):
        query, gt = row.get("query"), row.get("gt")
        if isinstance(query, str) and isinstance(gt, str):
            for key, text in row.items():
                if key.endswith("_pred") and isinstance(text, str):
                    yield _SourceAnswer(path, key, text, query, (gt,), (query, gt))


def _of_references(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[_SourceAnswer]:
    """L-Eval's `claude.gpt4.ref.jsonl`: documents whose rows have answers too, a list for each model."""
    models = {id(row): [key for key in row if key.endswith(("_outputs", "_pred"))] for row in rows}
    for row in _for_humans([row for row in rows if models[id(row)]]):
        for key in models[id(row)]:
            if _is_texts(row[key]) and len(row[key]) == len(row["outputs"]) == len(row["instructions"]):
                for question, reference, text in zip(row["instructions"], row["outputs"], row[key], strict=True):
                    yield _SourceAnswer(path, key, text, question, (reference,), (question, reference))


def _is_texts(*values: object) -> bool:
    return all(isinstance(value, list) and all(isinstance(text, str) for text in value) for value in values)


def _of_run(run: Path) -> Iterator[_SourceAnswer]:
    """The trials that a model answered, whatever the score."""
    records = run_records(run)
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
