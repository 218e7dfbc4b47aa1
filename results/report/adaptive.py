"""Sections and lines of adaptive runs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import log
from operator import attrgetter

from needlework.core.grid import depth_label
from needlework.results.adaptive.design import SHARE
from needlework.results.adaptive.statement import LengthResult, LengthStatement
from needlework.results.adaptive.survey import Cost
from needlework.results.report.section import GLOSSARY, ColorScale, Heatmap, HeatmapCell, Section, Table, chart_name
from needlework.results.statistics.panels import Share, depth_order
from needlework.results.statistics.wording import share_cell
from needlework.results.style import COUNTS, NONE, counted, length_label, length_labels, one_line, percent1

_UNKNOWN = "unknown"
_ACROSS = 4  # lengths on a line


def adaptive_lines(statements: Sequence[LengthStatement], *, lengths: bool = True) -> list[str]:
    """A block for each series and bar: statement, result of each of the `lengths`, remarks."""
    lines: list[str] = []
    for name, members in groupby(statements, key=attrgetter("series")):
        of_series = list(members)
        lines.append(f"{one_line(name)}: {_cost_words(of_series)}")
        for statement in of_series:
            sure = ", 95 % sure" if answer(statement) != _UNKNOWN else ""
            lines.append(f"  effective length ({_bar_words(statement)}): {answer(statement)}{sure}")
            lines += [f"    {line}" for line in (*(_length_lines(statement) if lengths else ()), *_remarks(statement))]
    return lines


def adaptive_sections(statements: Sequence[LengthStatement]) -> list[Section]:
    """A section for each series: the trials at each length and depth, and the result."""
    sections = []
    for number, (name, members) in enumerate(groupby(statements, key=attrgetter("series"))):
        of_series = list(members)
        head = ("trials at depth", *length_labels([result.length for result in of_series[0].lengths]))
        sections.append(
            Section(
                f"Effective length: {name}",
                charts=(_trials_heatmap(name, of_series),),
                tables=(Table("", head, tuple(tuple(row) for row in _table_rows(of_series))),),
                notes=(*adaptive_lines(of_series, lengths=False), *GLOSSARY["notes"]["adaptive"]),
                name=f"adaptive-{number}",
            )
        )
    return sections


def _depths(results: Sequence[LengthResult]) -> list[float | None]:
    return sorted({depth for result in results for depth in result.per_depth}, key=depth_order)


def _table_rows(statements: Sequence[LengthStatement]) -> Iterator[list[str]]:
    results = statements[0].lengths
    for depth in _depths(results):
        label = "all" if depth is None else f"{depth_label(depth)} %"
        yield [label, *(str(result.per_depth.get(depth, 0)) for result in results)]
    yield ["trials", *(str(result.asked) for result in results)]
    for statement in statements:
        yield [_bar_words(statement), *(_length_words(result, statement) for result in statement.lengths)]
        yield ["score % (95 % interval as stopped)", *(_score_words(result) for result in statement.lengths)]


def _score_words(result: LengthResult) -> str:
    return share_cell(Share(result.total / result.n, result.low, result.high)) if result.n else NONE


def _trials_heatmap(name: str, statements: Sequence[LengthStatement]) -> Heatmap:
    """The number of trials in each cell of a series, and above it the decision at each length."""
    first = statements[0]
    results = first.lengths
    depths = _depths(results)
    most = max((n for result in results for n in result.per_depth.values()), default=1)

    def cell(n: int) -> HeatmapCell | None:
        return HeatmapCell(log(n) / log(most) if most > 1 else 0.0, str(n)) if n else None

    def decisions(statement: LengthStatement) -> Iterator[HeatmapCell]:
        for result in statement.lengths:
            yield HeatmapCell(text=_length_words(result, statement) if result.asked else "")

    answers = " · ".join(f"{_bar_words(statement)}: {answer(statement)}" for statement in statements)
    series = name.removeprefix(first.model).strip(" ·")
    return Heatmap(
        name=chart_name("asked", first.task, first.needle, first.model),
        title=one_line(f"{first.model} {first.clause}" if first.clause else name),
        subtitle=one_line(f"{series}: {_cost_words(statements)} · {answers}"),
        lengths=length_labels([result.length for result in results]),
        depths=tuple(map(depth_label, depths)),
        rows=tuple(tuple(cell(result.per_depth.get(depth, 0)) for result in results) for depth in depths),
        summaries=tuple((_bar_words(statement), tuple(decisions(statement))) for statement in statements),
        scale=ColorScale(COUNTS),
    )


Dollars = Callable[[Cost], float]


def plan_lines(name: str, mode: str, costs: Sequence[Cost], most: Cost, dollars: Dollars | None = None) -> list[str]:
    """The cost of an adaptive run of one series, for models right up to a length and wrong beyond.

    `dollars`: the most that a cost may be, if prices are known.
    """

    def line(model: str, cost: Cost) -> str:
        price = f", at most {dollars(cost):,.2f} dollars" if dollars else ""
        return f"  {model:32} {cost.trials:>6,} trials, {short_number(cost.tokens):>6} tokens{price}"

    middle = [line(f"right up to {length_label(cost.right_up_to)}, wrong beyond", cost) for cost in costs[1:-1]]
    return [
        f"--adaptive {mode}, {name}: what it costs a model that is",
        line("wrong everywhere", costs[0]),
        *middle,
        line("right everywhere", costs[-1]),
        f"{line('never more than', most)}, for a model near the bar everywhere",
    ]


def answer(statement: LengthStatement) -> str:
    """`32k to 64k`, `>= 1M (longest length)`, `none`, `up to 8k`, `unknown`."""
    if statement.bar is None or (statement.low is None and statement.or_more):
        return _UNKNOWN
    low, high = length_label(statement.low), length_label(statement.high)
    if statement.high is None:
        return "none"
    if statement.low == statement.high:
        return f">= {high} (longest length)" if statement.or_more else high
    high += " or more" if statement.or_more else ""
    return f"{low} to {high}" if statement.low is not None else f"up to {high}"


def _bar_words(statement: LengthStatement) -> str:
    """`score >= 85.6 %`; of a relative bar also what it is a share of."""
    bar = "" if statement.bar is None else f"{percent1(statement.bar)} %"
    if statement.rule == "absolute":
        return f"score >= {bar}"
    base = "the base" if statement.base is None else "the base as given"
    if statement.base is not None and statement.base.length:
        base = f"the base at {length_label(statement.base.length)}"
    return f"score >= {', '.join(filter(None, (bar, f'{100 * SHARE:.0f} % of {base}')))}"


def _cost_words(statements: Sequence[LengthStatement]) -> str:
    """`30.8M tokens, 627 trials in 19 turns (full grid of ten samples: 230M)`, for the bars of one series."""
    first, turns = statements[0], sum(len(statement.turns) for statement in statements)
    count = f"{first.trials:,} trials in {counted(turns, 'turn')}"
    return f"{short_number(first.tokens)} tokens, {count} (full grid of ten samples: {short_number(first.grid_tokens)})"


def _length_words(result: LengthResult, statement: LengthStatement) -> str:
    """`pass 33/33`, `undecided 187/220`, `not measurable`, `not asked`."""
    hits = f"{result.total:.1f}".removesuffix(".0") + f"/{result.n}"
    if statement.base is not None and result.length == statement.base.length:
        return f"base {hits}"
    if result.decision == "not measurable":
        return f"not measurable ({result.asked} asked)"
    if not result.n:
        return "not looked at" if result.asked else "not asked"
    return f"{ {'pass': 'pass', 'fail': 'fails'}.get(result.decision, 'undecided') } {hits}"


def short_number(tokens: int) -> str:
    """`30.8M`, `627k`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.{1 if tokens < 100 * size else 0}f}".removesuffix(".0") + unit
    return str(tokens)


