"""Option names and values of other harnesses."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from needlework.core.errors import InputError

OPENCOMPASS = "OpenCompass"
EVALSCOPE = "EvalScope"


@dataclass(frozen=True, slots=True)
class PeerName:
    """A parameter as the published systems `peers` call it."""

    name: str
    peers: tuple[str, ...]
    ours: str = ""  # our key in a TOML file; empty where none takes it over
    same: bool = True  # it means here what it means there
    about: str = ""  # the difference, or how its value is read
    here: str = ""  # what to do where no key of ours takes it over

    @property
    def remedy(self) -> str:
        """The remedy: our option that replaces it on the command line."""
        more = " (of the text alone: --length-means context)" if "tokens of the text alone" in self.about else ""
        return self.here or f"--{self.ours.replace('_', '-')}{more}"


def _read_names() -> dict[str, PeerName]:
    tables = tomllib.loads((resources.files(__package__) / "peer_names.toml").read_text(encoding="utf-8"))
    return {
        name: PeerName(name, tuple(peers.split(", ")), **row)
        for peers, rows in tables.items()
        for name, row in rows.items()
    }


NAMES = _read_names()


_LENGTHS = ("context_lengths_min", "context_lengths_max", "context_lengths_num_intervals")
_DEPTHS = ("document_depth_percent_min", "document_depth_percent_max", "document_depth_percent_intervals")
_TYPE = "document_depth_percent_interval_type"
# What a system takes without a range of its user: first, last, number.
_USUAL_RANGES = {EVALSCOPE: {"lengths": (1000, 32000, 10), "depths": (0, 100, 10)}}
_LANGUAGES = {"english": "en", "chinese": "zh"}


def translated(where: str, table: Mapping[str, Any], *, peer: str = "") -> tuple[dict[str, Any], list[str]]:
    """Return the table with our keys, and the names that no key of ours takes over. Names of no system stay.

    `peer`: the system whose table it is: its defaults stand for what is left out of a range, and a list of its wins
    over a range. Without it names may be mixed, and two names of one thing are refused. A value of
    `None` counts as left out.
    Lengths by their names are those of the text alone (`length_means`), unless the table says what they mean.
    Raises `InputError` that begins with `where`: for two names of one thing, half a range, a value of no use.
    """
    table = _one_needle_or_several({key: value for key, value in table.items() if value is not None})
    values: dict[str, Any] = {}
    became: dict[str, str] = {}
    left = []
    for key, value in table.items():
        row = NAMES.get(key)
        if row is not None and not row.ours:
            left.append(key)
        elif key not in (*_LENGTHS, *_DEPTHS, _TYPE):
            ours = row.ours if row else key
            _once(where, became, ours, key)
            read = _READ.get(ours) if row else None
            values[ours] = read(value) if read else value
            became[key] = ours
    for ours, names in (("lengths", _LENGTHS), ("depths", _DEPTHS)):
        parts = [name for name in names if name in table]
        if parts and not (peer and ours in values):
            _once(where, became, ours, parts[0])
            values[ours] = _range(where, ours, [table.get(name) for name in names], names, peer)
        became |= dict.fromkeys(parts, ours)
    if _TYPE in table:
        _once(where, became, "depth_spacing", _TYPE)
        kind = str(table[_TYPE]).lower()
        if kind not in ("linear", "sigmoid"):
            raise InputError(where, f"{_TYPE} = {kind}", "use linear or sigmoid")
        # LLMTest's rounding, or OpenCompass's: whose parameters stand beside it tells.
        of_opencompass = peer == OPENCOMPASS or not (peer or {*_LENGTHS, *_DEPTHS[:2]} & table.keys())
        values["depth_spacing"] = f"opencompass-{kind}" if of_opencompass else kind
        became[_TYPE] = "depth_spacing"
    if "length_means" not in values and became.keys() & {"context_lengths", "length", *_LENGTHS}:
        values["length_means"] = "context"  # as these names mean it
    return values, left


def our_names(where: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table with our keys. Raises `InputError`, with a remedy, for a name that we have no key for."""
    values, left = translated(where, table)
    if left:
        raise InputError(where, left[0], f"here: {NAMES[left[0]].here}")
    return values


def _once(where: str, became: Mapping[str, str], ours: str, name: str) -> None:
    other = next((other for other, key in became.items() if key == ours), None)
    if other is not None:
        raise InputError(where, f"{other}, {name}", "are two names for one thing: give one of them")


def _one_needle_or_several(table: dict[str, Any]) -> dict[str, Any]:
    """LLMTest has both, each with a default, and `multi_needle` says which is meant."""
    if "multi_needle" not in table:
        return table
    several = str(table["multi_needle"]).lower() == "true"
    task = {"task": "multi_needle"} if several and "task" not in table else {}
    other = "needle" if several else "needles"
    return task | {key: value for key, value in table.items() if key not in ("multi_needle", other)}


def _range(where: str, ours: str, ends: Sequence[Any], names: Sequence[str], peer: str) -> str:
    usual = _USUAL_RANGES.get(peer, {}).get(ours) or ((0, 100, None) if ours == "depths" else (None, None, None))
    parts = [default if end is None else end for end, default in zip(ends, usual, strict=True)]
    missing = [name for name, part in zip(names, parts, strict=True) if part is None]
    if missing:
        first = next(name for name, end in zip(names, ends, strict=True) if end is not None)
        raise InputError(where, first, f"is a part of a range: give {' and '.join(missing)} too, or {ours}")
    return ":".join(map(str, parts))


def _language(value: Any) -> str:
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return ",".join(_LANGUAGES.get(str(word).strip().lower(), str(word).strip()) for word in words)


_READ: dict[str, Callable[[Any], Any]] = {
    "language": _language,
    "question_position": lambda value: str(value).lower(),
    "corpus": lambda value: "essays" if value == "PaulGrahamEssays" else value,  # LLMTest's own folder
}
