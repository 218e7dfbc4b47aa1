"""The engine of a run: trial builders, resume keys, models and judges that its cells share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.errors import InputError
from needlework.core.files import prompt_text
from needlework.core.grid import Cell
from needlework.core.settings import Judging, Settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Series, Tasks, grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.models.model import Model
from needlework.models.specs import bears_threads
from needlework.pipeline.model_pool import ModelPool, named_judges

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving


@dataclass(eq=False)
class Engine:
    """Builds the trials of a run; has their models, resume keys, judges. One per process and thread."""

    settings: Settings
    cache_dir: Path
    workers: int = 1  # processes that share this run, its concurrency and its CPU threads
    tasks: Tasks = field(default_factory=lambda: TASKS)
    serving: Serving | None = None  # the server that the run starts for its model
    tell: Callable[[str], object] | None = None  # shows a status line

    def __post_init__(self) -> None:
        self.models = ModelPool(self.settings, self.cache_dir, self.workers, self.serving, self.tell)
        self._series: dict[tuple[str, str, str], Series] = {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series
            for series in grid(self.settings, self.tasks)
        }
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}
        self._keys: dict[Cell, str] = {}

    def series(self) -> Iterable[Series]:
        """Every series of cells of the run."""
        return self._series.values()

    def series_of(self, cell: Cell) -> Series:
        """The series that a cell belongs to."""
        return self._series[cell.task, cell.needle, cell.model]

    def has(self, cell: Cell) -> bool:
        """Whether the cell is of a series of this run, whatever its length, depth and repeat."""
        return (cell.task, cell.needle, cell.model) in self._series

    def spec(self, cell: Cell) -> str:
        """The spec of the model that answers this cell."""
        return self.series_of(cell).model

    def scorer(self, cell: Cell) -> str:
        """The scorer that the cell's suite names, else its task's."""
        series = self.series_of(cell)
        return series.suite.scorer or series.task.scorer

    def builder(self, cell: Cell) -> TrialBuilder:
        """The builder of this cell's trial; cells of one model and tokenizer share it."""
        series = self.series_of(cell)
        key = (series.model, self.settings.tokenizer or series.suite.tokenizer_model)
        if key not in self._builders:
            tokenizer = self.models.tokenizer(*key)
            self._builders[key] = TrialBuilder(self.settings, tokenizer, self.cache_dir, tasks=self.tasks)
        return self._builders[key]

    def model(self, cell: Cell) -> Model:
        """The cell's model; loaded on first use, one local model at a time. Raises `InputError`."""
        return self.models.model(self.spec(cell), self.builder(cell).tokenizer)

    def server(self, cell: Cell) -> str:
        """The identity of the server that answers a cell now (`ServedModel.server`).

        Empty for other models, and before the run has started its server."""
        with suppress(InputError):
            if self.serving is None or self.serving.handed_on():
                return str(getattr(self.model(cell), "server", ""))
        return ""

    def trial(self, cell: Cell) -> Trial:
        """Build a cell's trial. Raises `InputError` when no prompt of its length can be built."""
        return self.builder(cell).build(self.series_of(cell).suite, cell)

    def key(self, cell: Cell) -> str:
        """The resume key of a cell's trial: a hash of everything that can change its answer."""
        if cell not in self._keys:
            series = self.series_of(cell)
            self._keys[cell] = self.builder(cell).key(series.suite, cell, self.models.identity(series.model))
        return self._keys[cell]

    def judging(self, cell: Cell) -> Judging | None:
        """The run's judges, and when they judge this cell's answers; `None` without judges."""
        if not self.settings.judge:
            return None
        asks, prompt, identity = self._judges
        suite, strategy = self.series_of(cell).suite, self.settings.judge_strategy
        if strategy == "auto" and (suite.judge_by_default or self.settings.judge_prompt is not None):
            strategy = "llm"
        return Judging(asks, strategy, prompt, identity, self.judged_at_once)

    @cached_property
    def judged_at_once(self) -> int:
        """The most answers that the judges may have at once; 0 without judges, 1 where one is computed here."""
        if not self.settings.judge:
            return 0
        return max(1, self.settings.concurrency // self.workers) if all(map(bears_threads, self.settings.judge)) else 1

    @cached_property
    def _judges(self) -> tuple[Mapping[str, Callable[[str, str], str]], str | None, str]:
        judges, path = named_judges(self.settings), self.settings.judge_prompt
        asks = {name: partial(self.models.ask_judge, name) for name in judges}
        # Whatever can change their rulings, as far as it is known without reaching them.
        facts = [list(judges.values()), self.settings.judge_prompt_sha256]
        return asks, prompt_text(path) if path else None, sha256(json.dumps(facts).encode()).hexdigest()

    def facts(self, cell: Cell) -> dict[str, Any]:
        """Manifest entries on this cell's texts, tokenizer and model."""
        series, builder = self.series_of(cell), self.builder(cell)
        suite, corpus, shape = series.suite, builder.corpus(series.suite), builder.shape(series.suite)
        model, task_facts = self.models.facts(series.model), series.task.facts
        embedders = builder.embedders(suite)
        calibration = getattr(builder.tokenizer, "calibration", None)
        return {
            "corpora": {f"{suite.corpus}/{suite.language}": corpus.facts},
            "tokenizers": {builder.tokenizer.name: builder.tokenizer.fingerprint},
            **({"calibrations": {series.model: calibration}} if calibration else {}),
            "prompts": {f"{shape.name}/{suite.language}": shape.sha256},
            "models": {series.model: model} if model else {},
            **(task_facts(suite) if task_facts else {}),
            **({"embedders": embedders} if embedders else {}),
        }
