"""A judge's verdicts on pairs of answers: each pair shown in both orders, each reply read by two rules.

compat: L-Eval's own reading of the first reply, errors dropped one by one. strict: exactly one verdict, in the reply or
in the one that was asked for after it, and no rate where a judgement is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType

from needlework.results.judging.asking import Judge, Question, Replied, key_of
from needlework.results.leval.pairs import Key, Pair
from needlework.results.leval.task_scores import RULES, Rule
from needlework.results.leval.win_rate import ORDERS, Preference, WinRate, win_rate
from needlework.results.statistics.agreement.rates import share
from needlework.results.statistics.tasks import Share
from needlework.scoring.judges.pairwise import Choice, pair_messages, read_choice, read_choice_compat
from needlework.scoring.judges.replies import JudgeReplyError

Verdicts = tuple[Preference | None, Preference | None]


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair. `verdicts`: by each rule, with our answer shown first and shown second. `problems`: why the strict rule
    has none, for each order; empty where it has.
    """

    item: str
    pair: Pair
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


def pair_questions(pair: Pair, judge: Judge) -> tuple[Question, ...]:
    """Return the questions about one pair: with our answer first, then with the rival's first."""
    return tuple(_question(pair, order, judge) for order in range(ORDERS))


def verdict_fields(question: Question, replied: Replied) -> dict[str, Preference | None]:
    """Return what the file of replies tells of a reply, by both rules; `verdict` is the strict one."""
    order = 0 if question.about["shown_first"] == "ours" else 1
    return {"verdict": _strict(replied, order), "compat": _compat(replied, order)}


def judged_pairs(pairs: Sequence[Pair], judge: Judge, known: Mapping[str, Replied]) -> tuple[JudgedPair, ...]:
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


def _question(pair: Pair, order: int, judge: Judge) -> Question:
    shown = (pair.ours, pair.rival) if order == 0 else (pair.rival, pair.ours)
    system, user = pair_messages(pair.ours.question, pair.ours.gold, shown[0].answer, shown[1].answer)
    about = {
        "judge": judge.identity.get("spec"),
        "item": _item(pair),
        "shown_first": "rival" if order else "ours",
        "line": pair.ours.line,
        "rival_line": pair.rival.line,
    }
    return Question(key_of(judge, system, user, order), system, user, about)


def _item(pair: Pair) -> str:
    words = "\0".join((*pair.question, pair.ours.answer, pair.rival.answer))
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _judged(pair: Pair, replied: Sequence[Replied | None]) -> JudgedPair:
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
