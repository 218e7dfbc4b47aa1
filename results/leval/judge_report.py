"""What a judge found, as lines for the terminal and as a JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from needlework.results.leval.judged_pairs import JudgedPair, Orders
from needlework.results.leval.marks import Marked, MeanMark
from needlework.results.leval.pairs import Matched
from needlework.results.leval.predictions import Answers, Broken
from needlework.results.leval.task_scores import Rule
from needlework.results.leval.win_rate import WinRate
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import one_line
from needlework.results.tables.columns import aligned, ends, percent2

SCHEMA = "needlework-leval-judge-1"
_HEAD = ("rule", "wins", "ties", "losses", "errors", "n of expected", "win rate", "95 % interval")
_SHOWN = 3


def pair_lines(
    ours: Answers,
    rival: Answers,
    matched: Matched,
    judged: Sequence[JudgedPair],
    rates: Mapping[Rule, WinRate],
    orders: Orders,
) -> Iterator[str]:
    """Lines of a comparison: the table, what the order of the answers does, and everything that was left out."""
    yield one_line(f"{ours.model} against {rival.model}, {len(judged)} pairs, each in both orders")
    rows = [_rate_row(rule, rate) for rule, rate in rates.items()]
    yield from aligned([_HEAD, *rows], names=1)
    strict = rates["strict"]
    if strict.score.value is None:
        yield (
            f"no strict rate: {strict.n} of {strict.expected} judgements are there; whatever the others say, "
            f"it is from {percent2(strict.least)} to {percent2(strict.most)}"
        )
    if orders.pairs:
        told = f"{percent2(orders.same.value)} % of {orders.pairs} pairs ({ends(orders.same)})"
        yield f"same verdict in both orders: {told}"
    if orders.decided:
        told = f"{percent2(orders.first.value)} % of {orders.decided} verdicts that are no tie ({ends(orders.first)})"
        yield f"the answer shown first preferred: {told}; 50 is no bias"
    for answers, alone in ((ours, matched.alone), (rival, matched.rival_alone)):
        if alone:
            yield one_line(f"without a partner in the other file, {len(alone)} rows of {answers.path}: {_lines(alone)}")
        yield from _broken_lines(answers)
    if matched.repeated:
        pairs = sum(map(len, matched.repeated))
        lines = _lines(pair.ours for group in matched.repeated for pair in group)
        told = f"{len(matched.repeated)} questions: {pairs} pairs, in the order of the rows"
        yield f"asked more than once, {told}: {lines}"
    yield from _problem_lines([(each.pair.ours.line, why) for each in judged for why in each.problems if why])


def mark_lines(answers: Answers, found: Sequence[Marked], mean: MeanMark) -> Iterator[str]:
    """Lines of absolute marks."""
    yield one_line(f"{answers.model}, marks of 1 to 10 against the reference, as percent of 10")
    row = (f"{mean.n} of {mean.expected}", str(mean.expected - mean.n), percent2(mean.score.value), ends(mean.score))
    yield from aligned([("n of expected", "errors", "mean", "95 % interval"), row], names=0)
    if mean.score.value is None:
        yield f"no mean: whatever the missing marks are, it is from {percent2(mean.least)} to {percent2(mean.most)}"
    blank = sum(each.mark == 0 for each in found)
    if blank:
        yield f"blank answers, {blank}: 0, and the judge is not asked"
    yield from _broken_lines(answers)
    yield from _problem_lines([(each.row.line, each.problem) for each in found if each.problem])


def pair_object(
    ours: Answers,
    rival: Answers,
    matched: Matched,
    judged: Sequence[JudgedPair],
    rates: Mapping[Rule, WinRate],
    orders: Orders,
) -> dict[str, Any]:
    """Return a comparison as a JSON object; rates 0..1."""
    return {
        "schema": SCHEMA,
        "ours": _answers_object(ours),
        "rival": _answers_object(rival),
        "rates": {rule: _rate_object(rate) for rule, rate in rates.items()},
        "same_in_both_orders": {**_share_object(orders.same), "n": orders.pairs},
        "first_preferred": {**_share_object(orders.first), "n": orders.decided},
        "without_partner": [row.line for row in matched.alone],
        "rival_without_partner": [row.line for row in matched.rival_alone],
        "repeated": [[[pair.ours.line, pair.rival.line] for pair in group] for group in matched.repeated],
        "items": [
            {
                "item": each.item,
                "line": each.pair.ours.line,
                "rival_line": each.pair.rival.line,
                **{rule: list(verdicts) for rule, verdicts in each.verdicts.items()},
                "problems": [why or None for why in each.problems],
            }
            for each in judged
        ],
    }


def mark_object(answers: Answers, found: Sequence[Marked], mean: MeanMark) -> dict[str, Any]:
    """Return absolute marks as a JSON object; the mean 0..1, the items' marks 0..10."""
    return {
        "schema": SCHEMA,
        "ours": _answers_object(answers),
        "mean": {
            **_share_object(mean.score),
            "least": mean.least,
            "most": mean.most,
            "n": mean.n,
            "expected": mean.expected,
        },
        "items": [{"line": each.row.line, "mark": each.mark, "problem": each.problem or None} for each in found],
    }


def _rate_row(rule: Rule, rate: WinRate) -> tuple[str, ...]:
    share = rate.of_those_there if rule == "compat" else rate.score
    counts = (rate.wins, rate.ties, rate.losses, rate.expected - rate.n)
    return rule, *map(str, counts), f"{rate.n} of {rate.expected}", percent2(share.value), ends(share)


def _rate_object(rate: WinRate) -> dict[str, Any]:
    return {
        "score": _share_object(rate.score),
        "of_those_there": _share_object(rate.of_those_there),
        "least": rate.least,
        "most": rate.most,
        "wins": rate.wins,
        "ties": rate.ties,
        "losses": rate.losses,
        "n": rate.n,
        "expected": rate.expected,
    }


def _answers_object(answers: Answers) -> dict[str, Any]:
    broken = [{"line": each.line, "why": each.why} for each in answers.broken]
    return {"file": str(answers.path), "model": answers.model, "broken": broken}


def _share_object(share: Share) -> dict[str, float | None]:
    return {"value": share.value, "low": share.low, "high": share.high}


def _lines(rows: Iterable[Any]) -> str:
    return f"lines {', '.join(str(row.line) for row in rows)}"


def _broken_lines(answers: Answers) -> Iterator[str]:
    yield from _told(f"broken rows of {answers.path}", answers.broken)


def _problem_lines(problems: Sequence[tuple[int, str]]) -> Iterator[str]:
    yield from _told("judgements without a verdict", [Broken(line, why) for line, why in problems])


def _told(what: str, broken: Sequence[Broken]) -> Iterator[str]:
    if broken:
        shown = "; ".join(f"line {each.line}: {each.why}" for each in broken[:_SHOWN])
        more = f"; and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        yield one_line(f"{what}, {len(broken)}: {shown}{more}")
