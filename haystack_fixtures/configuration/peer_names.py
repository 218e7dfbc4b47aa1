"""Option names and values of other harnesses."""

import tomllib
from collections.abc import Callable, Mapping
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


_RANGES = {  # first, last, number
    "lengths": ("context_lengths_min", "context_lengths_max", "context_lengths_num_intervals"),
    "depths": ("document_depth_percent_min", "document_depth_percent_max", "document_depth_percent_intervals"),
}
_TYPE = "document_depth_percent_interval_type"
_LANGUAGES = {"english": "en", "chinese": "zh"}


def translate(where: str, table: Mapping[str, Any], *, peer: str = "") -> tuple[dict[str, Any], list[str]]:
    """Return the table with our keys, and the names that no key of ours takes over. Names of no system stay.

    `peer`: the system whose table it is: a list of its wins over a range. Without it names may be mixed, and two names
    of one thing are refused. A value of `None` counts as left out.
    Lengths by their names are those of the text alone (`length_means`), unless the table says what they mean.
    Raises `InputError` that begins with `where`: for two names of one thing, half a range, a value of no use.
    """
    table = _one_needle_or_several({key: value for key, value in table.items() if value is not None})
    left = [name for name in table if name in NAMES and not NAMES[name].ours]
    names_of: dict[str, list[str]] = {}
    for name in (name for name in table if name not in left):
        names_of.setdefault(NAMES[name].ours if name in NAMES else name, []).append(name)
    values: dict[str, Any] = {}
    for ours, names in names_of.items():
        ends = [name for name in names if name in _RANGES.get(ours, ())]
        names = [name for name in names if name not in ends]
        if len(names) > 1 or (names and ends and not peer):
            both = ", ".join([*names, *ends][:2])
            raise InputError(where, both, "are two names for one thing: give one of them")
        if not names:
            values[ours] = _range(where, ours, table)
        elif names == [_TYPE]:
            values[ours] = _spacing(where, table, peer)
        else:
            values[ours] = _READ[ours](table[names[0]]) if ours in _READ and names[0] in NAMES else table[names[0]]
    if "length_means" not in values and {"context_lengths", "length", *_RANGES["lengths"]} & table.keys():
        values["length_means"] = "context"  # as these names mean it
    return values, left


def our_names(where: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table with our keys. Raises `InputError`, with a remedy, for a name that we have no key for."""
    values, left = translate(where, table)
    if left:
        raise InputError(where, left[0], f"here: {NAMES[left[0]].here}")
    return values


def _one_needle_or_several(table: dict[str, Any]) -> dict[str, Any]:
    """LLMTest has both, each with a default, and `multi_needle` says which is meant."""
    if "multi_needle" not in table:
        return table
    several = str(table["multi_needle"]).lower() == "true"
    task = {"task": "multi_needle"} if several and "task" not in table else {}
    other = "needle" if several else "needles"
    return task | {key: value for key, value in table.items() if key not in ("multi_needle", other)}


def _range(where: str, ours: str, table: Mapping[str, Any]) -> str:
    usual = (0, 100, None) if ours == "depths" else (None, None, None)
    parts = {name: table.get(name, default) for name, default in zip(_RANGES[ours], usual, strict=True)}
    if missing := [name for name, part in parts.items() if part is None]:
        first = next(name for name in parts if name in table)
        raise InputError(where, first, f"is a part of a range: give {' and '.join(missing)} too, or {ours}")
    return ":".join(map(str, parts.values()))


def _spacing(where: str, table: Mapping[str, Any], peer: str) -> str:
    """The spacing of depths with LLMTest's rounding, or OpenCompass's: the names that stand beside it tell which."""
    kind = str(table[_TYPE]).lower()
    if kind not in ("linear", "sigmoid"):
        raise InputError(where, f"{_TYPE} = {kind}", "use linear or sigmoid")
    is_opencompass = peer == OPENCOMPASS or not (peer or {*_RANGES["lengths"], *_RANGES["depths"][:2]} & table.keys())
    return f"opencompass-{kind}" if is_opencompass else kind


def _language(value: Any) -> str:
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return ",".join(_LANGUAGES.get(str(word).strip().lower(), str(word).strip()) for word in words)


_READ: dict[str, Callable[[Any], Any]] = {
    "language": _language,
    "question_position": lambda value: str(value).lower(),
    "corpus": lambda value: "essays" if value == "PaulGrahamEssays" else value,  # LLMTest's own folder
}
