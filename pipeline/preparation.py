"""Checks before the first cell: whatever would spoil every cell, too short lengths, the window."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from needlework.core.errors import InputError, NoRoomError, TooLongError, TooShortError
from needlework.core.grid import Cell, Misfit, not_filled, nothing_fits, parse_tokens
from needlework.core.settings import Settings
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.haystack_fixtures.tasks.catalogue import Tasks, ask, grid_and_misfits, task_named
from needlework.haystack_fixtures.tasks.own_documents import question_label
from needlework.models.specs import runs_here
from needlework.models.tokenizers.tokenizer import approximation
from needlework.pipeline.engine import Engine

SeriesKey = tuple[str, str, str]  # task, needle and model of a series of cells


def prepare(engine: Engine, cells: Sequence[Cell]) -> tuple[Misfit, ...]:
    """Check texts, needles, tokenizers, models and lengths; returns lengths too short for a needle.

    Raises `InputError`, also where no length of the run is long enough. Makes what workers would otherwise make at the
    same time (converted models).
    """
    settings = engine.settings
    by_series = _first_cells(engine, cells)
    misfits = list(grid_and_misfits(settings, engine.tasks)[1])
    check_answer_room(engine, cells)
    errors = list[TooLongError]()
    for by_length in by_series.values():
        try:
            misfits += _too_short(engine, [by_length[length] for length in sorted(by_length)])
        except TooLongError as error:
            errors.append(error)
    if errors:
        raise not_filled(errors)
    equal = _with_equal_questions(engine, by_series, misfits)
    replaced = {(misfit.of, misfit.length) for misfit in equal}
    misfits = [misfit for misfit in misfits if (misfit.of, misfit.length) not in replaced] + equal
    left_out = {(misfit.of, misfit.length) for misfit in misfits}
    is_alone = len({misfit.of for misfit in misfits}) == len(by_series) == 1
    fits = any((_words(name), length) not in left_out for name, lengths in by_series.items() for length in lengths)
    if misfits and (is_alone or not fits):
        raise nothing_fits(misfits)
    engine.check(dict.fromkeys(engine.spec(next(iter(by_length.values()))) for by_length in by_series.values()))
    return tuple(misfits)


def check_answer_room(engine: Engine, cells: Sequence[Cell]) -> None:
    """Raise `NoRoomError` if a budget is too small for an answer, with one that is enough for all.

    The answer of a repeat is the same at every depth. Rows of a data set that do not fit are skipped in their turn.
    """
    without_text, needed = set[SeriesKey](), dict[tuple[object, ...], tuple[int, str, Cell]]()
    for cell in cells:
        name = _series_key(cell)
        at = (*name, cell.length, cell.repeat)
        if name in without_text or at in needed:
            continue
        series = engine.series_of(cell)
        tokens = 0 if series.task.rows else engine.builder(cell).answer_tokens(series.suite, cell)
        if tokens:
            needed[at] = tokens, cell.id, cell
        else:
            without_text.add(name)
    over = [need for need in needed.values() if need[0] > engine.series_of(need[2]).suite.answer_budget]
    if over:
        tokens, _id, cell = max(over)
        raise NoRoomError(engine.series_of(cell).suite.answer_budget, f"{cell.task} {cell.needle}", tokens)


def _first_cells(engine: Engine, cells: Sequence[Cell]) -> dict[SeriesKey, dict[int, Cell]]:
    """The first cell of each length of each series; of the rows of a data set one series is enough."""
    by_series: dict[SeriesKey, dict[int, Cell]] = {}
    first_row: dict[tuple[str, str], str] = {}
    for cell in cells:
        is_row = engine.series_of(cell).task.rows
        if not is_row or first_row.setdefault((cell.task, cell.model), cell.needle) == cell.needle:
            by_series.setdefault(_series_key(cell), {}).setdefault(cell.length, cell)
    return by_series


def _too_short(engine: Engine, cells: Sequence[Cell]) -> Iterator[Misfit]:
    """The cells of a series, from the shortest on, whose prompt cannot be built."""
    for cell in cells:
        series, builder = engine.series_of(cell), engine.builder(cell)
        builder.corpus(series.suite)
        builder.shape(series.suite)
        engine.key(cell)
        try:
            if not (engine.settings.plan and series.retriever):  # a plan asks no embedder
                builder.build(series.suite, cell)
        except TooShortError as error:
            yield Misfit(f"{cell.task} {cell.needle}", cell.length, error.least, series.task.share)
        else:
            return


def _with_equal_questions(
    engine: Engine, by_series: Mapping[SeriesKey, Mapping[int, Cell]], misfits: Sequence[Misfit]
) -> list[Misfit]:
    """Misfits so that each length and arm has the same questions; they replace those of its cells.

    A question whose document does not fit is asked nowhere, one whose near miss does not fit lacks that alone. Of a
    task that asks shares of its lengths the longest decides; a shorter one that a question does not fit is asked of
    none, but what has nothing around it stays where it fits.
    """
    least = {(misfit.of, misfit.length): misfit.least for misfit in misfits}
    series = {name: engine.series_of(next(iter(cells.values()))) for name, cells in by_series.items()}
    series = {name: known for name, known in series.items() if known.task.questions}
    without_room = [(name, size) for name in series for size in by_series[name] if (_words(name), size) in least]
    whole = [name for name in series if not split_label(name[1], ("focused",))[1]]
    questions: dict[str, str] = {}
    left_out_alone: dict[str, str] = {}  # series of a question that is asked in others
    for name, size in without_room:
        label, task = question_label(name[1]), series[name].task
        reference = ask(task, series[name].suite, by_series[name][size], engine.settings.seed).reference
        if name not in whole:
            left_out_alone[_words(name)] = f"{name[1]} about {reference['document']!r}"
        elif "near_document" in reference:
            left_out_alone[_words(name)] = f"{label} with {reference['near_document']!r} in its place"
        elif task.share == 100 or size == max(by_series[name]):
            questions[label] = f"{label} about {reference['document']!r}"
    shares: dict[str, dict[str, int]] = {}  # of each task that asks shares the least length of each question
    for name, size in without_room:
        if name in whole and series[name].task.share < 100:
            shares.setdefault(name[0], {})[question_label(name[1])] = least[_words(name), size] or size + 1
    left_out = {
        (name[0], size)
        for name, size in without_room
        if name in whole and question_label(name[1]) not in questions and name[0] in shares
    }
    equal = []
    for name, known in series.items():
        of, share = _words(name), known.task.share
        question = questions.get(question_label(name[1])) or left_out_alone.get(of, "")
        for size in by_series[name]:
            if question:
                needed = least.get((of, size))
                alone = needed if name in whole or needed is None else -(-needed * 100 // share)
                equal.append(Misfit(of, size, alone, 100, question))
            elif name in whole and (name[0], size) in left_out:
                equal.append(Misfit(of, size, _least_of_all(shares[name[0]], questions, share), share))
    return equal


def _least_of_all(least: Mapping[str, int], left_out: Collection[str], share: int) -> int:
    """The shortest length, where it is a share of `--lengths`, at which every question that is asked then fits.

    `least`: of each question. Those that are `left_out` are asked again as soon as `--lengths` holds their documents.
    """
    needed = max(tokens for label, tokens in least.items() if label not in left_out)
    while (more := max(tokens for tokens in least.values() if tokens <= needed * 100 // share)) > needed:
        needed = more
    return needed


def _series_key(cell: Cell) -> SeriesKey:
    return cell.task, cell.needle, cell.model


def _words(name: SeriesKey) -> str:
    """A series as a misfit names it: its task and its needle."""
    return f"{name[0]} {name[1]}"


OPTION, WORD = "--lengths", "window"
_STEP = 100  # tokens: a length that documents set is rounded down to these, so that ids are short


@dataclass(frozen=True, slots=True)
class Filled:
    """The length that fills a model's window. `tokens`: of prompt and answer. `reason`: in words."""

    tokens: int
    reason: str

    def __str__(self) -> str:
        return f"{OPTION} {WORD}: {self.tokens:,} tokens, {self.reason}"