def _length_lines(statement: LengthStatement) -> Iterator[str]:
    parts = [
        f"{length_label(result.length)} {_length_words(result, statement)}"
        for result in statement.lengths
        if result.asked
    ]
    unasked = [length_label(result.length) for result in statement.lengths if not result.asked]
    if unasked:
        parts.append(f"{' to '.join(dict.fromkeys((unasked[0], unasked[-1])))} not asked")
    for at in range(0, len(parts), _ACROSS):
        yield "   ".join(parts[at : at + _ACROSS])


def _remarks(statement: LengthStatement) -> Iterator[str]:
    """The reasons why a statement is not narrower."""
    if statement.bar is None:
        scored = "" if statement.base is None else f" scores {percent1(statement.base.score)} % and"
        yield f"the base that the bar is a share of{scored} gives no bar"
    low, high = statement.low or 0, statement.high or 0
    near = [result for result in statement.lengths if result.near and low < result.length <= high]
    if near and not statement.stopped:
        words = [f"{length_label(result.length)}, {_score_words(result)}" for result in near]
        yield f"given up, as the score % seems too near to the bar (interval as stopped): {'; '.join(words)}"
    if any(result.decision == "not measurable" for result in statement.lengths):
        yield "not measurable: too many trials had no score; nothing longer was asked, and errors are no misses"
    if statement.stopped == "budget":
        yield "--adaptive-tokens is spent: with more, the same command goes on"
    elif statement.stopped:
        yield "not at its end: the same command with the same --run-name goes on"
