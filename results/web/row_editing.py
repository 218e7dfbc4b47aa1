"""Rows of a jsonl file, edited line by line."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from needlework.results.web.store import Event, Log, newest, utc_now

State = Literal["untouched", "begun", "done"]
PAGE, EXPORTED = "documents", "exported"  # pages of the log
# What an event says. A draft and an overtaken one are written over by the same tab for so long.
DRAFT, SAVED, OVERTAKEN, SET_ASIDE, RESTORED = "draft", "saved", "overtaken", "set aside", "restored"
TAKEN_OVER = "taken over"
KINDS = (DRAFT, SAVED, RESTORED)  # that a page may ask for
_ONE_DRAFT = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Work:
    """What was made of a row. `place`: the row's index when it was worked on. `revision`: grows with every change."""

    row: str
    place: int
    revision: int
    state: State
    pairs: tuple[RowPair, ...]
    person: str
    at: str


@dataclass(frozen=True, slots=True)
class RowEdit:
    """What a page sends. `base`: the revision that it builds on. `tab`: the browser tab. `what`: one of `KINDS`."""

    row: str
    place: int
    base: int
    state: State
    pairs: tuple[RowPair, ...]
    person: str
    tab: str
    what: str


def rows_log(connection: sqlite3.Connection, file: str) -> Log:
    """What was done to the rows of a file."""
    return Log(connection, PAGE, file)


def works(log: Log) -> dict[str, Work]:
    """What was made of a file's rows, by key; rows that were set back are among them as untouched."""
    return {row: _work(each) for row, each in newest(log.standing()).items()}


def work(log: Log, row: str) -> Work | None:
    """What was made of a row."""
    found = log.standing(row)
    return _work(found[-1]) if found else None


def keep(log: Log, change: RowEdit) -> tuple[Work, bool]:
    """Keep a change; the row's newest state, and whether the change is that.

    It is not where somebody changed the row since `change.base`: then the change is kept in the history alone.
    """
    last = work(log, change.row)
    if last is not None and (last.pairs, last.state) == (change.pairs, change.state):
        if change.what != DRAFT:
            _enter(log, change, change.what, last.revision)
        return last, True
    if change.base != (last.revision if last else 0):
        _enter(log, change, OVERTAKEN, 0)
        if last is None:  # the page saw a state file that is no longer there
            last = Work(change.row, change.place, 0, "untouched", (), "", utc_now())
        return last, False
    _enter(log, change, change.what, change.base + 1)
    kept = work(log, change.row)
    assert kept is not None
    return kept, True


def history(log: Log, row: str) -> list[dict[str, Any]]:
    """What happened to a row, newest first: id, what, state, person, at, pairs."""
    return [
        {"id": each.number, "what": each.what, "state": each.said["state"], "person": each.who, "at": each.at}
        | {"pairs": each.said["pairs"]}
        for each in reversed(log.history(row))
    ]


def set_aside(log: Log, person: str) -> int:
    """Begin a file anew: its rows are untouched again. What was made of them can be restored. How many there were."""
    batch = 1 + max((each.said["batch"] for each in log.history(what=SET_ASIDE)), default=0)
    begun = [each for each in works(log).values() if each.state != "untouched"]
    for each in begun:
        old = RowEdit(each.row, each.place, each.revision, each.state, each.pairs, person, "", SET_ASIDE)
        _enter(log, old, SET_ASIDE, each.revision + 1, batch)
    return len(begun)


def set_aside_before(log: Log) -> list[dict[str, Any]]:
    """What was set aside, newest first: batch, at, person, rows."""
    batches: dict[int, dict[str, Any]] = {}
    for each in log.history(what=SET_ASIDE):
        first = {"batch": each.said["batch"], "at": each.at, "person": each.who, "rows": 0}
        batches.setdefault(each.said["batch"], first)["rows"] += 1
    return [batches[batch] for batch in sorted(batches, reverse=True)]


def restore(log: Log, batch: int, person: str) -> int:
    """Take back what was set aside then; what was made of these rows since stays in their history. How many rows."""
    found, now = [each for each in log.history(what=SET_ASIDE) if each.said["batch"] == batch], works(log)
    for each in found:
        row, last = each.item, now[each.item]
        pairs = _pairs(each.said["pairs"])
        change = RowEdit(row, last.place, last.revision, each.said["state"], pairs, person, "", RESTORED)
        _enter(log, change, RESTORED, last.revision + 1)
    return len(found)


