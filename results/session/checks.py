"""Settings of the results that only the run as a whole can judge."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.run.scorer_names import check_scorer
from needlework.results.statistics.length.base import RELATIVE_TO, parse_relative_to
from needlework.scoring.recording import JUDGE


def check_base(settings: Settings) -> None:
    base = parse_relative_to(settings.relative_to)
    asked = {length for suite in settings.suites for length in suite.lengths}
    if base is not None and base.lengths and not asked & set(base.lengths):
        raise InputError(RELATIVE_TO, settings.relative_to, "names no length of this run; --lengths says which it has")


def check_scorers(settings: Settings) -> None:
    for name in dict.fromkeys(suite.scorer for suite in settings.suites if suite.scorer is not None):
        if name.startswith(JUDGE) and settings.judge is None:
            raise InputError("--scorer", name, "needs a judge: give --judge SPEC")
        check_scorer(name)


def check_shard(settings: Settings) -> None:
    if settings.shard is not None and settings.top_up:
        remedy = (
            "asks for what a whole run leaves undecided: leave it out of a shard, or give it after needlework merge"
        )
        raise InputError("--top-up", settings.top_up, remedy)
