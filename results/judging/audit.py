"""`needlework judge-audit FILE`: how far a judge agrees with human labels, and with itself.

FILE: JSON lines, or NAME.csv, with `item`, `human` and `verdict` (docs/leval.md). Or a run on your documents that a
judge judged, or JSON lines with `question`, `answers`, `response` and `human` (docs/statistics.md): then the offline
rule is compared too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.results.judging.document_audit import document_audit_lines, is_run, judged_in_run, labelled_answers
from needlework.results.judging.labels import Labelled, read_labels
from needlework.results.statistics.agreement.rates import Agreement, agreement, share
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import one_line
from needlework.results.tables.columns import NONE, aligned, ends, percent2


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
