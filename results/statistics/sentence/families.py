"""Parts of the first sentence by family."""

from __future__ import annotations

from collections.abc import Iterator

from needlework.results.statistics.absent import Rate
from needlework.results.statistics.documents import FOCUSED, WHOLE, ArmAtPlace, DocumentScores
from needlework.results.statistics.panels import Tally, range_of
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.sentence.parts import depth_clause, ends_words, range_words, score_clause, tokens
from needlework.results.statistics.sentence.run import absolute, spread
from needlework.results.statistics.suites.data_sets import (
    GRAPHWALKS,
    LONGBENCH_V2,
    DataSetGroup,
    FieldTable,
    LevalAverage,
)
from needlework.results.statistics.suites.needlebench import HELD, NeedleBench, NeedleBenchRow, Reach
from needlework.results.statistics.suites.ruler import TASKS, RulerTable
from needlework.results.style import percent, percent1

# The tasks' rows have the mean of all, the tables ROUGE-1 and ROUGE-2.
_NOT_SAID = ("all tasks", "ROUGE-1 average", "ROUGE-2 average")


def leval_clauses(report: RunReport, model: str) -> list[str]:
    """The averages on whole documents, where one length was asked: those of kinds of tasks, and what they lack."""
    found = [each for each in report.leval if each.model == model and not each.retriever]
    if len(found) != 1:
        return []
    told = [clause for each in found[0].averages if each.name not in _NOT_SAID and (clause := _clause(each))]
    return [f"scores {told[0]}", *told[1:]] if told else []


def _clause(found: LevalAverage) -> str:
    value, low, high = found.score.value, found.score.low, found.score.high
    if value is None:
        return ""
    ends = f" ({ends_words(low, high)})" if low is not None and high is not None else ""
    of = f" over {len(found.tasks)} of {found.of} tasks" if found.missing else ""
    if any(" 0 of " not in each for each in found.missing):
        of += ", not all of their questions"
    return f"{percent1(min(1.0, max(0.0, value)))} %{ends} in L-Eval's {found.name}{of}"


_LANGUAGES = {"EN": "in English", "ZH": "in Chinese"}
_PARTS = ("S-RT", "M-RT", "M-RS")


def needlebench_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 60.4 % (95 % sure: ...) as NeedleBench's overall (v2-4k)`, `S-RT 66.7 %, ...`; none of another preset."""
    found = [each for each in report.suites if each.model == model]
    if len(found) != 1:
        return []
    rows = {row.name: row for row in found[0].rows}
    clauses = _overall(found[0], rows) if "Overall" in rows else _chains(found[0], rows)
    if clauses and found[0].design.changed:
        clauses.append(f"not as published: {', '.join(name.replace('_', ' ') for name in found[0].design.changed)}")
    return clauses


def no_overall(report: RunReport, model: str) -> list[str]:
    """`no overall score of NeedleBench (v2-4k): it lacks S-RT-ZH`, where the run left parts out; else nothing."""
    told = []
    for each in (each for each in report.suites if each.model == model):
        missing = next((row.missing for row in each.rows if row.name == "Overall"), ())
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        if missing:
            told.append(f"no overall score of NeedleBench ({_version(each)}): it lacks {missing[0]}{more}")
    return told


def _version(found: NeedleBench) -> str:
    return found.design.preset.removeprefix("needlebench-")


def _overall(found: NeedleBench, rows: dict[str, NeedleBenchRow]) -> list[str]:
    overall = _score(rows["Overall"])
    parts = ", ".join(f"{part} {score}" for part in _PARTS if part in rows and (score := _brief(rows[part])))
    return [f"scores {overall} as NeedleBench's overall score ({_version(found)})", parts] if overall else []


def _chains(found: NeedleBench, rows: dict[str, NeedleBenchRow]) -> list[str]:
    """How long a chain the model follows, which is what this part is asked for."""
    reached = [f"{told} {_language(reach.name)}" for reach in found.reaches if (told := _reach(reach))]
    scores = [f"{score} {_language(name)}" for name, row in rows.items()
              if name.removeprefix("ATC-") in _LANGUAGES and (score := _brief(row))]  # fmt: skip
    lead = [f"follows chains {' and '.join(reached)} (each number up to there at {percent(HELD)} % or more)"]
    return [*(lead if reached else []), *([f"scores {', '.join(scores)} on them (ATC)"] if scores else [])]


