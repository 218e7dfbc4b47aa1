"""Tables of adaptive runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import ceil, log

from needlework.core.grid import depth_label
from needlework.core.record import FINAL, Record
from needlework.results.adaptive.design import SHARE
from needlework.results.adaptive.survey import Cost, LengthFound, LengthStatement
from needlework.results.records.samples import identity
from needlework.results.report.chart import ColorScale, Heatmap, HeatmapCell, chart_name
from needlework.results.report.section import Section, Table
from needlework.results.statistics.comparison.provenance import differing_facts
from needlework.results.statistics.panels import depth_order
from needlework.results.statistics.wording import adaptive_clause
from needlework.results.style import COUNTS, NONE, counted, fit, length_label, length_labels, one_line, percent1

_UNKNOWN = "unknown"
_PLAIN = str.maketrans({"·": "|"})
MEANINGS = (
    "Effective length: the longest length up to which every length holds the bar.",
    "In at most 5 of 100 runs it lies outside of what is said here, whatever the model.",
    "Scores and intervals are those of the trials that decided: a length that was decided early was so by luck too.",
    "Tokens are those of prompts, with the room for their answers.",
)


def adaptive_lines(
    statements: Sequence[LengthStatement], *, lengths: bool = True, ascii_only: bool = False
) -> list[str]:
    """A block for each series and bar: the statement, how each of the `lengths` came out, what stands in the way."""
    lines: list[str] = []
    for at, found in enumerate(statements):
        before = statements[at - 1] if at else None
        if before is None or series_name(before) != series_name(found):
            turns = sum(len(each.turns) for each in statements if series_name(each) == series_name(found))
            lines.append(f"{one_line(series_name(found))}: {cost_words(found, turns)}")
        lines += [f"  {line}" for line in _block(found, lengths)]
    return [line.translate(_PLAIN) for line in lines] if ascii_only else lines


def adaptive_sections(statements: Sequence[LengthStatement]) -> list[Section]:
    """A section for each series: how often each length was asked, and how it came out."""
    return [
        _adaptive_section(number, name, list(found))
        for number, (name, found) in enumerate(groupby(statements, key=series_name))
    ]


def _adaptive_section(number: int, name: str, found: Sequence[LengthStatement]) -> Section:
    head = ("trials at depth", *length_labels([each.length for each in found[0].lengths]))
    return Section(
        f"Effective length: {name}",
        charts=(_asked_heatmap(name, found),),
        tables=(Table("", head, tuple(tuple(row) for row in _table_rows(found))),),
        notes=(*adaptive_lines(found, lengths=False), *MEANINGS),
        name=f"adaptive-{number}",
    )


def _table_rows(found: Sequence[LengthStatement]) -> Iterator[list[str]]:
    first = found[0]
    depths = sorted({depth for each in first.lengths for depth in each.per_depth}, key=depth_order)
    for depth in depths:
        label = "all" if depth is None else f"{depth_label(depth)} %"
        yield [label, *(str(each.per_depth.get(depth, 0)) for each in first.lengths)]
    yield ["trials", *(str(each.asked) for each in first.lengths)]
    for statement in found:
        base = statement.base.length if statement.base else None
        yield [bar_words(statement), *(length_words(each, base) for each in statement.lengths)]
        yield ["score % (95 % interval as stopped)", *(_score_words(each) for each in statement.lengths)]


def _score_words(each: LengthFound) -> str:
    if not each.n or each.low is None or each.high is None:
        return NONE
    return f"{percent1(each.total / each.n)} ({percent1(each.low)}–{percent1(each.high)})"


def _asked_heatmap(name: str, found: Sequence[LengthStatement]) -> Heatmap:
    """How often each cell of a series was asked, and above it what was decided at each length."""
    first, turns = found[0], sum(len(each.turns) for each in found)
    ends = {end for each in found for end in (each.low, each.high)}
    asked = [at for each in found for at, of in enumerate(each.lengths) if of.asked or of.length in ends]
    shown = max(asked, default=0) + 1
    beyond = length_labels([each.length for each in first.lengths[shown:]])
    unasked = f" · not asked: {' to '.join(dict.fromkeys((beyond[0], beyond[-1])))}" if beyond else ""
    lengths = first.lengths[:shown]
    depths = sorted({depth for each in lengths for depth in each.per_depth}, key=depth_order)
    most = max((n for each in lengths for n in each.per_depth.values()), default=1)
    counts = [[each.per_depth.get(depth, 0) for each in lengths] for depth in depths]
    decided = []
    for statement in found:
        base = statement.base.length if statement.base else None
        words = [length_words(each, base) if each.asked else "" for each in statement.lengths[:shown]]
        decided.append((bar_words(statement), tuple(HeatmapCell(text=text) for text in words)))
    clause = adaptive_clause(first)
    about = " · ".join(f"{bar_words(each)}: {answer(each)}" for each in found)
    series = name.removeprefix(first.model).strip(" ·")
    return Heatmap(
        name=chart_name("asked", first.task, first.needle, first.model),
        title=one_line(f"{first.model} {clause}" if clause else name),
        subtitle=one_line(f"{series}: {cost_words(first, turns)} · {about}{unasked}"),
        lengths=length_labels([each.length for each in lengths]),
        depths=tuple(map(depth_label, depths)),
        rows=tuple(
            tuple(HeatmapCell(log(n) / log(most) if most > 1 else 0.0, str(n)) if n else None for n in row)
            for row in counts
        ),
        summaries=tuple(decided),
        scale=ColorScale(COUNTS),
    )


Dollars = Callable[[Cost], float]


def plan_lines(name: str, mode: str, costs: Sequence[Cost], most: Cost, dollars: Dollars | None = None) -> list[str]:
    """The cost of an adaptive run of one series, for models that are right up to a length and wrong beyond.

    `dollars`: the most that a cost may be, if prices are known.
    """
    lines = [f"--adaptive {mode}, {name}: what it costs a model that is"]
    for cost in costs:
        model = (
            f"right up to {length_label(cost.right_up_to)}, wrong beyond" if cost.right_up_to else "wrong everywhere"
        )
        if cost is costs[-1]:
            model = "right everywhere"
        lines.append(f"  {model:32} {_cost(cost, dollars)}")
    return [*lines, f"  {'never more than':32} {_cost(most, dollars)}, for a model near the bar everywhere"]


def answer(found: LengthStatement) -> str:
    """`32k to 64k`, `>= 1M (longest length)`, `none`, `up to 8k`, `unknown`."""
    if found.bar is None or (found.low is None and found.or_more):
        return _UNKNOWN
    low, high = length_label(found.low), length_label(found.high)
    if found.high is None:
        return "none"
    if found.low == found.high:
        return f">= {high} (longest length)" if found.or_more else high
    high += " or more" if found.or_more else ""
    return f"{low} to {high}" if found.low is not None else f"up to {high}"


def bar_words(found: LengthStatement) -> str:
    """`score >= 85.6 %`; of a relative bar also what it is a share of."""
    if found.rule == "absolute":
        return f"score >= {percent1(found.bar or 0.0)} %"
    if found.bar is None or found.base is None:
        return f"score >= {100 * SHARE:.0f} % of the base"
    of = f"the base at {length_label(found.base.length)}" if found.base.length else "the base as given"
    return f"score >= {percent1(found.bar)} %, {100 * SHARE:.0f} % of {of}"


def cost_words(found: LengthStatement, turns: int) -> str:
    """`30.8M tokens, 627 trials in 19 turns (full grid of ten samples: 230M)`."""
    grid = f"full grid of ten samples: {short_number(found.grid_tokens)}"
    asked = f"{found.trials:,} trials in {turns} {'turn' if turns == 1 else 'turns'}"
    return f"{short_number(found.tokens)} tokens, {asked} ({grid})"


def length_words(found: LengthFound, base: int | None = None) -> str:
    """`pass 33/33`, `undecided 187/220`, `not measurable`, `not asked`."""
    hits = f"{found.total:.1f}".removesuffix(".0") + f"/{found.n}"
    if found.length == base:
        return f"base {hits}"
    if found.decision == "not measurable":
        return f"not measurable ({found.asked} asked)"
    if not found.n:
        return "not looked at" if found.asked else "not asked"
    return f"{ {'pass': 'pass', 'fail': 'fails'}.get(found.decision, 'undecided') } {hits}"


def short_number(tokens: int) -> str:
    """`30.8M`, `627k`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.{1 if tokens < 100 * size else 0}f}".removesuffix(".0") + unit
    return str(tokens)