def take_over(log: Log, row: str, person: str) -> None:
    """Note that what was made of a row, which changed on disk, went into the row that it is now."""
    old = work(log, row)
    if old is not None and old.state != "untouched":
        change = RowEdit(row, old.place, old.revision, old.state, old.pairs, person, "", TAKEN_OVER)
        _enter(log, change, TAKEN_OVER, old.revision + 1)


def exported(connection: sqlite3.Connection, file: str) -> str:
    """The sha256 of what was exported of a file last; nothing where nothing was."""
    found = Log(connection, EXPORTED, file).standing()
    return str(found[-1].said["sha256"]) if found else ""


def note_export(connection: sqlite3.Connection, file: str, sha256: str) -> None:
    """Remember what was exported."""
    Log(connection, EXPORTED, file).add(file, "", EXPORTED, {"sha256": sha256})


def edited(found: Mapping[str, Work]) -> dict[str, tuple[RowPair, ...]]:
    """The pairs of the rows that somebody worked on."""
    return {row: each.pairs for row, each in found.items() if each.state != "untouched"}


def _enter(log: Log, change: RowEdit, what: str, revision: int, batch: int = 0) -> None:
    """Add an event, or go on with the one that this tab is writing."""
    said: dict[str, Any] = {"place": change.place, "revision": revision, "state": change.state, "pairs": change.pairs}
    said |= {"tab": change.tab, "began": utc_now(), "batch": batch}
    last = next(iter(reversed(log.history(change.row))), None)
    if last is not None and last.said["tab"] == change.tab != "":
        same = (_pairs(last.said["pairs"]), last.said["state"]) == (change.pairs, change.state)
        saves = same and what == SAVED and last.what in (DRAFT, SAVED)
        goes_on = what == last.what and what in (DRAFT, OVERTAKEN) and _young(last.said["began"])
        if saves or goes_on:
            who = last.who if saves else change.person
            log.amend(last.number, who, what, {**said, "began": last.said["began"]})
            return
    log.add(change.row, change.person, what, said, stands=what != OVERTAKEN)


def _work(event: Event) -> Work:
    """What an event made of its row: what was set aside or taken over leaves it untouched."""
    place, revision = event.said["place"], event.said["revision"]
    if event.what in (SET_ASIDE, TAKEN_OVER):
        return Work(event.item, place, revision, "untouched", (), event.who, event.at)
    return Work(event.item, place, revision, event.said["state"], _pairs(event.said["pairs"]), event.who, event.at)


def _pairs(pairs: Sequence[Sequence[str]]) -> tuple[RowPair, ...]:
    return tuple(RowPair(*each) for each in pairs)


def _young(began: str) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(began) < _ONE_DRAFT


BOM = b"\xef\xbb\xbf"
INSTRUCTIONS, OUTPUTS = "instructions", "outputs"
_DOCUMENTS = ("input", "text", "content", "context", "document")
_SPACE = re.compile(r"[ \t\r\n]*")
_AS_ESCAPES = re.compile("[\ud800-\udfff\u2028\u2029\x85]")  # no UTF-8, or taken for the end of a line


