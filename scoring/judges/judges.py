"""Scorers by judges: prompts, strategies, several judges."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from json import dumps
from statistics import median
from typing import Literal, TypeVar

from needlework.core.settings import Judging
from needlework.scoring.judges.replies import JudgeReplyError, parse_evalscope_reply, parse_llmtest_reply, parse_ruling
from needlework.scoring.match.match import MATCH
from needlework.scoring.reading import verdict_for
from needlework.scoring.registry import scorer_named
from needlework.scoring.scorers.documents import DOCUMENTS, abstain_scorer, documents_score
from needlework.scoring.scores import Reference, Score, Scorer, Verdict, expected_text

Value = TypeVar("Value")

# `rule`: never. `llm`: of every answer. `llm_recall`: of those that the rule does not score in full; the score is the
# greater of both. `auto`: of every answer where the scorer is a judge, else only of answers that the rule cannot tell.
# EvalScope keeps the rule's score where the judge fails; here such a trial is an error: nobody knows what was missed.
JUDGE = "judge_"  # `judge_evalscope`, `judge_documents`: made of the run's judges
_ENOUGH = 0.99  # of a rule's score: EvalScope's number


def scorer_of_run(name: str, judging: Judging, strategy: str, *, absent: bool = False) -> tuple[Scorer, bool]:
    """The scorer that a run with judges uses for a suite's scorer of that name, and whether it asks them.

    `absent`: the answer is taken out on purpose; only `judge_documents` knows what is right there.
    """
    by_judge = name.startswith(JUDGE)
    usual = OWN_PROMPT if judging.prompt is not None else name if name == DOCUMENTS.name else "evalscope"
    style = name.removeprefix(JUDGE) if by_judge else usual
    rule = (style if style == DOCUMENTS.name else MATCH.name) if by_judge else name
    is_rule = name == abstain_scorer.name or strategy == "rule" or (absent and style != DOCUMENTS.name)
    if is_rule or not (by_judge or strategy in ("llm", "llm_recall")):
        return scorer_named(rule), False
    judge = judge_scorer(judging, style)
    if strategy != "llm_recall":
        return judge, True
    by_rule = scorer_named(rule)
    return replace(by_rule, name=f"{rule}+{judge.name}", judge=partial(_greater_score, by_rule, judge)), True


def _greater_score(rule: Scorer, judge: Scorer, answer: str, reference: Reference) -> Score:
    """The greater of both scores; the judge is asked only below the rule's full score."""
    by_rule = rule.judge(answer, reference)
    if by_rule.value > _ENOUGH and by_rule.verdict != "unclear":
        return replace(by_rule, details={**by_rule.details, "rule": by_rule.verdict})
    ruled = judge.judge(answer, reference)
    undecided = "unclear" in (by_rule.verdict, ruled.verdict)
    better = ruled if ruled.value > by_rule.value or undecided else by_rule
    why = f"{ruled.why} (by rule: {by_rule.why or by_rule.verdict})"
    return replace(better, why=why, details={**by_rule.details, **ruled.details, "rule": by_rule.verdict})


def ruling_key(judging: Judging, scorer: str, answer: str) -> str:
    """The key of a ruling on one answer: judges, scorer, answer. The trial's key says the question."""
    return sha256(dumps([judging.identity, scorer, answer]).encode()).hexdigest()[:16]


def judge_scorer(judging: Judging, style: str) -> Scorer:
    """One scorer of the run's judges, asked at once: the median of their values, so the majority.

    An even split of rights and wrongs is `unclear`. A judge without a readable reply has no say; where half of them or
    more have none, the first one's fault is raised.
    """
    scorers = {name: judged(ask, style, judging.prompt) for name, ask in judging.asks.items()}
    first = next(iter(scorers.values()))
    return first if len(scorers) == 1 else replace(first, judge=partial(_middle_score, scorers))


