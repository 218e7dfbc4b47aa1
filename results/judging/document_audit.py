"""Auditing how answers were judged: judge, offline rule and people beside each other.

Of a run with `--scorer judge_...`, with a file of human labels or without; records of `judge_documents` have the rule's
verdict too. Or of a file of answers about documents that people have labelled, for the offline rule alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.json_file import read_json
from needlework.results.judging.labels import read_labels
from needlework.results.records.record import Record
from needlework.results.records.samples import OWN_DOCUMENTS, own_label
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.agreement.rates import agreement, share
from needlework.results.statistics.documents import right_or_wrong, rule_of
from needlework.results.tables.columns import agreement_lines, ends, percent2
from needlework.scoring.judges.strategy import JUDGE
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference

_RIGHT = {"right", "correct", "true", "yes", "1", "found"}
_WRONG = {"wrong", "incorrect", "false", "no", "0", "refused"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer: `right` or `wrong` by the judge, the offline rule and a person; `None` where one said nothing.

    `question` names what answers share that are not independent; `same`: what equal answers to it have in common.
    """

    question: str
    same: tuple[str, ...]
    judge: str | None
    rule: str | None
    human: str | None


def is_run(path: Path) -> bool:
    """Whether a path is a run, rather than a file of labels."""
    return path.is_dir() or path.suffix.lower() == ".json"


def judged_in_run(path: Path, labels: Path | None) -> list[Judged]:
    """The judged answers of a run's folder or results.json; `labels`: rows of `item` (a record's id) and `human`.

    Raises `InputError`.
    """
    source = path / "results.json" if path.is_dir() else path
    humans = {} if labels is None else {name: each.human for name, each in read_labels(labels).items()}
    records = {record["id"]: record for record in read_json(source)}
    strangers = [name for name in humans if name not in records]
    if strangers:
        raise InputError("--labels", strangers[0], f"is no record of {source}: `item` is a record's id")
    found = [_of_record(record, humans.get(name)) for name, record in records.items() if _was_judged(record)]
    if not found:
        raise InputError(
            "RUN", path, "has no answers that a judge alone scored; run with --scorer judge_documents --judge SPEC"
        )
    return found


def labelled_answers(path: Path) -> list[Judged] | None:
    """The rows of a JSON-lines file with `question`, `answers`, `response` and `human`; `None` for any other file.

    Raises `InputError`, which names the line.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
        rows = [json.loads(line) for line in lines] if path.suffix.lower() != ".csv" else []
    except (OSError, ValueError, RecursionError):
        return None  # the reader of labels says what is wrong
    if not rows or not all(isinstance(row, dict) and "response" in row for row in rows):
        return None
    return [_of_row(path, number, row) for number, row in enumerate(rows, 1)]


def document_audit_lines(found: Sequence[Judged]) -> Iterator[str]:
    """Lines for the terminal."""
    questions = len({each.question for each in found})
    failed = sum(each.judge is None and each.rule is None for each in found)
    yield f"{len(found)} answers to {questions} questions; {failed} judgements without a verdict"
    for one, other in (("rule", "judge"), ("human", "judge"), ("human", "rule")):
        both = [each for each in found if getattr(each, one) and getattr(each, other)]
        if both:
            pairs = [(getattr(each, one), getattr(each, other)) for each in both]
            yield from agreement_lines(agreement(pairs, [each.question for each in both]), one, other)
    if not any(each.human or each.rule for each in found):
        yield "nothing to compare the judge with: give --labels (judge_documents alone keeps a rule's verdict)"
    verdicts: dict[tuple[str, ...], set[str]] = {}
    times: dict[tuple[str, ...], int] = {}
    for each in found:
        if each.judge:
            verdicts.setdefault(each.same, set()).add(each.judge)
            times[each.same] = times.get(each.same, 0) + 1
    several = [same for same, count in times.items() if count > 1]
    if several:
        alike = share([float(len(verdicts[same]) == 1) for same in several], several)
        yield f"the judge agrees with itself: {percent2(alike.value)} % of {len(several)} equal answers ({ends(alike)})"


def _was_judged(record: Record) -> bool:
    """Whether a judge was asked of the answer, and no rule decides beside it; nobody is asked of an empty one."""
    unruled = ("empty", "censored", "unclear", "invalid", "skipped")
    return record["scorer"].startswith(JUDGE) and record["outcome"] not in unruled


def _of_record(record: Record, human: str | None) -> Judged:
    """Of marks the judge's 9 and 10 of 10 are right: what its outcome `found` is."""
    rule = rule_of(record)
    question = _question(record)
    absent = str(record["reference"].get("absent") is True)
    return Judged(
        question=question,
        same=(question, *record["expected"], absent, " ".join(str(record["response"].get("text", "")).split())),
        judge=right_or_wrong(record["outcome"] == "found") if record["score"] is not None else None,
        rule=right_or_wrong(rule == "found") if rule else None,
        human=None if human is None else _human("--labels", record["id"], human),
    )


def _question(record: Record) -> str:
    """On documents of one's own the label says which question it is; else its text does."""
    own = task_of(record["task"]) in OWN_DOCUMENTS
    return own_label(record["needle"]).question if own else record["question"]


def _of_row(path: Path, number: int, row: dict[str, Any]) -> Judged:
    question, answers, response = row.get("question"), row.get("answers", row.get("answer")), row.get("response")
    answers = [answers] if isinstance(answers, str) else answers
    if not (isinstance(question, str) and isinstance(response, str) and isinstance(answers, list) and answers):
        raise InputError("FILE", path, f"line {number} needs `question`, `answers` and `response`, and `human`")
    reference = Reference(tuple(map(str, answers)), question=question, absent=row.get("absent") is True)
    human = row.get("human")
    return Judged(
        question=question,
        same=(question, response),
        judge=None,
        rule=right_or_wrong(documents_score(response, reference).value == 1),
        human=None if human is None else _human("FILE", f"line {number}", str(human)),
    )


def _human(option: str, where: str, label: str) -> str:
    """A person's label in our words."""
    plain = label.strip().casefold()
    if plain not in _RIGHT | _WRONG:
        raise InputError(option, f"{where}: {label}", "label answers about documents `right` or `wrong`")
    return right_or_wrong(plain in _RIGHT)
