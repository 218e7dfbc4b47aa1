"""Adaptive runs: trials so far, the search for each bar, the cells to send next, the cost."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from needlework.core.errors import InputError
from needlework.core.grid import Cell, spread_depths
from needlework.core.record import SCORED, Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.adaptive.design import BASE_LOOK, MOST_LOOK, BaseScore, Mode, SearchDesign, unit_of
from needlework.results.adaptive.walk import ReadTrials, Trials, Walk, trials_to_send, walk
from needlework.results.statistics.length_scores import RELATIVE_TO, parse_relative_to
from needlework.results.style import counted, length_labels

OPTION = "--adaptive"
TrialKey = tuple[int, float | None, int]
"""Length (tokens), depth (percent), repeat."""
SeriesName = tuple[str, str, str]
Outcomes = Mapping[TrialKey, float | None]
"""The score (0..1) of each trial of a series; `None` for a trial without one."""
_LEAST_BASE = 0.05


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of an adaptive run."""

    mode: Mode
    bars: tuple[float | None, ...]  # scores, 0..1; `None`: 85 % of the base
    seed: int
    max_errors: float  # percent of a look's trials that may have no score
    base: float | None = None  # its score, if an option sets it
    base_length: int | None = None


def rules_of(settings: Settings) -> Rules:
    """The rules of an adaptive run. Raises `InputError` where its base cannot be used."""
    assert settings.adaptive is not None
    bars = tuple(None if bar == "relative" else round(float(bar.rstrip("%")) / 100, 9) for bar in settings.adaptive_bar)
    base = parse_relative_to(settings.relative_to)
    if base is not None and len(base.lengths) > 1 and None in bars:
        remedy = "--adaptive measures its base at one length, or takes a score"
        raise InputError(RELATIVE_TO, settings.relative_to, remedy)
    score, length = (base.score, next(iter(base.lengths), None)) if base else (None, None)
    return Rules(settings.adaptive, bars, settings.seed, settings.max_errors, score, length)


@dataclass(frozen=True, slots=True)
class BarSearch:
    """The search for one bar of a series."""

    bar: float | None
    base: BaseScore | None
    walk: Walk | None  # `None` while the base is unknown, and for good if the base scores nothing
    hopeless: bool = False

    @property
    def ended(self) -> bool:
        """Whether the search is over."""
        return self.hopeless if self.walk is None else self.walk.ended


class Survey:
    """The state of a series. `outcomes`: of all trials that were sent."""

    def __init__(self, rules: Rules, series: Series, outcomes: Outcomes) -> None:
        self.rules = rules
        self.series = series
        self.outcomes = outcomes
        self.lengths, self.depths = axes_of(series)
        self.unit = unit_of(len(self.depths))
        self._by_repeat: dict[int, dict[int, float | None]] = {length: {} for length in self.lengths}
        for trial, score in outcomes.items():
            length, _, repeat = trial
            if length in self._by_repeat and trial == self.trial(length, repeat):
                self._by_repeat[length][repeat] = score
        self.searches = [self._search(bar) for bar in rules.bars]

    @property
    def tokens(self) -> int:
        """The tokens of its trials: the lengths of their prompts with the answers' budgets."""
        return sum(length for length, _, _ in self.outcomes)

    def next_trials(self, width: int) -> list[TrialKey]:
        """The trials to send next: all that an open bar needs, and others while they are below `width`."""
        trials: dict[TrialKey, None] = {}
        for search in self.searches:
            if search.walk is not None:
                lengths = search.walk.design.lengths
                needed = trials_to_send(search.walk, self._reader(lengths), width)
                trials |= dict.fromkeys(self.trial(lengths[at], repeat) for at, repeat in needed)
            elif not search.hopeless:
                trials |= dict.fromkeys(self.trial(self._base_length, repeat) for repeat in self._base_trials().missing)
        return list(trials)

    def trial(self, length: int, repeat: int) -> TrialKey:
        """The trial of a repeat at a length. Each depth has equally many; a replacement has the depth of the
        trial that it replaces."""
        (depth,) = spread_depths(self.depths, self.rules.seed, length, repeat % replacements_from(self.unit))
        return length, depth, repeat

    def cell(self, trial: TrialKey) -> Cell:
        """The cell of a trial."""
        first = self.series.cells[0]
        length, depth, repeat = trial
        return Cell(first.task, length, depth, first.needle, repeat, first.model)

    def _search(self, bar: float | None) -> BarSearch:
        base, depths = None, len(self.depths)
        if bar is not None:
            design = SearchDesign.absolute(self.rules.mode, self.lengths, depths, bar)
        else:
            first, score = self._base_trials(), self.rules.base
            if score is not None:
                base = BaseScore(0, 0, score, score, score)
            elif not first.missing and not first.hopeless:
                base = BaseScore.measured(self._base_length, first.scores)
            if base is None or base.score < _LEAST_BASE:
                return BarSearch(None, base, None, base is not None or first.hopeless)
            design = SearchDesign.relative(self.rules.mode, self.lengths, depths, base)
        return BarSearch(bar, base, walk(design, self._reader(design.lengths)))

    @property
    def _base_length(self) -> int:
        return self.rules.base_length or self.lengths[0]

    def _base_trials(self) -> Trials:
        return self._trials_of(self._base_length, BASE_LOOK * self.unit)

    def _reader(self, lengths: Sequence[int]) -> ReadTrials:
        return lambda at, n: self._trials_of(lengths[at], n)

    def _trials_of(self, length: int, n: int) -> Trials:
        return trials_of(self._by_repeat[length], n, self.unit, self.rules.max_errors)