class _ExactNumber(str):
    """A number as it is written: a long one is no error."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_int=_ExactNumber, parse_float=_ExactNumber, parse_constant=_ExactNumber)


class RowPair(NamedTuple):
    """A question to the document, and its answer."""

    instruction: str
    output: str

    @property
    def blank(self) -> bool:
        """Whether there is nothing in either."""
        return not self.instruction.strip() and not self.output.strip()


@dataclass(frozen=True, slots=True)
class EditedLine:
    """What a line holds. `problem`: why its pairs cannot be edited, or nothing.

    `counts`: instructions and outputs in the file; where they differ, `pairs` has blanks. `others`: the fields that are
    neither document nor pairs, as they are written. `parallel`: those of them with one entry for each pair.
    """

    document_key: str = ""
    document: str = ""
    pairs: tuple[RowPair, ...] = ()
    counts: tuple[int, int] = (0, 0)
    others: tuple[tuple[str, str], ...] = ()
    parallel: tuple[str, ...] = ()
    problem: str = ""


def read_line(raw: bytes) -> EditedLine:
    """Read a line; one that cannot be read has a `problem`."""
    try:
        text = raw.removeprefix(BOM).decode("utf-8")
        row, end = _DECODER.raw_decode(text, _skip(text, 0))
        if _skip(text, end) != len(text):
            return EditedLine(problem="is more than one JSON value")
    except (ValueError, RecursionError) as error:
        return EditedLine(problem=f"is no JSON ({error})")
    if not isinstance(row, dict):
        return EditedLine(problem="is no JSON object")
    document_key = next((key for key in _DOCUMENTS if type(row.get(key)) is str and row[key].strip()), "")
    raw_fields = {key: text[start:end] for key, _, start, end in _members(text)}
    others = tuple((k, v) for k, v in raw_fields.items() if k not in (document_key, INSTRUCTIONS, OUTPUTS))
    document = row[document_key] if document_key else ""
    lists = (row.get(INSTRUCTIONS, []), row.get(OUTPUTS, []))
    if not all(_texts(each) for each in lists):
        shown = tuple((key, raw_fields[key]) for key in (INSTRUCTIONS, OUTPUTS) if key in row)
        problem = f"has {INSTRUCTIONS} or {OUTPUTS} that are no lists of texts"
        return EditedLine(document_key, document, others=(*shown, *others), problem=problem)
    counts = (len(lists[0]), len(lists[1]))
    padded = ([*each, *[""] * (max(counts) - len(each))] for each in lists)
    pairs = tuple(RowPair(*each) for each in zip(*padded, strict=True))
    parallel = tuple(key for key, _ in others if pairs and isinstance(row[key], list) and len(row[key]) == len(pairs))
    return EditedLine(document_key, document, pairs, counts, others, parallel)


def with_pairs(raw: bytes, pairs: Sequence[RowPair]) -> bytes:
    """Write other pairs into a line without a problem; the line as it is where they are its own."""
    if tuple(pairs) == read_line(raw).pairs:
        return raw
    lead = BOM if raw.startswith(BOM) else b""
    text = raw.removeprefix(BOM).decode("utf-8")
    members = {key: (start, end) for key, _, start, end in _members(text)}  # of a key that comes twice, the last counts
    comma, colon = _separators(text)
    written = _written(text, [members[key][0] for key in (INSTRUCTIONS, OUTPUTS) if key in members])
    lists = {
        INSTRUCTIONS: f"[{comma.join(written(pair.instruction) for pair in pairs)}]",
        OUTPUTS: f"[{comma.join(written(pair.output) for pair in pairs)}]",
    }
    last = text.rindex("}")
    empty = not members
    missing = [f'"{key}"{colon}{each}' for key, each in lists.items() if key not in members]
    changes = [(*members[key], each) for key, each in lists.items() if key in members]
    if missing:
        # After the last value, before the white space that a writer may have left before the brace.
        at = last if empty else max(end for _, end in members.values())
        changes.append((at, at, ("" if empty else comma) + comma.join(missing)))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return lead + text.encode("utf-8")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is str for each in value)


def _members(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Of the object that a valid text is: key, where the key ends, where its value starts and ends."""
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        key, key_end = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, key_end) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, key_end, start, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, start: int) -> Iterator[tuple[Any, str]]:
    """Of the list at `start`: each value, and how it is written."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield value, text[at:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _separators(text: str) -> tuple[str, str]:
    """What the writer of this line put between members, and after a key."""
    members = list(_members(text))
    colon = text[members[0][1] : members[0][2]] if members else ": "
    if len(members) < 2:
        return ", ", colon
    return text[members[0][3] : text.index('"', members[0][3])], colon


def _written(text: str, lists: Sequence[int]) -> Callable[[str], str]:
    """A function that writes a text as the line writes it already, or else as it writes others."""
    as_it_was = {value: form for start in lists for value, form in _elements(text, start)}
    ascii_alone = text.isascii()

    def written(value: str) -> str:
        if value in as_it_was:
            return as_it_was[value]
        if ascii_alone:
            return json.dumps(value)
        return _AS_ESCAPES.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))

    return written


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