def fill_window(settings: Settings, tasks: Tasks, cache_dir: Path) -> Filled:
    """The length for all suites: the smallest window of several models, so that all are asked the same.

    No weights are loaded; a server is asked for its window, but none that the run itself is to start. Raises
    `InputError` where the window is not known.
    """
    if any(suite.window and suite.length_means == "context" for suite in settings.suites):
        raise InputError(OPTION, WORD, "is what prompt and answer have together: leave out --length-means context")
    known = replace(settings, suites=tuple(replace(suite, lengths=suite.lengths or (1,)) for suite in settings.suites))
    with closing(Engine(known, cache_dir, tasks=tasks)) as engine:
        window, model, about = min(_windows(engine))
        words = f"the window of {model}{about}"
        reach = min(_reaches(engine), default=window)
    if reach < window:
        return Filled(reach, f"what the documents fill; {words} has {window:,}")
    return Filled(window, words)


def with_length(settings: Settings, tokens: int) -> Settings:
    """The settings with this length for the word `window`."""
    return replace(
        settings,
        suites=tuple(
            replace(suite, lengths=tuple(sorted({*suite.lengths, tokens}))) if suite.window else suite
            for suite in settings.suites
        ),
    )


def _windows(engine: Engine) -> Iterator[tuple[int, str, str]]:
    """The window in tokens, name and remark of each model."""
    settings = engine.settings
    of_server = dict(word.partition("=")[::2] for word in settings.serve_arg).get("window")
    for spec in dict.fromkeys(settings.model):
        window = parse_tokens("--serve-arg window", of_server) if of_server else engine.describe(spec).window
        error = 0.0
        if settings.serve is None and not runs_here(spec):
            tokenizer = engine.tokenizer(spec, settings.tokenizer)
            window, error = window or engine.open_model(spec, tokenizer).window, approximation(tokenizer)
        if window is None:
            remedy = "give lengths in tokens" if runs_here(spec) else "say it, --model-arg window=32768"
            if settings.serve is not None:
                remedy = "its server is not up yet: say it, --serve-arg window=32k"
            raise InputError(OPTION, WORD, f"the window of {spec} is not known: {remedy}")
        about = f", less the {error:.0%} by which our counts may be off" if error else ""
        yield int(window / (1 + error)), spec, about


def _reaches(engine: Engine) -> Iterator[int]:
    """The length that each suite's own texts fill, counted by each tokenizer of the run."""
    settings = engine.settings
    counts: dict[tuple[str, str], Sequence[int]] = {}
    for suite in settings.suites:
        task = task_named(suite.task, engine.tasks)
        if not (suite.window and task.reach and task.corpus):
            continue
        corpus = task.corpus(suite)
        for spec in dict.fromkeys(settings.model):
            tokenizer = engine.tokenizer(spec, settings.tokenizer or suite.tokenizer_model)
            at = (corpus.sha256, tokenizer.fingerprint)
            if at not in counts:
                documents = EncodedDocuments(corpus, tokenizer, engine.cache_dir)
                counts[at] = [len(documents[number].encoded.ids) for number in range(len(documents.texts))]
            tokens = task.reach(suite, counts[at]) + suite.kept_free
            yield max(1, tokens - tokens % _STEP)
