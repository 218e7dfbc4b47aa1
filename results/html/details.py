"""Trials packed into the page."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from msgspec import to_builtins

from needlework.core.grid import depth_label
from needlework.core.record import NeedleFacts, Record
from needlework.results.html.charts import (
    Shown,
    facts_text,
    is_cut,
    percent_number,
    script_safe,
    shown,
    visible,
    without_marks,
)

# A trial is a row. Values that many trials have in common (`SHARED`) are numbers into one table of values; the others
# (`OWN`) stand in the row. The script reads both lists of names from the page's data.
SHARED = (
    "outcome", "scorer", "why", "question", "expected", "answer", "text", "reasoning", "error", "finish_reason",
    "prompt", "details", "reference", "id", "nodeid", "worker", "placed",
)  # fmt: skip
OWN = (
    "repeat", "seed", "score", "tokens", "context_tokens", "slack", "server_tokens", "completion_tokens", "needles",
    "around", "key", "sha256", "filler_sha256", "latency_s", "ttft_s", "tokens_per_s", "build_s", "cached_tokens",
    "attempts",
)  # fmt: skip
# Prompt facts that have a place of their own; whatever else a task notes about its prompt is shown as it stands.
_PLACED = frozenset({"tokens", "context_tokens", "slack", "needles", "sha256", "filler_sha256"})
_MOST_EXPECTED = 50
_MOST_NEEDLES = 100
_MOST_AROUND = 20
_TIMES = OWN[OWN.index("latency_s") :]


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a trial is kept: characters of each text, of each hash, and on either side of its needles."""

    text: int
    digest: int
    around: int


class PackedTrial(NamedTuple):
    """A trial: values that others may share, and the JSON of its own. `cut`: whether a text of it is shortened."""

    shared: tuple[Value, ...]
    own: str
    cut: bool


class _Texts(dict[str, Shown]):
    """Texts as the page shows them, at most `limit` characters: of 10,000 trials most have the same few.

    `cut`: whether one of them was longer.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.cut = False

    def __missing__(self, text: str) -> Shown:
        found = self[text] = shown(text, self.limit)
        self.cut |= len(text) > self.limit
        return found

    def of(self, value: object) -> Shown | None:
        """Any value as text; `None` where it says nothing."""
        return None if value is None or value == "" else self[str(value)]

    def facts(self, value: object) -> Shown | None:
        """Any JSON value as text, as of `facts_text`."""
        found = facts_text(value, self.limit)
        self.cut |= isinstance(found, tuple)
        return found


def rows_at(level: Level) -> Callable[[Record], PackedTrial]:
    """Return what makes the row of a record, what the page keeps of it. Fields that a foreign or older file lacks are
    null.
    """
    texts = _Texts(level.text)

    def row_of(record: Record) -> PackedTrial:
        placed = _placed(record.prompt.needles)
        shared = _shared(record, texts, tuple([texts.of(needle.text) for needle in placed]))
        own = _own(record, _needles(record.prompt.needles, texts), around_json(placed, level.around), level.digest)
        return PackedTrial(shared, script_safe(own), texts.cut and _cut(shared))

    return row_of


def _shared(record: Record, texts: _Texts, placed: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values of `SHARED`, in its order."""
    response, error, text = record.response, record.error, record.response.text
    scored = record.read_as or record.answer
    place = f"-len{record.length}-depth{depth_label(record.depth)}-", f"-r{record.repeat}"
    prompt = to_builtins(record.prompt)
    return (
        texts.of(record.outcome),
        texts.of(f"{record.scorer} version {record.scorer_version}") if record.scorer else None,
        texts.of(record.why),
        texts.of(record.question),
        tuple([texts[item] for item in record.expected[:_MOST_EXPECTED]]),
        # What was scored is worth a line of its own only where it is not simply the response.
        None if text and scored.strip() == text.strip() else texts.of(scored),
        texts.of(text),
        texts.of(response.reasoning),
        (texts.of(error.kind), texts.of(error.message)) if error else None,
        texts.of(response.finish_reason),
        texts.facts({name: prompt[name] for name in prompt if name not in _PLACED and prompt[name] != []}),
        texts.facts(to_builtins(record.details)),
        texts.facts(record.reference),
        _name(record.id, *place, texts),
        _name(record.nodeid, *place, texts),
        texts.of(record.timing.worker),
        placed,
    )


