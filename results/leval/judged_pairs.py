"""Pairs of answers judged: win rates and marks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import fsum
from types import MappingProxyType
from typing import Literal

from needlework.core.errors import InputError
from needlework.results.judging.ask import JudgeModel, JudgeQuestion, Replied, key_of
from needlework.results.leval.predictions import Answers, Prediction
from needlework.results.leval.scores import RULES, Rule
from needlework.results.statistics.agreement import share
from needlework.results.statistics.panels import Share
from needlework.scoring.judges.judges import Choice, judge_messages, pair_messages, read_choice, read_choice_compat
from needlework.scoring.judges.replies import JudgeReplyError, parse_llmtest_reply

Preference = Literal["win", "loss", "tie"]


# compat: L-Eval's own reading of the first reply, errors dropped one by one. strict: exactly one verdict, in the reply
# or in the one that was asked for after it, and no rate where a judgement is missing.
Verdicts = tuple[Preference | None, Preference | None]


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair. `verdicts`: by each rule, with our answer shown first and shown second. `problems`: why the strict rule
    has none, for each order; empty where it has.
    """

    item: str
    pair: AnswerPair
    verdicts: Mapping[Rule, Verdicts]
    problems: tuple[str, str]


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


def pair_questions(pair: AnswerPair, judge: JudgeModel) -> tuple[JudgeQuestion, ...]:
    """Return the questions about one pair: with our answer first, then with the rival's first."""
    return tuple(_question(pair, order, judge) for order in range(ORDERS))


def verdict_fields(question: JudgeQuestion, replied: Replied) -> dict[str, Preference | None]:
    """Return what the file of replies tells of a reply, by both rules; `verdict` is the strict one."""
    order = 0 if question.about["shown_first"] == "ours" else 1
    return {"verdict": _strict(replied, order), "compat": _compat(replied, order)}


def judged_pairs(
    pairs: Sequence[AnswerPair], judge: JudgeModel, known: Mapping[str, Replied]
) -> tuple[JudgedPair, ...]:
    """Read the replies to the questions about these pairs; one that is not known has no verdict."""
    return tuple(_judged(pair, [known.get(each.key) for each in pair_questions(pair, judge)]) for pair in pairs)


def rates(judged: Sequence[JudgedPair], expected: int) -> Mapping[Rule, WinRate]:
    """Return the win rate by each rule. `expected`: pairs that there would be, were every row paired: those that are
    not are missing judgements to the strict rule.
    """
    found = {rule: [(each.pair.question, one) for each in judged for one in each.verdicts[rule]] for rule in RULES}
    compat, strict = win_rate(found["compat"], len(judged)), win_rate(found["strict"], expected)
    return MappingProxyType({"compat": compat, "strict": strict})


def orders(judged: Sequence[JudgedPair]) -> Orders:
    """Compare the strict verdicts of both orders."""
    both = [(each.pair.question, *each.verdicts["strict"]) for each in judged if None not in each.verdicts["strict"]]
    same = [(question, float(one == other)) for question, one, other in both]
    first = [(question, float(one == "win")) for question, one, _ in both if one != "tie"]
    first += [(question, float(other == "loss")) for question, _, other in both if other != "tie"]
    return Orders(_share(same), len(same), _share(first), len(first))


def _share(values: Sequence[tuple[Key, float]]) -> Share:
    return share([value for _, value in values], [question for question, _ in values])


def _question(pair: AnswerPair, order: int, judge: JudgeModel) -> JudgeQuestion:
    shown = (pair.ours, pair.rival) if order == 0 else (pair.rival, pair.ours)
    system, user = pair_messages(pair.ours.question, pair.ours.gold, shown[0].answer, shown[1].answer)
    about = {
        "judge": judge.identity.get("spec"),
        "item": _item(pair),
        "shown_first": "rival" if order else "ours",
        "line": pair.ours.line,
        "rival_line": pair.rival.line,
    }
    return JudgeQuestion(key_of(judge, system, user, order), system, user, about)


def _item(pair: AnswerPair) -> str:
    words = "\0".join((*pair.question, pair.ours.answer, pair.rival.answer))
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _judged(pair: AnswerPair, replied: Sequence[Replied | None]) -> JudgedPair:
    strict = tuple(_strict(each, order) for order, each in enumerate(replied))
    compat = tuple(_compat(each, order) for order, each in enumerate(replied))
    problems = tuple(
        "" if verdict else (each.problem if each else "") or "no verdict"
        for verdict, each in zip(strict, replied, strict=True)
    )
    verdicts: dict[Rule, Verdicts] = {"compat": (compat[0], compat[1]), "strict": (strict[0], strict[1])}
    return JudgedPair(_item(pair), pair, MappingProxyType(verdicts), (problems[0], problems[1]))


def _strict(replied: Replied | None, order: int) -> Preference | None:
    if replied is None or replied.problem:
        return None
    try:
        return _preference(read_choice(replied.replies[-1]), order)
    except JudgeReplyError:
        return None


def _compat(replied: Replied | None, order: int) -> Preference | None:
    choice = read_choice_compat(replied.replies[0]) if replied and replied.replies else None
    return choice and _preference(choice, order)


def _preference(choice: Choice, order: int) -> Preference:
    if choice == "tie":
        return "tie"
    return "win" if (choice == "A") == (order == 0) else "loss"


_FULL = 10


