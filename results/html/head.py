"""The head of the page: the sentence, what it rests on, what went wrong, what to do next, how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needlework.results.html.texts import on_one_line
from needlework.results.records.record import Record
from needlework.results.statistics.in_short.sentence import InShort, in_short
from needlework.results.statistics.in_short.surer import Surer
from needlework.results.statistics.run_facts import RunFacts, command_words
from needlework.results.statistics.run_report import RunReport

_FAULTS = 5  # reasons that are told at the top; the rest are counted


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do for a surer answer: `command` to type, `why`, its `cost` in time; empty where there is none."""

    command: str
    why: str
    cost: str


@dataclass(frozen=True, slots=True)
class Head:
    """The first thing on the page. `lead`, `rest`: the sentence, its first clause apart; `models`: a sentence each."""

    run: str
    lead: str
    rest: str
    models: tuple[str, ...]
    rests: str
    faults: tuple[str, ...]
    more_faults: int
    step: NextStep | None


def head_of(report: RunReport) -> Head:
    """What the head of the page says."""
    short = in_short(report)
    lead, rest = short.lead, short.rest
    if short.models:  # their scores stand in a line each
        lead, rest = f"{len(short.models)} models: {rest or 'no single score to compare them by'}", ""
    return Head(
        run=_run(report),
        lead=_whole_numbers(on_one_line(f"{lead}.", 600)),
        rest=_whole_numbers(on_one_line(f"{rest[0].upper()}{rest[1:]}.", 1_200) if rest else ""),
        models=tuple(_whole_numbers(on_one_line(each, 900)) for each in short.models),
        rests=short.rests,
        faults=tuple(on_one_line(fault.text, 400) for fault in short.faults[:_FAULTS]),
        more_faults=sum(fault.count for fault in short.faults[_FAULTS:]),
        step=_step(short, report),
    )


def _whole_numbers(text: str) -> str:
    """Lines are not broken between a number and its unit."""
    return text.replace(" %", "\u00a0%").replace(" tokens", "\u00a0tokens")


def facts_tables(facts: RunFacts | None) -> list[dict[str, object]]:
    """How the run was made, as tables: the run, each model, the programs."""
    if facts is None:
        return []
    run = [
        ("run", facts.name), ("started", facts.started), ("commit", facts.commit), ("command", " ".join(facts.command))
    ]  # fmt: skip
    tables = [("The run", run), *((each.name, each.facts) for each in facts.models), ("Programs", facts.versions)]
    return [
        {
            "name": on_one_line(name),
            "rows": [(on_one_line(key), on_one_line(value, 1_000)) for key, value in rows if value],
        }
        for name, rows in tables
        if rows
    ]


def _run(report: RunReport) -> str:
    """`quick · 2026-11-22 · smollm2 (window 8,192 tokens · float32 · cpu)`; the names alone where nothing is known."""
    facts = report.facts
    known: Mapping[str, str] = {each.name: each.short for each in facts.models} if facts else {}
    models = [f"{name} ({known[name]})" if known.get(name) else name for name in report.models]
    made = [facts.name, facts.started[:10], facts.commit] if facts else []
    return on_one_line(" · ".join(filter(None, (*made, ", ".join(models)))), 400)


def _step(short: InShort, report: RunReport) -> NextStep | None:
    wanted, facts = short.surer, report.facts
    if wanted is None:
        return None
    if not wanted.repeats:
        return NextStep("", wanted.what, "")
    command = command_words(facts, wanted.repeats) if facts else ""
    return NextStep(command or f"--repeats {wanted.repeats}", wanted.what, _cost(wanted, report.records, facts))


def _cost(wanted: Surer, records: Sequence[Record], facts: RunFacts | None) -> str:
    """`about 12 minutes more`: what the further trials take at the pace of this run."""
    if facts is None or not facts.seconds:
        return ""
    asked = 1 + max(record["repeat"] for record in records)
    seconds = facts.seconds * len(records) * (wanted.repeats / asked - 1)
    if seconds < 90:
        return f"about {max(1, round(seconds))} seconds more"
    return (
        f"about {round(seconds / 60):,} minutes more" if seconds < 5400 else f"about {seconds / 3600:,.0f} hours more"
    )
