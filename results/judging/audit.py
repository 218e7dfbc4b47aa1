"""`needlework judge-audit FILE`: how far a judge agrees with human labels, and with itself.

FILE: JSON lines, or NAME.csv, with `item`, `human` and `verdict` (docs/judges.md). Or a run whose answers a judge
scored: then the offline rule is compared too.
"""

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import read_text
from needlework.core.record import OWN_DOCUMENTS
from needlework.results.files.read_run import read_run
from needlework.results.leval.predictions import json_rows
from needlework.results.records.samples import grouped
from needlework.results.statistics.agreement import agreement
from needlework.results.statistics.documents import right_or_wrong, rule_of
from needlework.results.statistics.panels import rate_of
from needlework.results.statistics.wording import interval_cell, percent2
from needlework.results.tables.terminal import agreement_lines
from needlework.scoring.judges.judges import JUDGE

_MOST_LABELS = 50
_RIGHT = {"right", "correct", "true", "yes", "1", "found"}
_WRONG = {"wrong", "incorrect", "false", "no", "0", "refused"}
_UNJUDGED = ("empty", "censored", "unclear", "invalid", "skipped")  # outcomes of answers that no judge is asked about


class AuditedAnswer(Struct, frozen=True):
    """One answer with the labels that judge, offline rule and person gave it; `None` where one gave none."""

    item: str  # what answers share that are not independent
    repeated: tuple[str, ...]  # the same for equal answers to it
    judge: str | None = None
    rule: str | None = None
    human: str | None = None
    failed: bool = False  # whether the judge's reply had no verdict