@dataclass(frozen=True, slots=True)
class Marked:
    """One answer. `mark`: 1 to 10, 0 for a blank answer, of which nobody is asked; `None` with its `problem`."""

    row: Prediction
    mark: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MeanMark:
    """The mean of mark / 10, 0..1, with its interval over questions; none where one of the `expected` is missing.

    `least`, `most`: what it would be if every missing mark were 0, were 10.
    """

    score: Share
    least: float
    most: float
    n: int
    expected: int


def mark_question(row: Prediction, judge: JudgeModel) -> JudgeQuestion | None:
    """Return the question about one answer; none about a blank one."""
    if not row.answer.strip():
        return None
    system, user = judge_messages("llmtest", row.question, row.gold, row.answer)
    key = key_of(judge, system, user)
    return JudgeQuestion(key, system, user, {"judge": judge.identity.get("spec"), "item": key[:16], "line": row.line})


def mark_fields(_question: JudgeQuestion, replied: Replied) -> dict[str, int | None]:
    """Return what the file of replies tells of a reply."""
    return {"verdict": _mark(replied)}


def marked(rows: Sequence[Prediction], judge: JudgeModel, known: Mapping[str, Replied]) -> tuple[Marked, ...]:
    """Read the replies to the questions about these answers."""
    found = []
    for row in rows:
        question = mark_question(row, judge)
        replied = known.get(question.key) if question else None
        mark = 0 if question is None else _mark(replied)
        found.append(Marked(row, mark, "" if mark is not None else (replied.problem if replied else "") or "no mark"))
    return tuple(found)


def mean_mark(found: Sequence[Marked], broken: int) -> MeanMark:
    """Return the mean over all rows; `broken` ones are missing."""
    there = [((each.row.question, each.row.gold), each.mark / _FULL) for each in found if each.mark is not None]
    total, expected = fsum(score for _, score in there), len(found) + broken
    mean = share([score for _, score in there], [question for question, _ in there])
    most = (total + expected - len(there)) / expected if expected else 1.0
    return MeanMark(
        mean if len(there) == expected else Share(None),
        total / expected if expected else 0.0,
        most,
        len(there),
        expected,
    )


def _mark(replied: Replied | None) -> int | None:
    if replied is None or replied.problem:
        return None
    try:
        return parse_llmtest_reply(replied.replies[-1])
    except JudgeReplyError:
        return None


Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to one question."""

    ours: Prediction
    rival: Prediction

    @property
    def question(self) -> Key:
        """What makes two rows the same question: its words and its reference."""
        return _key(self.ours)


@dataclass(frozen=True, slots=True)
class Matched:
    """`alone`, `rival_alone`: rows without a partner in the other file. `repeated`: the pairs of each question that
    stands in both files more than once; they are paired in the order of the rows.
    """

    pairs: tuple[AnswerPair, ...]
    alone: tuple[Prediction, ...]
    rival_alone: tuple[Prediction, ...]
    repeated: tuple[tuple[AnswerPair, ...], ...]


def match(ours: Answers, rival: Answers) -> Matched:
    """Pair the rows of both files by question and reference. Raises `InputError` where there is no pair at all."""
    one, other = _by_question(ours.rows), _by_question(rival.rows)
    groups = [
        tuple(
            AnswerPair(mine, its) for mine, its in zip(one[key], other.get(key, ()), strict=False)
        )  # the rest is alone
        for key in one
    ]
    matched = {pair.ours.line: pair.rival.line for group in groups for pair in group}
    if not matched:
        raise InputError("RIVAL", rival.path, f"has no question of {ours.path}: rows are paired by `query` and `gt`")
    partners = set(matched.values())
    return Matched(
        pairs=tuple(sorted((pair for group in groups for pair in group), key=lambda pair: pair.ours.line)),
        alone=tuple(row for row in ours.rows if row.line not in matched),
        rival_alone=tuple(row for row in rival.rows if row.line not in partners),
        repeated=tuple(group for group in groups if len(group) > 1),
    )


def _by_question(rows: Sequence[Prediction]) -> dict[Key, list[Prediction]]:
    found: dict[Key, list[Prediction]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return found


def _key(row: Prediction) -> Key:
    return row.question, row.gold


_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}
ORDERS = 2


@dataclass(frozen=True, slots=True)
class WinRate:
    """`(wins + ties / 2) / judgements`, 0..1, with its interval over questions.

    `score` has no value where a judgement is missing or in error: `n` of `expected` are there. `of_those_there` is the
    rate of these alone, as it is published. `least`, `most`: what it would be if every missing one were a loss, a win.
    """

    score: Share
    of_those_there: Share
    least: float | None
    most: float | None
    wins: int
    losses: int
    ties: int
    n: int
    expected: int


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], pairs: int) -> WinRate:
    """Rate the judgements (question, preference) of a run that was to judge so many pairs in both orders.

    `None` is a judgement without a verdict. All judgements of a question are one cluster.
    """
    there = [(question, preference) for question, preference in judgements if preference is not None]
    points = [_POINTS[preference] for _, preference in there]
    rate = share(points, [question for question, _ in there])
    expected = ORDERS * pairs
    found = [preference for _, preference in there]
    return WinRate(
        score=rate if len(there) == expected else Share(None),
        of_those_there=rate,
        least=fsum(points) / expected if expected else None,
        most=(fsum(points) + expected - len(there)) / expected if expected else None,
        wins=found.count("win"),
        losses=found.count("loss"),
        ties=found.count("tie"),
        n=len(there),
        expected=expected,
    )
