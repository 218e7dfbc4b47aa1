"""The engine of a process: which model answers which cell, in what order, with how much in flight."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.asking.batches import Batches
from needlework.haystack_fixtures.asking.look_ahead import LookAhead
from needlework.haystack_fixtures.asking.model_pool import ModelPool
from needlework.haystack_fixtures.asking.replay import replayed
from needlework.haystack_fixtures.asking.stability import ask_again, probed_cells
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import BatchModel, Model, ModelError, Request, Response
from needlework.haystack_fixtures.models.model_named import parse_spec, runs_here
from needlework.haystack_fixtures.needles.canaries import Canaries
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, grid, task_named
from needlework.haystack_fixtures.trials.contexts import reserved
from needlework.haystack_fixtures.trials.exchange import (
    Exchange,
    check_answer,
    prompt_facts,
    with_canaries,
    with_follow_up,
)
from needlework.haystack_fixtures.trials.trials import Trial, TrialBuilder

_COMPANY = 3  # other prompts in the batch of a stability probe
StoredAnswer = Callable[[str], "Mapping[str, Any] | None"]


class Engine:
    """Builds trials, asks models, and keeps what cells share. One per process.

    Served models: requests of the cells to come are in flight while one cell waits for its own. Local models: cells
    are handed over in batches, so that the model computes what they share once. Prompts are built as they are needed.

    `workers`: processes that share this run (concurrency and CPU threads are divided between them).
    `stored`: gives the journal's record for a key, if that trial has been answered before.
    `keep`: is given each answer that comes before its cell's turn, in the thread that asked.
    """

    def __init__(
        self,
        settings: Settings,
        cache_dir: Path,
        *,
        workers: int = 1,
        stored: StoredAnswer | None = None,
        keep: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.settings = settings
        self._cache_dir = cache_dir
        self._workers = workers
        self._stored = stored or (lambda _key: None)
        self._keep = keep or (lambda _exchange: None)
        self._series: dict[tuple[str, str, str], Series] = {
            (series.cells[0].task, series.cells[0].needle, series.cells[0].model): series for series in grid(settings)
        }
        self._builders: dict[tuple[str, str | None], TrialBuilder] = {}
        self._pool = ModelPool(settings, cache_dir, workers)
        self._keys: dict[Cell, str] = {}
        self._announced: set[Cell] = set()
        self._ahead: dict[str, LookAhead[Cell, Exchange] | Batches[Cell, Exchange]] = {}
        self._probed = probed_cells(
            (cell for series in self._series.values() for cell in series.cells), settings.stability, settings.seed
        )
        # One for what is made once, another for prompts: who looks up a key does not wait for those that build.
        self._turn, self._building = threading.RLock(), threading.RLock()

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
        with self._turn:
            if key not in self._builders:
                self._builders[key] = TrialBuilder(self.settings, self._pool.tokenizer(*key), self._cache_dir)
            return self._builders[key]

    def model(self, cell: Cell) -> Model:
        """The model that answers this cell; loaded on first use, one local model at a time."""
        with self._turn:
            return self._pool.model(self.series_of(cell).model, self.builder(cell).tokenizer)

    def trial(self, cell: Cell) -> Trial:
        """Build a cell's trial without asking it."""
        with self._building:
            return self.builder(cell).build(self.series_of(cell).suite, cell)

    def facts(self, cell: Cell) -> dict[str, Any]:
        """What a manifest says about this cell's texts, tokenizer and model."""
        series = self.series_of(cell)
        builder = self.builder(cell)
        corpus = builder.corpus(series.suite)
        shape = builder.shape(series.suite)
        loaded = self._pool.loaded(series.model)
        own = task_named(series.suite.task).facts
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
            "models": {series.model: dict(loaded.identity) | {"window": loaded.window}} if loaded else {},
            **(own(series.suite) if own else {}),
            **({"embedders": embedders} if (embedders := builder.embedders(series.suite)) else {}),
        }

    # -- before the first cell -----------------------------------------------------------------------------------

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Check before the first cell what would spoil every cell: texts, needles, tokenizers, models, short lengths.

        Raises `InputError`. Also makes what workers would otherwise make at the same time (converted models).
        """
        shortest: dict[tuple[str, str, str], Cell] = {}
        for cell in cells:
            key = (cell.task, cell.needle, cell.model)
            if key not in shortest or cell.length < shortest[key].length:
                shortest[key] = cell
        for key, cell in shortest.items():
            series = self._series[key]
            builder = self.builder(cell)
            builder.corpus(series.suite)
            builder.shape(series.suite)
            self._key(cell)
            # A plan asks nothing, of an embedder neither.
            if not (self.settings.plan and series.retriever):
                builder.build(series.suite, cell)
        for spec in dict.fromkeys(self._series[key].model for key in shortest):
            self._pool.check(spec)

    def start(self, cells: Iterable[Cell]) -> None:
        """Announce cells that will be asked, in that order; may be called again as more become known."""
        coming: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell not in self._announced:
                self._announced.add(cell)
                coming.setdefault(cell.model, []).append(cell)
        for model, found in coming.items():
            ahead = self._ahead_of(found[0])
            if ahead is not None:
                self._ahead[model] = ahead
                ahead.extend(found)

    def _ahead_of(self, cell: Cell) -> LookAhead[Cell, Exchange] | Batches[Cell, Exchange] | None:
        if cell.model in self._ahead:
            return self._ahead[cell.model]
        spec = self.series_of(cell).model
        if runs_here(spec):
            return Batches(self._ask_batch, self._batch_size, self._unanswered)
        served = parse_spec(spec).kind == "openai"
        if self.settings.concurrency > 1 and (served or spec.startswith("mock:sleep")):
            width = -(-self.settings.concurrency // self._workers)
            # Of served models each keeps to its width itself, and to less where its server wants less.
            return LookAhead((), self._ask_ahead, width, self._unanswered, spare=width if served else 0)
        return None

    # -- one cell ------------------------------------------------------------------------------------------------

    def exchange(self, cell: Cell) -> Exchange:
        """Ask one cell, or wait for its answer if it was asked ahead."""
        self._announced.add(cell)
        done = self._done(cell)
        if done is not None:
            return self._replayed(cell, done)
        ahead = self._ahead.get(cell.model)
        exchange = self._ask(cell) if ahead is None else ahead.take(cell)
        self._keys.pop(cell, None)
        return self._probe(exchange) if cell in self._probed else exchange

    def _probe(self, exchange: Exchange) -> Exchange:
        trial = exchange.trial
        # The answer that is scored is one to two questions: asking the first again says little about it.
        if trial is None or trial.asked.follow_up or exchange.response.error is not None or exchange.skipped:
            return exchange
        cell = exchange.cell
        others = sorted((each for each in self._probed if each.model == cell.model and each != cell), key=_length)
        model = self.model(cell)
        company = [_request(self.trial(each)) for each in others[:_COMPANY]] if isinstance(model, BatchModel) else []
        return replace(exchange, again=ask_again(model, _request(trial), company))

    def _unanswered(self, cell: Cell) -> bool:
        return self._done(cell) is None

    def _done(self, cell: Cell) -> Mapping[str, Any] | None:
        done = self._stored(self._key(cell))
        twice = done is not None and "follow_up" in (done["reference"] or {})  # never probed
        unprobed = done is not None and cell in self._probed and not twice and not done["details"].get("stability")
        return None if unprobed else done

    def _key(self, cell: Cell) -> str:
        key = self._keys.get(cell)
        if key is None:
            series = self.series_of(cell)
            with self._turn:
                model = self._pool.identity(series.model)
            key = self._keys[cell] = self.builder(cell).key(series.suite, cell, model)
        return key

    def _replayed(self, cell: Cell, done: Mapping[str, Any]) -> Exchange:
        series, key = self.series_of(cell), self._keys.pop(cell)
        return replayed(cell, series, key, done, seed=self.settings.seed, ask_judge=self._ask_judge())

    def _ask_ahead(self, cell: Cell) -> Exchange:
        exchange = self._ask(cell)
        self._keep(exchange)
        return exchange

    def _ask_batch(self, cells: Sequence[Cell]) -> list[Exchange]:
        exchanges = self._ask_many(cells)
        for exchange in exchanges:
            self._keep(exchange)
        return exchanges

    def _ask(self, cell: Cell) -> Exchange:
        drafted, model = self._draft(cell)
        if model is None or drafted.trial is None:
            return drafted
        return self._with_further(_answered(drafted, model.respond(_request(drafted.trial))), model)

    def _ask_many(self, cells: Sequence[Cell]) -> list[Exchange]:
        drafted = [self._draft(cell) for cell in cells]
        asked = [(i, _request(draft.trial), model) for i, (draft, model) in enumerate(drafted) if draft.trial and model]
        found = [draft for draft, _ in drafted]
        if not asked:
            return found
        model = asked[0][2]
        requests = [request for _, request, _ in asked]
        if isinstance(model, BatchModel):
            responses = model.respond_many(requests)
        else:
            responses = [model.respond(request) for request in requests]
        for (i, _, _), response in zip(asked, responses, strict=True):
            found[i] = self._with_further(_answered(found[i], response), model)
        return found

    def _with_further(self, exchange: Exchange, model: Model) -> Exchange:
        """The exchange with the answers to what is asked after it: its second question, or the marks at both ends."""
        second = self._second_trial(exchange)
        if second is not None:
            return with_follow_up(exchange, second, model.respond(_request(second)))
        ends = self._canary_trial(exchange)
        return exchange if ends is None else with_canaries(exchange, ends[0], model.respond(_request(ends[1])))

    def _second_trial(self, exchange: Exchange) -> Trial | None:
        """What asks this exchange's second question, where it has one."""
        trial = exchange.trial
        if trial is None or trial.asked.follow_up is None or exchange.skipped or exchange.response.error is not None:
            return None
        with self._building:
            return self.builder(exchange.cell).follow_up(trial)

    def _canary_trial(self, exchange: Exchange) -> tuple[Canaries, Trial] | None:
        """What asks for the marks at both ends of this exchange's context, where there are any."""
        cell, suite = exchange.cell, exchange.suite
        builder = self.builder(cell)
        ends = builder.canaries(suite, cell)
        if ends is None or exchange.response.error is not None:
            return None
        with self._building:
            return ends, builder.canary_trial(suite, cell, ends)

    def _batch_size(self, cell: Cell) -> int:
        try:
            model = self.model(cell)
        except InputError:
            return 1  # told by the cell itself
        if not isinstance(model, BatchModel):
            return 1
        return max(1, min(model.batch_size, model.batch_tokens // cell.length))

    def _draft(self, cell: Cell) -> tuple[Exchange, Model | None]:
        """The exchange as far as it is known before the model is asked; without a model it is final."""
        series = self.series_of(cell)
        key = self._key(cell)
        begun = time.perf_counter()
        try:
            trial = self.trial(cell)
        except InputError as error:
            return self._failed(cell, series, key, ModelError("client", str(error))), None
        build_s = time.perf_counter() - begun
        try:
            model = self.model(cell)
        except InputError as error:
            # A model that cannot be loaded would fail every further cell too.
            return self._failed(cell, series, key, ModelError("client", str(error), fatal=True)), None
        draft = Exchange(
            cell,
            series.suite,
            series.model,
            key,
            Response(),
            question=trial.asked.question,
            reference=trial.asked.reference,
            trial=trial,
            prompt_facts=prompt_facts(trial),
            flags=trial.prompt.flags,
            build_s=build_s,
            seed=self.settings.seed,
            ask_judge=self._ask_judge(),
        )
        window = model.window
        if trial.skipped:
            return replace(draft, skipped=trial.skipped), None
        # Documents that are cut as upstream cuts them leave no room for what stands around them.
        length = max(cell.length, trial.prompt.tokens + reserved(series.suite))
        if window is not None and length > window:
            return replace(draft, skipped=f"length {length} is over the model's window of {window} tokens"), None
        return draft, model

    def _failed(self, cell: Cell, series: Series, key: str, error: ModelError) -> Exchange:
        return Exchange(cell, series.suite, series.model, key, Response(error=error), seed=self.settings.seed)

    def _ask_judge(self) -> Callable[[str, str], str] | None:
        return self._asked_judge if self.settings.judge else None

    def _asked_judge(self, system: str, user: str) -> str:
        with self._turn:
            judge = self._pool.judge()
        return judge(system, user)

    def close(self) -> None:
        """Let go of models, threads and connections."""
        for ahead in self._ahead.values():
            if isinstance(ahead, LookAhead):
                ahead.close()
        self._pool.close()


def _length(cell: Cell) -> int:
    return cell.length


def _answered(draft: Exchange, response: Response) -> Exchange:
    if response.error is not None and response.error.too_long:
        return replace(draft, response=replace(response, error=None), skipped=response.error.message)
    if response.error is not None or draft.trial is None:
        return replace(draft, response=response)
    asked = draft.trial.asked
    answers = [needle.answer for needle in asked.needles if needle.answer] or [asked.answer]
    check = check_answer(draft.trial.prompt.tokens, answers, response)
    flags = (*draft.flags, *check.flags)
    return replace(draft, response=response, invalid=check.invalid, invalid_why=check.why, flags=flags)


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
