"""`needlework judge PREDICTIONS RIVAL --judge SPEC`: have a judge compare two models' answers, or mark one model's.

Exit code 0; 1 where a judgement is missing; 2 after one line about what was wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.session.signals import ending_signals
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.judging.asking import Judge, OpenJudge, ReplyFile, gather
from needlework.results.leval.judge_report import mark_lines, mark_object, pair_lines, pair_object
from needlework.results.leval.judged_pairs import judged_pairs, orders, pair_questions, rates, verdict_fields
from needlework.results.leval.marks import mark_fields, mark_question, marked, mean_mark
from needlework.results.leval.pairs import match
from needlework.results.leval.predictions import SUFFIX, read_answers
from needlework.results.style.text import one_line
from needlework.scoring.judges.pairwise import read_choice
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


def _pairs(options: argparse.Namespace, open_it: partial[Judge]) -> int:
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


def _marks(options: argparse.Namespace, open_it: partial[Judge]) -> int:
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


def _opened(options: argparse.Namespace, open_judge: OpenJudge) -> Judge:
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
