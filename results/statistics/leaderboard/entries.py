"""A model's scores of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from json import JSONEncoder
from math import nan
from statistics import median
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from needlework.core.record import FINAL, SCORED, UNDECIDED, Record
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length
from needlework.results.statistics.length_scores import length_scores
from needlework.results.statistics.panels import RecordInPanel, ScoredTrial, Tally, depth_order, tally

_json = JSONEncoder().encode
Scores = NDArray[np.float32]
Codes = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One model on one task in one run. Scores are 0..1, lengths tokens, times seconds.

    `task`: with the retriever, where there is one. `cells`: a hash of needle, length, depth, repeat and seed of each
    trial; `questions`: one of what was asked there and is right, empty where it is not known of a trial. `scorers`:
    those of the answers. `effective`: the absolute rule's last length that is certain, by the scores alone, and
    possible; and its words; `None` where there is none. `prompt_tokens`, `answer_tokens`: of a trial, on average;
    `latency`: median and 95th percentile.
    `scores`, `samples`, `undecided`, `scored_by`: of each trial, in the order of `cells`; a score that is missing is
    NaN, a sample a number, an answer that is neither a hit nor a miss 1, a scorer its place in `scorers`, and -1 where
    no answer was scored.
    """

    model: str
    task: str
    scorers: tuple[str, ...]
    cells: str
    questions: str
    overall: Tally
    by_length: Mapping[int, Tally]
    effective: tuple[int | None, int | None, int | None, str] | None
    prompt_tokens: float | None
    answer_tokens: float | None
    latency: tuple[float, float] | None
    scores: Scores = field(repr=False)
    samples: Codes = field(repr=False)
    undecided: Flags = field(repr=False)
    scored_by: Codes = field(repr=False)


def entries_of(asked: Iterable[RecordInPanel]) -> tuple[BoardEntry, ...]:
    """Return the entries of a run, sorted by model and task. Controls are left out."""
    groups: dict[tuple[str, str], list[RecordInPanel]] = {}
    for each in asked:
        if not each.control:
            task = f"{each.trial.task} ({each.retriever})" if each.retriever else each.trial.task
            groups.setdefault((each.trial.model, task), []).append(each)
    return tuple(_entry(*key, groups[key]) for key in sorted(groups))


def _entry(model: str, task: str, asked: Sequence[RecordInPanel]) -> BoardEntry:
    places = [_place(each.record) for each in asked]
    order = sorted(range(len(asked)), key=places.__getitem__)
    records, trials = [asked[at].record for at in order], [asked[at].trial for at in order]
    places = [places[at] for at in order]
    names = [(trial.needle, trial.sample) for trial in trials]
    codes = {name: at for at, name in enumerate(sorted(set(names)))}
    columns: dict[int, list[ScoredTrial]] = {}
    for trial in trials:
        columns.setdefault(trial.length, []).append(trial)
    scorers = [_scorer(record) for record in records]
    names_of_scorers = sorted({name for name in scorers if name})
    return BoardEntry(
        model=model,
        task=task,
        scorers=tuple(names_of_scorers),
        cells=_hash(place[:-1] for place in places),
        questions=_questions(records),
        overall=tally(trials),
        by_length={length: tally(columns[length]) for length in sorted(columns)},
        effective=_effective(absolute_length(length_scores(trials))) if len(columns) > 1 else None,
        prompt_tokens=_mean(record.response.prompt_tokens for record in records),
        answer_tokens=_mean(record.response.completion_tokens for record in records),
        latency=_latency(records),
        scores=np.array([nan if each.score is None else each.score for each in trials], np.float32),
        samples=np.array([codes[name] for name in names], np.int32),
        undecided=np.array([trial.outcome in UNDECIDED for trial in trials], np.uint8),
        scored_by=np.array([names_of_scorers.index(name) if name else -1 for name in scorers], np.int32),
    )


def _place(record: Record) -> tuple[object, ...]:
    at = (record.needle, record.length, depth_order(record.depth), record.repeat)
    return (*at, -1 if record.seed is None else record.seed, record.question)


