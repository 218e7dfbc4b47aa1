"""Building trials of one task for tests, and asking mock models about them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from needlework.core.grid import Cell
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import Trial, TrialBuilder
from needlework.models.mock import MockModel
from needlework.models.model import Request
from needlework.models.tokenizers.tokenizer import Tokenizer, load_tokenizer
from needlework.scoring.recording import ScoringResult, score_exchange


@cache
def settings_of(task: str, **options: str) -> Settings:
    """The settings of `--task TASK` with further options as written, all variants of the task in them."""
    found = resolve_settings({"task": task, "model": ["mock:perfect"]} | options, {}, Path(tempfile.gettempdir()))
    return replace(found, suites=tuple(replace(suite, variants=()) for suite in found.suites))


@cache
def builder(task: str, tokenizer: Tokenizer | None = None, **options: str) -> TrialBuilder:
    """What builds the trials of a task; every prompt is verified."""
    settings = settings_of(task, verify_prompts="true", **options)
    return TrialBuilder(settings, tokenizer or load_tokenizer("o200k_base"), Path(tempfile.gettempdir()))


def trials(task: str, tokenizer: Tokenizer | None = None, **options: str) -> Iterator[Trial]:
    """Every trial of `--task TASK` with further options as written, controls included, checked for its length."""
    made = builder(task, tokenizer, **options)
    for series in grid(settings_of(task, **options)):
        for cell in series.cells:
            yield build(made, series.suite, cell)


def build(made: TrialBuilder, suite: Suite, cell: Cell) -> Trial:
    """The trial of a cell, checked for what holds of every trial."""
    trial = made.build(suite, cell)
    budget = cell.length - suite.kept_free
    prompt = trial.prompt
    assert prompt.tokens + prompt.slack == budget
    if _fills(trial):
        assert prompt.slack <= max(2, budget // 2000)
    assert prompt.text == made.build(suite, cell).prompt.text
    assert trial.asked.question in prompt.text
    assert not prompt.flags
    return trial


def _fills(trial: Trial) -> bool:
    """Whether its context takes all the room there is."""
    shown = trial.asked.context
    return shown.closing is not None if isinstance(shown, GrowingConversation) else getattr(shown, "fill", True)


def context(trial: Trial) -> str:
    """The text of a trial's context: of a list the list alone."""
    return trial.prompt.text[slice(*trial.prompt.context)]


class _Exchange:
    """An exchange as far as scoring looks at it."""

    def __init__(self, trial: Trial, answer: str, finish_reason: str, scorer: str) -> None:
        self.answer, self.finish_reason, self.scorer = answer, finish_reason, scorer
        self.reference: object = trial.asked.reference
        self.error_kind = self.judging = None
        self.asked_again: tuple[_Exchange, ...] = ()


def judged(trial: Trial, answer: str, finish_reason: str = "stop") -> ScoringResult:
    """The score of an answer to a trial, by the task's scorer; of an absent twin by `abstain`."""
    from needlework.haystack_fixtures.tasks.catalogue import task_named

    return score_exchange(_Exchange(trial, answer, finish_reason, task_named(trial.suite.task).scorer))


def mock_says(trial: Trial, behaviour: str) -> str:
    """What a mock model answers."""
    request = Request(
        prompt=trial.prompt,
        template=trial.suite.template,
        answer_budget=trial.suite.answer_budget,
        thinking_budget=trial.suite.thinking_budget,
        cell=trial.cell,
        needles=trial.asked.needles,
        answer=trial.asked.answer,
    )
    return MockModel(behaviour, {}, load_tokenizer("o200k_base")).respond(request).text


def mock_value(trial: Trial, behaviour: str) -> float:
    """The score of a mock model's answer. What the scorer raises is raised."""
    scored = judged(trial, mock_says(trial, behaviour))
    assert scored.error_kind is None, scored.message
    return float(scored.for_asserting)


def plain_trials(task: str, control: str = "", **options: str) -> list[Trial]:
    """The trials of a task that are no controls, or those of one control: by default of 2k tokens over noise."""
    given = {"corpus": "noise", "lengths": "2k", "depths": "50"} | options
    made = builder(task, **given)
    return [
        build(made, series.suite, cell)
        for series in grid(settings_of(task, **given))
        for cell in series.cells
        if next((name for name in ("absent", "focused") if cell.needle.endswith(f"_{name}")), "") == control
    ]
