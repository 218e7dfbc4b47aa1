"""Settings of the results that only the run as a whole can judge."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.haystack_fixtures.asking.judging import named_judges
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.judge_prompt import prompt_text
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.run.scorer_names import check_scorer
from needlework.results.statistics.length.base import RELATIVE_TO, parse_relative_to
from needlework.scoring.judges.own_prompt import own_prompt
from needlework.scoring.judges.scorers import OWN
from needlework.scoring.judges.strategy import JUDGE


def check_base(settings: Settings) -> None:
    base = parse_relative_to(settings.relative_to)
    asked = {length for suite in settings.suites for length in suite.lengths}
    if base is not None and base.lengths and not asked & set(base.lengths):
        raise InputError(RELATIVE_TO, settings.relative_to, "names no length of this run; --lengths says which it has")


def check_scorers(settings: Settings) -> None:
    """Refuse scorers that there are not, and judges' that lack a judge or a prompt. Raises `InputError`."""
    names = tuple(dict.fromkeys(suite.scorer for suite in settings.suites if suite.scorer is not None))
    if not settings.judge:
        _need_no_judge(settings, names)
    named_judges(settings)
    own = f"{JUDGE}{OWN}"
    if settings.judge_prompt is None and own in names:
        raise InputError("--scorer", own, "needs the prompt: give --judge-prompt FILE")
    if settings.judge_prompt is not None:
        other = next((name for name in names if name.startswith(JUDGE) and name != own), None)
        if other is not None:
            raise InputError("--judge-prompt", settings.judge_prompt, f"{other} has a prompt of its own: leave one out")
        try:
            own_prompt(prompt_text(settings.judge_prompt))
        except ValueError as error:
            raise InputError("--judge-prompt", settings.judge_prompt, str(error)) from None
    for name in names:
        check_scorer(name)


def _need_no_judge(settings: Settings, scorers: Sequence[str]) -> None:
    judging = {
        "--scorer": next((name for name in scorers if name.startswith(JUDGE)), None),
        "--judge-strategy": settings.judge_strategy if settings.judge_strategy.startswith("llm") else None,
        "--judge-prompt": settings.judge_prompt,
    }
    for option, value in judging.items():
        if value is not None:
            raise InputError(option, value, "needs a judge: give --judge SPEC")


def check_shard(settings: Settings) -> None:
    if settings.shard is not None and settings.top_up:
        remedy = (
            "asks for what a whole run leaves undecided: leave it out of a shard, or give it after needlework merge"
        )
        raise InputError("--top-up", settings.top_up, remedy)
