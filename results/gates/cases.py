"""Gates as test cases: in pytest's counts and short summary, and in JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from needlework.results.gates.verdict import State, Verdict

GATE = "gate::"


def gate_case(verdict: Verdict) -> tuple[pytest.TestReport, pytest.TestReport]:
    """A gate as a test of its own, its call and its end: in the counts, the short summary, and a case in JUnit XML.

    JUnit knows no third verdict. An inconclusive gate is a skipped case, as nothing was found wrong; the property
    `verdict` says it in words.
    """
    from needlework.results.gates.report import WORD, verdict_words

    # Brackets would be read as a test's parameters.
    name = f"{verdict.gate} ({verdict.group})".replace("[", "(").replace("]", ")")
    said = f"{WORD[verdict.state]} {verdict.gate}: {verdict_words(verdict)}"
    outcomes: dict[State, Literal["passed", "failed", "skipped"]] = {
        "pass": "passed",
        "fail": "failed",
        "inconclusive": "skipped",
    }
    facts = {
        "verdict": verdict.state, "value": verdict.value, "low": verdict.low, "high": verdict.high,
        "level": f"{verdict.level:g}", "n": verdict.n, "samples": verdict.samples or None,
        "more_samples": verdict.more, "more_trials": verdict.more_trials,
        "lost": verdict.losses.lost if verdict.losses else None,
    }  # fmt: skip
    nodeid, location = f"{GATE}{name}", ("gate", 0, name)
    # pytest's short summary has the first line, as far as it fits: the numbers.
    longrepr = {"pass": None, "fail": f"{_brief(verdict)}\n{said}", "inconclusive": ("gate", 0, said)}[verdict.state]
    properties = [(name, fact) for name, fact in facts.items() if fact is not None]
    return (
        pytest.TestReport(nodeid, location, {}, outcomes[verdict.state], longrepr, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown", user_properties=properties),
    )


def gate_word(report: pytest.TestReport) -> str:
    """The word before a gate in pytest's short summary; none while cells are shown one by one."""
    return report.outcome.upper() if report.when == "call" and getattr(report, "in_summary", False) else ""


def _brief(verdict: Verdict) -> str:
    """`0.778 (0.444..1.000), n 27, 3 lost`."""
    from needlework.results.gates.report import value_words

    ends = "" if verdict.low is None or verdict.high is None else f" ({verdict.low:.3f}..{verdict.high:.3f})"
    lost = f", {verdict.losses.lost} lost" if verdict.losses else ""
    return f"{value_words(verdict)}{ends}, n {verdict.n}{lost}"
