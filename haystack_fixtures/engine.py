"""The engine of a process: which model answers which cell, in what order, with how many requests in flight."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from haystack_fixtures.cells import Cell
from haystack_fixtures.errors import InputError
from haystack_fixtures.exchange import Exchange, check_server_count, prompt_facts
from haystack_fixtures.look_ahead import LookAhead
from haystack_fixtures.models.connection import Connection
from haystack_fixtures.models.load import check_model_args, load_model, parse_spec, resolve_tokenizer
from haystack_fixtures.models.model import Model, ModelError, Request, Response
from haystack_fixtures.settings import Settings
from haystack_fixtures.tasks.load import Series, grid, task_named
from haystack_fixtures.trials import Trial, TrialBuilder

StoredAnswer = Callable[[str], "Mapping[str, Any] | None"]


class Engine:
    """Builds trials, asks models, and keeps what cells share. One per process.

    `workers`: processes that share this run (concurrency and CPU threads are divided between them).
    `stored`: gives the journal's record for a key, if that trial has been answered before.
    """

    def __init__(
        self, settings: Settings, cache_dir: Path, *, workers: int = 1, stored: StoredAnswer | None = None
    ) -> None:
        self.settings = settings
        self._cache_dir = cache_dir
        self._workers = workers
        self._stored = stored or (lambda _key: None)
        self._series: dict[tuple[str, str, str], Series] = {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series for series in grid(settings)
        }
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}
        self._model: tuple[str, Model] | None = None
        self._judge: Model | None = None
        self._ahead: tuple[str, LookAhead[Cell, Exchange]] | None = None
        self._order: dict[str, list[Cell]] = {}
        self._building = threading.Lock()

    # -- what there is -------------------------------------------------------------------------------------------

    def series(self) -> Iterable[Series]:
        """Every series of cells of the run."""
        return self._series.values()

    def series_of(self, cell: Cell) -> Series:
        """The series that a cell belongs to."""
        return self._series[cell.task, cell.needle, cell.model]

    def builder(self, cell: Cell) -> TrialBuilder:
        """What builds this cell's trial."""
        series = self.series_of(cell)
        key = (series.model, self.settings.tokenizer or series.suite.tokenizer_model)
        if key not in self._builders:
            tokenizer = resolve_tokenizer(series.model, self._model_args(), key[1], self._cache_dir)
            self._builders[key] = TrialBuilder(self.settings, tokenizer, self._cache_dir)
        return self._builders[key]

    def model(self, cell: Cell) -> Model:
        """The model that answers this cell; loaded on first use, one at a time."""
        spec = self.series_of(cell).model
        if self._model is None or self._model[0] != spec:
            if self._model is not None:
                self._model[1].close()
                self._model = None
            self._model = (
                spec,
                load_model(
                    spec,
                    model_args=self._model_args(),
                    tokenizer=self.builder(cell).tokenizer,
                    connection=self._connection(self.settings.base_url),
                    cache_dir=self._cache_dir,
                    longest=max(max(suite.lengths) for suite in self.settings.suites),
                    threads=max(1, len(os.sched_getaffinity(0)) // self._workers)
                    if hasattr(os, "sched_getaffinity")
                    else None,
                ),
            )
        return self._model[1]

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Check before the first cell what would spoil every cell: texts, needles, tokenizers, models, short lengths.

        Raises `InputError`. Also makes what workers would otherwise make at the same time (converted models).
        """
        for key in dict.fromkeys((cell.task, cell.needle, cell.model) for cell in cells):
            series = self._series[key]
            builder = self.builder(series.cells[0])
            builder.corpus(series.suite)
            builder.shape(series.suite)
            builder.key(series.suite, series.cells[0], {})
            shortest = min((cell for cell in cells if (cell.task, cell.needle, cell.model) == key), key=_length)
            builder.build(series.suite, shortest)
        for spec in dict.fromkeys(self.series_of(cell).model for cell in cells):
            check_model_args(spec, self._model_args(), self._connection(self.settings.base_url))

    def start(self, order: Sequence[Cell]) -> None:
        """Say which cells come, in which order, so that requests to a served model can overlap.

        Under several workers no process knows all cells that it will get, but cells of one haystack come together.
        """
        self._order = {}
        for cell in order:
            self._order.setdefault(cell.haystack_id if self._workers > 1 else cell.model, []).append(cell)

    def facts(self, cell: Cell) -> dict[str, Any]:
        """What a manifest says about this cell's texts, tokenizer and model."""
        series = self.series_of(cell)
        builder = self.builder(cell)
        corpus = builder.corpus(series.suite)
        shape = builder.shape(series.suite)
        loaded = self._model if self._model is not None and self._model[0] == series.model else None
        return {
            "corpora": {
                f"{series.suite.corpus}/{series.suite.language}": {
                    "name": corpus.name,
                    "language": corpus.language,
                    "licence": corpus.licence,
                    "source": corpus.source,
                    "sha256": corpus.sha256,
                    "documents": len(corpus.documents),
                    "characters": corpus.chars,
                }
            },
            "tokenizers": {builder.tokenizer.name: builder.tokenizer.fingerprint},
            "prompts": {f"{shape.name}/{series.suite.language}": shape.sha256},
            "models": {series.model: dict(loaded[1].identity) | {"window": loaded[1].window}} if loaded else {},
        }

    # -- one cell ------------------------------------------------------------------------------------------------

    def exchange(self, cell: Cell) -> Exchange:
        """Ask one cell, or wait for its answer if it was asked ahead."""
        if not self._overlaps(cell):
            return self._ask(cell)
        unit = cell.haystack_id if self._workers > 1 else cell.model
        if self._ahead is None or self._ahead[0] != unit:
            if self._ahead is not None:
                self._ahead[1].close()
            width = -(-self.settings.concurrency // self._workers)
            self._ahead = (unit, LookAhead(self._order.get(unit, ()), self._ask, width))
        return self._ahead[1].take(cell)

    def trial(self, cell: Cell) -> Trial:
        """Build a cell's trial without asking it."""
        with self._building:
            return self.builder(cell).build(self.series_of(cell).suite, cell)

    def _ask(self, cell: Cell) -> Exchange:
        series = self.series_of(cell)
        with self._building:
            key = self.builder(cell).key(series.suite, cell, self._identity(series.model))
        done = self._stored(key)
        if done is not None:
            return _replayed(cell, series, key, done, self._ask_judge(), self.settings.seed)
        begun = time.perf_counter()
        try:
            trial = self.trial(cell)
        except InputError as error:
            return self._failed(cell, series, key, ModelError("client", str(error)))
        build_s = time.perf_counter() - begun
        try:
            with self._building:
                model = self.model(cell)
        except InputError as error:
            # A model that cannot be loaded would fail every further cell too.
            return self._failed(cell, series, key, ModelError("client", str(error), fatal=True))
        facts = prompt_facts(trial)
        asked = trial.asked
        base = Exchange(
            cell,
            series.suite,
            series.model,
            key,
            Response(),
            question=asked.question,
            reference=asked.reference,
            trial=trial,
            prompt_facts=facts,
            flags=trial.prompt.flags,
            build_s=build_s,
            seed=self.settings.seed,
            ask_judge=self._ask_judge(),
        )
        if model.window is not None and cell.length > model.window:
            return replace(base, skipped=f"length {cell.length} is over the model's window of {model.window} tokens")
        response = model.respond(_request(trial))
        if response.error is not None:
            return replace(base, response=response)
        invalid, flags = check_server_count(trial.prompt.tokens, response.prompt_tokens)
        return replace(base, response=response, invalid=invalid, flags=(*base.flags, *flags))

    def _failed(self, cell: Cell, series: Series, key: str, error: ModelError) -> Exchange:
        return Exchange(cell, series.suite, series.model, key, Response(error=error), seed=self.settings.seed)

    def _overlaps(self, cell: Cell) -> bool:
        spec = self.series_of(cell).model
        return self.settings.concurrency > 1 and (parse_spec(spec).kind == "openai" or spec.startswith("mock:sleep"))

    # -- connections ---------------------------------------------------------------------------------------------

    def _model_args(self) -> dict[str, str]:
        return dict(cast("tuple[str, str]", tuple(word.split("=", 1))) for word in self.settings.model_arg)

    def _identity(self, spec: str) -> dict[str, Any]:
        # What is known without loading weights or reaching a server: resuming a finished run needs neither.
        return {
            "spec": spec,
            "args": sorted(word for word in self.settings.model_arg if not word.startswith("header.")),
            "base_url": self.settings.base_url,
        }

    def _connection(self, base_url: str | None) -> Connection:
        return Connection(
            base_url=base_url,
            api_key_env=self.settings.api_key_env,
            timeout_s=self.settings.timeout,
            retries=self.settings.retries,
        )

    def _ask_judge(self) -> Callable[[str, str], str] | None:
        return self._asked_judge if self.settings.judge else None

    def _asked_judge(self, system: str, user: str) -> str:
        from haystack_fixtures.models.judging import ask, open_judge

        with self._building:
            if self._judge is None:
                connection = self._connection(self.settings.judge_base_url or self.settings.base_url)
                self._judge = open_judge(
                    self.settings.judge or "", connection, self.settings.tokenizer, self._cache_dir
                )
        return ask(self._judge, system, user)

    def close(self) -> None:
        """Let go of models, threads and connections."""
        if self._ahead is not None:
            self._ahead[1].close()
        for model in (self._model[1] if self._model else None, self._judge):
            if model is not None:
                model.close()
        self._model = self._judge = None


def _length(cell: Cell) -> int:
    return cell.length


def _request(trial: Trial) -> Request:
    return Request(
        prompt=trial.prompt,
        template=trial.suite.template,
        answer_budget=trial.suite.answer_budget,
        thinking_budget=trial.suite.thinking_budget,
        cell=trial.cell,
        needles=trial.asked.needles,
        answer=trial.asked.answer,
    )


def _replayed(
    cell: Cell, series: Series, key: str, done: Mapping[str, Any], judge: Callable[[str, str], str] | None, seed: int
) -> Exchange:
    asked = task_named(series.suite.task).ask(series.suite, cell, seed)
    response, timing = done["response"], done.get("timing", {})
    return Exchange(
        cell,
        series.suite,
        series.model,
        key,
        Response(
            text=response.get("text", ""),
            reasoning=response.get("reasoning", ""),
            finish_reason=response.get("finish_reason"),
            prompt_tokens=response.get("prompt_tokens"),
            completion_tokens=response.get("completion_tokens"),
            cached_tokens=timing.get("cached_tokens"),
            latency_s=timing.get("latency_s"),
            ttft_s=timing.get("ttft_s"),
            attempts=timing.get("attempts", 1),
        ),
        question=asked.question,
        reference=asked.reference,
        prompt_facts=done["prompt"],
        invalid=tuple(done["details"].get("invalid", ())),
        flags=tuple(done["details"].get("flags", ())),
        skipped=done["why"] if done["outcome"] == "skipped" else "",
        build_s=timing.get("build_s"),
        seed=seed,
        replayed=True,
        ask_judge=judge,
    )
