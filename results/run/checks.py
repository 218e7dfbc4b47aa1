"""Checks of a session before it asks anything."""

from pathlib import Path

from needlework.core.errors import InputError
from needlework.core.files import prompt_text
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.pipeline.engine import named_judges
from needlework.results.adaptive.design import unit_of
from needlework.results.adaptive.survey import OPTION, rules_of
from needlework.results.gates.gate import Gate, parse_gate
from needlework.results.gates.gatekeeper import POWER, check_gates, parse_power
from needlework.results.records.manifest import adaptive_design, manifest_at, settings_of
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.rescore import check_scorer
from needlework.results.statistics.length_scores import RELATIVE_TO, parse_relative_to
from needlework.results.statistics.run_facts import SpendingCap, check_cap
from needlework.scoring.judges.judges import JUDGE, OWN_PROMPT, check_prompt


def check_run(settings: Settings, folder: Path) -> list[Gate]:
    """The gates of a run whose records go into `folder`.
    Raises `InputError` or `ValueError` where options of it are wrong or do not go together."""
    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    if settings.shard is not None and settings.top_up:
        remedy = "asks for what a whole run leaves undecided: leave it out of a shard; give it after needlework merge"
        raise InputError("--top-up", settings.top_up, remedy)
    base = parse_relative_to(settings.relative_to)
    lengths = {length for suite in settings.suites for length in suite.lengths}
    if base is not None and base.lengths and not lengths & set(base.lengths):
        raise InputError(RELATIVE_TO, settings.relative_to, "names no length of this run; --lengths says which it has")
    if settings.power is not None:
        parse_power(settings.power)
        if not settings.plan:
            raise InputError(POWER, settings.power, "says before a run what it would show: give --plan too")
    check_cap(SpendingCap(settings.max_cost, settings.max_tokens), settings.price, settings.model)
    _check_scorers(settings)
    _check_adaptive(settings, folder)
    return gates


def _check_scorers(settings: Settings) -> None:
    """Refuse scorers that there are not, and judges' that lack a judge or a prompt. Raises `InputError`."""
    names = tuple(dict.fromkeys(suite.scorer for suite in settings.suites if suite.scorer is not None))
    judging = {
        "--scorer": next((name for name in names if name.startswith(JUDGE)), None),
        "--judge-strategy": settings.judge_strategy if settings.judge_strategy.startswith("llm") else None,
        "--judge-prompt": settings.judge_prompt,
    }
    for option, value in () if settings.judge else judging.items():
        if value is not None:
            raise InputError(option, value, "needs a judge: give --judge SPEC")
    named_judges(settings)
    prompted = f"{JUDGE}{OWN_PROMPT}"
    if settings.judge_prompt is None and prompted in names:
        raise InputError("--scorer", prompted, "needs the prompt: give --judge-prompt FILE")
    if settings.judge_prompt is not None:
        other = next((name for name in names if name.startswith(JUDGE) and name != prompted), None)
        if other is not None:
            raise InputError("--judge-prompt", settings.judge_prompt, f"{other} has a prompt of its own: leave one out")
        try:
            check_prompt(prompt_text(settings.judge_prompt))
        except ValueError as error:
            raise InputError("--judge-prompt", settings.judge_prompt, str(error)) from None
    for name in names:
        check_scorer(name)


_NOT_ADAPTIVE = ("shard", "gate", "baseline", "top_up", "stability", "power", "limit", "batch_out", "batch_in")


def _check_adaptive(settings: Settings, folder: Path) -> None:
    """Raises `InputError`."""
    if settings.adaptive is None:
        return
    excluded = [key for key in _NOT_ADAPTIVE if getattr(settings, key)]
    excluded += ["vote"] * any(suite.vote for suite in settings.suites)
    if excluded:
        name = f"--{excluded[0].replace('_', '-')}"
        raise InputError(OPTION, settings.adaptive, f"does not go with {name}: leave one of them out")
    rules = rules_of(settings)
    for suite in settings.suites:
        of_documents = suite.task in TASKS and TASKS[suite.task].corpus is not None
        if of_documents or suite.retriever != ("none",):
            remedy = "its samples are questions on documents, not repeats: choose other tasks with --task"
            raise InputError(OPTION, suite.task, remedy)
        if None in rules.bars and rules.base is None:
            if len(suite.lengths) < 2:
                remedy = "needs a length for the base, and a longer one: --lengths"
                raise InputError("--adaptive-bar", "relative", remedy)
            if rules.base_length is not None and rules.base_length >= max(suite.lengths):
                raise InputError("--relative-to", settings.relative_to, "leaves no length to judge; see --lengths")
        first = min(suite.lengths) * unit_of(len(suite.depths))
        if settings.adaptive_tokens is not None and settings.adaptive_tokens < first:
            remedy = f"a first look at {suite.task} takes {first:,}: give more"
            raise InputError("--adaptive-tokens", settings.adaptive_tokens, remedy)
    _check_same(settings, folder)


def _check_same(settings: Settings, folder: Path) -> None:
    """A statement holds for one set of rules: with others the same trials would be looked at once more."""
    if settings.fresh or not (folder / JOURNAL).is_file():
        return
    try:
        before = settings_of(manifest_at(folder / MANIFEST))
    except InputError:
        return
    if before.adaptive is not None and adaptive_design(before) != adaptive_design(settings):
        remedy = "this run was begun with another mode, bar, grid or seed: give the same, another --run-name or --fresh"
        raise InputError(OPTION, settings.adaptive, remedy)
