"""MRCR, GraphWalks, LongBench v2 and L-Eval as published."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeGuard

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


def field_table(model: str, task: str, records: Sequence[Record], notes: Sequence[str] = ()) -> FieldTable:
    """The table of some answers: `overall`, then every group, in the order of the makers' tables."""
    by_group: dict[str, list[Record]] = {}
    for record in records:
        for name in groups_of(record):
            by_group.setdefault(name, []).append(record)
    groups = [_group(name, by_group[name]) for name in sorted(by_group, key=_order)]
    return FieldTable(model, task, (_group("overall", records), *groups), (*notes, *_published_notes(task, records)))


def groups_of(record: Record) -> tuple[str, ...]:
    """The rows of the table that an answer belongs to, beside `overall`."""
    reference, group = record.reference, record.panel  # of `n8_q0123` what a lost answer has of its row, too
    if record.task in MRCR:
        return _mrcr_groups(reference.get("needles") or group.removeprefix("n"), _tokens(record))
    if record.task == GRAPHWALKS:
        kind = str(reference.get("problem_type") or group)
        return tuple(filter(None, (kind, f"{kind} to {length_label(record.length)}" if record.length else "")))
    names = [str(reference[name]) for name in ("difficulty", "length_class", "domain") if reference.get(name)]
    if record.length and not record.task.endswith("closed_book"):
        cut = "truncated" in (*record.details.flags, *record.prompt.flags)
        names.append("text cut" if cut else "whole text")
    return tuple(names)


def _mrcr_groups(needles: object, tokens: int | None) -> tuple[str, ...]:
    """`n8`, and with its bin `n8 65,537-131,072`: `tokens` of prompt and answer; `None`: not known."""
    if not needles:
        return ()
    name = f"n{needles}"
    if tokens is None:
        return (name,)
    number = data_sets.card_bin(tokens)
    if number is None:
        return name, f"{name} in no bin"
    low, high = data_sets.BINS[number]
    return name, f"{name} {low + bool(number):,}-{high:,}"


def published_scores(record: Record) -> dict[str, float]:
    """The scores of an answer by the published rules, 0..1; none of an answer without a score of ours."""
    scores = {name.removeprefix(AS): value for name, value in record.details.score.items() if name.startswith(AS)}
    return {rule: float(value) for rule, value in scores.items() if record.score is not None and _is_number(value)}


def _table_of_records(model: str, task: str, records: Sequence[Record]) -> FieldTable:
    notes = list(dict.fromkeys(str(note) for record in records if (note := record.reference.get("outdated"))))
    over = max((int(record.reference.get("over_lengths") or 0) for record in records), default=0)
    if over:
        notes.append(f"rows longer than every length, not asked: {over}")
    skipped = sum(record.outcome == "skipped" for record in records)
    if skipped:
        notes.append(f"skipped, in no mean: {skipped} of {len(records)} rows")
    return field_table(model, task, records, notes)


def _tokens(record: Record) -> int | None:
    """Tokens of prompt and answer; `None` where a record does not tell."""
    tokens, answer = record.prompt.tokens, record.reference.get("answer_tokens")
    return tokens + answer if tokens and isinstance(answer, int) else None


def _group(name: str, records: Sequence[Record]) -> DataSetGroup:
    score, scored = tally(map(trial_of, records)), [record for record in records if record.outcome in SCORED]
    chances = [record.reference.get("chance") for record in scored]
    chance = fmean(each if _is_number(each) else 0.0 for each in chances) if scored else 0.0
    others: dict[str, list[float]] = {}
    for record in scored:
        is_empty = record.outcome == "empty" and not record.response.text.strip()
        for rule, value in published_scores(record).items():
            if not (rule == _EMPTY_LEFT_OUT and is_empty):
                others.setdefault(rule, []).append(value)
    noise = [part for record in scored if _is_number(part := record.details.score.get("noise"))]
    return DataSetGroup(
        name=name,
        score=score,
        chance=chance,
        corrected=corrected_for_chance(score, chance),
        others={rule: fmean(values) for rule, values in others.items()},
        unread=sum(map(_is_unread, scored)),
        another=sum(str(record.details.score.get("given", "")).startswith("#") for record in scored),
        noise=fmean(noise) if noise else None,
    )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float))


def _is_unread(record: Record) -> bool:
    """Whether an answer has no letter, no list, or not the string at its start, by the data set's own scorer."""
    details = record.details.score
    if not record.scorer.startswith(record.task.removesuffix("_closed_book")):
        return False
    if record.task in MRCR:
        return bool(details.get("string", "first") != "first")
    return "precision" not in details if record.task == GRAPHWALKS else not details.get("letter")


def _order(name: str) -> tuple[Any, ...]:
    """Makers' order: difficulty, length, then the others; needles with their bins by number."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER), natural(name)


def _published_notes(task: str, records: Sequence[Record]) -> list[str]:
    """The numbers that the published scripts print for these answers."""
    if task in MRCR:
        tokens = [count for record in records if (count := _tokens(record)) is not None]
        moved = sum(data_sets.harness_bin(each) != data_sets.card_bin(each) for each in tokens)
        return [f"openbench and evalscope count {moved} of {len(tokens)} rows in another bin"] if moved else []
    replies = [reply for record in records if record.outcome in SCORED and (reply := _judged(record))]
    if task not in LONGBENCH_V2 or not replies:
        return []
    plain, compensated = (
        ", ".join(f"{name} {value}" for name, value in table.items() if value is not None)
        for table in (data_sets.authors_table(replies), data_sets.authors_table(replies, compensated=True))
    )
    notes = [f"as LongBench's result.py prints it, {len(replies)} replies: {plain}"]
    if compensated != plain:
        notes.append(f"with {data_sets.GUESS} for a reply without a letter: {compensated}")
    return notes


def _judged(record: Record) -> data_sets.GradedReply | None:
    """A reply as LongBench v2's authors judge it; `None` for an empty one, which their files do not have."""
    reply, reference = record.response.text, record.reference
    difficulty, length = reference.get("difficulty"), reference.get("length_class")
    if not reply.strip() or not difficulty or not length:
        return None
    (answer, *_) = reference.get("answers") or ("",)
    return data_sets.GradedReply(str(difficulty), str(length), data_sets.authors_letter(reply), str(answer))


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
