"""Questions on logs of an agent's tool calls.
The last value of a field, a count, the first failure, the call that changed a field. An entry has two lines:
`[c-4f8a21] set_config {"service": "amber-otter", "key": "quota", "value": 48213}`, and its result. The
control `compacted` asks the same after the model has put the log into a summary of its own."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from random import Random
from typing import Any

from needlework.core.draws import below, different, draws, pick, sample
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import draw_keys, draw_numbers, stratified
from needlework.haystack_fixtures.tasks.task import Question, our_task, without_language
from needlework.haystack_fixtures.tasks.words import question_text, table, words

_UPDATES = 4  # of the field that is asked for
_OTHERS = 2  # updates of another field of its service, and calls that did not fail
_FAILURES = 3
_MOST_RESTARTS = 8
_SEARCHES_TO_A_FAILURE = 6


def _call_ids(rng: Random, count: int) -> list[str]:
    """Different ids of calls."""
    return different(count, lambda: f"c-{below(rng, 16**6):06x}")


def _services(rng: Random, language: str, count: int) -> list[str]:
    """Different names of services, no word in two of them."""
    return draw_keys(rng, language, count, table("agent_log", language)["service"])


def _entry(language: str, call: str, tool: str, outcome: str = "", **fields: object) -> str:
    """One call with its arguments, and its result. `outcome`: empty or `_failed`."""
    arguments = fields if tool == "set_config" else {name: fields[name] for name in fields if name != "value"}
    result = table("agent_log", language, "results")[f"{tool}{outcome}"].format(**fields)
    return f"[{call}] {tool} {json.dumps(arguments, ensure_ascii=False)}\n  {result}"


def _question(entries: Sequence[str], needed: tuple[int, ...], question: str, reference: dict[str, Any]) -> Question:
    """A question on a log, and the entries it is about. `needed`: numbers of those that it rests on."""
    needles = tuple(Needle(f"entry{number}", entry) for number, entry in enumerate(entries, 1))
    return Question(
        needles=needles, needed=needed, question=question, answer=reference["answers"][0], reference=reference
    )


def _updated_field(kind: str, rng: Random, language: str) -> Question:
    """One field that is set several times, and another one of the same service.

    `last_value` asks for its last value, `changed_by` for the call that set one of the values.
    """
    count = _UPDATES + _OTHERS
    (service,), keys = _services(rng, language, 1), sample(rng, words("agent_log", language, "keys"), 2)
    calls, values = _call_ids(rng, count), draw_numbers(rng, count, 5)
    others = set(sample(rng, range(count), _OTHERS))
    entries = [
        _entry(language, call, "set_config", service=service, key=keys[number in others], value=int(value))
        for number, (call, value) in enumerate(zip(calls, values, strict=True))
    ]
    updates = [number for number in range(count) if number not in others]
    if kind == "last_value":
        right, stated, needed = updates[-1], values, tuple(updates)
    else:
        right, stated = pick(rng, updates), calls
        needed = (right,)
    wrong = tuple(stated[number] for number in range(count) if number != right)
    question = question_text("agent_log", language, kind, service=service, key=keys[0], value=values[right])
    stale = {stated[number]: "stale" for number in updates if number != right}
    reference = {"answers": (stated[right],), "distractors": wrong} | ({"kinds": stale} if kind == "last_value" else {})
    return _question(entries, needed, question, reference)


def _first_failure(rng: Random, language: str) -> Question:
    """Calls of one tool, some of which failed; the first of these is asked for."""
    count = _FAILURES + _OTHERS
    services, calls, builds = _services(rng, language, count), _call_ids(rng, count), draw_numbers(rng, count, 5)
    failed = sorted(sample(rng, range(count), _FAILURES))
    entries = [
        _entry(language, call, "deploy", "_failed" if number in failed else "", service=service, value=build)
        for number, (call, service, build) in enumerate(zip(calls, services, builds, strict=True))
    ]
    wrong = tuple(call for call in calls if call != calls[failed[0]])
    reference = {"answers": (calls[failed[0]],), "distractors": wrong}
    return _question(entries, tuple(failed), question_text("agent_log", language, "first_failure"), reference)


def _restarts(rng: Random, language: str) -> Question:
    """Restarts of one service, to be counted."""
    (service,), count = _services(rng, language, 1), below(rng, _MOST_RESTARTS + 1)
    entries = [_entry(language, call, "restart", service=service) for call in _call_ids(rng, count)]
    chance = 1 / (_MOST_RESTARTS + 1)
    reference = {"answers": (str(count),), "chance": chance, "floor": chance}
    question = question_text("agent_log", language, "restarts", service=service)
    return _question(entries, tuple(range(count)), question, reference)


def _other_entries(language: str, recipe: tuple[object, ...]) -> Iterator[str]:
    """Endless entries about other services; no `deploy`, no failed `set_config` or `restart`."""
    rng = draws(*recipe)
    keys = words("agent_log", language, "keys")
    while True:
        (call,), (service,) = _call_ids(rng, 1), _services(rng, language, 1)
        tool = pick(rng, ("set_config", "get_config", "restart", "search_logs", "read_file"))
        value, key = 10_000 + below(rng, 90_000), pick(rng, keys)
        if tool in ("set_config", "get_config"):
            yield _entry(language, call, tool, service=service, key=key, value=value)
        elif tool == "restart":
            yield _entry(language, call, tool, service=service)
        elif tool == "search_logs":
            failed = "_failed" if below(rng, _SEARCHES_TO_A_FAILURE) == 0 else ""
            yield _entry(language, call, tool, failed, service=service, value=value % 1000)
        else:
            yield _entry(language, call, tool, path=f"/etc/{service}/{key}.toml", value=value % 1000)


_KINDS: dict[str, Callable[[Random, str], Question]] = {
    "last_value": partial(_updated_field, "last_value"),
    "first_failure": _first_failure,
    "changed_by": partial(_updated_field, "changed_by"),
    "restarts": _restarts,
}


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language, kind = suite.language, without_language(cell.needle, suite)
    rng = draws("agent_log", 1, seed, cell.repeat, kind, language)
    question = _KINDS[kind](rng, language)
    others = ("agent_log", 1, seed, cell.repeat, language, "others")
    return replace(
        question,
        depths=stratified(rng, len(question.needles)),
        avoid=question.reference["answers"] if cell.task == "agent_log" else (),
        context=Listing(
            lambda n: [f"{entry}\n" for entry in islice(_other_entries(language, others), n)],
            opening=table("agent_log", language)["opening"],
            fewest=2,
        ),
    )


TASKS = tuple(our_task(name, _ask) for name in ("agent_log", "agent_log_count"))
