"""Building trials of one task for tests, and asking mock models about them."""

import tempfile
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation
from needlework.haystack_fixtures.tasks.catalogue import grid, task_named
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.mock import MockModel
from needlework.models.model import Request
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.scoring.recording import score_exchange
from tests.scoring.material import Exchange


@cache
def settings_of(task, **options):
    """The settings of `--task TASK` with further options as written, all variants of the task in them."""
    found = resolve_settings({"task": task, "model": ["mock:perfect"]} | options, {}, Path(tempfile.gettempdir()))
    return replace(found, suites=tuple(replace(suite, variants=()) for suite in found.suites))


@cache
def builder(task, tokenizer=None, **options):
    """What builds the trials of a task; every prompt is verified."""
    settings = settings_of(task, verify_prompts="true", **options)
    return TrialBuilder(settings, tokenizer or load_tokenizer("o200k_base"), Path(tempfile.gettempdir()))


def run_of(folder, cache_dir=None, **options):
    """What builds the trials of these options, and every cell with its suite; every prompt is verified."""
    settings = resolve_settings({"model": ["mock:perfect"], "verify_prompts": "true"} | options, {}, folder)
    made = TrialBuilder(settings, load_tokenizer("o200k_base"), cache_dir or Path(tempfile.gettempdir()))
    return made, [(series.suite, cell) for series in grid(settings) for cell in series.cells]


def trials(task, tokenizer=None, **options):
    """Every trial of `--task TASK` with further options as written, controls included, checked for its length."""
    made = builder(task, tokenizer, **options)
    for series in grid(settings_of(task, **options)):
        for cell in series.cells:
            yield build(made, series.suite, cell)


def build(made, suite, cell):
    """The trial of a cell, checked for what holds of every trial."""
    trial = made.build(suite, cell)
    budget = cell.length - suite.kept_free
    prompt = trial.prompt
    assert prompt.tokens + prompt.slack == budget
    if _fills(trial):
        assert prompt.slack <= max(2, budget // 2000)
    assert trial.asked.question in prompt.text
    assert not prompt.flags
    return trial


def _fills(trial):
    """Whether its context takes all the room there is."""
    shown = trial.asked.context
    return shown.closing is not None if isinstance(shown, GrowingConversation) else getattr(shown, "fill", True)


def context(trial):
    """The text of a trial's context: of a list the list alone."""
    return trial.prompt.text[slice(*trial.prompt.context)]


def judged(trial, answer):
    """The score of an answer to a trial, by the task's scorer; of an absent twin by `abstain`."""
    return score_exchange(Exchange(answer, trial.asked.reference, scorer=task_named(trial.suite.task).scorer))


def mock_says(trial, behaviour):
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


def mock_value(trial, behaviour):
    """The score of a mock model's answer. What the scorer raises is raised."""
    scored = judged(trial, mock_says(trial, behaviour))
    assert scored.error_kind is None, scored.message
    return float(scored.for_asserting)


def plain_trials(task, control="", **options):
    """The trials of a task that are no controls, or those of one control: by default of 2k tokens over noise."""
    given = {"corpus": "noise", "lengths": "2k", "depths": "50"} | options
    made = builder(task, **given)
    return [
        build(made, series.suite, cell)
        for series in grid(settings_of(task, **given))
        for cell in series.cells
        if next((name for name in ("absent", "focused", "compacted") if cell.needle.endswith(f"_{name}")), "")
        == control
    ]
