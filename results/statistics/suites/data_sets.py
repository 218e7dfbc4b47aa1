"""MRCR, GraphWalks, LongBench v2 and L-Eval as published."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct

from needlework.core.record import SCORED, Record
from needlework.haystack_fixtures.tasks.published.leval_files import CLOSED, LEVAL_TASKS, WITH_F1, WITH_ROUGE
from needlework.results.records.samples import grouped, retriever_of
from needlework.results.statistics.panels import ScoredTrial, Share, Tally, tally, trial_of
from needlework.results.statistics.tasks import corrected_for_chance, weighted_mean
from needlework.results.style import length_label, natural
from needlework.scoring.published import data_sets
from needlework.scoring.published.ruler import AS

# The score is the sound one; the published rules' means are over the same answers. Answers without a score (errors,
# rows that do not fit) are counted beside every mean and are in none. LongBench's authors leave empty replies out, too:
# their mean is over replies that are not empty.
MRCR = ("openai_mrcr", "deepmind_mrcr")
GRAPHWALKS = "graphwalks"
LONGBENCH_V2 = ("longbench_v2", "longbench_v2_closed_book")
TASKS = (*MRCR, GRAPHWALKS, *LONGBENCH_V2)
_EMPTY_LEFT_OUT = "authors"  # leaves replies without a text out of its mean
_ORDER = ("easy", "hard", "short", "medium", "long")


class DataSetAnswer(Struct, frozen=True):
    """One answer; scores 0..1."""

    trial: ScoredTrial
    groups: tuple[str, ...]
    others: Mapping[str, float]  # the published rules' scores
    unread: bool = False  # has no letter, no list, or not the string at its start
    another: bool = False  # gave another piece of the same ask
    empty: bool = False
    chance: float = 0.0  # the score of guessing
    noise: float | None = None  # of MRCR, what any piece of the ask gets by the published ratio


class DataSetGroup(Struct, frozen=True):
    """The answers of one group; scores 0..1."""

    name: str
    score: Tally
    chance: float
    corrected: Share
    others: Mapping[str, float]  # means by the published rules
    unread: int  # of the scored answers
    another: int
    noise: float | None = None  # mean; `None` where it is not known


class FieldTable(Struct, frozen=True):
    """The groups of one (model, task), all answers first."""

    model: str
    task: str
    groups: tuple[DataSetGroup, ...]
    notes: tuple[str, ...] = ()


def field_tables(records: Iterable[Record]) -> tuple[FieldTable, ...]:
    """The table of each model and task of these benchmarks, sorted; none for a run of others."""
    answers = [record for record in records if record.task_label in TASKS and not retriever_of(record)]
    groups = grouped(answers, lambda record: (record.model, record.task))
    return tuple(_table_of_records(*key, groups[key]) for key in sorted(groups))


def field_table(model: str, task: str, rows: Sequence[DataSetAnswer], notes: Sequence[str] = ()) -> FieldTable:
    """The table of some answers: `overall`, then every group, in the order of the makers' tables."""
    names = sorted({name for row in rows for name in row.groups}, key=_order)
    groups = [_group(name, [row for row in rows if name in row.groups]) for name in names]
    return FieldTable(model, task, (_group("overall", rows), *groups), tuple(notes))


def mrcr_groups(needles: object, tokens: int | None) -> tuple[str, ...]:
    """`n8`, and with its bin `n8 65,537-131,072`: `tokens` of prompt and answer; `None`: not known."""
    name = f"n{needles}"
    if tokens is None:
        return (name,)
    number = data_sets.card_bin(tokens)
    if number is None:
        return name, f"{name} in no bin"
    low, high = data_sets.BINS[number]
    return name, f"{name} {low + bool(number):,}-{high:,}"


def longbench_groups(row: Mapping[str, Any], *, cut: bool | None = None) -> tuple[str, ...]:
    """Difficulty, length class and domain of a row, and whether its text was cut, where that is known."""
    names = [str(row[name]) for name in ("difficulty", "length_class", "domain") if row.get(name)]
    return (*names, *([] if cut is None else ["text cut" if cut else "whole text"]))


