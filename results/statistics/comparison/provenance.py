"""What differs between runs beside their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.results.records.samples import facts_of_models
from needlework.results.style import one_line

# Axes of the grid do not make a prompt differ: trials are joined on them.
_AXES = frozenset({"lengths", "depths", "repeats"})
_PARTS = ("corpora", "tokenizers", "prompts", "models", "versions")
_OPTIONS = ("seed", "tokenizer", "cache_policy", "canary", "model_arg", "base_url", "server_id", "judge")
_SHOWN = 40  # characters of a value
_FIELDS = 6  # of one object


def differing_parts(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> list[str]:
    """Compare two manifests: suites field by field, options, corpora, tokenizers, prompts, models, package versions.

    Each line reads `part: A / B`. A run without a manifest is named in the one line there is.
    """
    if first is None or second is None:
        sides = [side for side, content in (("A", first), ("B", second)) if content is None]
        return [f"{' and '.join(sides)} without a readable manifest.json, which would say which part differs"]
    lines = list(_suites(_list(first.get("suites")), _list(second.get("suites"))))
    a, b = ({name: _object(content.get("options")).get(name) for name in _OPTIONS} for content in (first, second))
    alike = a["server_id"] is not None and a["server_id"] == b["server_id"]
    lines += [
        _line(name, a[name], b[name]) for name in _OPTIONS if a[name] != b[name] and not (alike and name == "base_url")
    ]
    for part in _PARTS:
        x, y = _named(first, part), _named(second, part)
        if part == "tokenizers" and set(map(str, x.values())) == set(map(str, y.values())):
            continue  # by what they hold; the name is the folder's
        lines += _entries(part, x, y)
    return lines


def changed_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is said otherwise of the same texts, prompts and models, as `part name: before / after`. What only one side
    knows is no change, and no more is another address."""
    lines: list[str] = []
    for part in ("corpora", "tokenizers", "prompts", "embedders", "models"):
        a, b = _named(before, part), _named(after, part)
        for name in sorted(a.keys() & b.keys()):
            lines += _fields(f"{part} {name}", _known_in(b[name], a[name]), _known_in(a[name], b[name]))
    return lines


def _known_in(other: object, entry: object) -> object:
    """An entry without what the other does not know, and without a server's address."""
    if not isinstance(entry, Mapping):
        return entry
    known = _object(other)
    return {key: of for key, of in entry.items() if key != "server" and of is not None and known.get(key) is not None}