def _own(record: Record, needles: str, around: str, digits: int) -> str:
    """The JSON of the values of `OWN`, in its order, without the brackets."""
    prompt, response, timing = record.prompt, record.response, record.timing
    values = (
        number_json(record.repeat),
        number_json(record.seed),
        score_json(record),
        number_json(prompt.tokens or None),
        number_json(prompt.context_tokens),
        number_json(prompt.slack),
        number_json(response.prompt_tokens),
        number_json(response.completion_tokens),
        needles,
        around,
        digest_json(record.key, digits),
        digest_json(prompt.sha256, digits),
        digest_json(prompt.filler_sha256, digits),
        *[number_json(getattr(timing, name)) for name in _TIMES],
    )
    return ",".join(values)


def _cut(shared: Sequence[Value]) -> bool:
    expected, error = (shared[SHARED.index(name)] or () for name in ("expected", "error"))
    return any(map(is_cut, (*shared, *expected, *error)))


def _needles(needles: Sequence[NeedleFacts], texts: _Texts) -> str:
    """Name, requested and achieved depth, tokens before it and its own, of each needle, as JSON."""
    rows = []
    for needle in needles[:_MOST_NEEDLES]:
        numbers = (needle.requested, needle.depth, needle.tokens_before, needle.tokens)
        rows.append(",".join([value_json(texts.of(needle.name)), *map(number_json, numbers)]))
    return f"[{','.join([f'[{row}]' for row in rows])}]"


def _placed(needles: Sequence[NeedleFacts]) -> list[NeedleFacts]:
    """The needles of which the record has the text around them."""
    return [needle for needle in needles if needle.text][:_MOST_AROUND]


def _name(name: object, place: str, repeat: str, texts: _Texts) -> Shown | tuple[str, str, str] | None:
    """An id without its length, depth and repeat, which the row has anyway: thousands of ids then are one value."""
    if isinstance(name, str) and len(name) <= texts.limit:
        head, middle, rest = name.partition(place)
        between, end, tail = rest.rpartition(repeat)
        if middle and end:
            return visible(head), visible(between), visible(tail)
    return texts.of(name)


# Details are packed: JSON, deflated, in base64; the page unpacks them when it has loaded. Where all of them fit, all
# are kept. Where they do not, texts are shorter, and trials are kept until the page is full: first what was not simply
# found, then of every cell its first trials. The page says in one line what it left out.
WHOLE, SHORT = Level(20_000, 64, 160), Level(1_000, 16, 80)
_MOST_PACKED = 20  # times smaller than their JSON details may come to be; beyond that, packing is not tried


class TrialDetails(NamedTuple):
    """What one trial has to show: its record, or its records in two runs, `None` where a run has none.

    `panel`, `column` (length) and `row` (depth) are the place of its cell. `telling`: how much would be lost with it, 0
    the most.
    """

    records: tuple[Record | None, ...]
    panel: int
    column: int
    row: int
    telling: int


@dataclass(frozen=True, slots=True)
class PackedDetails:
    """The details that fit, packed: the table of `values`, and `rows` with one of each trial, in reading order.

    `kept` and `dropped` count trials, `shortened` those of `kept` with a text that is cut.
    """

    packed: str
    kept: int
    dropped: int
    shortened: int
    level: Level

    def notice(self, limit_bytes: int) -> list[str]:
        """One line that says what is not in the page; empty where everything is."""
        missing = []
        if self.dropped:
            missing.append(
                f"details of {self.dropped:,} of {self.dropped + self.kept:,} trials, those that were found first"
            )
        if self.shortened:
            trials = "1 trial" if self.shortened == 1 else f"{self.shortened:,} trials"
            missing.append(f"what is longer than {self.level.text:,} characters in texts of {trials}")
        if self.kept and self.level == SHORT:
            missing.append(f"hashes and texts around needles beyond {SHORT.digest} and {SHORT.around} characters")
        if not missing:
            return []
        why = f"to keep the page below {limit_bytes / 1e6:g} MB; scores are complete, and results.json has everything"
        return [f"Left out: {'; '.join(missing)} ({why})."]


