"""`needlework judge PREDICTIONS RIVAL --judge SPEC`: have a judge compare two models' answers.

Exit code 0; 1 where a judgement is missing; 2 after one line about what was wrong.
"""

import argparse
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import chain
from math import fsum
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from needlework.core.errors import InputError, OneLineParser
from needlework.core.files import write_whole
from needlework.models.judge import CommandJudge
from needlework.results.files.json_files import json_bytes
from needlework.results.judging import ask
from needlework.results.leval import predictions
from needlework.results.leval.scores import RULES, Rule
from needlework.results.records.samples import grouped
from needlework.results.statistics.panels import Rate, Share, rate_of
from needlework.results.statistics.wording import interval_cell, percent2
from needlework.results.style import folded_table, one_line
from needlework.scoring.judges.judges import Choice, pair_messages, read_choice, read_choice_compat

Preference = Literal["win", "loss", "tie"]
ORDERS = 2  # in which the two answers of a pair are shown
_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}


class AnswerPair(NamedTuple):
    """Two answers to one question."""

    ours: predictions.Prediction
    rival: predictions.Prediction

    @property
    def item(self) -> str:
        """A hash of question, reference and both answers."""
        words = "\0".join((*self.ours.pair_key, self.ours.answer, self.rival.answer))
        return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class MatchedRows(Struct, frozen=True):
    """The rows of two files, paired."""

    pairs: tuple[AnswerPair, ...]
    alone: tuple[predictions.Prediction, ...]  # rows without a partner in the other file
    rival_alone: tuple[predictions.Prediction, ...]
    repeated: tuple[tuple[AnswerPair, ...], ...]  # pairs of each question that both files repeat, in their order


class WinRate(Struct, frozen=True):
    """`(wins + ties / 2) / judgements`, 0..1, with its interval over questions."""

    score: Share  # no value where a judgement is missing or in error
    of_those_there: Share  # of the judgements with a verdict alone, as it is published
    least: float  # if every missing judgement were a loss
    most: float  # if every missing judgement were a win
    wins: int
    ties: int
    losses: int
    n: int  # judgements with a verdict
    expected: int


class Judgement(Struct, frozen=True):
    """The verdict on one pair in one order, by each rule.

    compat: L-Eval's own reading of the first reply, errors dropped one by one. strict: exactly one verdict, in the
    reply or in the one that was asked for after it, and no rate where a judgement is missing.
    """

    pair: AnswerPair
    compat: Preference | None
    strict: Preference | None
    problem: str  # why the strict rule has none; empty where it has


JudgedPair = tuple[Judgement, Judgement]  # with our answer shown first, and shown second


def match(ours: predictions.Answers, rival: predictions.Answers) -> MatchedRows:
    """Pair the rows of both files by question and reference. Raises `InputError` without any pair."""
    one, other = (grouped(answers.rows, lambda row: row.pair_key) for answers in (ours, rival))
    groups = [tuple(map(AnswerPair, one[question], other.get(question, ()))) for question in one]
    partners = {pair.ours.line: pair.rival.line for group in groups for pair in group}
    if not partners:
        raise InputError("RIVAL", rival.path, f"has no question of {ours.path}: rows are paired by `query` and `gt`")
    return MatchedRows(
        pairs=tuple(sorted((pair for group in groups for pair in group), key=lambda pair: pair.ours.line)),
        alone=tuple(row for row in ours.rows if row.line not in partners),
        rival_alone=tuple(row for row in rival.rows if row.line not in partners.values()),
        repeated=tuple(group for group in groups if len(group) > 1),
    )


def pair_questions(pair: AnswerPair, judge: CommandJudge) -> list[ask.JudgeQuestion]:
    """Return the questions about one pair: with our answer first, then with the rival's first."""
    questions = []
    for order, (first, second) in enumerate((pair, pair[::-1])):
        about = {
            "judge": judge.identity.get("spec"),
            "item": pair.item,
            "shown_first": "rival" if order else "ours",
            "line": pair.ours.line,
            "rival_line": pair.rival.line,
        }
        system, user = pair_messages(*pair.ours.pair_key, first.answer, second.answer)
        questions.append(ask.question_to(judge, system, user, about, order))
    return questions


def verdict_fields(question: ask.JudgeQuestion, replied: ask.Replied) -> dict[str, Preference | None]:
    """Return what the file of replies has of a reply, by both rules; `verdict` is the strict one."""
    strict, compat = _preferences(replied, 0 if question.about["shown_first"] == "ours" else 1)
    return {"verdict": strict, "compat": compat}


