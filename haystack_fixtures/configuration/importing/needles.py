"""Needles that a configuration says, and that a set of ours has: the set knows short answers too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set

NEEDLES = ("needle", "needles", "question", "answer")
"""The keys of what a set has."""
_SINGLE = ("cdme", "san_francisco")
_SEVERAL = ("pizza", "italy")


def with_known_needles(values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The values with `needle_set` in place of needles and a question that one of our sets has, and its name.

    Of one needle in a list the list is taken away. Where no set has them they stay as they are, and the name is empty.
    """
    found = dict(values)
    several = found.get("needles")
    if isinstance(several, (list, tuple)) and len(several) == 1:
        found["needle"] = several[0]
        del found["needles"]
    asked = found.get("question")
    texts = found.get("needles", [found["needle"]] if "needle" in found else [])
    if not texts or not isinstance(asked, str):
        return found, ""
    wanted = [str(text).strip() for text in texts]
    for name in _SINGLE if len(wanted) == 1 else _SEVERAL:
        if _has(name, wanted, asked):
            kept = {key: value for key, value in found.items() if key not in NEEDLES}
            return kept | {"needle_set": name}, name
    return found, ""


def _has(name: str, wanted: Sequence[str], question: str) -> bool:
    for language in ("en", "zh"):
        try:
            known = load_needle_set(name, language)
        except InputError:
            continue
        asked = known.joint.question if known.joint and len(wanted) > 1 else known.needles[0].question
        if [needle.text for needle in known.needles] == list(wanted) and asked == question:
            return True
    return False
