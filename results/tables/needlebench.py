"""NeedleBench's summary in words."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.published.needlebench import HELD, NeedleBench, Reach, Row
from needlework.results.style.text import one_line, percent, percent1
from needlework.results.tables.headline import range_words
from needlework.results.tables.panels import StatisticRow

_PLAIN = str.maketrans({"·": "|", "–": "-"})
_SHOWN = 3  # reasons for a missing score, of what may be one for each data set
_MEANINGS = {
    "Overall": "The weighted mean of S-RT, M-RT and M-RS: {weights}.",
    "S-RT": "One needle: found or not.",
    "M-RT": "One needle at each depth, all asked for at once: the share that is found.",
    "M-RS": "Two to five statements make a chain: is its end named? The mean over both languages and all numbers.",
    "ATC": "Statements of kinship without a haystack, each of them needed: the mean over numbers of statements.",
    "by needles": "The same with every number of statements weighted by itself: long chains count more.",
    "max needles": f"The longest chain before the first that scores below {percent(HELD)} %.",
}


def needlebench_lines(found: Sequence[NeedleBench], *, ascii_only: bool = False) -> list[str]:
    """The lines of every model: its name, then a row for each score; none for a run of another preset."""
    lines: list[str] = []
    for each in found:
        rows = needlebench_rows(each)
        width = max(len(row.term) for row in rows)
        lines += ["", needlebench_name(each), *(f"  {row.term.strip():<{width}}  {row.text}" for row in rows)]
    return [line.translate(_PLAIN) if ascii_only else line for line in lines[1:]]


def needlebench_name(found: NeedleBench) -> str:
    """`model · needlebench-v2-4k`, and what of the preset was changed."""
    changed = f" (not as published: {', '.join(found.design.changed)})" if found.design.changed else ""
    return one_line(f"{found.model} · {found.design.preset}{changed}")


def needlebench_rows(found: NeedleBench) -> list[StatisticRow]:
    """Return what each row tells."""
    rows = [StatisticRow(_term(row.name), _text(row), _meaning(row.name, found)) for row in found.rows]
    return rows + [StatisticRow(reach.name, _reach(reach), _MEANINGS["max needles"]) for reach in found.reaches]


def _term(name: str) -> str:
    """Rows that are part of another one are indented."""
    return name if name in ("Overall", "S-RT", "M-RT", "M-RS") else f"  {name}"


def _meaning(name: str, found: NeedleBench) -> str:
    if name == "Overall":
        weights = {"v1": "0.4, 0.3 and 0.3", "v2": "a third each"}[found.design.version]
        return _MEANINGS[name].format(weights=weights)
    if name.endswith(" by needles"):
        return _MEANINGS["by needles"]
    if name in _MEANINGS:
        return _MEANINGS[name]
    return _MEANINGS["ATC"] if name.startswith("ATC-") and name.count("-") == 1 else ""


def _text(row: Row) -> str:
    if row.missing:
        more = f" and {len(row.missing) - _SHOWN} more" if len(row.missing) > _SHOWN else ""
        return f"no score, missing: {'; '.join(row.missing[:_SHOWN])}{more}"
    score = row.score
    if score.value is None:
        return "no score, n = 0"
    ends = "no interval"
    if score.low is not None and score.high is not None:
        ends = f"95 % interval {percent1(score.low)}–{percent1(score.high)}"
    unscored = "".join(f", {count} {outcome}" for outcome, count in row.unscored.items())
    scored = f"{percent1(score.value)} % ({ends}), n = {row.n}{unscored}"
    if row.range is None:
        return scored
    return f"{range_words(row.range)} % (undecided answers all missed to all hit), of the scored {scored}"


def _reach(reach: Reach) -> str:
    if reach.needles is None:
        return f"undetermined, missing: {'; '.join(reach.missing[:_SHOWN])}"
    if reach.dropped is None:
        return f"{reach.needles} or more"
    return f"{reach.needles} (below {percent(HELD)} % at {reach.dropped})"