def judged_pair(pair: AnswerPair, judge: CommandJudge, replies: ask.AskedReplies) -> JudgedPair:
    """Read the replies to the questions about a pair."""

    def judgement(order: int, replied: ask.Replied) -> Judgement:
        strict, compat = _preferences(replied, order)
        return Judgement(pair, compat, strict, "" if strict else replied.problem or "no verdict")

    ours_first, rival_first = map(replies.to, pair_questions(pair, judge))
    return judgement(0, ours_first), judgement(1, rival_first)


def _preferences(replied: ask.Replied, order: int) -> list[Preference | None]:
    """The strict and the published reading of a reply."""
    compat = read_choice_compat(replied.replies[0]) if replied.replies else None
    names: dict[Choice | None, Preference | None] = {"A": "win", "B": "loss", "tie": "tie", None: None}
    if order:
        names |= {"A": "loss", "B": "win"}
    return [names[choice] for choice in (replied.value(read_choice), compat)]


def win_rates(judged: Sequence[JudgedPair], expected: int) -> dict[Rule, WinRate]:
    """Return the win rate by each rule. `expected`: pairs if every row had a partner.
    To the strict rule the verdicts on rows without one are missing."""
    counts: dict[Rule, int] = {"compat": len(judged), "strict": expected}
    return {
        rule: win_rate([(each.pair.ours.pair_key, getattr(each, rule)) for each in chain(*judged)], count)
        for rule, count in counts.items()
    }


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], pairs: int) -> WinRate:
    """Rate the judgements (question, preference) of `pairs` in both orders; `None`: no verdict.

    All judgements of a question are one cluster.
    """
    rated = [(question, verdict) for question, verdict in judgements if verdict is not None]
    points, verdicts = [_POINTS[verdict] for _, verdict in rated], [verdict for _, verdict in rated]
    rate, expected = rate_of(points, [question for question, _ in rated]), ORDERS * pairs
    return WinRate(
        score=rate if len(rated) == expected else Share(None),
        of_those_there=rate,
        least=fsum(points) / expected,
        most=(fsum(points) + expected - len(rated)) / expected,
        wins=verdicts.count("win"),
        ties=verdicts.count("tie"),
        losses=verdicts.count("loss"),
        n=len(rated),
        expected=expected,
    )


def order_effects(judged: Sequence[JudgedPair]) -> dict[str, Rate]:
    """Two rates, over the pairs with a strict verdict in both orders.

    `same_in_both_orders`: of pairs, those whose verdict is the same in both. `first_preferred`: of verdicts without
    ties, those that prefer the answer shown first; half is no bias.
    """
    both = [(one.pair.ours.pair_key, one.strict, two.strict) for one, two in judged if one.strict and two.strict]
    same = [(question, float(one == other)) for question, one, other in both]
    first = [(question, float(one == "win")) for question, one, _ in both if one != "tie"]
    first += [(question, float(other == "loss")) for question, _, other in both if other != "tie"]
    return {
        name: rate_of([value for _, value in values], [question for question, _ in values])
        for name, values in (("same_in_both_orders", same), ("first_preferred", first))
    }


SCHEMA = "needlework-leval-judge-1"
_HEAD = ("rule", "wins", "ties", "losses", "errors", "n of expected", "win rate", "95 % interval")


def main(argv: Sequence[str]) -> int:
    """Ask the judge what the file of replies does not have yet, write `--out`, and print the result."""
    options = _parser().parse_args(argv)
    return ask.run_asking("judge", lambda: _run(options))


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework judge", description=__doc__)
    parser.add_argument("predictions", type=Path, metavar="PREDICTIONS", help="prediction file (query, gt, MODEL_pred)")
    parser.add_argument("rival", type=Path, nargs="?", metavar="RIVAL", help="the rival's file [PREDICTIONS]")
    ask.add_judge_arguments(parser, "NAME.judge.jsonl")
    parser.add_argument("--model", metavar="NAME", help="whose answers to judge, where PREDICTIONS has several models'")
    parser.add_argument("--rival-model", metavar="NAME", help="whose answers are the rival's, where RIVAL has several")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write, with the verdicts on every pair")
    return parser


