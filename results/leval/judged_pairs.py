"""Two models' answers in pairs, and what a judge says of them: win rates, and what the order of the answers does."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import fsum
from typing import Literal, NamedTuple

from needlework.core.errors import InputError
from needlework.models.judge import CommandJudge
from needlework.results.judging.ask import AskedReplies, JudgeQuestion, Replied, question_to
from needlework.results.leval.predictions import Answers, Prediction
from needlework.results.leval.scores import RULES, Rule
from needlework.results.records.samples import grouped
from needlework.results.statistics.agreement import share
from needlework.results.statistics.panels import Share
from needlework.scoring.judges.judges import Choice, pair_messages, read_choice, read_choice_compat

Preference = Literal["win", "loss", "tie"]
ORDERS = 2  # in which the two answers of a pair are shown
_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}


class AnswerPair(NamedTuple):
    """Two answers to one question."""

    ours: Prediction
    rival: Prediction

    @property
    def question(self) -> tuple[str, str]:
        """What makes two rows the same question: its words and its reference."""
        return _question_of(self.ours)

    @property
    def item(self) -> str:
        """A hash of question, reference and both answers."""
        words = "\0".join((*self.question, self.ours.answer, self.rival.answer))
        return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """The rows of two files, paired."""

    pairs: tuple[AnswerPair, ...]
    alone: tuple[Prediction, ...]  # rows without a partner in the other file
    rival_alone: tuple[Prediction, ...]
    repeated: tuple[tuple[AnswerPair, ...], ...]  # pairs of each question that both files repeat, in their order


@dataclass(frozen=True, slots=True)
class WinRate:
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


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """The verdicts on one pair by each rule, with our answer shown first and shown second.

    compat: L-Eval's own reading of the first reply, errors dropped one by one. strict: exactly one verdict, in the
    reply or in the one that was asked for after it, and no rate where a judgement is missing.
    """

    pair: AnswerPair
    verdicts: Mapping[Rule, tuple[Preference | None, ...]]
    problems: tuple[str, ...]  # why the strict rule has none, for each order; empty where it has


def match(ours: Answers, rival: Answers) -> MatchedRows:
    """Pair the rows of both files by question and reference. Raises `InputError` where there is no pair at all."""
    one, other = grouped(ours.rows, _question_of), grouped(rival.rows, _question_of)
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


def _question_of(row: Prediction) -> tuple[str, str]:
    return row.question, row.gold


def pair_questions(pair: AnswerPair, judge: CommandJudge) -> list[JudgeQuestion]:
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
        system, user = pair_messages(*pair.question, first.answer, second.answer)
        questions.append(question_to(judge, system, user, about, order))
    return questions


def verdict_fields(question: JudgeQuestion, replied: Replied) -> dict[str, Preference | None]:
    """Return what the file of replies has of a reply, by both rules; `verdict` is the strict one."""
    verdicts = _verdicts(replied, 0 if question.about["shown_first"] == "ours" else 1)
    return {"verdict": verdicts["strict"], "compat": verdicts["compat"]}


def judged_pairs(pairs: Sequence[AnswerPair], judge: CommandJudge, replies: AskedReplies) -> list[JudgedPair]:
    """Read the replies to the questions about these pairs."""
    judged = []
    for pair in pairs:
        both = [replies.to(question) for question in pair_questions(pair, judge)]
        verdicts = [_verdicts(replied, order) for order, replied in enumerate(both)]
        problems = [
            "" if read["strict"] else of.problem or "no verdict" for read, of in zip(verdicts, both, strict=True)
        ]
        judged.append(
            JudgedPair(pair, {rule: tuple(read[rule] for read in verdicts) for rule in RULES}, tuple(problems))
        )
    return judged


def _verdicts(replied: Replied, order: int) -> dict[Rule, Preference | None]:
    compat = read_choice_compat(replied.replies[0]) if replied.replies else None
    return {"compat": _preference(compat, order), "strict": _preference(replied.value(read_choice), order)}


def _preference(choice: Choice | None, order: int) -> Preference | None:
    if choice is None or choice == "tie":
        return choice
    return "win" if (choice == "A") == (order == 0) else "loss"


def win_rates(judged: Sequence[JudgedPair], expected: int) -> dict[Rule, WinRate]:
    """Return the win rate by each rule. `expected`: pairs if every row had a partner; to the strict rule the verdicts
    on rows without one are missing.
    """
    counts: dict[Rule, int] = {"compat": len(judged), "strict": expected}
    return {
        rule: win_rate([(pair.pair.question, verdict) for pair in judged for verdict in pair.verdicts[rule]], count)
        for rule, count in counts.items()
    }


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], pairs: int) -> WinRate:
    """Rate the judgements (question, preference) of so many pairs in both orders; `None`: without a verdict.

    All judgements of a question are one cluster.
    """
    rated = [(question, verdict) for question, verdict in judgements if verdict is not None]
    points, verdicts = [_POINTS[verdict] for _, verdict in rated], [verdict for _, verdict in rated]
    rate, expected = share(points, [question for question, _ in rated]), ORDERS * pairs
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


def order_effects(judged: Sequence[JudgedPair]) -> dict[str, tuple[Share, int]]:
    """Two shares and of how many they are, over the pairs with a strict verdict in both orders.

    `same_in_both_orders`: of pairs, those whose verdict is the same in both. `first_preferred`: of verdicts without
    ties, those that prefer the answer shown first; half is no bias.
    """
    both = [(pair.pair.question, *pair.verdicts["strict"]) for pair in judged if None not in pair.verdicts["strict"]]
    same = [(question, float(one == other)) for question, one, other in both]
    first = [(question, float(one == "win")) for question, one, _ in both if one != "tie"]
    first += [(question, float(other == "loss")) for question, _, other in both if other != "tie"]
    return {
        name: (share([value for _, value in values], [question for question, _ in values]), len(values))
        for name, values in (("same_in_both_orders", same), ("first_preferred", first))
    }