def data_set_answer(
    task: str,
    trial: ScoredTrial,
    groups: tuple[str, ...],
    details: Mapping[str, Any],
    *,
    chance: object,
    empty: bool,
    is_ours: bool = True,
) -> DataSetAnswer:
    """An answer by the `details` of its score; `is_ours`: the score is of the data set's own scorer here."""
    scored, noise = trial.outcome in SCORED, details.get("noise")
    others = {
        name.removeprefix(AS): float(value)
        for name, value in details.items()
        if name.startswith(AS) and isinstance(value, (int, float))
    }
    if task in MRCR:
        unread = details.get("string", "first") != "first"
    else:
        unread = "precision" not in details if task == GRAPHWALKS else not details.get("letter")
    return DataSetAnswer(
        trial=trial,
        groups=groups,
        others=others if scored else {},
        unread=scored and is_ours and unread,
        another=str(details.get("given", "")).startswith("#"),
        empty=empty,
        chance=float(chance) if isinstance(chance, (int, float)) else 0.0,
        noise=float(noise) if isinstance(noise, (int, float)) else None,
    )


def _table_of_records(model: str, task: str, records: Sequence[Record]) -> FieldTable:
    notes = list(dict.fromkeys(str(note) for record in records if (note := record.reference.get("outdated"))))
    over = max((int(record.reference.get("over_lengths") or 0) for record in records), default=0)
    if over:
        notes.append(f"rows longer than every length, not asked: {over}")
    skipped = sum(record.outcome == "skipped" for record in records)
    if skipped:
        notes.append(f"skipped, in no mean: {skipped} of {len(records)} rows")
    if task in MRCR:
        notes += bins_note([tokens for record in records if (tokens := _tokens(record)) is not None])
    if task in LONGBENCH_V2:
        notes += authors_notes(_judged(record) for record in records if record.outcome in SCORED)
    return field_table(model, task, [_row(task, record) for record in records], notes)


def _judged(record: Record) -> data_sets.GradedReply | None:
    reference = record.reference
    answers = reference.get("answers") or ("",)
    return judged(
        record.response.text,
        difficulty=reference.get("difficulty"),
        length=reference.get("length_class"),
        answer=str(answers[0]),
    )


def _tokens(record: Record) -> int | None:
    """Tokens of prompt and answer; `None` where a record does not tell."""
    tokens, answer = record.prompt.tokens, record.reference.get("answer_tokens")
    return tokens + answer if tokens and isinstance(answer, int) else None


def _row(task: str, record: Record) -> DataSetAnswer:
    return data_set_answer(
        task,
        trial_of(record),
        _groups(task, record),
        record.details.score,
        chance=record.reference.get("chance"),
        empty=record.outcome == "empty",
        is_ours=record.scorer.startswith(task.removesuffix("_closed_book")),
    )


def _groups(task: str, record: Record) -> tuple[str, ...]:
    reference, group = record.reference, record.panel  # of `n8_q0123` what a lost answer has of its row, too
    if task in MRCR:
        return mrcr_groups(reference.get("needles") or group.removeprefix("n"), _tokens(record))
    if task == GRAPHWALKS:
        kind = str(reference.get("problem_type") or group)
        return kind, f"{kind} to {length_label(record.length)}"
    cut = "truncated" in (*record.details.flags, *record.prompt.flags)
    return longbench_groups(reference, cut=None if task.endswith("closed_book") else cut)


def _group(name: str, rows: Sequence[DataSetAnswer]) -> DataSetGroup:
    score = tally(row.trial for row in rows)
    scored = [row for row in rows if row.trial.outcome in SCORED]
    chance = fmean(row.chance for row in scored) if scored else 0.0
    others: dict[str, list[float]] = {}
    for row in scored:
        for rule, value in row.others.items():
            if not (rule == _EMPTY_LEFT_OUT and row.empty):
                others.setdefault(rule, []).append(value)
    noise = [row.noise for row in scored if row.noise is not None]
    return DataSetGroup(
        name=name,
        score=score,
        chance=chance,
        corrected=corrected_for_chance(score, chance),
        others={rule: fmean(values) for rule, values in others.items()},
        unread=sum(row.unread for row in scored),
        another=sum(row.another for row in scored),
        noise=fmean(noise) if noise else None,
    )


def _order(name: str) -> tuple[Any, ...]:
    """Makers' order: difficulty, length, then the others; needles with their bins by number."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER), natural(name)


def judged(reply: str, *, difficulty: object, length: object, answer: str) -> data_sets.GradedReply | None:
    """A reply as LongBench v2's authors judge it; `None` for an empty one, which their files do not have."""
    if not reply.strip() or not difficulty or not length:
        return None
    return data_sets.GradedReply(str(difficulty), str(length), data_sets.authors_letter(reply), answer)