def _questions(records: Sequence[Record]) -> str:
    """A hash of what was asked and is right; empty where a record, as of a test that died, does not tell it."""
    if not all(record.question for record in records):
        return ""
    return _hash((record.question, record.language, _right(record)) for record in records)


def _right(record: Record) -> object:
    """What is right, as a record that failed has it too: `expected` may be what the scorer compared with."""
    reference = record.reference or {}
    return reference.get("answers") or reference.get("parts") or record.expected


def _scorer(record: Record) -> str:
    """`match@4`; empty where no answer was scored."""
    if record.outcome not in FINAL or not record.scorer:
        return ""
    return f"{record.scorer}@{record.scorer_version}"


def _hash(parts: Iterable[object]) -> str:
    return sha256("".join(map(_json, parts)).encode()).hexdigest()


def _effective(found: EffectiveLength) -> tuple[int | None, int | None, int | None, str]:
    return found.conservative, found.point, found.optimistic, found.words


def _mean(values: Iterable[object]) -> float | None:
    known = [value for value in values if isinstance(value, (int, float))]
    return sum(known) / len(known) if known else None


def _latency(records: Sequence[Record]) -> tuple[float, float] | None:
    told = (record.timing.latency_s for record in records if record.outcome in (*SCORED, *UNDECIDED))
    seconds = sorted(value for value in told if isinstance(value, (int, float)))
    return (median(seconds), seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]) if seconds else None


# A trial that failed, was skipped or is invalid has no scorer: it tells no two runs apart.
T = TypeVar("T")


def comparable_groups(runs: Iterable[T], entries: Callable[[T], Sequence[BoardEntry]]) -> list[list[T]]:
    """Return the runs in groups that can be compared, each in the order given. `entries`: those of a run, of the same
    tasks and cells for all of them.

    Runs are together where they had the same questions, as far as those are known, and no trial has two scorers. A run
    that could be in several groups, as one with few scores, is in the largest one.
    """
    whole = list(runs)
    names: dict[str, int] = {}
    told = [np.concatenate([_told(entry, names) for entry in entries(run)]) for run in whole]
    groups: list[tuple[list[int], Codes]] = []
    # Those that tell most come first: whoever fits them fits all that is known.
    for at in sorted(range(len(whole)), key=lambda at: -np.count_nonzero(told[at])):
        fitting = [place for place, (_, known) in enumerate(groups) if _fit(known, told[at])]
        if not fitting:
            groups.append(([at], told[at]))
            continue
        place = max(fitting, key=lambda place: len(groups[place][0]))
        own, known = groups[place]
        groups[place] = [*own, at], np.where(known > 0, known, told[at])
    return [[whole[at] for at in sorted(own)] for own, _ in groups]


def _told(entry: BoardEntry, names: dict[str, int]) -> Codes:
    """Numbers from 1 for its questions and for the scorer of each trial; 0 for what is not known."""
    numbers = [names.setdefault(name, len(names) + 1) if name else 0 for name in (entry.questions, *entry.scorers)]
    questions, scorers = np.array(numbers[:1], np.int32), np.array([*numbers[1:], 0], np.int32)
    return np.concatenate([questions, scorers[entry.scored_by]])


def _fit(known: Codes, other: Codes) -> bool:
    return not np.any((known != other) & (known > 0) & (other > 0))


_SHOWN = 40  # characters of a value


def settings_differences(asked: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return in words what differs, by model, from how most of the models were asked.

    `asked`: by model, the options that address it (`template`, `system_prompt`, ...). Of two values as common as each
    other the one that comes first is what the others are held against.
    """
    names = dict.fromkeys(name for options in asked.values() for name in options)
    found: dict[str, list[str]] = {}
    for name in names:
        values = {model: _shown(options.get(name)) for model, options in asked.items()}
        usual = Counter(values.values()).most_common(1)[0][0]
        for model, value in values.items():
            if value != usual:
                found.setdefault(model, []).append(f"{name.replace('_', ' ')} {value}, others {usual}")
    return {model: "; ".join(words) for model, words in found.items()}


def _shown(value: object) -> str:
    if value in (None, False, ""):
        return "none"
    text = "yes" if value is True else " ".join(str(value).split())
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f'"{text}"' if " " in text else text
