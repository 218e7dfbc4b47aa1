"""The checks of a run's options, before anything is asked. Each is loaded with the option that it is about: every run
waits for what is imported before its first question, and few have one of these."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.documents.votes import votes_by_embeddings

if TYPE_CHECKING:
    from needlework.results.gates.gate import Gate


def checked_gates(settings: Settings) -> list[Gate]:
    """The gates of a run. Raises `InputError` where one is none, or lacks what it needs."""
    if not (settings.gate or settings.baseline or settings.top_up):
        return []
    from needlework.results.gates.gate import parse_gate
    from needlework.results.gates.gatekeeper import check_gates

    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    return gates


def check_parts(settings: Settings) -> None:
    """`--shard`, `--power`, `--relative-to`. Raises `InputError`."""
    if settings.shard is not None or settings.relative_to is not None:
        from needlework.results.session.checks import check_base, check_shard

        check_shard(settings)
        check_base(settings)
    if settings.power is not None:
        from needlework.results.gates.power_plan import check_power

        check_power(settings)


def check_judging(settings: Settings) -> None:
    """Scorers, judges, and what votes. Raises `InputError`."""
    judging = settings.judge or settings.judge_prompt is not None or settings.judge_strategy.startswith("llm")
    if judging or any(suite.scorer is not None for suite in settings.suites):
        from needlework.results.session.checks import check_scorers

        check_scorers(settings)
    if votes_by_embeddings(settings.suites) is not None:
        from needlework.haystack_fixtures.session.answer_vectors import voting_embedder

        voting_embedder(settings)  # refused now, and not when every answer is there


def check_adaptive_run(settings: Settings, folder: Path) -> None:
    """`--adaptive`. Raises `InputError`."""
    if settings.adaptive is not None:
        from needlework.results.session.adaptive_checks import check_adaptive

        check_adaptive(settings, folder)
