"""The sentence that a comparison's page begins with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from needlework.results.html.texts import on_one_line
from needlework.results.statistics.comparison.comparison import FamilyDifference
from needlework.results.statistics.comparison.several import Against
from needlework.results.statistics.intervals.paired import Difference
from needlework.results.tables.comparison import interval_words, points1

_NAMED = 3  # runs that a sentence names of one verdict


def verdict_sentence(families: Sequence[FamilyDifference], names: tuple[str, str]) -> str:
    """`new is worse than old: -33.3 points (95 % sure: -51.0..-15.6).`; of several tasks how many are which."""
    first, second = (on_one_line(name, 80) for name in names)
    if not families:
        return f"{first} and {second} have no question in common."
    if len(families) == 1:
        return f"{_told(families[0], first, second)}{_points(families[0])}."
    counts = Counter(family.verdict for family in families)
    of = f" of {len(families)} tasks"
    parts = [f"{word} on {counts[word]}{of}" for word in ("worse", "better") if counts[word]]
    rest = counts["no difference shown"] + counts["undetermined"]
    if not parts:
        return f"No difference between {first} and {second} is shown on any{of}."
    open_ = f"; no difference is shown on {rest}" if rest else ""
    return f"{second} is {' and '.join(parts)} than {first}{open_}."


def several_sentence(found: Sequence[Against]) -> str:
    """`Against base, b is worse (-28.0 points); no difference is shown for c.`; of several runs which is which."""
    others = found[1:]
    if not others:
        return ""
    bases = {each.base for each in others}
    base = on_one_line(found[0].name, 80) if bases == {found[0].name} else "the run before it"
    kinds = (
        ("worse", [each for each in others if each.verdict == "worse"]),
        ("better", [each for each in others if each.verdict == "better"]),
    )
    parts = [f"{_named(runs)} {_is(runs)} {word} ({_all_points(runs)} points)" for word, runs in kinds if runs]
    same = [each for each in others if each.verdict == "no difference shown"]
    few = [each for each in others if each.verdict == "undetermined"]
    alone = [each for each in others if each.verdict is None]
    parts += [f"no difference is shown for {_named(same)}"] if same else []
    parts += [f"too few samples tell of {_named(few)}"] if few else []
    parts += [f"{_named(alone)} {_is(alone)} not compared"] if alone else []
    return f"Against {base}, {'; '.join(parts)}."


def _named(runs: Sequence[Against]) -> str:
    names = [on_one_line(each.name, 80) for each in runs[:_NAMED]]
    names += [f"{len(runs) - _NAMED} more"] if len(runs) > _NAMED else []
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _is(runs: Sequence[Against]) -> str:
    return "are" if len(runs) > 1 else "is"


def _all_points(runs: Sequence[Against]) -> str:
    """The differences that the verdicts rest on; of many runs the first and the last of them by size."""
    means = [_rests_on(each.whole) for each in runs if each.whole is not None]
    points = [one.mean for one in means if one is not None]
    if len(points) <= _NAMED:
        return ", ".join(points1(mean) for mean in points)
    return f"{points1(min(points))} to {points1(max(points))}"


def _told(family: FamilyDifference, first: str, second: str) -> str:
    if family.verdict in ("worse", "better"):
        return f"{second} is {family.verdict} than {first}"
    if family.verdict == "undetermined":
        return f"Too few samples tell {first} and {second} apart"
    return f"No difference between {first} and {second} is shown"


def _points(family: FamilyDifference) -> str:
    """What the verdict rests on: losses count as misses where there are any."""
    found = _rests_on(family)
    if found is None:
        return ""
    ends = interval_words(found)
    sure = f" (95 % sure: {ends})" if ends else ""
    lost = ", what was not answered counted as wrong" if family.losses and found is family.counted else ""
    return f": {points1(found.mean)} points{sure}{lost}"


def _rests_on(family: FamilyDifference) -> Difference | None:
    return family.counted if family.losses and family.counted is not None else family.difference