def _reach(reach: Reach) -> str:
    if reach.needles is None:
        return ""
    if not reach.needles:
        return "of no length"
    return f"of {reach.needles} statements or more" if reach.dropped is None else f"of up to {reach.needles} statements"


def _language(name: str) -> str:
    return next((words for short, words in _LANGUAGES.items() if f"-{short}" in name), "")


def _score(row: NeedleBenchRow) -> str:
    score = row.score
    if row.range is not None or score.value is None or score.low is None or score.high is None:
        return _brief(row)
    return f"{_brief(row)} ({ends_words(score.low, score.high)})"


def _brief(row: NeedleBenchRow) -> str:
    """Its score in percent; a range where answers are undecided; empty where it has none."""
    if row.missing or row.score.value is None:
        return ""
    return range_words(row.range) if row.range is not None else f"{percent1(min(1.0, max(0.0, row.score.value)))} %"


NAMES = {"bm25": "BM25 search", "dense": "embedding search"}


def document_clauses(found: DocumentScores, position: Tally | None) -> list[str]:
    """The clauses about one model; none where nothing was scored. `position`: its answers of `doc_position`."""
    main = _main(found, position)
    if not main:
        return []
    undecided = position is not None and position.range is not None
    depth = depth_clause(found.depth, undecided=undecided)
    return [main, *filter(None, (depth, _size(found), *_search(found), _absent(found)))]


def place_sentence(found: DocumentScores, length: int | None) -> str:
    """The title of a picture of scores by depth: `With 8k tokens of documents it is weakest in the middle`.

    `length`: `None` where there are several, which the test takes together.
    """
    said = depth_clause(found.depth)
    read = f"With {tokens(length)} tokens of documents" if length else "Over all lengths"
    if not said:
        return f"{read}, no place of the answer is shown to be worse"
    return f"{read} it is {said}" if not said.startswith("no ") else f"{read}, {said}"


def size_sentence(found: DocumentScores) -> str:
    """The title of a picture of scores by size."""
    said = _size(found)
    if said:
        return f"It {said}"
    whole = _largest(found, WHOLE)
    at = f" up to {tokens(whole.length)} tokens" if whole is not None else ""
    return f"Reading more documents{at} is not shown to cost or to help"


def _main(found: DocumentScores, position: Tally | None) -> str:
    if position is not None and position.n:
        share, ends = position.mean, position.interval
        undecided = position.range
        sure = (ends.low, ends.high) if ends else None
    else:
        whole = _largest(found, WHOLE) or _largest(found, FOCUSED)
        if whole is None:
            return ""
        share, undecided = whole.score.value, range_of(whole.score.value, whole.score.n, whole.unscored)
        low, high = whole.score.low, whole.score.high
        sure = None if low is None or high is None else (low, high)
    count = f"{found.questions} questions on your documents" if found.questions != 1 else "one question"
    if undecided is not None:
        return f"answers {range_words(undecided)} of {count} right"
    told = f" ({ends_words(*sure)})" if sure else ""
    return f"answers {percent1(share or 0.0)} % of {count} right{told}"


def _largest(found: DocumentScores, arm: str) -> ArmAtPlace | None:
    points = [each for each in found.by_size if each.arm == arm and each.score.n]
    return max(points, key=lambda each: each.length, default=None)


def _size(found: DocumentScores) -> str:
    """What reading everything costs, where it is more than chance."""
    loss, whole = found.loss, _largest(found, WHOLE)
    if loss is None or whole is None or not loss.sign:
        return ""
    alone = any(each.arm == FOCUSED and each.score.n for each in found.by_size)
    beside = "the right document alone" if alone else "the shortest context"
    words = "loses" if loss.mean < 0 else "gains"
    at = f", the answer at depth {found.size_depths[0]:g} %," if len(found.size_depths) == 1 else ""
    points = f"{words} {percent1(abs(loss.mean))} points"
    return f"{points} when it reads {tokens(whole.length)} tokens{at} in place of {beside}"


def _search(found: DocumentScores) -> Iterator[str]:
    """Search in place of reading everything, where the intervals of both lie apart."""
    whole = _largest(found, WHOLE)
    for arm, name in NAMES.items():
        other = _largest(found, arm)
        if whole is None or other is None or other.length != whole.length or not _apart(whole.score, other.score):
            continue
        if found.by_size and range_of(other.score.value, other.score.n, other.unscored) is None:
            yield f"{name} gives it {percent1(other.score.value or 0.0)} %"


