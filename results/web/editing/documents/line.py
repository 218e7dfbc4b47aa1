"""One line of a jsonl file: its document and pairs; other pairs are written into it, and no other byte changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

BOM = b"\xef\xbb\xbf"
INSTRUCTIONS, OUTPUTS = "instructions", "outputs"
_DOCUMENTS = ("input", "text", "content", "context", "document")
_SPACE = re.compile(r"[ \t\r\n]*")
_AS_ESCAPES = re.compile("[\ud800-\udfff\u2028\u2029\x85]")  # no UTF-8, or taken for the end of a line


class _Number(str):
    """A number as it is written: a long one is no error."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number)


class Pair(NamedTuple):
    """A question to the document, and its answer."""

    instruction: str
    output: str

    @property
    def blank(self) -> bool:
        """Whether there is nothing in either."""
        return not self.instruction.strip() and not self.output.strip()


@dataclass(frozen=True, slots=True)
class Line:
    """What a line holds. `problem`: why its pairs cannot be edited, or nothing.

    `counts`: instructions and outputs in the file; where they differ, `pairs` has blanks. `others`: the fields that are
    neither document nor pairs, as they are written. `parallel`: those of them with one entry for each pair.
    """

    document_key: str = ""
    document: str = ""
    pairs: tuple[Pair, ...] = ()
    counts: tuple[int, int] = (0, 0)
    others: tuple[tuple[str, str], ...] = ()
    parallel: tuple[str, ...] = ()
    problem: str = ""


def read_line(raw: bytes) -> Line:
    """Read a line; one that cannot be read has a `problem`."""
    try:
        text = raw.removeprefix(BOM).decode("utf-8")
        row, end = _DECODER.raw_decode(text, _skip(text, 0))
        if _skip(text, end) != len(text):
            return Line(problem="is more than one JSON value")
    except (ValueError, RecursionError) as error:
        return Line(problem=f"is no JSON ({error})")
    if not isinstance(row, dict):
        return Line(problem="is no JSON object")
    document_key = next((key for key in _DOCUMENTS if type(row.get(key)) is str and row[key].strip()), "")
    raw_fields = {key: text[start:end] for key, _, start, end in _members(text)}
    others = tuple((k, v) for k, v in raw_fields.items() if k not in (document_key, INSTRUCTIONS, OUTPUTS))
    document = row[document_key] if document_key else ""
    lists = (row.get(INSTRUCTIONS, []), row.get(OUTPUTS, []))
    if not all(_texts(each) for each in lists):
        shown = tuple((key, raw_fields[key]) for key in (INSTRUCTIONS, OUTPUTS) if key in row)
        problem = f"has {INSTRUCTIONS} or {OUTPUTS} that are no lists of texts"
        return Line(document_key, document, others=(*shown, *others), problem=problem)
    counts = (len(lists[0]), len(lists[1]))
    padded = ([*each, *[""] * (max(counts) - len(each))] for each in lists)
    pairs = tuple(Pair(*each) for each in zip(*padded, strict=True))
    parallel = tuple(key for key, _ in others if pairs and isinstance(row[key], list) and len(row[key]) == len(pairs))
    return Line(document_key, document, pairs, counts, others, parallel)


def with_pairs(raw: bytes, pairs: Sequence[Pair]) -> bytes:
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