def authors_notes(rows: Iterable[data_sets.GradedReply | None]) -> list[str]:
    """The numbers of the authors' `result.py`, in percent, without and with a quarter for no letter."""
    replies = [row for row in rows if row is not None]
    if not replies:
        return []
    plain, compensated = (
        ", ".join(f"{name} {value}" for name, value in table.items() if value is not None)
        for table in (data_sets.authors_table(replies), data_sets.authors_table(replies, compensated=True))
    )
    notes = [f"as LongBench's result.py prints it, {len(replies)} replies: {plain}"]
    return (
        notes
        if compensated == plain
        else [*notes, f"with {data_sets.GUESS} for a reply without a letter: {compensated}"]
    )


def bins_note(tokens: Sequence[int]) -> list[str]:
    """The number of rows that openbench and evalscope count in another bin than the data card."""
    moved = sum(data_sets.harness_bin(each) != data_sets.card_bin(each) for each in tokens)
    return [f"openbench and evalscope count {moved} of {len(tokens)} rows in another bin"] if moved else []


# L-Eval (C. An et al., "L-Eval: Instituting Standardized Evaluation for Long Context Language Models", ACL 2024)
# publishes the first three over six, six and seven tasks, topic retrieval left out.
_FAMILY = "leval_"
_ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
_NAMES = {name.lower(): name for name in LEVAL_TASKS}


class LevalAverage(Struct, frozen=True):
    """The mean of some tasks' means, 0..1; its interval takes tasks as independent."""

    name: str
    score: Share
    tasks: tuple[str, ...]  # that have a score
    of: int  # tasks of the published average
    missing: tuple[str, ...]  # of these, those without all of their questions, as `codeU 0 of 90`
    n: int  # answers with a score
    unscored: int


class LevalSummary(Struct, frozen=True):
    """A model at one length."""

    model: str
    length: int  # tokens
    retriever: str  # empty for whole documents
    rule: str  # `compat`: all were scored as published; `strict`: without the published rules' quirks; else `mixed`
    averages: tuple[LevalAverage, ...]


def leval_summaries(records: Iterable[Record]) -> tuple[LevalSummary, ...]:
    """The averages of each model, length and retriever that was asked two tasks of L-Eval or more, sorted."""
    answers = (record for record in records if record.task.startswith(_FAMILY))
    groups = grouped(answers, lambda record: (record.model, record.length, retriever_of(record)))
    summaries = []
    for key in sorted(groups):
        tasks = grouped(groups[key], lambda record: record.task.removeprefix(_FAMILY))
        if len(tasks) > 1:
            named = {_NAMES.get(name, name): of_task for name, of_task in tasks.items()}
            summaries.append(LevalSummary(*key, _rule(groups[key]), tuple(_averages(named))))
    return tuple(summaries)


def _rule(records: Sequence[Record]) -> str:
    scorers = {record.scorer for record in records if record.score is not None}
    rules = {
        scorer.startswith(_FAMILY) and ("compat" if scorer.endswith("_compat") else "strict") for scorer in scorers
    }
    return str(rules.pop() or "mixed") if len(rules) == 1 else "mixed"


def _averages(tasks: Mapping[str, Sequence[Record]]) -> Iterable[LevalAverage]:
    main = {name: tally(map(trial_of, records)) for name, records in tasks.items()}
    for name, published in (("closed average", CLOSED), ("F1 average", WITH_F1)):
        if any(task in main for task in published):
            yield _average(name, main, published)
    if any(task in main for task in WITH_ROUGE):
        for metric, name in _ROUGE.items():
            of = {task: tally(_by(metric, record) for record in tasks[task]) for task in WITH_ROUGE if task in tasks}
            yield _average(f"{name} average", of, WITH_ROUGE)
    yield _average("all tasks", main, tuple(main))


def _by(metric: str, record: Record) -> ScoredTrial:
    """The trial with the score of one metric, where its answer was scored by ROUGE."""
    trial = trial_of(record)
    value = record.details.score.get(metric)
    return trial if trial.score is None or not isinstance(value, int | float) else trial._replace(score=float(value))


def _average(name: str, tallies: Mapping[str, Tally], published: Sequence[str]) -> LevalAverage:
    counts = {task: tallies[task].n if task in tallies else 0 for task in published}
    expected = {task: LEVAL_TASKS[task].expected if task in LEVAL_TASKS else 0 for task in published}
    scored = [task for task in published if task in tallies and tallies[task].mean is not None]
    return LevalAverage(
        name=name,
        score=weighted_mean([tallies[task].share for task in scored]) if scored else Share(None),
        tasks=tuple(scored),
        of=len(published),
        missing=tuple(f"{task} {n} of {expected[task]}" for task, n in counts.items() if n < expected[task]),
        n=sum(counts.values()),
        unscored=sum(tallies[task].trials - tallies[task].n for task in published if task in tallies),
    )