@dataclass(slots=True)
class _Shelf:
    """Rows so far by the number of their trial, the table of values, and the bytes of JSON left."""

    room: int
    numbers: dict[Value, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    shortened: int = 0

    def take(self, number: int, entry: TrialDetails, parts: Sequence[PackedTrial | None]) -> bool:
        """Add a row where it fits; a value that another row has already costs nothing but its number."""
        numbers, texts = self.numbers, []

        def trial(part: PackedTrial) -> str:
            found = []
            for value in part.shared:
                at = numbers.get(value)
                if at is None:
                    at = numbers[value] = str(len(numbers))
                    texts.append(script_safe(value_json(value)))
                found.append(at)
            return f"[{','.join(found)},{part.own}]"

        trials = ",".join("null" if part is None else trial(part) for part in parts)
        line = f"[{entry.panel},{entry.column},{entry.row},{trials}]"
        cost = len(line.encode()) + sum(len(text.encode()) for text in texts)
        if cost > self.room:
            for _ in texts:
                numbers.popitem()
            return False
        self.room -= cost
        self.values += texts
        self.rows[number] = line
        self.shortened += any(part is not None and part.cut for part in parts)
        return True

    def packed(self) -> str:
        """Everything as the page unpacks it."""
        rows = ",\n".join(self.rows[number] for number in sorted(self.rows))
        text = f'{{"values":[{",".join(self.values)}],\n"rows":[{rows}]}}'
        return b64encode(zlib.compress(text.encode(), 6)).decode()


def fit(trials: Sequence[TrialDetails], room: int) -> PackedDetails:
    """Keep as much of `trials` (in reading order) as `room` bytes can hold."""
    shelf = _filled(trials, range(len(trials)), WHOLE, room)
    if len(shelf.rows) == len(trials) and len(packed := shelf.packed()) <= room:
        return PackedDetails(packed, len(trials), 0, shelf.shortened, WHOLE)
    order = _most_telling_first(trials)
    while order:
        shelf = _filled(trials, order, SHORT, room)
        packed = shelf.packed()
        if len(packed) <= room:
            return PackedDetails(packed, len(shelf.rows), len(trials) - len(shelf.rows), shelf.shortened, SHORT)
        # Fewer trials by as much as it is too large, and a little more; the packing of fewer is not quite as good.
        order = order[: min(len(shelf.rows) - 1, int(len(shelf.rows) * room / len(packed) * 0.98))]
    return PackedDetails("", 0, len(trials), 0, SHORT)


def _filled(trials: Sequence[TrialDetails], order: Sequence[int], level: Level, room: int) -> _Shelf:
    """Take trials until what they could be packed into is full: that costs time for what is kept, not for what is."""
    shelf = _Shelf(max(0, room) * _MOST_PACKED)
    row_of = rows_at(level)
    for number in order:
        parts = [None if record is None else row_of(record) for record in trials[number].records]
        if not shelf.take(number, trials[number], parts):
            break
    return shelf


def _most_telling_first(trials: Sequence[TrialDetails]) -> list[int]:
    """Order trials by how much would be lost with them; of equal ones the first of every cell, then the second, ...

    Those are scattered, so that no part of a heatmap is left out as a whole.
    """
    before: Counter[tuple[int, int, int, int]] = Counter()
    ranked = []
    for number, entry in enumerate(trials):
        alike = (entry.panel, entry.column, entry.row, entry.telling)
        ranked.append((entry.telling, before[alike], number * 2_654_435_761 % 2**32, number))
        before[alike] += 1
    return [rank[-1] for rank in sorted(ranked)]


# What a table of values holds: texts, whole or cut, and lists of them.
Value = str | tuple[Any, ...] | None
quoted = json.encoder.encode_basestring


def value_json(value: Value | int) -> str:
    """A text, a list of them, or the number of characters that a cut text lacks."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(value_json, value))}]"
    return "null" if value is None else str(value)


def number_json(value: object) -> str:
    """A number with at most six digits after the point; `null` for whatever is no number."""
    if value is None or isinstance(value, bool):
        return "null"
    if isinstance(value, float):
        text = float.__repr__(value)
        if len(text) - text.find(".") <= 7 and "." in text and "e" not in text:
            return text  # rounding takes longer than all else here
        return float.__repr__(round(value, 6)) if isfinite(value) else "null"
    return int.__repr__(value) if isinstance(value, int) else "null"


def score_json(record: Record) -> str:
    """The score in percent; `null` where the outcome has none."""
    return "null" if record.score is None else _percent(record.score)


@lru_cache(maxsize=1_024)
def _percent(score: float) -> str:
    return repr(percent_number(round(score, 6)))


def digest_json(value: object, digits: int) -> str:
    """A hash, cut to `digits` characters."""
    if value is None or value == "":
        return "null"
    text = str(value)
    return quoted(visible(text if len(text) <= digits else f"{text[:digits]}…"))


def around_json(needles: Sequence[NeedleFacts], room: int) -> str:
    """What stands before and after each needle, at most `room` characters on each side."""
    found = [
        f"[{quoted(visible(without_marks(needle.before)[-room:]))},"
        f"{quoted(visible(without_marks(needle.after)[:room]))}]"
        for needle in needles
    ]
    return f"[{','.join(found)}]"