def name_of(series: Series) -> SeriesName:
    """Model, task and needle of a series."""
    return series.model, series.cells[0].task, series.cells[0].needle


def axes_of(series: Series) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The lengths (tokens), ascending, and the depths (percent) of a series."""
    return tuple(sorted({cell.length for cell in series.cells})), tuple(dict.fromkeys(c.depth for c in series.cells))


def surveys_of(settings: Settings, series: Iterable[Series], records: Iterable[Record]) -> list[Survey]:
    """The survey of each series by these records."""
    rules = rules_of(settings)
    by_series: dict[SeriesName, dict[TrialKey, float | None]] = {}
    for record in records:
        score = record.score if record.outcome in SCORED else None
        if record.outcome == "censored" and settings.censored_is_wrong:
            score = 0.0
        trials = by_series.setdefault((record.model, record.task, record.needle), {})
        trials[record.length, record.depth, record.repeat] = score
    return [Survey(rules, one, by_series.get(name_of(one), {})) for one in series]


class AdaptiveRun:
    """Chooses the cells to send next when those before have ended.

    Its only state is the selected series: a run that was killed chooses the same cells by the answers in its journal.
    `alone`: one model answers at a time, in this process; then only trials that are needed are sent.
    """

    def __init__(self, settings: Settings, grid: Sequence[Series], *, alone: bool) -> None:
        self._settings = settings
        self._grid = grid
        self._selected: set[tuple[str, str, str]] = set()
        self._alone = alone

    @property
    def series(self) -> list[Series]:
        """The series of the collected tests."""
        return [series for series in self._grid if _series_key(series.cells[0]) in self._selected]

    def select(self, cells: Iterable[Cell]) -> None:
        """Add the series of collected cells."""
        self._selected |= {_series_key(cell) for cell in cells}

    def next_cells(self, now: Sequence[Record]) -> list[Cell]:
        """The cells to send next; none when every search has ended, or the budget is spent.

        `now`: the records of this session, replayed ones included. Those of earlier sessions that it has not reached
        are left out: a run that was killed decides as if it had not been.
        """
        surveys = [(survey, len(survey.next_trials(1))) for survey in surveys_of(self._settings, self.series, now)]
        unfinished = [(survey, needed) for survey, needed in surveys if needed]
        if self._alone and unfinished:
            model = unfinished[0][0].series.model
            unfinished = [(survey, needed) for survey, needed in unfinished if survey.series.model == model]
        spare = 0 if self._alone else max(0, self._settings.concurrency - sum(needed for _, needed in unfinished))
        budget = self._settings.adaptive_tokens
        left = float("inf") if budget is None else budget - sum(survey.tokens for survey, _ in surveys)
        chosen: list[Cell] = []
        for survey, needed in unfinished:
            trials = survey.next_trials(needed + spare // len(unfinished))
            for batch in (trials[:needed], trials[needed:]):
                cost = sum(length for length, _, _ in batch)
                if cost > left:
                    break
                left -= cost
                chosen += [survey.cell(trial) for trial in batch]
        return chosen


def turn_line(cells: Sequence[Cell]) -> str:
    """`adaptive: 33 trials: 22 at 16k, 11 at 32k`."""
    counts = sorted(Counter(cell.length for cell in cells).items())
    labels = length_labels([length for length, _ in counts])
    parts = [f"{n} at {label}" for (_, n), label in zip(counts, labels, strict=True)]
    return f"adaptive: {counted(len(cells), 'trial')}: {', '.join(parts)}"


def check_selected(cells: Sequence[Cell], grid: Iterable[Series]) -> None:
    """Refuse a selection of some cells of a series: the walk needs all. Raises `InputError`."""
    chosen = set(cells)
    if len(chosen) < len(cells):
        raise InputError(OPTION, "tests", "several tests ask the same cells; name one of them")
    for series in grid:
        if 0 < len(chosen & set(series.cells)) < len(series.cells):
            first = series.cells[0]
            remedy = "-k and node ids select some of its cells: say --lengths and --depths instead"
            raise InputError(OPTION, f"{first.task} {first.needle}", remedy)


def _series_key(cell: Cell) -> tuple[str, str, str]:
    return cell.task, cell.needle, cell.model


@dataclass(frozen=True, slots=True)
class Cost:
    """Trials and tokens for a model that is right up to a length and wrong beyond it."""

    right_up_to: int  # tokens; 0: wrong everywhere
    trials: int
    tokens: int


def costs(rules: Rules, lengths: tuple[int, ...], depths: int) -> list[Cost]:
    """The cost for each length that a model may be right up to; several bars cost at most their sum."""
    designs = list(_designs(rules, lengths, depths))

    def cost(right: int) -> Cost:
        def trials(design: SearchDesign) -> Iterator[int]:
            state = walk(design, lambda at, n: Trials([float(design.lengths[at] <= right)] * n))
            return (column.n for column in state.columns)

        return _cost(right, designs, trials)

    return list(map(cost, (0, *lengths)))


def max_cost(rules: Rules, lengths: tuple[int, ...], depths: int) -> Cost:
    """The cost that no model exceeds: every length up to the cap of each bar, bases included."""
    designs = _designs(rules, lengths, depths)
    return _cost(lengths[-1], designs, lambda design: map(design.cap, range(len(design.lengths))))


def _designs(rules: Rules, lengths: tuple[int, ...], depths: int) -> Iterator[tuple[int, SearchDesign]]:
    """Length of the base (0: none) and design of each bar; a measured base is assumed to score 1."""
    for bar in rules.bars:
        if bar is not None:
            yield 0, SearchDesign.absolute(rules.mode, lengths, depths, bar)
        else:
            length = 0 if rules.base is not None else rules.base_length or lengths[0]
            base = BaseScore.measured(length, [rules.base or 1.0] * (BASE_LOOK * unit_of(depths)))
            yield length, SearchDesign.relative(rules.mode, lengths, depths, base)


def _cost(
    right: int, designs: Iterable[tuple[int, SearchDesign]], trials: Callable[[SearchDesign], Iterable[int]]
) -> Cost:
    """The cost of so many `trials` at each length of a design, and of its base."""
    sent = Counter[int]()
    for base, design in designs:
        sent |= Counter(dict(zip(design.lengths, trials(design), strict=True)))
        sent |= Counter({base: BASE_LOOK * design.unit} if base else {})
    return Cost(right, sent.total(), sum(length * count for length, count in sent.items()))


_TRIES = 5
_LOST = 1  # a single trial without a score is no sign of anything


def replacements_from(unit: int) -> int:
    """The first repeat that may replace another; looks of all modes end before it."""
    return MOST_LOOK * unit


def trials_of(outcomes: Mapping[int, float | None], n: int, unit: int, max_errors: float) -> Trials:
    """The first `n` trials of a length. `outcomes`: score by repeat, 0..1; `None` for an unscored trial.

    A trial without a score never counts as a miss: a repeat beyond all looks replaces it, at the same depth. With more
    than `max_errors` percent of them, and more than one, the length is `hopeless`.
    """
    step, scores, missing, lost, exhausted = replacements_from(unit), [], [], 0, False
    for trial in range(n):
        for repeat in range(trial, trial + _TRIES * step, step):
            if repeat not in outcomes:
                missing.append(repeat)
                break
            score = outcomes[repeat]
            if score is not None:
                scores.append(score)
                break
            lost += 1
        else:
            exhausted = True
    hopeless = exhausted or lost > max(_LOST, max_errors * n / 100)
    return Trials(tuple(scores), tuple(missing), lost, hopeless)