def main(argv: Sequence[str]) -> int:
    """Print the audit; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework judge-audit", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="labels and verdicts, or a run")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="with a run: rows with item (a record's id), human")
    options = parser.parse_args(argv)
    read = partial(_read, options.file, options.labels)
    return run_command("judge-audit", lambda: print(*audit_lines(read()), sep="\n"))


def audit_lines(answers: Sequence[AuditedAnswer]) -> Iterator[str]:
    """Lines for the terminal: judge, rule and person by pairs, and the judge beside itself."""
    items, failed = len({answer.item for answer in answers}), sum(answer.failed for answer in answers)
    judged = sum(bool(answer.judge or answer.rule or answer.failed) for answer in answers)
    yield f"{judged} answers to {items} questions; {failed} judgements without a verdict"
    for one, other in (("rule", "judge"), ("human", "judge"), ("human", "rule")):
        labels = [(getattr(answer, one), getattr(answer, other), answer.item) for answer in answers]
        if both := [pair for pair in labels if pair[0] and pair[1]]:
            table = agreement([pair[:2] for pair in both], [item for _, _, item in both])
            yield from agreement_lines(table, one, other)
    if not any(answer.human or answer.rule for answer in answers):
        yield "nothing to compare the judge with: give --labels (judge_documents alone keeps a rule's verdict)"
    equal = grouped((answer for answer in answers if answer.judge), lambda answer: answer.repeated)
    if several := {key: {answer.judge for answer in group} for key, group in equal.items() if len(group) > 1}:
        same = rate_of([float(len(labels) == 1) for labels in several.values()], list(several))
        agree = f"{percent2(same.value)} % of {len(several)} equal answers ({interval_cell(same)})"
        yield f"the judge agrees with itself: {agree}"


def _read(path: Path, labels: Path | None) -> list[AuditedAnswer]:
    if path.suffix.lower() == ".json" or path.is_dir():
        return _read_run(path, labels)
    if labels is not None:
        raise InputError("--labels", labels, "goes with a run: give its folder, or its results.json")
    answers = _read_labels("FILE", path)
    verdicts = [answer.item for answer in answers if answer.judge]
    if not any(answer.judge and answer.human for answer in answers) and len(set(verdicts)) == len(verdicts):
        remedy = "has neither an item with a human label and a verdict nor one with two verdicts"
        raise InputError("FILE", path, remedy)
    return answers


def _read_run(path: Path, labels: Path | None) -> list[AuditedAnswer]:
    """The answers that a judge alone scored; `labels`: rows of `item` (a record's id) and `human`.

    A judge's marks of 9 and 10 of 10, which are the outcome `found`, are right.
    """
    people = {answer.item: answer.human for answer in _read_labels("--labels", labels)} if labels else {}
    records = {record.id: record for record in read_run(path).records}
    stranger = next((name for name in people if name not in records), None)
    if stranger is not None:
        raise InputError("--labels", stranger, f"is no record of {path}: `item` is a record's id")
    answers = []
    judged = {name: of for name, of in records.items() if of.scorer.startswith(JUDGE) and of.outcome not in _UNJUDGED}
    for name, record in judged.items():
        rule = rule_of(record)
        question = record.item if record.task in OWN_DOCUMENTS else record.question
        absent, text = str(record.reference.get("absent") is True), " ".join(str(record.response.text).split())
        answers.append(
            AuditedAnswer(
                item=question,
                repeated=(question, *record.expected, absent, text),
                judge=right_or_wrong(record.outcome == "found") if record.score is not None else None,
                rule=right_or_wrong(rule == "found") if rule else None,
                human=_right_or_wrong("--labels", name, people.get(name)),
                failed=record.score is None and not rule,
            )
        )
    if not answers:
        remedy = "has no answers that a judge alone scored; run with --scorer judge_documents --judge SPEC"
        raise InputError("RUN", path, remedy)
    return answers


def _right_or_wrong(option: str, answer: str, label: str | None) -> str | None:
    if label is None:
        return None
    plain = label.casefold()
    if plain not in _RIGHT | _WRONG:
        raise InputError(option, f"{answer}: {label}", "label answers about documents `right` or `wrong`")
    return right_or_wrong(plain in _RIGHT)


def _read_labels(option: str, path: Path) -> list[AuditedAnswer]:
    """An answer for each row with a verdict; its item's human label may be in another row.

    A verdict may be missing (`human` alone) or empty (a judgement without one).
    """
    people: dict[str, str] = {}
    verdicts: list[tuple[str, str | None]] = []
    rows = _rows(option, path)
    if not rows:
        raise InputError(option, path, "is empty: give rows with `item`, `human` and `verdict`")
    for line, row in rows.items():
        item, human, verdict = (_label(option, path, line, row.get(name)) for name in ("item", "human", "verdict"))
        if item is None:
            raise InputError(option, path, f"line {line} has no `item`: every row names what was judged")
        if human is not None and people.setdefault(item, human) != human:
            both = f"{item} has the human labels {people[item]} and {human}"
            raise InputError(option, path, f"line {line}: {both}: keep one")
        if "verdict" in row:
            verdicts.append((item, verdict))
    judges = dict.fromkeys(str(row["judge"]) for row in rows.values() if row.get("judge"))
    labels = {*people.values(), *(verdict for _, verdict in verdicts if verdict)}
    if len(judges) > 1:
        raise InputError(option, path, f"has verdicts of several judges, {', '.join(judges)}: keep those of one")
    if len(labels) > _MOST_LABELS:
        raise InputError(option, path, f"has {len(labels)} different labels: give at most {_MOST_LABELS} kinds")
    judged = {item for item, _ in verdicts}
    answers = [AuditedAnswer(item, (item,), of, human=people.get(item), failed=of is None) for item, of in verdicts]
    return answers + [AuditedAnswer(item, (item,), human=people[item]) for item in people if item not in judged]


def _rows(option: str, path: Path) -> dict[int, dict[str, Any]]:
    """The rows of a file by the numbers of their lines. Raises `InputError`, which names the line."""
    rows: dict[int, dict[str, Any]] = {}
    text = read_text(option, path, "give a run, JSON lines, or a table NAME.csv")
    if path.suffix.lower() == ".csv":
        table = csv.DictReader(StringIO(text, newline=""), strict=True)
        try:
            if missing := [name for name in ("item", "human", "verdict") if name not in (table.fieldnames or ())]:
                raise InputError(option, path, f"has no column {' and '.join(missing)}: name them in its first row")
            rows.update((table.line_num, row) for row in table)
            return rows
        except csv.Error as error:
            raise InputError(option, path, f"line {table.line_num} is no CSV ({error})") from None
    for number, row in json_rows(text):
        if row is None:
            raise InputError(option, path, f"line {number} is not a JSON object (a table is called NAME.csv)")
        rows[number] = row
    return rows


def _label(option: str, path: Path, line: int, value: object) -> str | None:
    """A label as text; the numbers 1 and 1.0 are one. Raises `InputError` for a list or an object."""
    if isinstance(value, dict | list):
        raise InputError(option, path, f"line {line}: a label is text or a number; give each verdict a row of its own")
    text = f"{value:g}" if isinstance(value, float) else "" if value is None else str(value).strip()
    return text or None
