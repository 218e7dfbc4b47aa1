"""What a file of questions has already: it stays, and only documents without a question are asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from needlework.haystack_fixtures.documents.folder import DocumentSet, OwnDocument
from needlework.haystack_fixtures.documents.questions import Rows
from needlework.results.questions.folder_report import listed

MADE_FROM = "made_from"  # of a row: the beginning of the sha256 of the document that the question was made from
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows of a file, by what became of their documents.

    `names`: documents that are not asked about again: they, or twins of theirs, have a question. `asked`: how many have
    one. `gone`: names that the folder lacks. `changed`: documents that have another text than the one asked about.
    """

    rows: Rows
    names: frozenset[str]
    asked: int
    gone: tuple[str, ...]
    changed: tuple[str, ...]


def digest_of(document: OwnDocument) -> str:
    """What tells whether a document has changed since a question was made from it."""
    return sha256(document.text.encode("utf-8")).hexdigest()[:_DIGITS]


def has_changed(row: Mapping[str, Any], document: OwnDocument) -> bool:
    """Whether a row says that it was made from another text than this one."""
    return isinstance(row.get(MADE_FROM), str) and row[MADE_FROM] != digest_of(document)


def kept_of(rows: Rows, found: DocumentSet, twins: Sequence[Sequence[str]]) -> Kept:
    """Sort the rows of a file by what the folder has now. `twins`: groups of names."""
    groups = {name: group for group in twins for name in group}
    named: set[str] = set()
    gone: dict[str, None] = {}
    changed: dict[str, None] = {}
    for row in rows.values():
        name = str(row.get("answer_doc"))
        document = found.named(name)
        if document is None:
            gone[name] = None
            continue
        named.add(document.name)
        if has_changed(row, document):
            changed[document.name] = None
    names = {other for name in named for other in groups.get(name, (name,))}
    return Kept(rows, frozenset(names), len(named), tuple(gone), tuple(changed))


def joined(kept: Kept, rows: Sequence[Mapping[str, Any]], found: DocumentSet) -> Rows:
    """The kept rows under their keys, and new ones behind them under the next numbers."""
    first = 1 + max((int(key) for key in kept.rows if key.isdecimal()), default=-1)
    made = {}
    for number, row in enumerate(rows, first):
        document = found.named(row["answer_doc"])
        made[str(number)] = {**row, **({MADE_FROM: digest_of(document)} if document else {})}
    return {**kept.rows, **made}


def kept_lines(kept: Kept) -> Iterator[str]:
    """What is said of documents that are not as they were."""
    told = "their questions are kept"
    changed, gone = list(map(repr, kept.changed)), list(map(repr, kept.gone))
    yield from listed(f"documents that have changed since they were asked about; {told}", changed)
    yield from listed(f"documents that are in the folder no longer; {told}, and rejected by `check`", gone)
