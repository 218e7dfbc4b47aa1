"""`needlework judge PREDICTIONS RIVAL --judge SPEC`: have a judge compare two models' answers.

Exit code 0; 1 where a judgement is missing; 2 after one line about what was wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, ending_signals, refuse
from needlework.models.judge import judge_for_command
from needlework.results.judging.ask import ask_all
from needlework.results.leval.judged_pairs import (
    JudgedPair,
    MatchedRows,
    WinRate,
    judged_pairs,
    match,
    order_effects,
    pair_questions,
    verdict_fields,
    win_rates,
)
from needlework.results.leval.predictions import (
    SUFFIX,
    Answers,
    BrokenRow,
    Prediction,
    broken_rows,
    read_answers,
    write_object,
)
from needlework.results.leval.scores import Rule
from needlework.results.statistics.panels import Share
from needlework.results.statistics.wording import ends, percent2
from needlework.results.style import one_line
from needlework.results.tables.terminal import aligned
from needlework.scoring.judges.judges import read_choice

SCHEMA = "needlework-leval-judge-1"
_REPLY_BUDGET = 2048  # tokens, as published
_HEAD = ("rule", "wins", "ties", "losses", "errors", "n of expected", "win rate", "95 % interval")


def main(argv: Sequence[str]) -> int:
    """Ask the judge what the file of replies does not have yet, write `--out`, and print the result."""
    options = _parser().parse_args(argv)
    try:
        with ending_signals():
            return _run(options)
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
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="questions in flight at once [8]")
    parser.add_argument(
        "--replies", type=Path, metavar="FILE", help="file of the judge's replies, gone on with [NAME.judge.jsonl]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write, with the verdicts on every pair")
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.concurrency < 1:
        raise InputError("--concurrency", options.concurrency, "give a whole number from 1")
    if not options.rival and not options.rival_model:
        raise InputError("RIVAL", "", "give the rival's file, or --rival-model for another model of PREDICTIONS")
    name = options.predictions.name.removesuffix(SUFFIX).removesuffix(".jsonl")
    replies_path = options.replies or options.predictions.with_name(f"{name}.judge.jsonl")
    ours = read_answers(options.predictions, options.model)
    names = ("RIVAL" if options.rival else "PREDICTIONS", "--rival-model")
    rival = read_answers(options.rival or options.predictions, options.rival_model, names)
    if rival.model == ours.model and rival.path.resolve() == ours.path.resolve():
        raise InputError(names[0], rival.path, f"the answers of {ours.model} would be their own rival: give another's")
    matched = match(ours, rival)
    judge = judge_for_command(
        options.judge,
        base_url=options.judge_base_url,
        api_key_env=options.api_key_env,
        concurrency=options.concurrency,
        reply_budget=_REPLY_BUDGET,
    )
    with closing(judge):
        questions = [question for pair in matched.pairs for question in pair_questions(pair, judge)]
        replies = ask_all(questions, judge, read_choice, replies_path, fields=verdict_fields)
        judged = judged_pairs(matched.pairs, judge, replies)
    rates = win_rates(judged, max(len(answers.rows) + len(answers.broken) for answers in (ours, rival)))
    effects = order_effects(judged)
    if options.out:  # before anything is printed: `| head` ends the command at its first lines
        content = {
            "schema": SCHEMA,
            "judge": options.judge,
            "ours": _answers_object(ours),
            "rival": _answers_object(rival),
            "rates": {rule: asdict(rate) for rule, rate in rates.items()},
            **{name: {**asdict(effect), "n": n} for name, (effect, n) in effects.items()},
            "without_partner": [row.line for row in matched.alone],
            "rival_without_partner": [row.line for row in matched.rival_alone],
            "repeated": [[[pair.ours.line, pair.rival.line] for pair in group] for group in matched.repeated],
            "items": [_pair_object(pair) for pair in judged],
        }
        write_object(options.out, content)
    problems = [BrokenRow(pair.pair.ours.line, why) for pair in judged for why in pair.problems if why]
    print(one_line(f"{ours.model} against {rival.model}, {len(judged)} pairs, each in both orders"))
    print("\n".join(_rate_lines(rates)))
    for line in (
        *_effect_lines(effects),
        *_unmatched_lines(ours, rival, matched),
        *[f"judgements without a verdict, {broken_rows(problems)}"] * bool(problems),
        f"questions asked now: {replies.count}; replies are in {replies_path}",
        *[f"written to {options.out}"] * bool(options.out),
    ):
        print(one_line(line))
    return 0 if rates["strict"].score.value is not None else 1


def _rate_lines(rates: Mapping[Rule, WinRate]) -> Iterator[str]:
    rows = []
    for rule, rate in rates.items():
        mean = rate.of_those_there if rule == "compat" else rate.score
        counts = (rate.wins, rate.ties, rate.losses, rate.expected - rate.n)
        rows.append((rule, *map(str, counts), f"{rate.n} of {rate.expected}", percent2(mean.value), ends(mean)))
    yield from aligned([_HEAD, *rows], names=1)
    strict = rates["strict"]
    if strict.score.value is None:
        yield (
            f"no strict rate: {strict.n} of {strict.expected} judgements are there; whatever the others say, "
            f"it is from {percent2(strict.least)} to {percent2(strict.most)}"
        )


def _effect_lines(effects: Mapping[str, tuple[Share, int]]) -> Iterator[str]:
    (same, pairs), (first, decided) = effects.values()
    if pairs:
        yield f"same verdict in both orders: {percent2(same.value)} % of {pairs} pairs ({ends(same)})"
    if decided:
        rate = f"{percent2(first.value)} % of {decided} verdicts that are no tie ({ends(first)})"
        yield f"the answer shown first preferred: {rate}; 50 is no bias"


def _unmatched_lines(ours: Answers, rival: Answers, matched: MatchedRows) -> Iterator[str]:
    for answers, alone in ((ours, matched.alone), (rival, matched.rival_alone)):
        if alone:
            yield f"without a partner in the other file, {len(alone)} rows of {answers.path}: {_line_numbers(alone)}"
        if answers.broken:
            yield f"broken rows of {answers.path}, {broken_rows(answers.broken)}"
    if matched.repeated:
        pairs = [pair.ours for group in matched.repeated for pair in group]
        count = f"{len(matched.repeated)} questions: {len(pairs)} pairs, in the order of the rows"
        yield f"asked more than once, {count}: {_line_numbers(pairs)}"


def _line_numbers(rows: Iterable[Prediction]) -> str:
    return f"lines {', '.join(str(row.line) for row in rows)}"


def _pair_object(judged: JudgedPair) -> dict[str, Any]:
    pair = judged.pair
    return {
        "item": pair.item,
        "line": pair.ours.line,
        "rival_line": pair.rival.line,
        **{rule: list(both) for rule, both in judged.verdicts.items()},
        "problems": [problem or None for problem in judged.problems],
    }


def _answers_object(answers: Answers) -> dict[str, Any]:
    return {"file": str(answers.path), "model": answers.model, "broken": [asdict(row) for row in answers.broken]}
