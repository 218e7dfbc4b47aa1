"""Pairs of answers judged: win rates and marks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import fsum
from typing import Literal

from needlework.core.errors import InputError
from needlework.results.judging.ask import AskedReplies, JudgeModel, JudgeQuestion, Replied, question_to
from needlework.results.leval.predictions import Answers, Prediction
from needlework.results.leval.scores import RULES, Rule
from needlework.results.records.samples import grouped
from needlework.results.statistics.agreement import share
from needlework.results.statistics.panels import Share
from needlework.scoring.judges.judges import Choice, pair_messages, read_choice, read_choice_compat

Preference = Literal["win", "loss", "tie"]
Question = tuple[str, str]  # its words and its reference
ORDERS = 2  # in which the two answers of a pair are shown
_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to one question."""

    ours: Prediction
    rival: Prediction

    @property
    def question(self) -> Question:
        """What makes two rows the same question."""
        return _question_of(self.ours)


@dataclass(frozen=True, slots=True)
class Matched:
    """`alone`, `rival_alone`: rows without a partner in the other file. `repeated`: the pairs of each question that
    stands in both files more than once; they are paired in the order of the rows.
    """

    pairs: tuple[AnswerPair, ...]
    alone: tuple[Prediction, ...]
    rival_alone: tuple[Prediction, ...]
    repeated: tuple[tuple[AnswerPair, ...], ...]


@dataclass(frozen=True, slots=True)
class WinRate:
    """`(wins + ties / 2) / judgements`, 0..1, with its interval over questions.

    `score` has no value where a judgement is missing or in error: `n` of `expected` are there. `of_those_there` is the
    rate of these alone, as it is published. `least`, `most`: what it would be if every missing one were a loss, a win.
    """

    score: Share
    of_those_there: Share
    least: float
    most: float
    wins: int
    ties: int
    losses: int
    n: int
    expected: int


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair. `verdicts`: by each rule, with our answer shown first and shown second. `problems`: why the strict rule
    has none, for each order; empty where it has.

    compat: L-Eval's own reading of the first reply, errors dropped one by one. strict: exactly one verdict, in the
    reply or in the one that was asked for after it, and no rate where a judgement is missing.
    """

    item: str
    pair: AnswerPair
    verdicts: Mapping[Rule, tuple[Preference | None, ...]]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """What the order of the answers does, over the pairs that have a strict verdict in both.

    `same`: share of pairs whose verdict is the same in both orders. `first`: share of the verdicts, ties left out, that
    prefer the answer shown first; half is no bias. `pairs`, `decided`: how many pairs, and verdicts without ties.
    """

    same: Share
    pairs: int
    first: Share
    decided: int


def match(ours: Answers, rival: Answers) -> Matched:
    """Pair the rows of both files by question and reference. Raises `InputError` where there is no pair at all."""
    one, other = grouped(ours.rows, _question_of), grouped(rival.rows, _question_of)
    groups = [tuple(map(AnswerPair, one[question], other.get(question, ()))) for question in one]
    partners = {pair.ours.line: pair.rival.line for group in groups for pair in group}
    if not partners:
        raise InputError("RIVAL", rival.path, f"has no question of {ours.path}: rows are paired by `query` and `gt`")
    return Matched(
        pairs=tuple(sorted((pair for group in groups for pair in group), key=lambda pair: pair.ours.line)),
        alone=tuple(row for row in ours.rows if row.line not in partners),
        rival_alone=tuple(row for row in rival.rows if row.line not in partners.values()),
        repeated=tuple(group for group in groups if len(group) > 1),
    )


def _question_of(row: Prediction) -> Question:
    return row.question, row.gold


def pair_questions(pair: AnswerPair, judge: JudgeModel) -> tuple[JudgeQuestion, ...]:
    """Return the questions about one pair: with our answer first, then with the rival's first."""
    questions = []
    for order, (first, second) in enumerate(((pair.ours, pair.rival), (pair.rival, pair.ours))):
        system, user = pair_messages(pair.ours.question, pair.ours.gold, first.answer, second.answer)
        about = {
            "judge": judge.identity.get("spec"),
            "item": _item_of(pair),
            "shown_first": "rival" if order else "ours",
            "line": pair.ours.line,
            "rival_line": pair.rival.line,
        }
        questions.append(question_to(judge, system, user, about, order))
    return tuple(questions)