def remarks(found: LengthStatement) -> list[str]:
    """What else is to be said of a statement: why it is not narrower."""
    told = []
    if found.bar is None:
        told.append(_no_bar(found))
    near = [each for each in found.lengths if each.near and (found.low or 0) < each.length <= (found.high or 0)]
    if near and not found.stopped:
        labels = "; ".join(f"{length_label(each.length)}, {_interval(each)}" for each in near)
        told.append(f"given up, as the score seems too near to the bar (as stopped): {labels}")
    if any(each.decision == "not measurable" for each in found.lengths):
        told.append("not measurable: too many trials had no score; nothing longer was asked, and errors are no misses")
    if found.stopped == "budget":
        told.append("--adaptive-tokens is spent: with more, the same command goes on")
    elif found.stopped:
        told.append("not at its end: the same command with the same --run-name goes on")
    return told


def _cost(cost: Cost, dollars: Dollars | None) -> str:
    price = f", at most {dollars(cost):,.2f} dollars" if dollars else ""
    return f"{cost.trials:>6,} trials, {short_number(cost.tokens):>6} tokens{price}"


def _block(found: LengthStatement, lengths: bool) -> list[str]:
    sure = ", 95 % sure" if answer(found) != _UNKNOWN else ""
    lines = [f"effective length ({bar_words(found)}): {answer(found)}{sure}"]
    return [*lines, *(_length_rows(found) if lengths else ()), *(f"  {line}" for line in remarks(found))]


