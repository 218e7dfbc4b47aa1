"""Packs the details of trials (answer, flags, prompt, timings) into the page; `report.js` shows them."""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs, to_builtins

from needlework.core.record import NeedleFacts, Record
from needlework.results.html.page import page, percent_number, script_json, shown, without_marks

# Packed: JSON, deflated, in base64; the page unpacks it when it has loaded. If not all trials fit, their texts are cut
# shorter, and trials are kept until the page is full: first those that failed or have a flag, then a sample of the
# others from all cells. The page says in one line what it left out.
LIMIT_BYTES = 3_000_000
_NOTICE_BYTES = 1_000  # kept free for what is said about things left out
_TEXT, _SHORT_TEXT = 20_000, 1_000  # characters
_AROUND = 160  # characters on either side of a needle
_MOST_NEEDLES = 100  # needles, or expected answers
_MOST_PACKED = 20  # the highest compression to expect; JSON beyond it is not packed at all
# Prompt facts that the page shows in a line; whatever else a task notes about its prompt is shown as it is.
_PROMPT_FACTS = ("tokens", "context_tokens", "slack", "sha256")
_NEEDLE = ("name", "requested", "depth", "tokens_before", "tokens", "text")
_FIELDS = ("outcome", "why", "question", "expected", "id", "nodeid", "repeat", "seed")


class TrialDetails(NamedTuple):
    """One trial of the page: its record, or its records in two runs, `None` where a run has none.

    `panel`, `column` (length) and `row` (depth) are the place of its cell. Where not all trials fit, those of the
    highest `drop_rank` are left out first.
    """

    records: tuple[Record | None, ...]
    panel: int
    column: int
    row: int
    drop_rank: int


def page_with_trials(
    template: str, title: str, data: Mapping[str, Any], trials: Sequence[TrialDetails], limit_bytes: int, **more: Any
) -> str:
    """Return the page with as many of the trials (in reading order) as it has room for; `more`: as of `page`."""
    room = limit_bytes - len(page(template, title, data, **more).encode()) - _NOTICE_BYTES
    packed, left_out = _packed_to_fit(trials, room)
    why = f"to keep the page below {limit_bytes / 1e6:g} MB; scores are complete, and results.json has everything"
    notice = [f"Left out: {'; '.join(left_out)} ({why})."] if left_out else []
    return page(template, title, data, details=packed, notice=notice, **more)


def _packed_to_fit(trials: Sequence[TrialDetails], room: int) -> tuple[str, list[str]]:
    """Pack as many of `trials` (in reading order) as `room` bytes can hold; also what is left out, in words."""
    rows = _rows(trials, range(len(trials)), _TEXT, room)
    packed = _packed(rows)
    if len(rows) == len(trials) and len(packed) <= room:
        return packed, []
    rows = _rows(trials, _last_dropped_first(trials), _SHORT_TEXT, room)
    while rows and len(packed := _packed(rows)) > room:
        # Fewer trials in proportion, and 2 % less: fewer are compressed a little less.
        fewer = min(len(rows) - 1, int(len(rows) * room / len(packed) * 0.98))
        rows = dict(list(rows.items())[:fewer])
    dropped = len(trials) - len(rows)
    trials_words = f"details of {dropped:,} of {len(trials):,} trials, those that were found first"
    texts = f"what is longer than {_SHORT_TEXT:,} characters in texts"
    return packed if rows else "", [*[trials_words] * bool(dropped), texts]


def _rows(trials: Sequence[TrialDetails], order: Sequence[int], limit: int, room: int) -> dict[int, str]:
    """The JSON of each trial by its number, as far as it can be packed into `room` bytes."""
    rows: dict[int, str] = {}
    left = max(0, room) * _MOST_PACKED
    for number in order:
        entry = trials[number]
        facts = [None if record is None else trial_fields(record, limit) for record in entry.records]
        rows[number] = script_json([entry.panel, entry.column, entry.row, *facts])
        left -= len(rows[number])
        if left < 0:
            del rows[number]
            break
    return rows


def _packed(rows: Mapping[int, str]) -> str:
    text = f"[{','.join(rows[number] for number in sorted(rows))}]"
    return b64encode(zlib.compress(text.encode(), 6)).decode()


def _last_dropped_first(trials: Sequence[TrialDetails]) -> list[int]:
    """Order trials by `drop_rank`; equal ones are scattered, so that no region of a heatmap is left out."""
    return sorted(range(len(trials)), key=lambda at: (trials[at].drop_rank, at * 2_654_435_761 % 2**32))


def trial_fields(record: Record, limit: int = _TEXT) -> dict[str, Any]:
    """Return the fields of a record that are not empty, long texts cut; task-dependent ones as JSON text."""
    response, scored = record.response, record.read_as or record.answer
    facts = to_builtins(structs.replace(record.prompt, needles=[], filler_sha256=""))
    fields = {
        **{name: getattr(record, name) for name in _FIELDS},
        "score": None if record.score is None else percent_number(round(record.score, 6)),
        "scorer": f"{record.scorer} version {record.scorer_version}" if record.scorer else "",
        # The scored answer has a line only where it differs from the response.
        "answer": "" if response.text and _is_same(scored, response.text) else scored,
        "prompt": {name: facts.pop(name, None) for name in _PROMPT_FACTS}
        | {"needles": list(map(_needle_fields, record.prompt.needles[:_MOST_NEEDLES]))},
        "facts": _json({name: value for name, value in facts.items() if value}),
        "details": _json(to_builtins(record.details)),
        "reference": _json(record.reference),
        **{name: to_builtins(getattr(record, name)) for name in ("response", "timing", "error")},
    }
    shortened: dict[str, Any] = _shortened(fields, limit)
    return shortened


def _shortened(value: Any, limit: int) -> Any:
    """Return JSON with long texts cut, numbers rounded, and without empty values."""
    if isinstance(value, dict):
        parts = {name: _shortened(part, limit) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part is not None and part not in ("", [], {})}
    if isinstance(value, list):
        return [_shortened(part, limit) for part in value[:_MOST_NEEDLES]]
    if isinstance(value, str):
        return shown(value, limit)
    return round(value, 6) if isinstance(value, float) else value


def _is_same(answer: str, response: str) -> bool:
    """Whether the scored answer is the response, up to case and white space."""
    return " ".join(answer.casefold().split()) == " ".join(response.casefold().split())


def _needle_fields(needle: NeedleFacts) -> dict[str, Any]:
    before, after = without_marks(needle.before)[-_AROUND:], without_marks(needle.after)[:_AROUND]
    return {name: getattr(needle, name) for name in _NEEDLE} | {"before": before, "after": after}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) if value else ""