def verdict_fields(question: JudgeQuestion, replied: Replied) -> dict[str, Preference | None]:
    """Return what the file of replies tells of a reply, by both rules; `verdict` is the strict one."""
    verdicts = _verdicts(replied, 0 if question.about["shown_first"] == "ours" else 1)
    return {"verdict": verdicts["strict"], "compat": verdicts["compat"]}


def judged_pairs(pairs: Sequence[AnswerPair], judge: JudgeModel, all_replies: AskedReplies) -> tuple[JudgedPair, ...]:
    """Read the replies to the questions about these pairs."""
    judged = []
    for pair in pairs:
        replies = [all_replies.to(question) for question in pair_questions(pair, judge)]
        both = [_verdicts(replied, order) for order, replied in enumerate(replies)]
        verdicts = {rule: tuple(each[rule] for each in both) for rule in RULES}
        problems = [
            "" if verdict else replied.problem or "no verdict"
            for verdict, replied in zip(verdicts["strict"], replies, strict=True)
        ]
        judged.append(JudgedPair(_item_of(pair), pair, verdicts, tuple(problems)))
    return tuple(judged)


def _verdicts(replied: Replied, order: int) -> dict[Rule, Preference | None]:
    compat = read_choice_compat(replied.replies[0]) if replied.replies else None
    return {"compat": _preference(compat, order), "strict": _preference(replied.value(read_choice), order)}


def _preference(choice: Choice | None, order: int) -> Preference | None:
    if choice is None or choice == "tie":
        return choice
    return "win" if (choice == "A") == (order == 0) else "loss"


def _item_of(pair: AnswerPair) -> str:
    words = "\0".join((*pair.question, pair.ours.answer, pair.rival.answer))
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def win_rates(judged: Sequence[JudgedPair], expected: int) -> dict[Rule, WinRate]:
    """Return the win rate by each rule. `expected`: pairs that there would be, were every row paired: those that are
    not are missing judgements to the strict rule.
    """
    pairs: dict[Rule, int] = {"compat": len(judged), "strict": expected}
    return {
        rule: win_rate([(each.pair.question, verdict) for each in judged for verdict in each.verdicts[rule]], count)
        for rule, count in pairs.items()
    }


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], pairs: int) -> WinRate:
    """Rate the judgements (question, preference) of so many pairs in both orders; `None`: without a verdict.

    All judgements of a question are one cluster.
    """
    there = [(question, verdict) for question, verdict in judgements if verdict is not None]
    points, verdicts = [_POINTS[verdict] for _, verdict in there], [verdict for _, verdict in there]
    rate, expected = share(points, [question for question, _ in there]), ORDERS * pairs
    return WinRate(
        score=rate if len(there) == expected else Share(None),
        of_those_there=rate,
        least=fsum(points) / expected,
        most=(fsum(points) + expected - len(there)) / expected,
        wins=verdicts.count("win"),
        ties=verdicts.count("tie"),
        losses=verdicts.count("loss"),
        n=len(there),
        expected=expected,
    )


def effects_of_order(judged: Sequence[JudgedPair]) -> Orders:
    """Compare the strict verdicts of both orders."""
    both = [(each.pair.question, *each.verdicts["strict"]) for each in judged if None not in each.verdicts["strict"]]
    same = [(question, float(one == other)) for question, one, other in both]
    first = [(question, float(one == "win")) for question, one, _ in both if one != "tie"]
    first += [(question, float(other == "loss")) for question, _, other in both if other != "tie"]
    shares = [share([value for _, value in values], [question for question, _ in values]) for values in (same, first)]
    return Orders(shares[0], len(same), shares[1], len(first))