def _apart(one: Rate, other: Rate) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _absent(found: DocumentScores) -> str:
    rate = found.absent["absent"].hallucination if "absent" in found.absent else None
    if rate is None or rate.value is None:
        return ""
    return f"makes up {percent1(rate.value)} % of the answers that are not there"


_LONGBENCH, _CLOSED_BOOK = LONGBENCH_V2
# What readers know a benchmark by, and the rule that its makers score by.
_FIELD = {
    "openai_mrcr": ("OpenAI MRCR", "card", "its data card's rule"),
    "deepmind_mrcr": ("MRCR v2", "deepmind", "DeepMind's rule"),
    GRAPHWALKS: ("GraphWalks", "card", "its data card's rule"),
    _LONGBENCH: ("LongBench v2", "authors", "its authors' rule"),
}
_NO_GROUPS = ("overall", "whole text", "text cut")
_MOST_GROUPS = 4


def published_clauses(report: RunReport, model: str) -> list[str]:
    """What is said first of a run of a published benchmark; none for other runs."""
    return needlebench_clauses(report, model) or ruler_clauses(report, model) or field_clauses(report, model)


def ruler_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 87.5 % (95 % sure: 80.0 to 95.0) at 4k as RULER's mean of 13 tasks`, and its effective length.

    None where the run has other tasks too, or no length at which all have a score.
    """
    found = [each for each in report.ruler if each.model == model]
    asked = {row.task for row in report.tasks if row.model == model}
    if len(found) != 1 or not asked <= set(TASKS):
        return []
    told = []
    for each in found[0].lengths:
        if each.mean is None:
            continue
        ends = f" ({ends_words(each.low, each.high)})" if each.low is not None and each.high is not None else ""
        told.append(f"{percent1(each.mean)} %{ends} at {tokens(each.length)}")
    if not told:
        return []
    rows = [(f"on {row.task}", row.overall) for row in report.tasks if row.model == model]
    mean = f"scores {', '.join(told)} as RULER's mean of {len(TASKS)} tasks"
    return [mean, *_effective(found[0]), *spread(rows, "task by task")]


def _effective(found: RulerTable) -> list[str]:
    """RULER's effective length as its table has it, by the means alone; one length does not tell it."""
    if sum(each.mean is not None for each in found.lengths) < 2:
        return []
    point = found.effective.point
    where = f"up to {tokens(point)} tokens" if point else "at no length"
    return [f"by the means alone it holds {absolute(found.effective.threshold)} {where}"]


def field_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 60.0 % (95 % sure: ...) on OpenAI MRCR (by its data card's rule 72.1 %)`, `n2 80.0 %, n4 40.0 %`."""
    found = {each.task: each for each in report.field if each.model == model}
    asked = {row.task for row in report.tasks if row.model == model}
    known = [each for task, each in found.items() if task in _FIELD]
    if len(known) != 1 or not asked <= set(found):
        return []
    table = known[0]
    score = score_clause(table.groups[0].score)
    if not score:
        return []
    name, whose, rule = _FIELD[table.task]
    theirs = table.groups[0].others.get(whose)
    beside = f" (by {rule} {percent1(theirs)} %)" if theirs is not None else ""
    closed = _published_brief(found[_CLOSED_BOOK].groups[0]) if _CLOSED_BOOK in found else ""
    without = [f"{closed} without the documents"] if closed else []
    return [f"{score} on {name}{beside}", *without, *_groups(table)]


def _groups(table: FieldTable) -> list[str]:
    """The groups that the makers tell apart first: numbers of needles, kinds of problems, easy and hard."""
    named = [each for each in table.groups if each.name not in _NO_GROUPS and " " not in each.name]
    told = [f"{each.name} {score}" for each in named[:_MOST_GROUPS] if (score := _published_brief(each))]
    return [", ".join(told)] if len(told) > 1 else []


def _published_brief(group: DataSetGroup) -> str:
    if group.score.range is not None and group.score.n:
        return range_words(group.score.range)
    return "" if group.score.mean is None else f"{percent1(group.score.mean)} %"