def _named(manifest: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """The named things of a manifest's part; the command of a server that the run started says what `server_id` says,
    and where programs lie.
    """
    found = _object(manifest.get(part))
    if part != "models":
        return found
    return {
        name: {key: of for key, of in model.items() if key != "command"} if isinstance(model, Mapping) else model
        for name, model in found.items()
    }


def differing_dtypes(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> list[str]:
    """Return `MODEL: float32 / bfloat16` for each model that both manifests have, under one name or with the same
    weights, but not with the same kind of numbers: that alone changes some answers."""
    a, b = (_object(_object(manifest).get("models")) for manifest in (first, second))
    lines = []
    for name, model in a.items():
        for other_name, other in b.items():
            one, two = _object(model), _object(other)
            weights = one.get("weights_sha256"), two.get("weights_sha256")
            same = name == other_name or (weights[0] is not None and weights[0] == weights[1])
            dtypes = one.get("dtype"), two.get("dtype")
            if same and None not in dtypes and dtypes[0] != dtypes[1]:
                lines.append(_line(name, *dtypes))
    return lines


def check_dtypes(option: str, value: object, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> None:
    """Refuse to compare one model in two kinds of numbers, of two manifests. Raises `InputError`."""
    dtypes = differing_dtypes(first, second)
    if dtypes:
        remedy = f"one model in two kinds of numbers ({'; '.join(dtypes)}); --allow-different-dtypes compares them"
        raise InputError(option, value, remedy)


def differing_facts(first: Record, second: Record) -> list[str]:
    """Say what differs between the prompts of one trial, from its two records."""
    prompts = [record.prompt for record in (first, second)]
    facts = [
        {
            "question": record.question,
            "expected answer": record.expected,
            "filler": prompt.filler_sha256 or None,
            "needles": [needle.name for needle in prompt.needles],
            "template": prompt.template or None,
            "tokens": prompt.tokens or None,
        }
        for record, prompt in zip((first, second), prompts, strict=True)
    ]
    return [_line(name, facts[0][name], facts[1][name]) for name in facts[0] if facts[0][name] != facts[1][name]]


def _suites(first: Sequence[Any], second: Sequence[Any]) -> Iterable[str]:
    """Pair the suites of the same task, language and needle set; the fields that differ, and the suites left over."""
    sides = [{_suite_name(suite): _object(suite) for suite in suites} for suites in (first, second)]
    if not sides[0].keys() & sides[1].keys() and len(first) == len(second) == 1:
        sides = [{"": _object(first[0])}, {"": _object(second[0])}]
    for name in sorted(sides[0].keys() | sides[1].keys()):
        a, b = sides[0].get(name), sides[1].get(name)
        if a is None or b is None:
            yield f"suite {name}: only in {'A' if b is None else 'B'}"
            continue
        for field in sorted((a.keys() | b.keys()) - _AXES):
            if a.get(field) != b.get(field):
                yield _line(f"suite {name} {field}".replace("  ", " "), a.get(field), b.get(field))


def _suite_name(suite: object) -> str:
    fields = _object(suite)
    return " ".join(str(fields.get(name, "")) for name in ("task", "needle_set", "language"))


def _entries(part: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """Compare objects of named things, and within a thing the fields that differ."""
    if not first.keys() & second.keys() and first and second:
        yield _line(part, ", ".join(sorted(first)), ", ".join(sorted(second)))
        if part == "models" and len(first) == len(second) == 1:
            a, b = (dict(_object(*side.values())) | {"spec": None} for side in (first, second))  # told already
            yield from _fields(part, a, b)
        return
    for name in sorted(first.keys() | second.keys()):
        if name not in first or name not in second:
            yield f"{part} {name}: only in {'A' if name in first else 'B'}"
        elif first[name] != second[name]:
            yield from _fields(f"{part} {name}", first[name], second[name])


def _fields(name: str, first: object, second: object) -> Iterable[str]:
    """One line for the fields of two objects that differ, or for two values."""
    a, b = _object(first), _object(second)
    fields = [field for field in sorted(a.keys() | b.keys()) if a.get(field) != b.get(field)]
    if fields:
        yield f"{name}: " + ", ".join(_line(each, a.get(each), b.get(each), " ") for each in fields[:_FIELDS])
    elif first != second:
        yield _line(name, first, second)


def _line(name: str, first: object, second: object, colon: str = ": ") -> str:
    return f"{name}{colon}{_short(first)} / {_short(second)}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def weights_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return model -> hash of its weights, of those that a manifest has one for."""
    hashes = facts_of_models(manifest, "weights_sha256")
    return {name: sha256 for name, sha256 in hashes.items() if isinstance(sha256, str)}


def weights_lines(manifests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which runs have the same weights under different names, and different weights under one name.

    `manifests`: by the run's name. `step1000 and step2000 are the same weights (sha256 b179c9523d0e)`.
    """
    by_hash: dict[str, dict[str, str]] = {}
    by_name: dict[str, dict[str, str]] = {}
    for run, manifest in manifests.items():
        for model, sha256 in weights_of(manifest).items():
            by_hash.setdefault(sha256, {})[run] = model
            by_name.setdefault(model, {})[run] = sha256
    lines = [
        f"{_listed(own)} are the same weights (sha256 {sha256[:12]})"
        for sha256, own in by_hash.items()
        if len(set(own.values())) > 1
    ]
    for model, own in by_name.items():
        if len(set(own.values())) > 1:
            lines.append(f"{_listed(own)} are different weights under one name, {one_line(model)}")
    return lines


def _listed(runs: Mapping[str, str]) -> str:
    *names, last = map(one_line, runs)
    return f"{', '.join(names)} and {last}"
