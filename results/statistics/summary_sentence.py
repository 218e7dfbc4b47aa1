"""The first sentence of a report: one function for each kind of run. No claim beyond intervals."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from needlework.core.record import OWN_DOCUMENTS, UNSCORED
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.samples import retriever_of, task_of
from needlework.results.statistics.depth import DepthEffect
from needlework.results.statistics.depth_tables import depth_range_words
from needlework.results.statistics.documents import FOCUSED, WHOLE, ArmAtPlace, DocumentScores
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.panels import Share, Tally, range_of
from needlework.results.statistics.run_followup import FaultCount, basis_of, faults_of, next_run
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.suites.published import HELD, TASKS, NeedleBench
from needlework.results.statistics.tasks import TaskScore
from needlework.results.statistics.wording import bar_words, share_words, tally_words, unscored_words
from needlework.results.style import counted, length_label, length_labels, one_line, percent, percent1

_LISTED = 4  # models, of which each is named
_CHANCE = 0.05  # significance level of statements on depth
_TELLING = 0.2  # score: the least difference of two depths to mention although it may be chance


class Headline(Struct, frozen=True):
    """The first statement on a run."""

    lead: str  # the first clause, which says most
    rest: str
    models: tuple[str, ...]  # a sentence for each model, where there are several
    rests: str  # what it is based on: trials, questions, those without a score
    faults: tuple[FaultCount, ...]  # errors and invalid trials by reason, the most frequent first
    next_run: str  # advice; may be empty

    @property
    def sentence(self) -> str:
        """All of it in one line, with a full stop at its end."""
        return f"{self.lead}; {self.rest}." if self.rest else f"{self.lead}."


def headline_of(report: RunReport) -> Headline:
    """Return the headline of a run; the same for the same records."""
    by_model = {model: _model_clauses(report, model) for model in report.models}
    if not by_model:
        lead, rest = "Nothing was recorded: no question has an answer yet", list[str]()
    elif len(by_model) > 1:
        lead, *rest = _models_clauses({model: report.overall(model) for model in by_model})
    else:
        lead, *rest = next(iter(by_model.values()))
    if report.interrupted and by_model:
        lead = f"{report.interrupted[0].upper()}{report.interrupted[1:]}: {lead}"
    return Headline(
        lead=lead,
        rest="; ".join(rest),
        models=tuple(f"{'; '.join(clauses)}." for clauses in by_model.values()) if len(by_model) > 1 else (),
        rests=basis_of(report),
        faults=faults_of(report.records),
        next_run=next_run(report),
    )


def _model_clauses(report: RunReport, model: str) -> list[str]:
    """The clauses about one model; the first has its name."""
    rows = [row for row in report.tasks if row.model == model]
    others = [row for row in rows if task_of(row.task) not in OWN_DOCUMENTS]
    tables = [each for each in report.suites if each.model == model] if others else []
    published = _needlebench_clauses(tables[0]) if len(tables) == 1 else []
    if others and not published:
        published = _ruler_clauses(report, model, others)
    adaptive = [each.clause for each in report.adaptive if each.model == model and each.clause]
    clauses = adaptive[:3] or published or _task_clauses(report, others)
    if not clauses and not others:
        clauses = [f"with {row.retriever} search {clause}" for row in report.retrieval if row.model == model
                   and task_of(row.task) not in OWN_DOCUMENTS and (clause := _score_clause(row.score))]  # fmt: skip
    for scores in report.documents:
        if scores.model == model:
            position = next((row.overall for row in rows if task_of(row.task) == "doc_position"), None)
            clauses = [*_document_clauses(scores, position), *clauses]
    lost = _lost_clauses([panel.overall for panel in report.panels if panel.model == model])
    return [f"{one_line(model)} {clauses[0] if clauses else 'has no score'}", *clauses[1:], *lost]


# Runs of several models


def _models_clauses(scores: Mapping[str, Tally]) -> list[str]:
    """`2 models, scores in percent: a 90.0 (95 % sure: 80.1 to 95.2), b 40.0 (...)`, and `a is best`.
    `is best`: its interval lies above all others. Models of one run were asked the same questions."""
    names = [
        f"{one_line(model)} {tally_words(score).replace(' %', '', 1) or 'no score'}"
        for model, score in [*scores.items()][:_LISTED]
    ]
    more = [f"and {len(scores) - _LISTED} more"] * (len(scores) > _LISTED)
    lead = f"{len(scores)} models, scores in percent: {', '.join([*names, *more])}"
    if any(score.mean is None for score in scores.values()):
        return [lead]
    known = all(score.interval and score.range is None for score in scores.values())
    ends = {model: (each.share.low or 0.0, each.share.high or 1.0) for model, each in scores.items()}
    best = max(ends, key=lambda model: ends[model][0])
    is_best = known and all(ends[best][0] > high for model, (_, high) in ends.items() if model != best)
    return [lead, f"{one_line(best)} is best" if is_best else "none is shown to be best"]


# Runs of tasks that have no published table


def _task_clauses(report: RunReport, rows: Sequence[TaskScore]) -> list[str]:
    """`scores 54.3 % (95 % sure: ...) as the mean of 9 kinds of tasks`, `from ... to ...`."""
    if len(rows) < 2:
        return _one_task(report, rows[0]) if rows else []
    leads = _leval_clauses(report, rows[0].model)
    for macro in report.macros:
        if macro.model == rows[0].model and (mean := share_words(macro.score, macro.range)):
            leads = [f"scores {mean} as the mean of {macro.families} kinds of tasks"]
    scores = _spread_clauses([(row.task, row.overall) for row in rows])
    return [*leads, *(scores if leads else [f"scores {each}" for each in scores])]


def _one_task(report: RunReport, row: TaskScore) -> list[str]:
    retrieved = {record.panel for record in report.records if retriever_of(record)}
    panels = [each for each in report.panels if each.key[:2] == (row.model, row.task) and each.needle not in retrieved]
    score = _score_clause(row.overall)
    if not score or any(panel.uneven for panel in panels):
        return []
    columns = [column for panel in panels for column in zip(panel.lengths, panel.columns, strict=True)]
    lengths = [length for length, tally in columns if tally.n or tally.range]
    # What is cut to a length is not filled up to it: a short document stays short.
    limit = "with at most" if family_of(task_of(row.task)) == "leval" else "at"
    labels = list(dict.fromkeys(length_labels([min(lengths), max(lengths)])))
    scored = f"{score} {limit} {' to '.join(labels)} tokens"
    if len(panels) != 1:
        return [scored, *_spread_clauses([(panel.needle, panel.overall) for panel in panels], "needles")]
    statistics = report.statistics_of(panels[0])
    depth = "" if row.overall.range else _depth_clause(statistics.depth)
    length = statistics.absolute or statistics.relative
    clause = _length_clause(length) if length else ""
    return [each for each in (scored, depth, clause) if each]


def _leval_clauses(report: RunReport, model: str) -> list[str]:
    """L-Eval's averages on whole documents, where one length was asked, and what they lack."""
    tables = [each for each in report.leval if each.model == model and not each.retriever]
    clauses = list[str]()
    for average in tables[0].averages if len(tables) == 1 else ():
        score = share_words(average.score)
        if not score or average.name in ("all tasks", "ROUGE-1 average", "ROUGE-2 average"):
            continue
        of = f" over {len(average.tasks)} of {average.of} tasks" if average.missing else ""
        clauses.append(f"{'' if clauses else 'scores '}{score} in L-Eval's {average.name}{of}")
    return clauses


