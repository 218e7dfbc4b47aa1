"""`needlework prompt RUN CELL`: make the prompt of a recorded trial again, byte for byte, from the run's manifest.

No server is asked, no environment variable is read, and no file outside the run's folder but installed texts and what
`--read` names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec.structs import replace

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import default_cache_dir
from needlework.core.grid import parse_id
from needlework.core.prompts import Prompt
from needlework.core.record import Record, RetrievalFacts
from needlework.core.settings import BY_KEY, READ, READ_HELP, Places, Settings
from needlework.haystack_fixtures.configuration.stored_settings import confined, safe_value, without_servers
from needlework.haystack_fixtures.tasks.catalogue import Series, Tasks, grid, with_tasks
from needlework.haystack_fixtures.tasks.published.leval import own_tasks
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.models.specs import is_plugin, is_served, resolve_tokenizer
from needlework.models.tokenizers.tokenizer import Tokenizer
from needlework.results.files.read_run import read_run
from needlework.results.records.manifest import manifest_at, settings_of, start_of
from needlework.results.records.run_folder import MANIFEST

MESSAGES = "The server was sent its messages, and puts the marks of its own template around them"
MARKED = "; U+FDD0 stands before each mark here, since a document may hold the words of one as text"


def main(argv: Sequence[str]) -> int:
    """Print the prompt to standard output. Exit code 2 when it cannot be made.
    Exit code 1 when it is not the recorded one, which is then not printed, or when no hash of it was recorded."""
    parser = OneLineParser(prog="needlework prompt", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("cell", metavar="CELL", help="its id, such as niah-len4000-depth50-code-r0")
    parser.add_argument(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    options = parser.parse_args(argv)
    return run_command("prompt", lambda: _print_prompt(options.run, options.cell, options.read))


def _print_prompt(run: Path, cell: str, named: Sequence[str]) -> int:
    record = _record(run, cell)
    stored = stored_run(manifest_at(run / MANIFEST), run, named)
    trial = StoredTrials(stored).build(record.id, record.prompt.retrieval)
    made, recorded = trial.prompt.text_sha256, record.prompt.sha256
    note = ""
    if recorded and recorded != made:
        note = f"what can be made now is not the prompt that was sent: sha256 {made[:16]}, recorded {recorded[:16]}; "
        note += "the corpus, needles, tokenizer or version differs (see manifest.json)"
    else:
        sys.stdout.buffer.write(trial.prompt.text.encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
        if not recorded:
            note = "unchecked: the trial ended before its hash was recorded"
        elif record.prompt.template == "chat" and is_served(record.model):
            note = MESSAGES + (MARKED if "\ufdd0<|" in trial.prompt.text else "")
    if note:
        print(f"needlework prompt: {note}", file=sys.stderr)
    return 0 if recorded == made else 1


def prompt_builder(named: Sequence[str] = ()) -> Callable[[Path, str], Prompt]:
    """A function that builds the prompt of a cell of the run in a folder; threads may share it.

    `named`: files outside the runs to read. The function raises `InputError`.
    """
    open_trials, turn = lru_cache(2)(StoredTrials), Lock()  # people rate answers of several runs in turn

    def build(run: Path, cell_id: str) -> Prompt:
        stored = stored_run(manifest_at(run / MANIFEST), run, named)
        retrieves = any(set(suite.retriever) - {"none"} for suite in stored.settings.suites)
        retrieval = _record(run, cell_id).prompt.retrieval if retrieves else None
        with turn:
            return open_trials(stored).build(cell_id, retrieval).prompt

    return build


def stored_run(manifest: Mapping[str, Any], run: Path, named: Sequence[str] = ()) -> StoredRun:
    """The run in a folder, as its manifest describes it. `named`: paths of `--read`. Raises `InputError`."""
    if not manifest:
        raise InputError("RUN", run, "has no readable manifest.json, which says what was asked")
    calibrations = manifest.get("calibrations")
    places = Places(run.resolve(), start_of(manifest), tuple(named))
    return StoredRun(settings_of(manifest), places, calibrations if isinstance(calibrations, dict) else {})


def _record(run: Path, cell_id: str) -> Record:
    name = cell_id.partition("[")[2].rstrip("]") or cell_id
    records = {record.id: record for record in read_run(run).records}
    if name not in records:
        near = get_close_matches(name, records, n=1) or list(records)[:1]
        has = f"it has {near[0]}, ..." if near else "it has none"
        raise InputError("CELL", cell_id, f"{run} has no such cell; {has}")
    return records[name]


_NO_EMBEDDER = "openai:none"  # never asked: records tell which chunks were retrieved


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on disk. `settings`: of its manifest; `places`: of its files; `calibrations`: of servers'
    tokenizers, by model, from the manifest."""

    settings: Settings
    places: Places
    calibrations: Mapping[str, Any] = field(default_factory=dict, compare=False)


class StoredTrials:
    """Builds trials of a stored run one after another; what they share is opened once."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._settings = confined(_of_prompts(without_servers(run.settings)), run.places)
        data = dict.fromkeys(suite.leval_data for suite in self._settings.suites)
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
            from needlework.haystack_fixtures.retrieval.search import Retrieval

            tokenizer, chunks = self._tokenizer(series), retrieval.hits if retrieval else []
            recorded = Retrieval(self._settings, default_cache_dir(), recorded=chunks)
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
    suites = tuple(replace(suite, embedder=_NO_EMBEDDER) if suite.embedder else suite for suite in settings.suites)
    return replace(settings, suites=suites, judge_prompt=None, baseline=None, gate=())
