"""`needlework judge PREDICTIONS RIVAL --judge SPEC`: have a judge compare two models' answers, or mark one model's.

Exit code 0; 1 where a judgement is missing; 2 after one line about what was wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, ending_signals, refuse
from needlework.core.files import write_whole
from needlework.results.judging.ask import JudgeModel, OpenJudge, ReplyFile, gather
from needlework.results.leval.judged_pairs import (
    JudgedPair,
    Marked,
    Matched,
    MeanMark,
    Orders,
    WinRate,
    judged_pairs,
    mark_fields,
    mark_question,
    marked,
    match,
    mean_mark,
    orders,
    pair_questions,
    rates,
    verdict_fields,
)
from needlework.results.leval.predictions import SUFFIX, Answers, Broken, read_answers
from needlework.results.leval.scores import Rule
from needlework.results.statistics.panels import Share
from needlework.results.statistics.wording import ends, percent2
from needlework.results.style import one_line
from needlework.results.tables.terminal import aligned
from needlework.scoring.judges.judges import read_choice
from needlework.scoring.judges.replies import parse_llmtest_reply

_REPLY_BUDGET = 2048  # tokens, as published


def main(argv: Sequence[str], open_judge: OpenJudge) -> int:
    """Ask the judge what the file of replies does not have yet, and print what it found."""
    options = _parser().parse_args(argv)
    try:
        with ending_signals():
            return _run(options, open_judge)
    except InputError as error:
        return refuse("judge", error)
    except KeyboardInterrupt:
        return refuse("judge", "stopped; the same command goes on where it was")


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework judge", description=__doc__)
    parser.add_argument("predictions", type=Path, metavar="PREDICTIONS", help="prediction file (query, gt, MODEL_pred)")
    parser.add_argument("rival", type=Path, nargs="?", metavar="RIVAL", help="the rival's file [PREDICTIONS]")
    parser.add_argument("--judge", required=True, metavar="SPEC", help="openai:NAME, or any other SPEC of a model")
    parser.add_argument("--judge-base-url", metavar="URL", help="address of the judge's server, ending in /v1")
    parser.add_argument(
        "--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]"
    )
    parser.add_argument("--model", metavar="NAME", help="whose answers to judge, where PREDICTIONS has several models'")
    parser.add_argument("--rival-model", metavar="NAME", help="whose answers are the rival's, where RIVAL has several")
    parser.add_argument("--absolute", action="store_true", help="no rival: a mark of 1 to 10 against the reference")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="questions in flight at once [8]")
    parser.add_argument(
        "--replies", type=Path, metavar="FILE", help="file of the judge's replies, gone on with [NAME.judge.jsonl]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write, with the verdicts on every pair")
    return parser


def _run(options: argparse.Namespace, open_judge: OpenJudge) -> int:
    if options.concurrency < 1:
        raise InputError("--concurrency", options.concurrency, "give a whole number from 1")
    if options.absolute and (options.rival or options.rival_model):
        raise InputError("--absolute", options.rival or options.rival_model, "goes without a rival: leave one out")
    if not options.absolute and not options.rival and not options.rival_model:
        raise InputError("RIVAL", "", "give the rival's file, or --rival-model, or --absolute for marks without one")
    compare = _marks if options.absolute else _pairs
    return compare(options, partial(_opened, options, open_judge))


def _pairs(options: argparse.Namespace, open_it: partial[JudgeModel]) -> int:
    ours = read_answers(options.predictions, options.model)
    names = ("RIVAL" if options.rival else "PREDICTIONS", "--rival-model")
    rival = read_answers(options.rival or options.predictions, options.rival_model, names)
    if rival.model == ours.model and rival.path.resolve() == ours.path.resolve():
        raise InputError(names[0], rival.path, f"the answers of {ours.model} would be their own rival: give another's")
    matched = match(ours, rival)
    judge = open_it()
    try:
        file = _reply_file(options)
        try:
            questions = [question for pair in matched.pairs for question in pair_questions(pair, judge)]
            asked = gather(questions, judge, read_choice, verdict_fields, file)
        finally:
            file.close()
        found = judged_pairs(matched.pairs, judge, file.known)
    finally:
        judge.close()
    expected = max(len(each.rows) + len(each.broken) for each in (ours, rival))
    parts = (ours, rival, matched, found, rates(found, expected), orders(found))
    for line in pair_lines(*parts):
        print(line)
    _written(options, asked, pair_object(*parts))
    return 0 if parts[4]["strict"].score.value is not None else 1


def _marks(options: argparse.Namespace, open_it: partial[JudgeModel]) -> int:
    answers = read_answers(options.predictions, options.model)
    judge = open_it()
    try:
        file = _reply_file(options)
        try:
            questions = [question for row in answers.rows if (question := mark_question(row, judge))]
            asked = gather(questions, judge, parse_llmtest_reply, mark_fields, file)
        finally:
            file.close()
        found = marked(answers.rows, judge, file.known)
    finally:
        judge.close()
    mean = mean_mark(found, len(answers.broken))
    for line in mark_lines(answers, found, mean):
        print(line)
    _written(options, asked, mark_object(answers, found, mean))
    return 0 if mean.score.value is not None else 1


def _opened(options: argparse.Namespace, open_judge: OpenJudge) -> JudgeModel:
    return open_judge(
        options.judge,
        base_url=options.judge_base_url,
        api_key_env=options.api_key_env,
        concurrency=options.concurrency,
        reply_budget=_REPLY_BUDGET,
    )


def _reply_file(options: argparse.Namespace) -> ReplyFile:
    """The file of replies. Raises `InputError` for one of the other kind: an audit could not tell the two apart."""
    path, of_pairs = _replies(options), not options.absolute
    with suppress(OSError, ValueError):
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
        if isinstance(row, dict) and "key" in row and ("shown_first" in row) != of_pairs:
            held, wanted = ("marks", "verdicts on pairs") if of_pairs else ("verdicts on pairs", "marks")
            raise InputError("--replies", path, f"holds {held}; give {wanted} a file of their own")
    return ReplyFile(path, "--replies")


def _replies(options: argparse.Namespace) -> Path:
    path: Path = options.predictions
    name = path.name.removesuffix(SUFFIX).removesuffix(".jsonl")
    kind = "marks" if options.absolute else "judge"  # a mark of one answer is no verdict on two
    return options.replies or path.with_name(f"{name}.{kind}.jsonl")


def _written(options: argparse.Namespace, asked: int, found: dict[str, Any]) -> None:
    print(one_line(f"questions asked now: {asked}; replies are in {_replies(options)}"))
    if options.out is None:
        return
    content = json.dumps({"judge": options.judge, **found}, indent=1, ensure_ascii=True, allow_nan=False)
    try:
        write_whole(options.out, f"{content}\n".encode())
    except (OSError, ValueError) as error:
        raise InputError(
            "--out", options.out, f"cannot be written ({getattr(error, 'strerror', None) or error})"
        ) from None
    print(f"written to {options.out}")


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