# Runs of a published benchmark


def _needlebench_clauses(table: NeedleBench) -> list[str]:
    """`scores 60.4 % (95 % sure: ...) as NeedleBench's overall score (v2-4k)`; of chains the longest."""
    overall = next((row for row in table.rows if row.name == "Overall"), None)
    clauses = _chain_clauses(table) if overall is None else []
    if overall is not None and not overall.missing:
        score, version = share_words(overall, overall.range), table.preset.removeprefix("needlebench-")
        clauses = [f"scores {score} as NeedleBench's overall score ({version})"]
    changed = ", ".join(name.replace("_", " ") for name in table.changed)
    return [*clauses, f"not as published: {changed}"] if clauses and changed else clauses


def _chain_clauses(table: NeedleBench) -> list[str]:
    """The longest chain that the model follows, by language."""
    reached = [
        f"{reach.needles}{' or more' if reach.dropped is None else ''} statements in {language}"
        for reach in table.max_needles
        for language in ["English" if "-EN" in reach.name else "Chinese"]
        if reach.needles is not None
    ]
    if not reached:
        return []
    return [f"follows chains of {' and '.join(reached)} (each number up to there at {percent(HELD)} % or more)"]


def _ruler_clauses(report: RunReport, model: str, rows: Sequence[TaskScore]) -> list[str]:
    """`scores 87.5 % (95 % sure: 80.0 to 95.0) at 4k as RULER's mean of 13 tasks`, effective length.

    None where the run has other tasks too, or no length at which all have a score.
    """
    tables = [each for each in report.ruler if each.model == model]
    if len(tables) != 1 or not {row.task for row in rows} <= set(TASKS):
        return []
    means = [f"{share_words(Share(each.mean, each.low, each.high))} at {length_label(each.length)}"
             for each in tables[0].lengths if each.mean is not None]  # fmt: skip
    if not means:
        return []
    clauses = [f"scores {', '.join(means)} as RULER's mean of {len(TASKS)} tasks"]
    return [*clauses, *_spread_clauses([(row.task, row.overall) for row in rows])]


# Runs on the user's own documents


