"""The tables of OpenAI MRCR, MRCR v2, GraphWalks and LongBench v2: groups as their makers report them.

The score is the sound one; the published rules' means are over the same answers. Answers without a score (errors, rows
that do not fit) are counted beside every mean and are in none. LongBench's authors leave empty replies out, too: their
mean is over replies that are not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from needlework.results.records.record import SCORED, Record
from needlework.results.statistics.panels import Tally, Trial, tally, trial_of
from needlework.results.statistics.published.as_published import authors_notes, bins_note, judged
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import length_labels
from needlework.scoring.published.beside import AS
from needlework.scoring.published.longbench_v2_table import Judged
from needlework.scoring.published.mrcr_bins import BINS, card_bin

MRCR = ("openai_mrcr", "deepmind_mrcr")
GRAPHWALKS = "graphwalks"
LONGBENCH_V2 = ("longbench_v2", "longbench_v2_closed_book")
TASKS = (*MRCR, GRAPHWALKS, *LONGBENCH_V2)
_EMPTY_LEFT_OUT = "authors"  # leaves replies without a text out of its mean
_ORDER = ("easy", "hard", "short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Row:
    """One answer.

    `groups`: those that it belongs to. `others`: the published rules' scores, 0..1. `unread`: it has no letter, no
    list, or not the string at its start. `another`: it gave another piece of the same ask. `empty`: it has no text.
    `chance`: what guessing would score. `noise`: of MRCR, what any piece of the ask gets by the published ratio.
    """

    trial: Trial
    groups: tuple[str, ...]
    others: Mapping[str, float]
    unread: bool = False
    another: bool = False
    empty: bool = False
    chance: float = 0.0
    noise: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The answers of one group; scores 0..1.

    `others`: the means of the published rules; `noise`: what giving any piece of the ask would get by them, `None`
    where that is not known. `unread`, `another`: how many of the scored answers.
    """

    name: str
    score: Tally
    chance: float
    corrected: Share
    others: Mapping[str, float]
    unread: int
    another: int
    noise: float | None = None


@dataclass(frozen=True, slots=True)
class FieldTable:
    """The groups of one (model, task), all answers first. `notes`: what is to be said of them."""

    model: str
    task: str
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def field_tables(records: Iterable[Record]) -> tuple[FieldTable, ...]:
    """The table of each model and task of these benchmarks, sorted; none for a run of others."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["task"] in TASKS and not record["reference"].get("retriever"):
            groups.setdefault((record["model"], record["task"]), []).append(record)
    return tuple(_table_of_records(*key, groups[key]) for key in sorted(groups))


def field_table(model: str, task: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> FieldTable:
    """The table of some answers: `overall`, then every group, in the order of the makers' tables."""
    names = sorted({name for row in rows for name in row.groups}, key=_order)
    found = [_group("overall", rows)]
    found += [_group(name, [row for row in rows if name in row.groups]) for name in names]
    return FieldTable(model, task, tuple(found), tuple(notes))


def field_object(found: Sequence[FieldTable]) -> list[dict[str, Any]]:
    """The same as JSON objects; scores 0..1."""
    return [asdict(each) for each in found]


def mrcr_groups(needles: object, tokens: int | None) -> tuple[str, ...]:
    """`n8`, and with its bin `n8 65,537-131,072`: `tokens` of prompt and answer; `None`: not known."""
    name = f"n{needles}"
    if tokens is None:
        return (name,)
    number = card_bin(tokens)
    return name, f"{name} {'in no bin' if number is None else bin_name(number)}"


def bin_name(number: int) -> str:
    """`4,096-8,192`, `8,193-16,384`: tokens of the card's bin."""
    low, high = BINS[number]
    return f"{low + bool(number):,}-{high:,}"


def longbench_groups(row: Mapping[str, Any], *, cut: bool | None = None) -> tuple[str, ...]:
    """Difficulty, length class and domain of a row, and whether its text was cut, where that is known."""
    names = [str(row[name]) for name in ("difficulty", "length_class", "domain") if row.get(name)]
    return (*names, *([] if cut is None else ["text cut" if cut else "whole text"]))


def unread(task: str, details: Mapping[str, Any]) -> bool:
    """Whether the sound scorer found nothing to read, by its details."""
    if task in MRCR:
        return bool(details.get("string", "first") != "first")
    return "precision" not in details if task == GRAPHWALKS else not details.get("letter")


def others_of(details: Mapping[str, Any]) -> dict[str, float]:
    """The published rules' scores in a score's details, by who scores so."""
    told = {name.removeprefix(AS): value for name, value in details.items() if name.startswith(AS)}
    return {name: float(value) for name, value in told.items() if isinstance(value, (int, float))}


