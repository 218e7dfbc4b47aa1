"""A table with the published systems' parameters, said with our keys: what is renamed, and how values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, LLMTEST, NAMES, OPENCOMPASS
from needlework.haystack_fixtures.errors import InputError

_LENGTHS = ("context_lengths_min", "context_lengths_max", "context_lengths_num_intervals")
_DEPTHS = ("document_depth_percent_min", "document_depth_percent_max", "document_depth_percent_intervals")
_TYPE = "document_depth_percent_interval_type"
# What a system takes where its user says nothing: first, last, number.
_UNSAID = {EVALSCOPE: {"lengths": (1000, 32000, 10), "depths": (0, 100, 10)}}
_UNSAID[LLMTEST] = {"lengths": (1000, 16000, 35), "depths": (0, 100, 35)}
_LANGUAGES = {"english": "en", "chinese": "zh"}
_ESSAYS = "PaulGrahamEssays"  # LLMTest's own folder


@dataclass(frozen=True, slots=True)
class Translated:
    """`values`: by our keys, of TOML's types. `became`: our key by the name that was given, where there is one.
    `left`: names that no key of ours takes over; `NAMES[name].here` says what does."""

    values: Mapping[str, Any]
    became: Mapping[str, str]
    left: tuple[str, ...]


def translated(where: str, table: Mapping[str, Any], *, peer: str = "") -> Translated:
    """The table with our keys; those that no published system has stay what they are, and so do their values.

    `peer`: the system whose table it is: its defaults stand for what is not said of a range, and a list of its wins
    over a range. Without it names may be mixed, and what is said twice is refused. A value of `None` says nothing.
    Lengths by their names are those of the text alone (`length_means`), unless the table says what they mean.
    Raises `InputError` that begins with `where`: for two names of one thing, half a range, a value of no use.
    """
    said = _one_needle_or_several({key: value for key, value in table.items() if value is not None})
    found: dict[str, Any] = {}
    became: dict[str, str] = {}
    left = []
    for key, value in said.items():
        row = NAMES.get(key)
        if row is not None and not row.ours:
            left.append(key)
        elif key not in (*_LENGTHS, *_DEPTHS, _TYPE):
            ours = row.ours if row else key
            _once(where, became, ours, key)
            read = _READ.get(ours) if row else None
            found[ours] = read(value) if read else value
            became[key] = ours
    for ours, names in (("lengths", _LENGTHS), ("depths", _DEPTHS)):
        given = [name for name in names if name in said]
        if given and not (peer and ours in found):
            _once(where, became, ours, given[0])
            found[ours] = _range(where, ours, [said.get(name) for name in names], names, peer)
        became |= dict.fromkeys(given, ours)
    if _TYPE in said:
        _once(where, became, "depth_spacing", _TYPE)
        found["depth_spacing"] = _spacing(where, said, peer)
        became[_TYPE] = "depth_spacing"
    if "length_means" not in found and became.keys() & {"context_lengths", "length", *_LENGTHS}:
        found["length_means"] = "context"  # as these names mean it
    return Translated(found, became, tuple(left))


def _once(where: str, became: Mapping[str, str], ours: str, name: str) -> None:
    other = next((other for other, key in became.items() if key == ours), None)
    if other is not None:
        raise InputError(where, f"{other}, {name}", "are two names for one thing: give one of them")


def _one_needle_or_several(said: dict[str, Any]) -> dict[str, Any]:
    """LLMTest has both, each with a default, and `multi_needle` says which is meant."""
    if "multi_needle" not in said:
        return said
    several = str(said["multi_needle"]).lower() == "true"
    task = {"task": "multi_needle"} if several and "task" not in said else {}
    return task | {
        key: value for key, value in said.items() if key not in ("multi_needle", "needle" if several else "needles")
    }


def _range(where: str, ours: str, ends: Sequence[Any], names: Sequence[str], peer: str) -> str:
    unsaid = _UNSAID.get(peer, {}).get(ours) or ((0, 100, None) if ours == "depths" else (None, None, None))
    parts = [given if given is not None else usual for given, usual in zip(ends, unsaid, strict=True)]
    missing = [name for name, part in zip(names, parts, strict=True) if part is None]
    if missing:
        given = next(name for name, end in zip(names, ends, strict=True) if end is not None)
        raise InputError(where, given, f"is a part of a range: give {' and '.join(missing)} too, or {ours}")
    return ":".join(map(str, parts))


def _spacing(where: str, said: Mapping[str, Any], peer: str) -> str:
    """LLMTest's rounding, or OpenCompass's: whose parameters stand beside it tells."""
    kind = str(said[_TYPE]).lower()
    if kind not in ("linear", "sigmoid"):
        raise InputError(where, f"{_TYPE} = {kind}", "use linear or sigmoid")
    of_opencompass = peer == OPENCOMPASS or not (peer or {*_LENGTHS, *_DEPTHS[:2]} & said.keys())
    return f"opencompass-{kind}" if of_opencompass else kind


def _language(value: Any) -> str:
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return ",".join(_LANGUAGES.get(str(word).strip().lower(), str(word).strip()) for word in words)


def _position(value: Any) -> str:
    return str(value).lower()


def _corpus(value: Any) -> Any:
    return "essays" if value == _ESSAYS else value


_READ: dict[str, Callable[[Any], Any]] = {"language": _language, "question_position": _position, "corpus": _corpus}