def _middle_score(scorers: Mapping[str, Scorer], answer: str, reference: Reference) -> Score:
    """The median of several judges' scores; `judge_scorer` says what else."""

    def score_or_fault(scorer: Scorer) -> Score | JudgeReplyError | JudgeUnreachableError:
        try:
            return scorer.judge(answer, reference)
        except (JudgeReplyError, JudgeUnreachableError) as error:
            return error

    threads = ThreadPoolExecutor(len(scorers))
    try:
        results = dict(zip(scorers, threads.map(score_or_fault, scorers.values()), strict=True))
    finally:
        threads.shutdown(wait=False)  # the end of a run does not wait for the judges; no `with`, which would
    scores = {name: result for name, result in results.items() if isinstance(result, Score)}
    faults = [result for result in results.values() if not isinstance(result, Score)]
    if faults and 2 * len(scores) <= len(scorers):
        raise faults[0]
    earliest = next(iter(scores.values()))
    values = {name: score.value for name, score in scores.items()}
    value = median(values.values())
    decisive = next((score for score in scores.values() if score.value == value), None)
    if decisive is None and set(values.values()) == {0, 1}:
        sides = ", ".join(f"{name} {'right' if value else 'wrong'}" for name, value in values.items())
        decisive = Score(0.0, "unclear", earliest.answer, f"the judges are split: {sides}", {TIED: True})
    elif decisive is None:
        why = f"judges: {value * _FULL:g} of 10 in the middle"
        decisive = replace(earliest, value=value, verdict=_verdict(value, earliest.answer), why=why)
    by_judge = {f"{JUDGE_SAID}{name}": values.get(name) for name in scorers} if answer.strip() else {}
    return replace(decisive, details={**earliest.details, **decisive.details, **by_judge})


JUDGE_SAID = "judge:"  # and the judge's name: the key of a score's details that has one judge's value
TIED = "tied"
Ask = Callable[[str, str], str]
"""`ask(system, user) -> reply`."""


class JudgeUnreachableError(Exception):
    """The judge gave no reply at all."""


def _ask(ask: Ask, read: Callable[[str], Value], system: str, user: str) -> tuple[Value, int]:
    """The value that `read` makes of the judge's reply, and the number of attempts: two at most.

    Raises `JudgeReplyError` where neither reply can be read, `JudgeUnreachableError` where there is none.
    """
    for attempt in (1, 2):
        try:
            reply = ask(system, user)
        except Exception as error:  # whatever a client raises, the answer under test is not to blame
            raise JudgeUnreachableError(str(error)) from error
        try:
            return read(reply), attempt
        except JudgeReplyError as error:
            problem = error
    raise problem


OWN_PROMPT = "prompt"
"""The style of a prompt of one's own: the scorer `judge_prompt`."""

_FULL = 10.0
_FOUND_FROM = 0.9
_PARTIAL_FROM = 0.5
_SHOWN = 200


def judged(ask: Ask, style: str = "evalscope", prompt: str | None = None) -> Scorer:
    """Make a scorer of `ask(system, user) -> reply`. The value is the mark / 10.

    A mark of 9 or 10 is found, 5 up to 9 partial, less wrong. A reply that cannot be read is asked for once more, then
    raises `JudgeReplyError`. A blank answer is empty without asking. `documents` has no marks (`_documents_ruling`);
    `prompt` is the text of one's own, whose replies have rights, wrongs and marks (`parse_ruling`). Raises `ValueError`
    for an unknown style or a wrong prompt.
    """
    rule: Callable[[Ask, str, Reference], Score]
    if style == DOCUMENTS.name:
        rule = _documents_ruling
    elif style == OWN_PROMPT:
        check_prompt(prompt or "")
        rule = partial(_own_ruling, parse_prompt(prompt or ""))
    elif style in _MARKS:
        rule = partial(_mark, style)
    elif style in published_prompts():
        rule = partial(_own_ruling, published_prompts()[style])
    else:
        styles = ", ".join((*_MARKS, *published_prompts(), DOCUMENTS.name))
        raise ValueError(f"unknown judge style {style!r}: use {styles} or {OWN_PROMPT}")

    def judge(answer: str, reference: Reference) -> Score:
        return rule(ask, answer, reference) if answer.strip() else Score(0.0, "empty", why="no text")

    return Scorer(f"{JUDGE}{style}", 1, judge)