def noise_of(details: Mapping[str, Any]) -> float | None:
    """The noise in a score's details, 0..1; `None` where it has none."""
    noise = details.get("noise")
    return float(noise) if isinstance(noise, (int, float)) else None


def _table_of_records(model: str, task: str, records: Sequence[Record]) -> FieldTable:
    notes = list(dict.fromkeys(str(told) for record in records if (told := record["reference"].get("outdated"))))
    over = max((int(record["reference"].get("over_lengths") or 0) for record in records), default=0)
    if over:
        notes.append(f"rows longer than every length, not asked: {over}")
    skipped = sum(record["outcome"] == "skipped" for record in records)
    if skipped:
        notes.append(f"skipped, in no mean: {skipped} of {len(records)} rows")
    if task in MRCR:
        notes += bins_note([tokens for record in records if (tokens := _tokens(record)) is not None])
    if task in LONGBENCH_V2:
        notes += authors_notes(_judged(record) for record in records if record["outcome"] in SCORED)
    return field_table(model, task, [_row(task, record) for record in records], notes)


def _judged(record: Record) -> Judged | None:
    reference = record["reference"]
    answers = reference.get("answers") or ("",)
    return judged(
        str(record["response"].get("text") or ""),
        difficulty=reference.get("difficulty"),
        length=reference.get("length_class"),
        answer=str(answers[0]),
    )


def _tokens(record: Record) -> int | None:
    """Tokens of prompt and answer; `None` where a record does not tell."""
    tokens, answer = record["prompt"].get("tokens"), record["reference"].get("answer_tokens")
    return tokens + answer if isinstance(tokens, int) and isinstance(answer, int) else None


def _row(task: str, record: Record) -> Row:
    told = record["details"].get("score")
    details: Mapping[str, Any] = told if isinstance(told, dict) else {}
    scored, by_field = record["outcome"] in SCORED, record["scorer"].startswith(task.removesuffix("_closed_book"))
    chance = record["reference"].get("chance")
    return Row(
        trial=trial_of(record),
        groups=_groups(task, record),
        others=others_of(details) if scored else {},
        unread=scored and by_field and unread(task, details),
        another=str(details.get("given", "")).startswith("#"),
        empty=record["outcome"] == "empty",
        chance=float(chance) if isinstance(chance, (int, float)) else 0.0,
        noise=noise_of(details),
    )


def _groups(task: str, record: Record) -> tuple[str, ...]:
    reference, prompt = record["reference"], record["prompt"]
    group = trial_of(record).needle  # of `n8_q0123` what a lost answer has of its row, too
    if task in MRCR:
        return mrcr_groups(reference.get("needles") or group.removeprefix("n"), _tokens(record))
    if task == GRAPHWALKS:
        kind = str(reference.get("problem_type") or group)
        return kind, f"{kind} to {length_labels([record['length']])[0]}"
    cut = "truncated" in record["details"].get("flags", ()) or "truncated" in prompt.get("flags", ())
    return longbench_groups(reference, cut=None if task.endswith("closed_book") else cut)


def _group(name: str, rows: Sequence[Row]) -> Group:
    found = tally(row.trial for row in rows)
    scored = [row for row in rows if row.trial.outcome in SCORED]
    chance = fsum(row.chance for row in scored) / len(scored) if scored else 0.0
    ends = found.interval
    return Group(
        name=name,
        score=found,
        chance=chance,
        corrected=Share(
            _corrected(found.mean, chance),
            _corrected(ends.low, chance) if ends else None,
            _corrected(ends.high, chance) if ends else None,
        ),
        others={who: mean for who in _whose(scored) if (mean := _mean_of(who, scored)) is not None},
        unread=sum(row.unread for row in scored),
        another=sum(row.another for row in scored),
        noise=fsum(known) / len(known) if (known := [row.noise for row in scored if row.noise is not None]) else None,
    )


def _whose(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(who for row in rows for who in row.others))


def _mean_of(who: str, rows: Sequence[Row]) -> float | None:
    counted = [row.others[who] for row in rows if who in row.others and not (who == _EMPTY_LEFT_OUT and row.empty)]
    return fsum(counted) / len(counted) if counted else None


def _corrected(value: float | None, chance: float) -> float | None:
    return None if value is None or chance >= 1 else (value - chance) / (1 - chance)


def _order(name: str) -> tuple[Any, ...]:
    """Makers' order: difficulty, length, domains, cut; needles with their bins, by number."""
    if name in _ORDER:
        return 0, _ORDER.index(name), ""
    first, _, rest = name.partition(" ")
    number = int(first[1:]) if first[:1] == "n" and first[1:].isdigit() else 0
    digits = "".join(char for char in rest.partition("-")[0] if char.isdigit())
    return 2 if name in ("whole text", "text cut") else 1, number, first if number else "", int(digits or 0), name
