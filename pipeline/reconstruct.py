"""Rebuilds the prompt of a stored trial, byte for byte: no connection, no environment variable, and no file but the
run's and those that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.files import default_cache_dir
from needlework.core.grid import parse_id
from needlework.core.record import RetrievalFacts
from needlework.core.settings import READ, FamilyValues, Places, Settings, family_options
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.stored_settings import confined, safe_value, without_servers
from needlework.haystack_fixtures.tasks.catalogue import Series, Tasks, grid, with_tasks
from needlework.haystack_fixtures.tasks.published.leval import own_tasks
from needlework.haystack_fixtures.tasks.published.leval_files import LevalOptions
from needlework.haystack_fixtures.trials.builder import Trial, TrialBuilder
from needlework.models.specs import is_plugin, is_served, resolve_tokenizer
from needlework.models.tokenizers.tokenizer import Tokenizer

_NO_EMBEDDER = "openai:none"  # never asked: records tell which chunks were retrieved


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on disk. `settings`: of its manifest; `places`: where its files may lie; `calibrations`: of servers'
    tokenizers, by model, from the manifest."""

    settings: Settings
    places: Places
    calibrations: Mapping[str, Any] = field(default_factory=dict, compare=False)


def sent_as_messages(model: str, template: str | None) -> bool:
    """Whether a server got a prompt's messages, and not its text. `model`: its spec; `template`: as recorded."""
    return template == "chat" and is_served(model)


def rebuild(run: StoredRun, cell_id: str, retrieval: RetrievalFacts | None = None) -> Trial:
    """Build the trial of a cell of a run, see `StoredTrials.build`. Raises `InputError`."""
    return StoredTrials(run).build(cell_id, retrieval)


class StoredTrials:
    """Builds trials of a stored run one after another; what they share is opened once."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._settings = confined(_of_prompts(without_servers(run.settings)), run.places)
        data = dict.fromkeys(family_options(suite, LevalOptions).leval_data for suite in self._settings.suites)
        self._tasks: Tasks = with_tasks([task for path in data for task in own_tasks(path)])
        self._series = {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series
            for series in grid(self._settings, self._tasks)
        }
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}

    def build(self, cell_id: str, retrieval: RetrievalFacts | None = None) -> Trial:
        """Build the trial of a cell. `retrieval`: the chunks that its record names. Raises `InputError`."""
        cell = parse_id(cell_id)
        if cell is None:
            raise InputError("CELL", cell_id, "write it like niah-len4000-depth50-code-r0")
        series = self._series.get((cell.task, cell.needle, cell.model))
        if series is None:
            raise InputError("CELL", cell_id, "is not a cell of this run")
        return self._builder(series, retrieval).build(series.suite, cell)

    def _builder(self, series: Series, retrieval: RetrievalFacts | None) -> TrialBuilder:
        make = partial(TrialBuilder, self._settings, cache_dir=default_cache_dir(), tasks=self._tasks)
        if series.retriever == "dense" or retrieval is not None:
            from needlework.haystack_fixtures.retrieval.search import RecordedRetrieval

            tokenizer = self._tokenizer(series)
            recorded = RecordedRetrieval(self._settings, tokenizer, default_cache_dir(), retrieval)
            return make(tokenizer, retrieval=recorded)
        at = (series.model, series.suite.tokenizer_model)
        if at not in self._builders:
            self._builders[at] = make(self._tokenizer(series))
        return self._builders[at]

    def _tokenizer(self, series: Series) -> Tokenizer:
        spec, named = series.model, self._settings.tokenizer or series.suite.tokenizer_model
        if named == "server":
            from needlework.pipeline.token_counter import stored_tokenizer

            return stored_tokenizer(spec, self._run.calibrations.get(spec))
        args = dict(word.split("=", 1) for word in self._settings.model_arg)
        if named is None and spec.startswith(("hf:", "gguf:")):
            revision = f"@{args['revision']}" if "revision" in args and spec.startswith("hf:") else ""
            named = safe_value(BY_KEY["tokenizer"], f"{spec}{revision}", self._run.places)
        if named is None and is_plugin(spec) and spec not in self._run.places.named:
            remedy = f"is opened by a package of somebody else: if you trust it with this name, give {READ} {spec}"
            raise InputError("--model", spec, remedy)
        return resolve_tokenizer(spec, args, named, default_cache_dir())


def _of_prompts(settings: Settings) -> Settings:
    """The settings without options that name files which no prompt is made of."""
    suites = tuple(
        replace(suite, family=FamilyValues({**suite.family, "embedder": _NO_EMBEDDER}))
        if "embedder" in suite.family
        else suite
        for suite in settings.suites
    )
    return replace(settings, suites=suites, judge_prompt=None, baseline=None, gate=())