def _run(options: argparse.Namespace) -> int:
    if not options.rival and not options.rival_model:
        raise InputError("RIVAL", "", "give the rival's file, or --rival-model for another model of PREDICTIONS")
    name = options.predictions.name.removesuffix(predictions.SUFFIX).removesuffix(".jsonl")
    replies_path = options.replies or options.predictions.with_name(f"{name}.judge.jsonl")
    ours = predictions.read_answers(options.predictions, options.model)
    names = ("RIVAL" if options.rival else "PREDICTIONS", "--rival-model")
    rival = predictions.read_answers(options.rival or options.predictions, options.rival_model, names)
    if rival.model == ours.model and rival.path.resolve() == ours.path.resolve():
        raise InputError(
            names[0], rival.path, f"{ours.model} would be compared with itself: name another file or model"
        )
    matched = match(ours, rival)
    with closing(ask.open_asked(options, "judge")) as judge:
        questions = [question for pair in matched.pairs for question in pair_questions(pair, judge)]
        replies = ask.ask_all(questions, judge, read_choice, replies_path, fields=verdict_fields)
        judged = [judged_pair(pair, judge, replies) for pair in matched.pairs]
    rates = win_rates(judged, max(len(answers.rows) + len(answers.broken) for answers in (ours, rival)))
    effects = order_effects(judged)
    if options.out:  # before anything is printed: `| head` ends the command at its first lines
        content = {
            "schema": SCHEMA,
            "judge": options.judge,
            "ours": _answers_object(ours),
            "rival": _answers_object(rival),
            "rates": rates,
            **effects,
            "without_partner": [row.line for row in matched.alone],
            "rival_without_partner": [row.line for row in matched.rival_alone],
            "repeated": [[[pair.ours.line, pair.rival.line] for pair in group] for group in matched.repeated],
            "items": [_pair_object(pair) for pair in judged],
        }
        write_whole(options.out, json_bytes(content))
    problems = [predictions.BrokenRow(each.pair.ours.line, each.problem) for each in chain(*judged) if each.problem]
    print(one_line(f"{ours.model} against {rival.model}, {len(judged)} pairs, each in both orders"))
    print("\n".join(_rate_lines(rates)))
    lines = [*_effect_lines(effects), *_unmatched_lines(ours, rival, matched)]
    lines += [f"judgements without a verdict, {predictions.broken_rows(problems)}"] * bool(problems)
    lines.append(f"questions asked now: {replies.count}; replies are in {replies_path}")
    lines += [f"written to {options.out}"] * bool(options.out)
    print(*map(one_line, lines), sep="\n")
    return 0 if rates["strict"].score.value is not None else 1


def _rate_lines(rates: Mapping[Rule, WinRate]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [_HEAD]
    for rule, rate in rates.items():
        mean = rate.of_those_there if rule == "compat" else rate.score
        counts = map(str, (rate.wins, rate.ties, rate.losses, rate.expected - rate.n))
        rows.append((rule, *counts, f"{rate.n} of {rate.expected}", percent2(mean.value), interval_cell(mean)))
    yield from folded_table(rows, 1)
    strict = rates["strict"]
    if strict.score.value is None:
        there = f"no strict rate: {strict.n} of {strict.expected} judgements are there"
        yield f"{there}; whatever the others say, it is from {percent2(strict.least)} to {percent2(strict.most)}"


def _effect_lines(effects: Mapping[str, Rate]) -> Iterator[str]:
    same, first = effects.values()
    if same.n:
        yield f"same verdict in both orders: {percent2(same.value)} % of {same.n} pairs ({interval_cell(same)})"
    if first.n:
        rate = f"{percent2(first.value)} % of {first.n} verdicts that are no tie ({interval_cell(first)})"
        yield f"the answer shown first preferred: {rate}; 50 is no bias"


def _unmatched_lines(ours: predictions.Answers, rival: predictions.Answers, matched: MatchedRows) -> Iterator[str]:
    for answers, alone in ((ours, matched.alone), (rival, matched.rival_alone)):
        if alone:
            lines = ", ".join(str(row.line) for row in alone)
            yield f"without a partner in the other file, {len(alone)} rows of {answers.path}: lines {lines}"
        if answers.broken:
            yield f"broken rows of {answers.path}, {predictions.broken_rows(answers.broken)}"
    if matched.repeated:
        numbers = [str(pair.ours.line) for group in matched.repeated for pair in group]
        count = f"{len(matched.repeated)} questions: {len(numbers)} pairs, in the order of the rows"
        yield f"asked more than once, {count}: lines {', '.join(numbers)}"


def _pair_object(judged: JudgedPair) -> dict[str, Any]:
    pair, verdicts = judged[0].pair, {str(rule): [getattr(each, rule) for each in judged] for rule in RULES}
    about = {"item": pair.item, "line": pair.ours.line, "rival_line": pair.rival.line}
    return {**about, **verdicts, "problems": [each.problem or None for each in judged]}


def _answers_object(answers: predictions.Answers) -> dict[str, Any]:
    return {"file": str(answers.path), "model": answers.model, "broken": answers.broken}
