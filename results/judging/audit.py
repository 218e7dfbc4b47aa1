"""`needlework judge-audit FILE`: how far a judge agrees with human labels, and with itself.

FILE: JSON lines, or NAME.csv, with `item`, `human` and `verdict` (docs/leval.md). Or a run on your documents that a
judge judged, or JSON lines with `question`, `answers`, `response` and `human` (docs/statistics.md): then the offline
rule is compared too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import Record
from needlework.results.files.json_files import read_json
from needlework.results.statistics.agreement import Agreement, agreement, share
from needlework.results.statistics.documents import right_or_wrong, rule_of
from needlework.results.statistics.panels import Share
from needlework.results.statistics.wording import ends, percent2
from needlework.results.style import NONE, one_line
from needlework.results.tables.terminal import agreement_lines, aligned
from needlework.scoring.judges.judges import JUDGE
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference


@dataclass(frozen=True, slots=True)
class Audit:
    """`with_human`: verdicts beside the labels of their items, all verdicts of an item together. `same`: share of the
    items with two verdicts or more, `repeated` of them, whose verdicts are all the same. `unlabelled`: items without a
    human label; `failed`: judgements without a verdict, which count in neither.
    """

    with_human: Agreement
    same: Share
    repeated: int
    items: int
    unlabelled: int
    verdicts: int
    failed: int


def main(argv: Sequence[str]) -> int:
    """Print the audit; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework judge-audit", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="labels and verdicts, a run, or labelled answers")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="with a run: rows with item (a record's id), human")
    options = parser.parse_args(argv)
    try:
        answers = (
            judged_in_run(options.file, options.labels) if is_run(options.file) else labelled_answers(options.file)
        )
        if answers is not None:
            for line in document_audit_lines(answers):
                print(line)
            return 0
        if options.labels:
            raise InputError("--labels", options.labels, "goes with a run: give its folder, or its results.json")
        found = audit(read_labels(options.file))
        if not found.with_human.n and not found.repeated:
            remedy = "has neither an item with a human label and a verdict nor one with two verdicts"
            raise InputError("FILE", options.file, remedy)
    except InputError as error:
        return refuse("judge-audit", error)
    except OSError as error:  # a name that no file can have
        return refuse("judge-audit", InputError("FILE", options.file, f"cannot be read ({error.strerror})"))
    for line in audit_lines(found):
        print(line)
    return 0


def audit(items: Mapping[str, Labelled]) -> Audit:
    """Compare the verdicts on each item with its human label, and with each other."""
    both = [
        (name, each.human, verdict)
        for name, each in items.items()
        if each.human is not None
        for verdict in each.verdicts
    ]
    several = {name: each.verdicts for name, each in items.items() if len(each.verdicts) > 1}
    return Audit(
        with_human=agreement([(human, verdict) for _, human, verdict in both], [name for name, _, _ in both]),
        same=share([float(len(set(verdicts)) == 1) for verdicts in several.values()], list(several)),
        repeated=len(several),
        items=len(items),
        unlabelled=sum(each.human is None for each in items.values()),
        verdicts=sum(len(each.verdicts) for each in items.values()),
        failed=sum(each.failed for each in items.values()),
    )


def audit_lines(found: Audit) -> Iterator[str]:
    """Lines for the terminal."""
    yield f"{found.items} items, {found.verdicts} verdicts; {found.failed} judgements without a verdict"
    if found.unlabelled:
        yield f"without a human label: {found.unlabelled} items"
    human, kappa = found.with_human, found.with_human.kappa
    if human.n:
        told = f"{human.n} verdicts on {human.items} items"
        yield f"agreement with the human labels: {percent2(human.agreement.value)} % ({ends(human.agreement)}), {told}"
        span = NONE if kappa.low is None or kappa.high is None else f"{kappa.low:.3f} to {kappa.high:.3f}"
        yield f"Cohen's kappa: {NONE if kappa.value is None else f'{kappa.value:.3f}'} ({span})"
    if found.repeated:
        yield f"agrees with itself: {percent2(found.same.value)} % of {found.repeated} items ({ends(found.same)})"
    else:
        yield "agreement with itself is not known: no item has two verdicts"
    if human.n:
        names = [one_line(label) for label in human.labels]
        rows = [(name, *map(str, counts)) for name, counts in zip(names, human.table, strict=True)]
        yield from aligned([("human \\ judge", *names), *rows], names=1)


# Of a run with `--scorer judge_...`, with a file of human labels or without; records of `judge_documents` have the
# rule's verdict too. Or of a file of answers about documents that people have labelled, for the offline rule alone.
_RIGHT = {"right", "correct", "true", "yes", "1", "found"}
_WRONG = {"wrong", "incorrect", "false", "no", "0", "refused"}


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
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


def judged_in_run(path: Path, labels: Path | None) -> list[AuditedAnswer]:
    """The judged answers of a run's folder or results.json; `labels`: rows of `item` (a record's id) and `human`.

    Raises `InputError`.
    """
    source = path / "results.json" if path.is_dir() else path
    humans = {} if labels is None else {name: each.human for name, each in read_labels(labels).items()}
    records = {record.id: record for record in read_json(source)}
    strangers = [name for name in humans if name not in records]
    if strangers:
        raise InputError("--labels", strangers[0], f"is no record of {source}: `item` is a record's id")
    found = [_of_record(record, humans.get(name)) for name, record in records.items() if _was_judged(record)]
    if not found:
        raise InputError(
            "RUN", path, "has no answers that a judge alone scored; run with --scorer judge_documents --judge SPEC"
        )
    return found


def labelled_answers(path: Path) -> list[AuditedAnswer] | None:
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


def document_audit_lines(found: Sequence[AuditedAnswer]) -> Iterator[str]:
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
    return record.scorer.startswith(JUDGE) and record.outcome not in unruled


def _of_record(record: Record, human: str | None) -> AuditedAnswer:
    """Of marks the judge's 9 and 10 of 10 are right: what its outcome `found` is."""
    rule = rule_of(record)
    question = _question(record)
    absent = str(record.reference.get("absent") is True)
    return AuditedAnswer(
        question=question,
        same=(question, *record.expected, absent, " ".join(str(record.response.text).split())),
        judge=right_or_wrong(record.outcome == "found") if record.score is not None else None,
        rule=right_or_wrong(rule == "found") if rule else None,
        human=None if human is None else _human("--labels", record.id, human),
    )


def _question(record: Record) -> str:
    """On documents of one's own the label says which question it is; else its text does."""
    own = record.task in OWN_DOCUMENTS
    return record.item if own else record.question


def _of_row(path: Path, number: int, row: dict[str, Any]) -> AuditedAnswer:
    question, answers, response = row.get("question"), row.get("answers", row.get("answer")), row.get("response")
    answers = [answers] if isinstance(answers, str) else answers
    if not (isinstance(question, str) and isinstance(response, str) and isinstance(answers, list) and answers):
        raise InputError("FILE", path, f"line {number} needs `question`, `answers` and `response`, and `human`")
    reference = Reference(tuple(map(str, answers)), question=question, absent=row.get("absent") is True)
    human = row.get("human")
    return AuditedAnswer(
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


# A row has `item`, `human` (the label) and `verdict` (the judge's; in JSON also a list of them). Rows of one item
# belong together: the label needs to stand in one of them only. An empty verdict is a judgement without a verdict; in
# JSON a row may leave `verdict` out. A row may name its `judge`; a file has the verdicts of one.
_FIELDS = ("item", "human", "verdict")
_MOST_LABELS = 50


@dataclass(slots=True)
class Labelled:
    """One item. `human`: its label, `None` without one. `failed`: judgements without a verdict."""

    human: str | None = None
    verdicts: list[str] = field(default_factory=list)
    failed: int = 0


def read_labels(path: Path) -> dict[str, Labelled]:
    """Read the file; items in the order in which they come. Raises `InputError`, which names the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # no UTF-8; a name that no file can have
        raise InputError("FILE", path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    items: dict[str, Labelled] = {}
    judges: dict[str, None] = {}
    kinds: set[bool] = set()
    for line, row in (_csv_rows if path.suffix.lower() == ".csv" else _json_rows)(path, text):
        name = _label(row.get("item"))
        if name is None:
            raise InputError("FILE", path, f"line {line} has no `item`: every row names what was judged")
        item = items.setdefault(name, Labelled())
        judges |= dict.fromkeys([str(row["judge"])] if row.get("judge") else ())
        kinds |= {"shown_first" in row} if "replies" in row else set()
        human = _one(path, line, row.get("human"))
        if human is not None and item.human not in (None, human):
            both = f"{name} has the human labels {item.human} and {human}"
            raise InputError("FILE", path, f"line {line}: {both}: keep one")
        item.human = item.human if human is None else human
        given = row.get("verdict", [])
        for each in given if isinstance(given, list) else [given]:
            verdict = _one(path, line, each)
            if verdict is None:
                item.failed += 1
            else:
                item.verdicts.append(verdict)
    if not items:
        raise InputError("FILE", path, "is empty: give rows with `item`, `human` and `verdict`")
    if len(judges) > 1:
        raise InputError("FILE", path, f"has verdicts of several judges, {', '.join(judges)}: keep those of one")
    if len(kinds) > 1:
        raise InputError("FILE", path, "has comparisons of two answers and marks of one: keep rows of one kind")
    labels = {label for each in items.values() for label in (each.human, *each.verdicts)}
    if len(labels) > _MOST_LABELS:
        raise InputError("FILE", path, f"has {len(labels)} different labels: give at most {_MOST_LABELS} kinds")
    return items


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError("FILE", path, f"line {number} is not a JSON object (a table is called NAME.csv)")
        yield number, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in _FIELDS if name not in (table.fieldnames or ())]
        if missing:
            raise InputError("FILE", path, f"has no column {' and '.join(missing)}: name them in its first row")
        for row in table:
            yield table.line_num, row
    except csv.Error as error:
        raise InputError("FILE", path, f"line {table.line_num} is no CSV ({error})") from None


def _one(path: Path, line: int, value: object) -> str | None:
    if isinstance(value, (dict, list)):
        raise InputError(
            "FILE", path, f"line {line}: a label is text or a number; only `verdict` may be a list of them"
        )
    return _label(value)


def _label(value: object) -> str | None:
    """A label as text; the numbers 1 and 1.0 are one."""
    if value is None:
        return None
    text = f"{value:g}" if isinstance(value, float) else str(value).strip()
    return text or None
