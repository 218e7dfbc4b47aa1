"""One trial as the details pane shows it, small enough that thousands fit into the page.

A trial is a row. Values that many trials have in common (`SHARED`) are numbers into one table of values; the others
(`OWN`) stand in the row. The script reads both lists of names from the page's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.texts import Shown, facts_text, is_cut, script_safe, shown, visible
from needlework.results.html.trial_json import Value, around_json, digest_json, number_json, score_json, value_json
from needlework.results.records.record import Record

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


class Row(NamedTuple):
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


def rows_at(level: Level) -> Callable[[Record], Row]:
    """Return what makes the row of a record, what the page keeps of it. Fields that a foreign or older file lacks are
    null.
    """
    texts = _Texts(level.text)

    def row_of(record: Record) -> Row:
        fields = cast("Mapping[str, Any]", record)
        prompt = _mapping(fields.get("prompt"))
        needles = _mappings(prompt.get("needles"))
        placed = _placed(needles)
        shared = _shared(fields, prompt, texts, tuple([texts.of(needle["text"]) for needle in placed]))
        own = _own(fields, prompt, _needles(needles, texts), around_json(placed, level.around), level.digest)
        return Row(shared, script_safe(own), texts.cut and _cut(shared))

    return row_of


def _shared(
    record: Mapping[str, Any], prompt: Mapping[str, Any], texts: _Texts, placed: tuple[Value, ...]
) -> tuple[Value, ...]:
    """The values of `SHARED`, in its order."""
    response, timing = _mapping(record.get("response")), _mapping(record.get("timing"))
    error = _mapping(record.get("error"))
    answer, text = record.get("answer"), response.get("text")
    expected, scorer = record.get("expected"), record.get("scorer")
    place = f"-len{record.get('length')}-depth{depth_label(record.get('depth'))}-", f"-r{record.get('repeat')}"
    return (
        texts.of(record.get("outcome")),
        texts.of(f"{scorer} version {record.get('scorer_version')}") if scorer else None,
        texts.of(record.get("why")),
        texts.of(record.get("question")),
        tuple([texts[str(item)] for item in expected[:_MOST_EXPECTED]]) if isinstance(expected, (list, tuple)) else (),
        # What was scored is worth a line of its own only where it is not simply the response.
        None if text not in (None, "") and _same(answer, text) else texts.of(answer),
        texts.of(text),
        texts.of(response.get("reasoning")),
        (texts.of(error.get("kind")), texts.of(error.get("message"))) if error else None,
        texts.of(response.get("finish_reason")),
        texts.facts({name: prompt[name] for name in prompt if name not in _PLACED}),
        texts.facts(record.get("details")),
        texts.facts(record.get("reference")),
        _name(record.get("id"), *place, texts),
        _name(record.get("nodeid"), *place, texts),
        texts.of(timing.get("worker")),
        placed,
    )


def _own(record: Mapping[str, Any], prompt: Mapping[str, Any], needles: str, around: str, digits: int) -> str:
    """The JSON of the values of `OWN`, in its order, without the brackets."""
    response, timing = _mapping(record.get("response")), _mapping(record.get("timing"))
    values = (
        number_json(record.get("repeat")),
        number_json(record.get("seed")),
        score_json(record),
        number_json(prompt.get("tokens")),
        number_json(prompt.get("context_tokens")),
        number_json(prompt.get("slack")),
        number_json(response.get("prompt_tokens")),
        number_json(response.get("completion_tokens")),
        needles,
        around,
        digest_json(record.get("key"), digits),
        digest_json(prompt.get("sha256"), digits),
        digest_json(prompt.get("filler_sha256"), digits),
        *[number_json(timing.get(name)) for name in _TIMES],
    )
    return ",".join(values)


def _cut(shared: Sequence[Value]) -> bool:
    expected, error = (shared[SHARED.index(name)] or () for name in ("expected", "error"))
    return any(map(is_cut, (*shared, *expected, *error)))


def _needles(needles: Sequence[Mapping[str, Any]], texts: _Texts) -> str:
    """Name, requested and achieved depth, tokens before it and its own, of each needle, as JSON."""
    numbers = ("requested", "depth", "tokens_before", "tokens")
    rows = [
        ",".join([value_json(texts.of(needle.get("name"))), *[number_json(needle.get(name)) for name in numbers]])
        for needle in needles[:_MOST_NEEDLES]
    ]
    return f"[{','.join([f'[{row}]' for row in rows])}]"


def _placed(needles: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The needles of which the record has the text around them."""
    around = ("before", "text", "after")
    found = [each for each in needles if {type(each.get(name)) for name in around} == {str}]
    return found[:_MOST_AROUND]


def _name(name: object, place: str, repeat: str, texts: _Texts) -> Shown | tuple[str, str, str] | None:
    """An id without its length, depth and repeat, which the row has anyway: thousands of ids then are one value."""
    if isinstance(name, str) and len(name) <= texts.limit:
        head, middle, rest = name.partition(place)
        between, end, tail = rest.rpartition(repeat)
        if middle and end:
            return visible(head), visible(between), visible(tail)
    return texts.of(name)


def _same(answer: object, text: object) -> bool:
    return str(answer or "").strip() == str(text or "").strip()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, (dict, Mapping)) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [_mapping(item) for item in value] if isinstance(value, (list, tuple)) else []
