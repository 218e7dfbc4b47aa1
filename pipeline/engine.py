"""What the cells of a run share in one process: trial builders, models, keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.errors import InputError, NoRoomError, TooLongError, TooShortError
from needlework.core.files import prompt_text
from needlework.core.grid import Cell, Misfit, not_filled, nothing_fits
from needlework.core.settings import Settings
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Series, Tasks, ask, grid, grid_misfits
from needlework.haystack_fixtures.tasks.document_material import question_label
from needlework.haystack_fixtures.trials.builder import Trial, TrialBuilder
from needlework.models.model import Model
from needlework.pipeline.exchange import Judging
from needlework.pipeline.model_pool import ModelPool, Named, judged_at_once, judging_identity, named_judges, strategy_of

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving
    from needlework.models.local.memory import Described
    from needlework.models.served.batch import AnswerFiles


class Engine:
    """Builds the trials of a run and loads its models, each when it is needed first. Threads may share it.

    `workers`: processes that share this run (concurrency and CPU threads are divided between them). `tasks`: those that
    its suites name. `serving`: the server that the run starts for its model. `tell`: is given a line for who waits.
    """

    def __init__(
        self,
        settings: Settings,
        cache_dir: Path,
        *,
        workers: int = 1,
        tasks: Tasks = TASKS,
        serving: Serving | None = None,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self.settings = settings
        self._tasks = tasks
        self.workers = workers
        self._cache_dir = cache_dir
        self._series: dict[tuple[str, str, str], Series] = {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series
            for series in grid(settings, tasks)
        }
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}
        self._pool = ModelPool(settings, cache_dir, workers, serving, tell)
        self._keys: dict[Cell, str] = {}
        # One for what is made once, another for prompts: who looks up a key does not wait for those that build.
        self._turn, self._building = threading.RLock(), threading.RLock()

    def series(self) -> Iterable[Series]:
        """Every series of cells of the run."""
        return self._series.values()

    def series_of(self, cell: Cell) -> Series:
        """The series that a cell belongs to."""
        return self._series[cell.task, cell.needle, cell.model]

    def has(self, cell: Cell) -> bool:
        """Whether the cell is of a series of this run, whatever its length, depth and repeat."""
        return (cell.task, cell.needle, cell.model) in self._series

    def scorer(self, cell: Cell) -> str:
        """The scorer that the cell's suite names, else its task's."""
        series = self.series_of(cell)
        return series.suite.scorer or series.task.scorer

    def builder(self, cell: Cell) -> TrialBuilder:
        """What builds this cell's trial."""
        series = self.series_of(cell)
        key = (series.model, self.settings.tokenizer or series.suite.tokenizer_model)
        with self._turn:
            if key not in self._builders:
                self._builders[key] = TrialBuilder(
                    self.settings, self._pool.tokenizer(*key), self._cache_dir, tasks=self._tasks
                )
            return self._builders[key]

    @property
    def answers(self) -> AnswerFiles | None:
        """The files that answers come from, in place of a model. Raises `InputError`."""
        return self._pool.answers

    def model(self, cell: Cell) -> Model:
        """The model that answers this cell; loaded on first use, one local model at a time. Raises `InputError`."""
        with self._turn:
            return self._pool.model(self.series_of(cell).model, self.builder(cell).tokenizer)

    def described(self, spec: str) -> Described:
        """What can be known of a model of the run before it is loaded."""
        with self._turn:
            return self._pool.described(spec)

    def server(self, cell: Cell) -> str:
        """What stands for the server that answers a cell now, see `ServedModel.server`; empty for any other model, and
        for a server that nobody has needed yet.
        """
        if self._pool.is_asleep():
            return ""
        with suppress(InputError):
            return str(getattr(self.model(cell), "server", ""))
        return ""

    def trial(self, cell: Cell) -> Trial:
        """Build a cell's trial without asking it. Raises `InputError` when no prompt of its length can be built."""
        with self._building:
            return self.builder(cell).build(self.series_of(cell).suite, cell)

    def follow_up(self, trial: Trial) -> Trial:
        """The trial that asks a trial's second question."""
        with self._building:
            return self.builder(trial.cell).follow_up(trial)

    def canary_trial(self, cell: Cell) -> tuple[Canaries, Trial] | None:
        """What asks for the marks at both ends of a cell's context, where there are any."""
        builder, suite = self.builder(cell), self.series_of(cell).suite
        ends = builder.canaries(suite, cell)
        if ends is None:
            return None
        with self._building:
            return ends, builder.canary_trial(suite, cell, ends)

    def key(self, cell: Cell) -> str:
        """What identifies a cell's trial for resuming: a hash of everything that can change its answer."""
        key = self._keys.get(cell)
        if key is None:
            series = self.series_of(cell)
            with self._turn:
                model = self._pool.identity(series.model)
            key = self._keys[cell] = self.builder(cell).key(series.suite, cell, model)
        return key

    def forget_key(self, cell: Cell) -> None:
        """Keep the key of a cell that is done no longer."""
        self._keys.pop(cell, None)

    def judging(self, cell: Cell) -> Judging | None:
        """The run's judges, and when they are asked of this cell's answers; `None` where there are none."""
        if not self.settings.judge:
            return None
        asks, prompt, identity = self._judges
        strategy = strategy_of(self.settings, self.series_of(cell).suite)
        return Judging(asks, strategy, prompt, identity, self.judged_at_once)

    @cached_property
    def judged_at_once(self) -> int:
        """How many answers may be with the judges at once; 0 where there are none."""
        return judged_at_once(self.settings, self.workers)

    @cached_property
    def _judges(self) -> tuple[Mapping[str, Callable[[str, str], str]], str | None, str]:
        asks = {named.name: partial(self._asked, named) for named in named_judges(self.settings)}
        path = self.settings.judge_prompt
        return asks, prompt_text(path) if path else None, judging_identity(self.settings)

    def _asked(self, named: Named, system: str, user: str) -> str:
        with self._turn:
            judge = self._pool.judge(named)
        return judge(system, user)

    def prepare(self, cells: Sequence[Cell]) -> tuple[Misfit, ...]:
        """Check before the first cell what would spoil every cell: texts, needles, tokenizers, models, short lengths.

        Returns the lengths that are too short for a needle, where others fit or other tasks are asked. Raises
        `InputError`. Also makes what workers would otherwise make at the same time (converted models).
        """
        first: dict[tuple[str, str, str], dict[int, Cell]] = {}
        begun: dict[tuple[str, ...], str] = {}  # tasks and models of which one row is enough, and that row
        for cell in cells:
            at = (cell.task, cell.needle, cell.model)
            if self._series[at].task.rows and begun.setdefault(at[::2], cell.needle) != cell.needle:
                continue
            first.setdefault(at, {}).setdefault(cell.length, cell)
        misfits = list(grid_misfits(self.settings, self._tasks))
        check_answer_room(cells, self.series_of, self.builder)
        fits, unfilled = False, list[TooLongError]()
        for at, of_length in first.items():
            try:
                short = list(self._too_short(self._series[at], [of_length[length] for length in sorted(of_length)]))
            except TooLongError as error:
                unfilled.append(error)
                continue
            fits |= len(short) < len(of_length)
            misfits += short
        if unfilled:
            raise not_filled(unfilled)
        more = self._with_their_questions(first, misfits)
        misfits = [each for each in misfits if (each.of, each.length) not in {(m.of, m.length) for m in more}] + more
        alone = len({each.of for each in misfits}) == len(first) == 1
        left_out = {(each.of, each.length) for each in misfits}
        fits &= any((_name(at), length) not in left_out for at, lengths in first.items() for length in lengths)
        if misfits and (alone or not fits):
            of_misfits = {each.task for each in misfits}
            suites = [suite for suite in self.settings.suites if suite.task in of_misfits]
            kept_free = max(suite.kept_free for suite in suites)
            raise nothing_fits(misfits, (length for suite in suites for length in suite.lengths), kept_free)
        for spec in dict.fromkeys(self._series[at].model for at in first):
            self._pool.check(spec)
        self._pool.check_judges()
        return tuple(misfits)

    def _with_their_questions(
        self, first: Mapping[tuple[str, str, str], Mapping[int, Cell]], misfits: Sequence[Misfit]
    ) -> list[Misfit]:
        """Misfits so that each length and arm is asked the same questions; they go before `misfits` of the same cells.

        A question whose document does not fit is asked nowhere, one whose near miss does not fit lacks that alone. Of a
        task that asks shares of its lengths the longest decides; a shorter one that a question does not fit is asked of
        none, but what has nothing around it stays.
        """
        least = {(each.of, each.length): each.least for each in misfits}
        series = {at: self._series[at] for at in first if self._series[at].task.questions}
        whole = {at: first[at] for at in series if not split_label(at[1], ("focused",))[1]}
        without_room = [(at, size) for at, sizes in whole.items() for size in sizes if (_name(at), size) in least]
        questions: dict[str, str] = {}
        near: dict[str, str] = {}
        for at, size in without_room:
            label, task = question_label(at[1]), series[at].task
            reference = ask(task, series[at].suite, first[at][size], self.settings.seed).reference
            if "near_document" in reference:
                near[_name(at)] = f"{label} with {reference['near_document']!r} in its place"
            elif task.share == 100 or size == max(first[at]):
                questions[label] = f"{label} about {reference['document']!r}"
        shares = {
            (at[0], size): least[_name(at), size]
            for at, size in without_room
            if series[at].task.share < 100 and question_label(at[1]) not in questions
        }
        more = []
        for at, each in series.items():
            words = questions.get(question_label(at[1])) or near.get(_name(at), "")
            for size in first[at]:
                if words:
                    more.append(Misfit(_name(at), size, least.get((_name(at), size)), each.task.share, words))
                elif at in whole and (at[0], size) in shares:
                    more.append(Misfit(_name(at), size, shares[at[0], size], each.task.share))
        return more

    def _too_short(self, series: Series, cells: Iterable[Cell]) -> Iterator[Misfit]:
        """Those of the cells, from the shortest on, whose prompt cannot be built; the first that can ends it."""
        for cell in cells:
            builder = self.builder(cell)
            builder.corpus(series.suite)
            builder.shape(series.suite)
            self.key(cell)
            try:
                # A plan asks nothing, of an embedder neither.
                if not (self.settings.plan and series.retriever):
                    builder.build(series.suite, cell)
            except TooShortError as error:
                yield Misfit(f"{cell.task} {cell.needle}", cell.length, error.least, series.task.share)
            else:
                return

    def facts(self, cell: Cell) -> dict[str, Any]:
        """What a manifest says about this cell's texts, tokenizer and model."""
        series, builder = self.series_of(cell), self.builder(cell)
        suite, corpus, shape = series.suite, builder.corpus(series.suite), builder.shape(series.suite)
        model, own = self._pool.facts(series.model), series.task.facts
        embedders = builder.embedders(suite)
        calibration = getattr(builder.tokenizer, "calibration", None)
        return {
            "corpora": {f"{suite.corpus}/{suite.language}": corpus.facts},
            "tokenizers": {builder.tokenizer.name: builder.tokenizer.fingerprint},
            **({"calibrations": {series.model: calibration}} if calibration else {}),
            "prompts": {f"{shape.name}/{suite.language}": shape.sha256},
            "models": {series.model: model} if model else {},
            **(own(suite) if own else {}),
            **({"embedders": embedders} if embedders else {}),
        }

    def stop(self) -> None:
        """Send no further request; those in flight may still be answered."""
        self._pool.stop()

    def close(self) -> None:
        """Let go of models and connections."""
        self._pool.close()


