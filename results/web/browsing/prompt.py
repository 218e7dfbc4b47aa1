"""The prompt of a recorded trial, in parts that a page can mark: what stands around, the context, the needles."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Literal

from needlework.haystack_fixtures.asking.reconstruct import sent_as_messages
from needlework.haystack_fixtures.errors import InputError
from needlework.results.prompt import MESSAGES
from needlework.results.records.record import Record
from needlework.results.web.page import Rebuild

Kind = Literal["frame", "question", "context", "needle", "planted", "text", "turn"]
Span = tuple[int, int]
Named = tuple[str, int, int]
_KEY = re.compile(r"[0-9a-f]{64}")
_SHOWN = 16  # characters of a hash


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a prompt. `kind`: `frame`: template and instructions; `question`; `context`; `needle`: what is asked for;
    `planted`: other sentences that were put in; `text`: it is not known which; `turn`: what the template writes before
    a turn of a conversation, whose role is the `name`. `name`, `depth` (percent): of a needle.
    """

    kind: Kind
    text: str
    name: str = ""
    depth: float | None = None


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """`same`: whether its hash is the recorded one; none where none was recorded. `told`: that in words."""

    parts: tuple[Part, ...]
    same: bool | None
    told: str


def shown_prompt(rebuild: Rebuild, run: Path, record: Record) -> ShownPrompt:
    """Build the prompt of a trial again; where it then is another one, or cannot be built, take what
    `--save-prompts` kept. Raises `InputError` where there is neither."""
    recorded = str(record["prompt"].get("sha256") or "")
    saved = _saved(run, record, recorded)
    try:
        made = rebuild(run, record["id"])
    except InputError as error:
        if saved is None:
            raise
        words = f"It was saved with the run (--save-prompts); it cannot be built again: {error}"
        return _of_saved(saved, record, words)
    if saved is not None and made.sha256 != recorded:
        return _of_saved(saved, record, "It was saved with the run (--save-prompts); built now it is another one.")
    parts = _parts(made.text, made.context if made.context[1] else None, made.needles, record, made.turns)
    if not recorded:
        return ShownPrompt(parts, None, "Unchecked: the trial ended before the hash of its prompt was recorded.")
    if made.sha256 == recorded:
        return ShownPrompt(parts, True, _same(record))
    words = (
        f"This is not what was sent: what can be built now has sha256 {made.sha256[:_SHOWN]}, recorded is "
        f"{recorded[:_SHOWN]}. The corpus, needles, tokenizer or version differs (see manifest.json)."
    )
    return ShownPrompt(parts, False, words)


def _of_saved(text: str, record: Record, words: str) -> ShownPrompt:
    told = f"{_same(record)} {words}"
    return ShownPrompt(_parts(text, None, _recorded_needles(record), record), True, told)


def _same(record: Record) -> str:
    sha = str(record["prompt"].get("sha256"))[:_SHOWN]
    if sent_as_messages(record["model"], record["prompt"].get("template")):
        return f"This is byte for byte what was counted (sha256 {sha}). {MESSAGES}."
    return f"This is byte for byte what was sent: sha256 {sha}."


def _saved(run: Path, record: Record, recorded: str) -> str | None:
    """What `--save-prompts` kept, if it is what the record says."""
    if not _KEY.fullmatch(record["key"]):
        return None
    try:
        data = (run / "prompts" / f"{record['key']}.txt").read_bytes()
    except OSError:
        return None
    return data.decode("utf-8", "surrogatepass") if sha256(data).hexdigest() == recorded else None


def _recorded_needles(record: Record) -> tuple[tuple[str, int, int], ...]:
    needles = record["prompt"].get("needles", ())
    return tuple((each["name"], each["start"], each["end"]) for each in needles if {"name", "start", "end"} <= {*each})


def _parts(
    text: str, context: Span | None, needles: tuple[Named, ...], record: Record, turns: tuple[Named, ...] = ()
) -> tuple[Part, ...]:
    """The parts of a prompt; a needle that is a turn stands behind what the template writes before it."""

    def between(start: int, end: int) -> Iterator[Part]:
        if turns:
            return _around_turns(text, start, end, turns, record["question"])
        return _around(text, start, end, context, record["question"])

    known = {(each.get("name"), each.get("start")): each for each in record["prompt"].get("needles", ())}
    # Of what is asked for a record has the text, of other sentences that were put in the place alone.
    asked = {name for (name, _), each in known.items() if "text" in each}
    found: list[Part] = []
    at = 0
    for name, start, end in sorted(needles, key=lambda needle: needle[1:]):
        if not at <= start < end <= len(text):
            continue  # a record of other text than it says
        found += between(at, start)
        kind: Kind = "needle" if name in asked or not asked else "planted"
        found.append(Part(kind, text[start:end], name, known.get((name, start), {}).get("depth")))
        at = end
    return (*found, *between(at, len(text)))


def _around_turns(text: str, start: int, end: int, turns: tuple[Named, ...], question: str) -> Iterator[Part]:
    """What stands between needles of a conversation, told apart by where its turns begin and end."""
    at = start
    first = bisect_right(turns, start, key=lambda turn: turn[2])  # the first that ends behind the start
    for role, begin, close in turns[first:]:
        if begin > end:
            break
        if at <= begin:
            yield from _nonempty(Part("turn", text[at:begin], role))
        low, high = max(at, begin), min(end, close)
        if (role, begin, close) == turns[-1]:
            yield from _with_question(text[low:high], question)
        else:
            yield from _nonempty(Part("context", text[low:high]))
        at = high
    yield from _nonempty(Part("frame", text[at:end]))


def _around(text: str, start: int, end: int, context: Span | None, question: str) -> Iterator[Part]:
    """What stands between needles, told apart by where the context begins and ends."""
    if context is None:
        yield from _nonempty(Part("text", text[start:end]))
        return
    cuts = sorted({start, end, *(edge for edge in context if start < edge < end)})
    for a, b in pairwise(cuts):
        if context[0] <= a and b <= context[1]:
            yield from _nonempty(Part("context", text[a:b]))
        else:
            yield from _with_question(text[a:b], question)


def _with_question(text: str, question: str) -> Iterator[Part]:
    before, found, after = text.rpartition(question) if question else (text, "", "")
    if not found:
        yield from _nonempty(Part("frame", text))
        return
    yield from _nonempty(Part("frame", before))
    yield Part("question", found)
    yield from _nonempty(Part("frame", after))


def _nonempty(part: Part) -> Iterator[Part]:
    if part.text:
        yield part