def _document_clauses(scores: DocumentScores, position: Tally | None) -> list[str]:
    """The clauses on own documents; none without a score. `position`: the answers of `doc_position`."""
    count = counted(scores.questions, "question")
    whole = _largest(scores, WHOLE) or _largest(scores, FOCUSED)
    share, of = "", f"{count} on your documents"
    if position is not None and position.n:
        share = tally_words(position)
    elif whole is not None:
        share = _point_words(whole)
        of = of if whole.arm == WHOLE else f"{count}, each with its answer's document alone,"
    clauses = [f"answers {share} of {of} right"] if share else []
    if position is None or position.range is None:
        clauses.append(_depth_clause(scores.depth))
    clauses.append(_size_clause(scores))
    for arm, name in (("bm25", "BM25 search"), ("dense", "embedding search")):
        if point := _largest(scores, arm):
            clauses.append(f"{name} gives it {_point_words(point)}")
    absent = scores.absent["absent"].hallucination if "absent" in scores.absent else None
    if absent is not None and absent.value is not None:
        clauses.append(f"makes up {percent1(absent.value)} % of the answers that are not there")
    return [clause for clause in clauses if clause]


def _point_words(point: ArmAtPlace) -> str:
    return share_words(point.score, range_of(point.score.value, point.score.n, point.unscored))


def _largest(scores: DocumentScores, arm: str) -> ArmAtPlace | None:
    points = [each for each in scores.by_size if each.arm == arm and each.score.n]
    return max(points, key=lambda point: point.length, default=None)


def _size_clause(scores: DocumentScores) -> str:
    """The loss by reading everything, if it is more than chance."""
    loss, whole = scores.loss, _largest(scores, WHOLE)
    if loss is None or whole is None or not loss.sign:
        return ""
    beside = "the right document alone" if _largest(scores, FOCUSED) else "the shortest context"
    points = f"{'loses' if loss.mean < 0 else 'gains'} {percent1(abs(loss.mean))} points"
    return f"{points} when it reads {length_label(whole.length)} tokens in place of {beside}"


# Clauses of several kinds of runs: scores, lengths, depths, what the scores leave out


def _score_clause(tally: Tally) -> str:
    """`scores 87.5 % (95 % sure: 81.0 to 92.1)`; empty where there is no score."""
    share = tally_words(tally)
    alone = tally.mean is not None and tally.interval is None and not (tally.range and tally.n)
    return f"scores {share}{' (one sample: says nothing of others)' if alone else ''}" if share else ""


def _spread_clauses(scores: Sequence[tuple[str, Tally]], of: str = "tasks") -> list[str]:
    """`from 25.0 % on chain to 90.0 % on niah`, `75.0 % on each of 3 tasks`; nothing without a score."""
    known = sorted(
        (tally.mean, one_line(name)) for name, tally in scores if tally.mean is not None and tally.range is None
    )
    if len(known) > 1 and known[0][0] == known[-1][0]:
        return [f"{percent1(known[0][0])} % on each of {len(known)} {of}"]
    ends = list(dict.fromkeys(f"{percent1(score)} % on {name}" for score, name in known[:1] + known[-1:]))
    return [f"from {' to '.join(ends)}"] if len(ends) > 1 else ends


def _length_clause(length: EffectiveLength) -> str:
    """`holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 4k)`; "sure": by the intervals.
    Empty where scores do not say it: nothing was scored, or undecided answers decide."""
    if length.longest_tested is None or length.hangs or (length.rule == "relative" and not length.base):
        return ""
    bar = bar_words(length.rule, length.threshold)
    if length.status == "at least":
        return f"holds {bar} at every length, up to {length_label(length.longest_tested)} tokens (95 % sure)"
    if length.status == "none":
        return f"does not hold {bar} at any length, {length_label(length.decisive)} tokens included (95 % sure)"
    limit = "at no length" if length.point is None else f"up to {length_label(length.point)} tokens"
    if length.few:
        count = counted(length.samples or 0, "question")
        return f"in this run it held {bar} {limit}, but {count} a length cannot prove that ({length.needed} can)"
    return f"holds {bar} {limit} (95 % sure: {length.between})"


def _depth_clause(effect: DepthEffect | None) -> str:
    """`by depth lost in the middle`; a difference that may be chance says so, a small one is left out."""
    if effect is None:
        return ""
    p, ends = effect.p if effect.p_adjusted is None else effect.p_adjusted, effect.extremes
    is_named = effect.shape not in ("undetermined", "uneven", "ceiling", "floor")
    if effect.shape == "flat" or (is_named and p is not None and p <= _CHANCE):
        return f"by depth {effect.label}"
    if ends is None or ends.best_score - ends.worst_score < _TELLING:
        return ""
    worst = f"depth {depth_range_words(ends.worst)} ({percent1(min(1.0, max(0.0, round(ends.worst_score, 9))))} %)"
    return f"weakest at {worst}" if ends.p_adjusted <= _CHANCE else f"lowest at {worst}, which may be chance"


def _lost_clauses(tallies: Sequence[Tally]) -> list[str]:
    """`4 of 25 trials without a score (3 censored, 1 error)`."""
    counts = {name: sum(each.counts[name] for each in tallies) for name in UNSCORED}
    lost = {name: count for name, count in counts.items() if count}
    trials = f"{sum(lost.values()):,} of {sum(each.trials for each in tallies):,} trials"
    return [f"{trials} without a score ({unscored_words(lost)})"] if lost else []
