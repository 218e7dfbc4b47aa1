"""NeedleBench's summary as clauses: its overall score and the parts of it, or how long a chain may be."""

from __future__ import annotations

from needlework.results.statistics.in_short.parts import ends_words, range_words
from needlework.results.statistics.published.needlebench import HELD, NeedleBench, Reach, Row
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import percent, percent1

_LANGUAGES = {"EN": "in English", "ZH": "in Chinese"}
_PARTS = ("S-RT", "M-RT", "M-RS")


def needlebench_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 60.4 % (95 % sure: ...) as NeedleBench's overall (v2-4k)`, `S-RT 66.7 %, ...`; none of another preset."""
    found = [each for each in report.suites if each.model == model]
    if len(found) != 1:
        return []
    rows = {row.name: row for row in found[0].rows}
    clauses = _overall(found[0], rows) if "Overall" in rows else _chains(found[0], rows)
    if clauses and found[0].design.changed:
        clauses.append(f"not as published: {', '.join(name.replace('_', ' ') for name in found[0].design.changed)}")
    return clauses


def no_overall(report: RunReport, model: str) -> list[str]:
    """`no overall score of NeedleBench (v2-4k): it lacks S-RT-ZH`, where the run left parts out; else nothing."""
    told = []
    for each in (each for each in report.suites if each.model == model):
        missing = next((row.missing for row in each.rows if row.name == "Overall"), ())
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        if missing:
            told.append(f"no overall score of NeedleBench ({_version(each)}): it lacks {missing[0]}{more}")
    return told


def _version(found: NeedleBench) -> str:
    return found.design.preset.removeprefix("needlebench-")


def _overall(found: NeedleBench, rows: dict[str, Row]) -> list[str]:
    overall = _score(rows["Overall"])
    parts = ", ".join(f"{part} {score}" for part in _PARTS if part in rows and (score := _brief(rows[part])))
    return [f"scores {overall} as NeedleBench's overall score ({_version(found)})", parts] if overall else []


def _chains(found: NeedleBench, rows: dict[str, Row]) -> list[str]:
    """How long a chain the model follows, which is what this part is asked for."""
    reached = [f"{told} {_language(reach.name)}" for reach in found.reaches if (told := _reach(reach))]
    scores = [f"{score} {_language(name)}" for name, row in rows.items()
              if name.removeprefix("ATC-") in _LANGUAGES and (score := _brief(row))]  # fmt: skip
    lead = [f"follows chains {' and '.join(reached)} (each number up to there at {percent(HELD)} % or more)"]
    return [*(lead if reached else []), *([f"scores {', '.join(scores)} on them (ATC)"] if scores else [])]


def _reach(reach: Reach) -> str:
    if reach.needles is None:
        return ""
    if not reach.needles:
        return "of no length"
    return f"of {reach.needles} statements or more" if reach.dropped is None else f"of up to {reach.needles} statements"


def _language(name: str) -> str:
    return next((words for short, words in _LANGUAGES.items() if f"-{short}" in name), "")


def _score(row: Row) -> str:
    score = row.score
    if row.range is not None or score.value is None or score.low is None or score.high is None:
        return _brief(row)
    return f"{_brief(row)} ({ends_words(score.low, score.high)})"


def _brief(row: Row) -> str:
    """Its score in percent; a range where answers are undecided; empty where it has none."""
    if row.missing or row.score.value is None:
        return ""
    return range_words(row.range) if row.range is not None else f"{percent1(min(1.0, max(0.0, row.score.value)))} %"
