"""Where reviewers stand: what a decision makes of a row, where they disagree, and the reviewed file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from needlework.haystack_fixtures.documents.questions import is_decided, status_of
from needlework.results.web.editing.questions.opinions import Opinion
from needlework.results.web.editing.questions.pairs import (
    Pair,
    Row,
    changed_fields,
    fingerprint,
    pair_json,
    pair_of,
    with_pair,
)

Opinions = Mapping[str, Opinion]  # by reviewer


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The rows of a reviewed file. Counts of rows: `decided` ("accept", "edit", "reject") by the reviewer, `earlier` by
    a decision that the file had, `undecided` by the check's status; `disagreements` between reviewers. `problems`: what
    keeps a run from asking rows.
    """

    rows: dict[str, dict[str, Any]]
    decided: Counter[str] = field(default_factory=Counter)
    earlier: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    disagreements: int = 0
    problems: tuple[str, ...] = ()


def counts_now(opinion: Opinion, row: Row) -> bool:
    """Whether the file still says what was decided on."""
    return opinion.about == fingerprint(pair_of(row))


def disagree(opinions: Opinions, row: Row) -> bool:
    """Whether two reviewers say something else of a row: accept or reject, or another wording of an accepted pair."""
    said = {
        (each.status, None if each.status == "reject" else each.pair or pair_of(row))
        for each in opinions.values()
        if counts_now(each, row)
    }
    return len(said) > 1


def opinion_json(opinion: Opinion, row: Row) -> dict[str, Any]:
    """A decision as the page has it; `stale`: the file says something else since."""
    return {
        "number": opinion.number,
        "by": opinion.by,
        "at": opinion.at,
        "status": opinion.status,
        "reason": opinion.reason,
        "pair": opinion.pair and pair_json(opinion.pair),
        "stale": not counts_now(opinion, row),
    }


def reviewed(
    rows: Mapping[str, Row], opinions: Mapping[str, Opinions], by: str, has: Callable[[str], bool]
) -> Reviewed:
    """The file as one reviewer decided: all rows in order, all their fields, and `decision`.

    Rows that this reviewer did not decide on stay as they are, with the decision that the file had. `has`: whether
    there is a document of this name.
    """
    changed: dict[str, dict[str, Any]] = {}
    decided: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    earlier = disagreements = 0
    problems: list[str] = []
    for key, row in rows.items():
        said = opinions.get(key, {})
        disagreements += disagree(said, row)
        mine = said.get(by)
        if mine is not None and counts_now(mine, row):
            changed[key] = decided_row(row, mine)
            decided["edit" if mine.status == "accept" and mine.pair else mine.status] += 1
        else:
            changed[key] = dict(row)
            if is_decided(row):
                earlier += 1
            else:
                undecided[status_of(row) or "no status"] += 1
        if status_of(changed[key]) != "reject" and (problem := problem_of(pair_of(changed[key]), has)):
            problems.append(f"pair {key}: {problem}")
    return Reviewed(changed, decided, earlier, undecided, disagreements, tuple(problems))


def decided_row(row: Row, opinion: Opinion) -> dict[str, Any]:
    """The row with a reviewer's wording, status and `decision`."""
    pair = opinion.pair or pair_of(row)
    decision: dict[str, Any] = {"status": opinion.status, "by": opinion.by, "at": opinion.at}
    if opinion.reason:
        decision["reason"] = opinion.reason
    if edited := changed_fields(pair_of(row), pair):
        decision["edited"] = edited
    return {**with_pair(row, pair), "status": opinion.status, "decision": decision}


def problem_of(pair: Pair, has: Callable[[str], bool]) -> str:
    """Why a run cannot ask a pair; empty where it can."""
    if not pair.question:
        return "it has no question"
    if not pair.answers:
        return "it has no answer"
    if not pair.document:
        return "it names no answer document"
    missing = [name for name in (pair.document, *pair.supporting) if not has(name)]
    return f"there is no document {missing[0]!r} in the folder" if missing else ""