def _length_rows(found: LengthStatement) -> list[str]:
    base = found.base.length if found.base else None
    parts = [f"{length_label(each.length)} {length_words(each, base)}" for each in found.lengths if each.asked]
    unasked = [each.length for each in found.lengths if not each.asked]
    if unasked:
        ends = list(dict.fromkeys((length_label(unasked[0]), length_label(unasked[-1]))))
        parts.append(f"{' to '.join(ends)} not asked")
    across = 4
    rows = [parts[at * across : (at + 1) * across] for at in range(ceil(len(parts) / across))]
    return [f"  {'   '.join(row)}" for row in rows]


def _no_bar(found: LengthStatement) -> str:
    if found.base is None:
        return "the base that the bar is a share of was not measured"
    return f"the base scores {percent1(found.base.score)} %: there is nothing to keep a share of"


def _interval(each: LengthFound) -> str:
    ends = f"[{percent1(each.low or 0.0)} to {percent1(each.high or 0.0)}]"
    return f"{percent1(each.total / each.n)} % {ends}"


def series_name(found: LengthStatement) -> str:
    """`model · task · needle`."""
    return " · ".join((found.model, found.task, found.needle))


_LONGEST = 200  # columns of what has changed


def replayed_lines(replayed: int, records: int, written: str, in_all: int) -> Iterator[str]:
    """One line where answers of this session's `records` were `replayed`: they may be of a server that is gone.

    `written`: when the journal was written last, as text; `in_all`: the run's trials, of earlier sessions too.
    """
    if replayed:
        asked = records - replayed
        now = f"{asked} were asked now" if asked else "none was asked now (--fresh asks all again)"
        more = f"; the run has {in_all} in all" if in_all > records else ""
        yield f"{replayed} of {records} answers are from this run's journal, written {written}; {now}{more}"


def kept_lines(answers: int) -> Iterator[str]:
    """One line where so many answers have come that the run was ended too early to score."""
    if answers:
        yield f"{counted(answers, 'more answer')} came before the end and {'is' if answers == 1 else 'are'} kept"


def left_lines(
    run: str, earlier: Sequence[Record], records: Sequence[Record], recipe: str, changed: Sequence[str]
) -> Iterator[str]:
    """A line for records of other options that the journal has and the run has not, and one for answers to other
    prompts of the run's cells.

    `earlier`: what the journal held before this session; `records`: those of the run, which may have taken over answers
    to the same prompts from other options; `recipe`: of the run. `changed`: what this session has learnt otherwise than
    earlier ones.
    """
    taken = {record.key for record in records}
    left = [record for record in earlier if record.key not in taken]
    others = sum(record.details.recipe != recipe for record in left)
    if others:
        yield _left_line(run, f"{others} records of a run with other options")
    replaced = {record.key: record for record in left if record.details.recipe == recipe and record.outcome in FINAL}
    if replaced:
        differ = "; ".join(changed or _differences(list(replaced.values()), records))
        told = f" (before / now: {fit(one_line(differ), _LONGEST, '…')})" if differ else ""
        yield _left_line(run, f"{counted(len(replaced), 'answer')} to other prompts of these cells{told}")


def _differences(replaced: Sequence[Record], records: Sequence[Record]) -> list[str]:
    """What differs between the first of these and the record that is there in its place."""
    there = {identity(record): record for record in records}
    for record in replaced:
        if identity(record) in there:
            return differing_facts(record, there[identity(record)])
    return []


def _left_line(run: str, what: str) -> str:
    line = f"{run} also holds {what}: they stay in the journal and out of these files"
    return f"{line}; use another --run-name, or --fresh to drop them"