def check_answer_room(
    cells: Iterable[Cell], series_of: Callable[[Cell], Series], builder_of: Callable[[Cell], TrialBuilder]
) -> None:
    """Raise `NoRoomError` where a budget is too small for an answer, with one that is large enough for each of them.

    The answer of a repeat is the same at every depth. Rows of a data set are not looked at: one that does not fit is
    skipped when its turn comes.
    """
    free, needed = set[tuple[str, str, str]](), dict[tuple[object, ...], tuple[int, str, Cell]]()
    for cell in cells:
        kind = cell.task, cell.needle, cell.model
        at = (*kind, cell.length, cell.repeat)
        if kind in free or at in needed:
            continue
        series = series_of(cell)
        tokens = 0 if series.task.rows else builder_of(cell).answer_tokens(series.suite, cell)
        if tokens:
            needed[at] = tokens, cell.id, cell
        else:
            free.add(kind)
    over = [each for each in needed.values() if each[0] > series_of(each[2]).suite.answer_budget]
    if over:
        tokens, _id, cell = max(over)
        raise NoRoomError(series_of(cell).suite.answer_budget, f"{cell.task} {cell.needle}", tokens)


def _name(at: tuple[str, str, str]) -> str:
    """A series as a misfit names it: its task and its needle."""
    return f"{at[0]} {at[1]}"