def _mark(style: str, ask: Ask, answer: str, reference: Reference) -> Score:
    user = f"[Question]\n{reference.question}\n\n[Reference]\n{_expected(reference)}\n\n[Answer]\n{answer}\n"
    mark, prompts = _ask(ask, _MARKS[style], our_prompts()[style], user)
    value, details = mark / _FULL, {"mark": float(mark), "asked": prompts}
    return Score(value, _verdict(value, answer), answer[:_SHOWN], f"judge: {mark:g} of 10", details)


def _own_ruling(prompt: JudgePrompt, ask: Ask, answer: str, reference: Reference) -> Score:
    accepted = "\n".join(reference.answers) if reference.answers and not reference.statement else _expected(reference)
    ruling, prompts = _ask(ask, parse_ruling, prompt.system, prompt.filled(reference.question, accepted, answer))
    why = f"judge: {ruling.reason or f'{ruling.value:.0%}'}"
    return Score(ruling.value, _verdict(ruling.value, answer), answer[:_SHOWN], why, {"asked": prompts})


def _expected(reference: Reference) -> str:
    if reference.parts and not reference.statement:
        return "\n".join(reference.parts)
    return expected_text(reference)


def _verdict(value: float, answer: str) -> Verdict:
    verdict: Verdict = "found" if value >= _FOUND_FROM else "partial" if value >= _PARTIAL_FROM else "wrong"
    return verdict_for(0.0, answer) if verdict == "wrong" else verdict


# EvalScope and LLMTest differ in scale and in how the verdict is written; the wording is ours. EvalScope shows its
# judge the whole prompt: the judge then costs as much as the model under test, and may run out of window.
_MARKS: Mapping[str, Callable[[str], float]] = {"evalscope": parse_evalscope_reply, "llmtest": parse_llmtest_reply}

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PARTS = re.compile(r"\s*\[system\][ \t]*\n(?P<system>.*?)\n\[user\][ \t]*\n(?P<user>.*)", re.DOTALL)
# Each under the names that others' judge prompts have: EvalScope's, simple-evals', inspect_ai's.
_NAMES = {
    "question": ("question", "input", "query"),
    "reference": ("reference", "gold", "target", "expected", "criterion", "gold_answer", "correct_answer"),
    "answer": ("answer", "pred", "prediction", "predicted_answer", "response", "submission"),
}
_MEANS = {name: meaning for meaning, names in _NAMES.items() for name in names}


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """The two messages to a judge; `user` has placeholders, an empty `system` message is not sent."""

    system: str
    user: str

    def filled(self, question: str, reference: str, answer: str) -> str:
        """The user message. What is filled in is not looked through for placeholders again."""
        values = {"question": question, "reference": reference, "answer": answer}
        return _PLACEHOLDER.sub(lambda match: values[_MEANS[match[1]]], self.user)


def parse_prompt(text: str) -> JudgePrompt:
    """Read a prompt: a user message, or `[system]` with its message and `[user]` with the other."""
    parts = _PARTS.fullmatch(text)
    return JudgePrompt(parts["system"].strip(), parts["user"]) if parts else JudgePrompt("", text)


@cache
def our_prompts() -> Mapping[str, str]:
    """The system messages of judges' prompts of ours, by style."""
    return tomllib.loads((resources.files(__package__) / "ours.toml").read_text(encoding="utf-8"))


@cache
def published_prompts() -> Mapping[str, JudgePrompt]:
    """The judges' prompts of published data sets, by style: `aa_lcr` is that of version 1.1."""
    tables = tomllib.loads((resources.files(__package__) / "published.toml").read_text(encoding="utf-8"))
    return {style: JudgePrompt(**table) for style, table in tables.items()}


