"""The engine of a run: trial builders, resume keys, models and judges that its cells share."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.devices import device_kind, free_cores
from needlework.core.errors import InputError
from needlework.core.files import prompt_text
from needlework.core.grid import Cell
from needlework.core.settings import Judging, Settings, Suite
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Series, Tasks, grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.models.model import DistantModel, Model
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import (
    allows_threads,
    check_model,
    is_served,
    load_model,
    resolve_tokenizer,
    runs_here,
    weights_fingerprint,
)
from needlework.models.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving
    from needlework.models.local.memory import Described
    from needlework.models.served.batch import AnswerFiles

_AROUND = 1024  # tokens of a template and a question, with room to spare
_NOT_YET = "http://127.0.0.1:1/v1"  # in place of the address of a server that is not there yet


@dataclass(eq=False)
class Engine:
    """Builds the trials of a run; has their models, resume keys, judges. For one thread, but for `ask_judge`.

    A model or a judge is loaded when it is first asked.
    """

    settings: Settings
    cache_dir: Path
    workers: int = 1  # processes that share this run, its concurrency and its CPU threads
    tasks: Tasks = field(default_factory=lambda: TASKS)
    serving: Serving | None = None  # the server that the run starts for its model
    tell: Callable[[str], object] | None = None  # shows a status line

    def __post_init__(self) -> None:
        self._args = dict(word.partition("=")[::2] for word in self.settings.model_arg)
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}
        self._keys: dict[Cell, str] = {}
        self._models: dict[str, Model] = {}
        self._judge_models: dict[str, Model] = {}
        self._opening = threading.Lock()  # of judges
        self._weights: dict[str, str | None] = {}

    @cached_property
    def _series(self) -> dict[tuple[str, str, str], Series]:
        return {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series
            for series in grid(self.settings, self.tasks)
        }

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
            tokenizer = self.tokenizer(*key)
            self._builders[key] = TrialBuilder(self.settings, tokenizer, self.cache_dir, tasks=self.tasks)
        return self._builders[key]

    def model(self, cell: Cell) -> Model:
        """The cell's model; loaded on first use, one local model at a time. Raises `InputError`."""
        return self.open_model(self.spec(cell), self.builder(cell).tokenizer)

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
            self._keys[cell] = self.builder(cell).key(series.suite, cell, self._identity(series.model))
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
        return max(1, self.settings.concurrency // self.workers) if all(map(allows_threads, self.settings.judge)) else 1

    @cached_property
    def _judges(self) -> tuple[Mapping[str, Callable[[str, str], str]], str | None, str]:
        judges, path = named_judges(self.settings), self.settings.judge_prompt
        asks = {name: partial(self.ask_judge, name) for name in judges}
        # Whatever can change their rulings, as far as it is known without reaching them.
        facts = [list(judges.values()), self.settings.judge_prompt_sha256]
        return asks, prompt_text(path) if path else None, sha256(json.dumps(facts).encode()).hexdigest()

    def facts(self, cell: Cell) -> dict[str, Any]:
        """Manifest entries on this cell's texts, tokenizer and model."""
        series, builder = self.series_of(cell), self.builder(cell)
        suite, corpus, shape = series.suite, builder.corpus(series.suite), builder.shape(series.suite)
        model, task_facts = self._model_facts(series.model), series.task.facts
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

    def tokenizer(self, spec: str, named: str | None) -> Tokenizer:
        """The tokenizer of a model, or the one that is named in place of it."""
        if named == "server":
            from needlework.pipeline.token_counter import served_tokenizer

            return served_tokenizer(spec, self._args, self._to_model(), self.cache_dir)
        return resolve_tokenizer(spec, self._args, named, self.cache_dir)

    def describe(self, spec: str) -> Described:
        """Known facts of a model before it is loaded."""
        from needlework.models.local.memory import describe

        return describe(spec, self._args, self.settings.tokenizer, self.cache_dir)

    def check(self, specs: Iterable[str]) -> None:
        """Refuse before the first cell what could not be loaded. Raises `InputError`."""
        to_model = self._connection(_NOT_YET) if self.serving else self._to_model()
        for spec in specs:
            check_model(spec, self._args, to_model, None if self.settings.plan else self.cache_dir)
        if self.settings.judge:  # every answer would be asked for, and paid, before a judge is found missing
            from needlework.models.judge import check_judge

            for spec, url in named_judges(self.settings).values():
                check_judge(spec, self._connection(url))

    def open_model(self, spec: str, tokenizer: Tokenizer) -> Model:
        """The model of a spec. Raises `InputError` when it cannot be loaded."""
        if spec not in self._models:
            if runs_here(spec):
                # Two local models at once would share one device's memory.
                for other in [other for other in self._models if runs_here(other)]:
                    self._models.pop(other).close()
            self._models[spec] = load_model(
                spec,
                model_args=self._args,
                tokenizer=tokenizer,
                connection=self._to_model(),
                cache_dir=self.cache_dir,
                threads=max(1, free_cores() // self.workers) if runs_here(spec) else None,
                longest=max(map(_longest, self.settings.suites)),
            )
        return self._models[spec]

    def _model_facts(self, spec: str) -> dict[str, Any]:
        """A model's manifest entry, if it is loaded."""
        model = self._models.get(spec)
        if model is None:
            return {}
        facts = dict(model.identity) | {"window": model.window}
        if self.serving is not None:
            facts |= self.serving.served.facts | {"weights_sha256": self._weights_of(spec)}
        return facts

    def _identity(self, spec: str) -> dict[str, Any]:
        """Values that can change a model's answers, known without loading weights or asking a server."""
        return {
            "spec": spec,
            "weights": self._weights_of(spec),
            "device": device_kind(self._args.get("device")) if runs_here(spec) else None,
            "args": sorted(word for word in self.settings.model_arg if not word.startswith("header.")),
            "base_url": self.settings.server,
        }

    def _weights_of(self, spec: str) -> str | None:
        if spec not in self._weights:
            weights, args = (self.serving.served.weights, dict[str, str]()) if self.serving else (spec, self._args)
            self._weights[spec] = weights_fingerprint(weights, args, self.cache_dir) if weights else None
        return self._weights[spec]

    def ask_judge(self, name: str, system: str, user: str) -> str:
        """Ask a judge; from any thread. Raises `InputError` when it cannot be opened."""
        from needlework.models.judge import ask, open_judge

        with self._opening:
            if name not in self._judge_models:
                # A tokenizer that the server under test counts with is not the judge's.
                tokenizer = None if self.settings.tokenizer == "server" else self.settings.tokenizer
                spec, url = named_judges(self.settings)[name]
                self._judge_models[name] = open_judge(spec, self._connection(url), tokenizer, self.cache_dir)
        return ask(self._judge_models[name], system, user)

    @cached_property
    def answers(self) -> AnswerFiles | None:
        """The files of `--batch-in`, if answers come from there. Raises `InputError`."""
        if not self.settings.batch_in:
            return None
        from needlework.models.served.batch import AnswerFiles

        return AnswerFiles(self.settings.batch_in)

    def _to_model(self) -> ServerOptions:
        """The connection to the models under test."""
        if self.serving is not None:
            return replace(self._connection(self.serving.address()), ended=self.serving.ended)
        batch = bool(self.settings.batch_out or self.settings.batch_in)
        return replace(self._connection(self.settings.base_url), batch=batch, answers=self.answers)

    def _connection(self, base_url: str | None) -> ServerOptions:
        too_long = self.settings.too_long_pattern
        return ServerOptions(
            base_url=base_url,
            api_key_env=self.settings.api_key_env,
            timeout_s=self.settings.timeout,
            retries=self.settings.retries,
            concurrency=max(1, self.settings.concurrency // self.workers),
            heeds_slots=not self.settings.load,
            workers=self.workers,
            strict_model=self.settings.strict_model,
            tell=self.tell,
            too_long_pattern=re.compile(too_long, re.IGNORECASE) if too_long else None,
        )

    def stop(self) -> None:
        """Send no further request; those in flight may still be answered."""
        for model in (*self._models.values(), *self._judge_models.values()):
            if isinstance(model, DistantModel):
                model.stop()

    def close(self) -> None:
        """Let go of models and connections."""
        for model in (*self._models.values(), *self._judge_models.values()):
            model.close()
        self._models.clear()
        self._judge_models.clear()


def _longest(suite: Suite) -> int:
    """Tokens of the suite's longest prompt with its answer; about, where template and question are on top."""
    return max(suite.lengths) + (0 if suite.length_means == "total" else suite.answer_tokens + _AROUND)


def named_judges(settings: Settings) -> dict[str, tuple[str, str | None]]:
    """The judges of a run: spec and server's address, if any, by a name, the spec, numbered where two are equal.

    Raises `InputError` for addresses that do not fit, or a judge named twice.
    """
    specs, urls = settings.judge, settings.judge_base_url
    if specs and len(urls) not in (0, 1, len(specs)):
        remedy = f"give one address, or one for each of the {len(specs)} judges"
        raise InputError("--judge-base-url", f"{len(urls)} addresses", remedy)
    addresses = urls if len(urls) > 1 else (*(urls or (settings.base_url,)),) * len(specs)
    judges = list(zip(specs, addresses, strict=False))
    if len(set(judges)) < len(judges):
        raise InputError("--judge", ", ".join(specs), "names one judge twice; a majority needs different ones")
    return {
        spec if specs.count(spec) == 1 else f"{spec} ({specs[: at + 1].count(spec)})": (spec, url)
        for at, (spec, url) in enumerate(judges)
    }


def judging_notes(settings: Settings) -> Sequence[str]:
    """Warnings about a run's judges before it begins."""
    notes = []
    by_default = [suite for suite in settings.suites if suite.judge_by_default]
    if by_default and not settings.judge and settings.judge_strategy == "auto":
        scorer = by_default[0].scorer or "the rule"
        notes.append(
            f"preset {settings.preset}: as published, a language model judges (a mark of 0 to 10);"
            f" here {scorer} does, unless --judge names one"
        )
    for spec, url in named_judges(settings).values():
        if spec in settings.model and (url == settings.base_url or not is_served(spec)):
            same = "is the model under test: it judges itself, and judges favour their own answers"
            notes.append(f"the judge {spec} {same}")
    return notes
