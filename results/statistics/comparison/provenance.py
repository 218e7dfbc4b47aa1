"""Differences between runs beside their scores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.results.records.samples import facts_of_models, object_of
from needlework.results.style import one_line

# Axes of the grid do not make a prompt differ: trials are joined on them.
_AXES = frozenset({"lengths", "depths", "repeats"})
_TEXTS = ("corpora", "tokenizers", "prompts", "models")
_OPTIONS = ("seed", "tokenizer", "cache_policy", "canary", "model_arg", "base_url", "server_id", "judge")
# Facts of a model that change no answer. Each process finds out by trying which kernels are faster.
_HARMLESS = ("server", "window_source", "server total_slots", "kernels")
_SHOWN = 40  # characters of a value
_FIELDS = 8  # of one object


def differing_parts(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> list[str]:
    """Compare two manifests: suites, options, corpora, tokenizers, prompts, models, package versions.

    Each line reads `part: A / B`. A run without a manifest is named in the one line there is.
    """
    if not first or not second:
        sides = [side for side, content in (("A", first), ("B", second)) if not content]
        return [f"{' and '.join(sides)} without a readable manifest.json, which would say which part differs"]
    lines = list(_differences("suite", _suites(first), _suites(second)))
    a, b = ({name: object_of(content.get("options")).get(name) for name in _OPTIONS} for content in (first, second))
    if a["server_id"] is not None and a["server_id"] == b["server_id"]:
        b["base_url"] = a["base_url"]
    lines += [_line(name, a[name], b[name]) for name in _OPTIONS if a[name] != b[name]]
    for part in (*_TEXTS, "versions"):
        x, y = _named(first, part), _named(second, part)
        # Tokenizers are the same by what they hold; the name is the folder's.
        if part != "tokenizers" or set(map(str, x.values())) != set(map(str, y.values())):
            lines += _differences(part, x, y)
    return lines


def changed_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return changes between two sessions or shards of a run in texts and models: `part name: before / after`.

    What only one side knows is no change.
    """
    lines: list[str] = []
    for part in (*_TEXTS, "embedders"):
        a, b = _named(before, part), _named(after, part)
        for name in sorted(a.keys() & b.keys()):
            x, y = _comparable(a[name]), _comparable(b[name])
            lines += _fields(f"{part} {name}", _known_in(y, x), _known_in(x, y))
    return lines


def _comparable(entry: object) -> object:
    """An entry without facts that change no answer; each process calibrates by itself."""
    if not isinstance(entry, Mapping):
        return entry
    return {
        fact: value
        for fact, value in entry.items()
        if fact not in _HARMLESS and (not fact.startswith("calibration ") or str(value).startswith("exact"))
    }


def _known_in(other: object, entry: object) -> object:
    """An entry without what the other does not know."""
    if not isinstance(entry, Mapping):
        return entry
    known = object_of(other)
    return {key: of for key, of in entry.items() if of is not None and known.get(key) is not None}


def check_dtypes(option: str, value: object, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> None:
    """Refuse to compare one model, by name or weights, in two dtypes: that alone changes answers.

    `first`, `second`: manifests. Raises `InputError`.
    """
    a, b = (object_of(object_of(manifest).get("models")) for manifest in (first, second))
    pairs = [(name, object_of(x), name == other, object_of(y)) for name, x in a.items() for other, y in b.items()]
    dtypes = [
        _line(name, x["dtype"], y["dtype"])
        for name, x, same_name, y in pairs
        if (same_name or (x.get("weights_sha256") or "") == y.get("weights_sha256"))
        and None not in (x.get("dtype"), y.get("dtype"))
        and x["dtype"] != y["dtype"]
    ]
    if dtypes:
        remedy = f"one model in two kinds of numbers ({'; '.join(dtypes)}); --allow-different-dtypes compares them"
        raise InputError(option, value, remedy)


def differing_facts(first: Record, second: Record) -> list[str]:
    """Say what differs between the prompts of one trial, from its two records."""
    a, b = (
        {
            "question": record.question,
            "expected answer": record.expected,
            "filler": record.prompt.filler_sha256 or None,
            "needles": [needle.name for needle in record.prompt.needles],
            "template": record.prompt.template or None,
            "tokens": record.prompt.tokens or None,
        }
        for record in (first, second)
    )
    return [_line(name, a[name], b[name]) for name in a if a[name] != b[name]]


def _suites(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    suites = manifest.get("suites")
    named: dict[str, Mapping[str, Any]] = {}
    for suite in map(object_of, suites if isinstance(suites, (list, tuple)) else ()):
        name = " ".join(str(suite.get(field, "")) for field in ("task", "needle_set", "language"))
        named[" ".join(name.split())] = {field: value for field, value in suite.items() if field not in _AXES}
    return named


def _named(manifest: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """The entries of a manifest's part; without a server's command, which `server_id` stands for."""
    things = object_of(manifest.get(part))
    if part != "models":
        return things
    return {
        name: {key: of for key, of in model.items() if key != "command"} if isinstance(model, Mapping) else model
        for name, model in things.items()
    }


def _differences(part: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """Compare objects of named things, and within a thing the fields that differ."""
    if not first.keys() & second.keys() and first and second:
        yield _line(part, ", ".join(sorted(first)), ", ".join(sorted(second)))
        if part in ("models", "suite") and len(first) == len(second) == 1:
            a, b = (dict(object_of(*side.values())) | {"spec": None} for side in (first, second))  # the line above
            yield from _fields(part, a, b)
        return
    for name in sorted(first.keys() | second.keys()):
        if name not in first or name not in second:
            yield f"{part} {name}: only in {'A' if name in first else 'B'}"
        else:
            yield from _fields(f"{part} {name}", first[name], second[name])


def _fields(name: str, first: object, second: object) -> Iterable[str]:
    """One line for the fields of two objects that differ, or for two values."""
    a, b = object_of(first), object_of(second)
    fields = [field for field in sorted(a.keys() | b.keys()) if a.get(field) != b.get(field)]
    if fields:
        yield f"{name}: " + ", ".join(_line(field, a.get(field), b.get(field), " ") for field in fields[:_FIELDS])
    elif first != second:
        yield _line(name, first, second)


def _line(name: str, first: object, second: object, colon: str = ": ") -> str:
    return f"{name}{colon}{_short(first)} / {_short(second)}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def weights_lines(manifests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which runs have the same weights under different names, and different weights under one name.

    `manifests`: by the run's name. `step1000 and step2000 are the same weights (sha256 b179c9523d0e)`.
    """
    by_hash, by_name = defaultdict[str, dict[str, str]](dict), defaultdict[str, dict[str, str]](dict)
    for run, manifest in manifests.items():
        for model, sha256 in facts_of_models(manifest, "weights_sha256").items():
            if isinstance(sha256, str):
                by_hash[sha256][run] = model
                by_name[model][run] = sha256
    return [
        f"{_listed(runs)} are {what}"
        for runs, what in (
            *((runs, f"the same weights (sha256 {sha256[:12]})") for sha256, runs in by_hash.items()),
            *((runs, f"different weights under one name, {one_line(model)}") for model, runs in by_name.items()),
        )
        if len(set(runs.values())) > 1
    ]


def _listed(runs: Mapping[str, str]) -> str:
    *names, last = map(one_line, runs)
    return f"{', '.join(names)} and {last}"