def check_prompt(text: str) -> None:
    """Raise `ValueError` where a prompt lacks the answer, or has a placeholder that is none of ours."""
    if not text.strip():
        raise ValueError("is empty; write the prompt, with {question}, {reference} and {answer}")
    names = dict.fromkeys(_PLACEHOLDER.findall(text))
    by_meaning: dict[str, str] = {}
    for name in names:
        if name not in _MEANS:
            raise ValueError(f"{{{name}}} is no placeholder; there are {{question}}, {{reference}} and {{answer}}")
        if (other := by_meaning.setdefault(_MEANS[name], name)) != name:
            remedy = "write {reference} for what is right, {answer} for what the model said"
            raise ValueError(f"{{{other}}} and {{{name}}} are both the {_MEANS[name]}; {remedy}")
    if "answer" not in by_meaning:
        raise ValueError("has no {answer}: the judge would not see what it judges")
    if len(by_meaning) == 1:
        raise ValueError("has neither {question} nor {reference}: the judge would not know what is right")


# The protocol is L-Eval's (`llm_eval.py` at cd34b05): question, reference and both answers, never the document; the
# reply ends with `[[A]]`, `[[B]]` or, for a tie, `[[C]]`. The wording is ours.
Choice = Literal["A", "B", "tie"]

_CHOICES: dict[str, Choice] = {"A": "A", "B": "B", "C": "tie"}
_LABEL = re.compile(r"\[\[([ABC])\]\]")
_PAIRWISE_SHOWN = 80


def pair_messages(question: str, reference: str, first: str, second: str) -> tuple[str, str]:
    """Write the system and the user message that show `first` as A and `second` as B."""
    parts = (("Question", question), ("Reference", reference), ("Answer A", first), ("Answer B", second))
    return our_prompts()["pairs"], "\n\n".join(f"[{name}]\n{text}\n[End of {name}]" for name, text in parts) + "\n"


def read_choice(reply: str) -> Choice:
    """Read the one verdict of a reply; it may be repeated. Raises `JudgeReplyError` for none, and for two."""
    labels = sorted(set(_LABEL.findall(reply)))
    if len(labels) != 1:
        verdicts = " and ".join(f"[[{label}]]" for label in labels) or "no [[A]], [[B]] or [[C]]"
        raise JudgeReplyError(f"{verdicts} where one verdict is required: {reply[:_PAIRWISE_SHOWN]!r}")
    return _CHOICES[labels[0]]


def read_choice_compat(reply: str) -> Choice | None:
    """Read a reply as L-Eval's code does: A wherever it is named, else B, else a tie; `None` for an error."""
    return next((choice for label, choice in _CHOICES.items() if f"[[{label}]]" in reply), None)


# It sees question, accepted answers and the answer under test, and never the documents. Where the answer was taken out
# of the documents, it says whether the answer abstains. The verdict of the offline rule is recorded beside it.


def _documents_ruling(ask: Ask, answer: str, reference: Reference) -> Score:
    """Judge whether the answer is right, without marks. Details: `rule` (its verdict), grounds."""
    rule = documents_score(answer, reference)
    listed = "".join(f"- {text}\n" for text in reference.answers or reference.parts)
    accepted = "" if reference.absent else f"[Accepted answers]\n{listed}\n"
    user = f"[Question]\n{reference.question}\n\n{accepted}[Answer]\n{answer}\n"
    ruling, prompts = _ask(
        ask, parse_ruling, our_prompts()["documents_absent" if reference.absent else "documents"], user
    )
    verdict = "found" if ruling.correct else verdict_for(0.0, answer)
    if reference.absent and verdict == "refused":  # the judge read more into it than a refusal
        verdict = "wrong"
    details = {**rule.details, "rule": rule.verdict, "asked": prompts}
    why = f"judge: {ruling.reason or ('right' if ruling.correct else 'wrong')}"
    return Score(float(ruling.correct), verdict, answer[:_SHOWN], why, details)
