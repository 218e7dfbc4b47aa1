"""Whether parts are of one run: the same recipe, texts and prompts, and the same model behind every address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.results.merge.parts import Part
from needlework.results.statistics.comparison.provenance import differing_parts

_NAMED = ("corpora", "tokenizers", "prompts", "embedders")
# Where a model is, and what does not change its answers. Which kernels are faster, each process finds out by trying.
_PLACES = frozenset({"server", "window_source", "server total_slots", "kernels"})
_CALIBRATION = "calibration "


def check_agreement(parts: Sequence[Part]) -> None:
    """Refuse parts of different runs. Raises `InputError` with the part and what differs."""
    first = next((part for part in parts if part.recipe is not None), parts[0])
    for part in parts:
        if _other(part.recipe, first.recipe) or (part.recipe is None and _other(part.told, first.told)):
            lines = differing_parts(first.manifest or None, part.manifest or None)
            said = [line for line in lines if not line.startswith("versions")][:4] or ["in what no manifest names"]
            remedy = f"is of another recipe than {first.name}: {'; '.join(said)}; runs of other options are no parts"
            servers = (
                "; --server-id NAME, given to every shard, names servers that are alike" if _addresses(said) else ""
            )
            raise InputError("RUN", part.name, f"{remedy} of one run{servers} (nothing was written)")
        differing = list(differing_facts(first.manifest, part.manifest))
        if differing:
            shown = "; ".join(differing[:4])
            remedy = f"was made of something else than {first.name}: {shown}; such answers are not of one model"
            raise InputError("RUN", part.name, f"{remedy} and prompt (nothing was written)")


def _other(one: str | None, other: str | None) -> bool:
    return None not in (one, other) and one != other


def _addresses(lines: Sequence[str]) -> bool:
    return any(line.startswith("base_url: ") for line in lines)


def differing_facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """Say which facts differ that two manifests both tell: `models m window: 8192 / 4096`.

    A shard that loaded no model, or whose server did not say, tells nothing that could differ.
    """
    for name in _NAMED:
        a, b = _table(first.get(name)), _table(second.get(name))
        for each in sorted(a.keys() & b.keys()):
            if a[each] != b[each]:
                yield f"{name} {each}: {_short(a[each])} / {_short(b[each])}"
    a, b = _table(first.get("models")), _table(second.get("models"))
    for model in sorted(a.keys() & b.keys()):
        yield from (f"model {model} {line}" for line in _differing(_table(a[model]), _table(b[model])))


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(first.keys() & second.keys() - _PLACES):
        one, other = first[name], second[name]
        # Each shard calibrates by itself: one that could not says nothing of the other's number.
        calibrated = not name.startswith(_CALIBRATION) or all(str(told).startswith("exact") for told in (one, other))
        if one != other and None not in (one, other) and calibrated:
            yield f"{name}: {_short(one)} / {_short(other)}"


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(value: object) -> str:
    sha = value.get("sha256") if isinstance(value, Mapping) else None
    text = " ".join(str(sha or value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
