"""Runs that ask nothing: `--plan` tells what it takes, `--batch-out` writes the requests to files."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from needlework.core.errors import printable
from needlework.core.grid import Cell, depth_label
from needlework.core.settings import Suite, prices_of
from needlework.haystack_fixtures.retrieval.search import chunk_sizes
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.models.local.memory import Described, gib
from needlework.models.served.batch import BatchTransport, RequestFiles
from needlework.models.served.model import ServedModel
from needlework.pipeline.ask import Ready, make_ready, request_of
from needlework.pipeline.engine import Engine

_MOST_IN_FULL = 12  # series


def plan_lines(engine: Engine, cells: Sequence[Cell], *, in_full: bool) -> Iterator[str]:
    """Trials, lengths, depths, tokens and requests of each series of the selected cells, then of all.

    Of many series a line each, unless `in_full`.
    """
    settings, groups = engine.settings, _groups(engine, cells)
    in_full = in_full or len(groups) <= _MOST_IN_FULL
    total_in = total_out = 0
    requests = len(cells)
    cost: float | None = 0.0  # `None`: the price of a model is not known
    yield f"plan: preset {settings.preset}, seed {settings.seed}"
    for group in groups:
        series, first = engine.series_of(group[0]), group[0]
        suite = series.suite
        model = engine.describe(series.model)
        extra = _extra_tokens(engine, suite, group)
        lengths = [cell.length + extra for cell in group]
        fitting = [length for length in lengths if model.window is None or length <= model.window]
        answer_tokens = len(fitting) * suite.answer_tokens
        buffer = suite.length_buffer if suite.length_means == "total" else 0  # neither prompt nor answer uses it
        prompt_tokens = sum(fitting) - len(fitting) * buffer - answer_tokens
        if series.retriever:
            prompt_tokens = min(prompt_tokens, len(fitting) * _retrieved_tokens(engine, first))
        if split_label(first.needle, suite.controls)[1] == "compacted":  # the second prompt is a summary
            requests += len(group)
            prompt_tokens, answer_tokens = prompt_tokens + answer_tokens, 2 * answer_tokens
        total_in, total_out = total_in + prompt_tokens, total_out + answer_tokens
        prices = prices_of(settings.price, series.model)
        cost = None if cost is None or prices is None else cost + prices.dollars(prompt_tokens, answer_tokens)
        title = f"{first.task}, {_needles(engine, group)}, {series.model}: {_counted(group)}"
        if not in_full:
            longest = max(cell.length for cell in group)
            sizes = f"{min(cell.length for cell in group)} to {longest} tokens long"
            yield f"{title}, {sizes}: {prompt_tokens:,} prompt tokens"
            continue
        yield from ("", title)
        yield from (f"  {line}" for line in _grid_lines(engine, group))
        yield f"  {prompt_tokens:,} prompt tokens, at most {answer_tokens:,} answer tokens"
        yield from (f"  {line}" for line in size_lines(model, lengths, settings.gpu_memory))
    yield "" if in_full else "(-v tells depths, corpus, prompt and scorer of each)"
    total = f"{total_in:,} prompt tokens, at most {total_out:,} answer tokens"
    if settings.adaptive:
        yield f"these are the places of the grid: --adaptive asks as many samples there as it takes, {total} a round"
    else:
        yield f"in all: {_counted(cells)} = {requests:,} {'request' if requests == 1 else 'requests'}, {total}"
        if cost is not None:
            yield f"at most {cost:,.2f} dollars; less where a server bills what it has in its cache lower"
        if settings.top_up:
            yield f"--top-up: at most {settings.top_up:,} further requests while a gate is inconclusive"
    yield "nothing was run; leave out --plan to run it"


def _groups(engine: Engine, cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells by series; questions on documents by retriever, since they differ in nothing else."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        series = engine.series_of(cell)
        label = cell.needle if series.task.corpus is None else series.retriever
        groups.setdefault((cell.task, label, cell.model), []).append(cell)
    return list(groups.values())


def _needles(engine: Engine, group: Sequence[Cell]) -> str:
    series, needles = engine.series_of(group[0]), {cell.needle for cell in group}
    words = f"needle {group[0].needle}" if len(needles) == 1 else f"{len(needles)} questions"
    if not series.retriever:
        return words
    return f"{words}, {series.retriever} ({series.suite.retrieve} chunks of {series.suite.chunk_size})"


def _grid_lines(engine: Engine, group: Sequence[Cell]) -> Iterator[str]:
    """Lengths, depths, trials, corpus, prompt and scorer of a series."""
    first, suite = group[0], engine.series_of(group[0]).suite
    builder = engine.builder(first)
    corpus = builder.corpus(suite)
    lengths = sorted({cell.length for cell in group})
    depths = sorted({cell.depth for cell in group}, key=lambda depth: -1 if depth is None else depth)
    unit = "tokens"
    if suite.length_means != "total":
        short = f" less {suite.length_buffer}" if suite.length_buffer else ""
        unit = f"tokens of the context alone{short}; template, question and answer on top"
    yield f"{len(lengths)} lengths ({unit}):  {' '.join(map(str, lengths))}"
    if depths == [None]:
        yield "no depth axis: the task says where what it asks for stands"
    else:
        yield f"{len(depths)} depths (percent): {' '.join(map(depth_label, depths))}"
    repeats = len({cell.repeat for cell in group})
    yield f"trials a cell: {repeats if engine.settings.adaptive is None else 'as many as it takes'}"
    yield f"corpus {corpus.name} ({corpus.language}, {corpus.licence}), sha256 {corpus.sha256[:12]}"
    scored = f"scorer {engine.scorer(first)}, tokenizer {builder.tokenizer.name}"
    yield f"prompt {suite.prompt}, template {suite.template}, {scored}"


_AROUND_CHUNKS = 150  # tokens of template and question, about


def _retrieved_tokens(engine: Engine, cell: Cell) -> int:
    """About how many tokens a prompt has whose context is retrieved: chunks of the size that is asked for."""
    builder, suite = engine.builder(cell), engine.series_of(cell).suite
    size, _ = chunk_sizes(suite)
    sample = max((text[:size] for text in builder.corpus(suite).documents), key=len, default="word " * (size // 5))
    return suite.retrieve * len(builder.tokenizer.encode(sample).ids) + _AROUND_CHUNKS


def _extra_tokens(engine: Engine, suite: Suite, group: Sequence[Cell]) -> int:
    """Tokens that a cell needs beyond its length: template, question, answer, if these come on top."""
    if suite.length_means == "total":
        return 0
    shortest = min(group, key=lambda cell: cell.length)
    prompt = engine.trial(shortest).prompt
    return prompt.tokens + prompt.slack + suite.answer_tokens - shortest.length


def _counted(trials: Sequence[Cell]) -> str:
    """The number of trials, and of cells: a cell has a trial for each repeat."""
    cells = len({replace(trial, repeat=0) for trial in trials})
    words = f"{len(trials):,} {'trial' if len(trials) == 1 else 'trials'}"
    return words if cells == len(trials) else f"{words} in {cells:,} {'cell' if cells == 1 else 'cells'}"


# vLLM and SGLang keep about a tenth of a card for activations and themselves.
_SHARE_OF_A_CARD = 0.9


def size_lines(model: Described, lengths: Sequence[int], card_gib: float | None = None) -> Iterator[str]:
    """Lines on trials of these `lengths` (tokens): those over the window, memory of the longest.

    `card_gib`: memory of a card, in GiB.
    """
    over = sorted(length for length in lengths if model.window is not None and length > model.window)
    if model.window is not None and over:
        count = f"{len(over):,} of {len(lengths):,} trials are over its window of {model.window:,} tokens"
        yield f"{count} and would be skipped: length {' '.join(map(str, dict.fromkeys(over)))}"
    if model.token_bytes is None:
        if card_gib is not None:
            yield "no memory can be told: give --tokenizer FOLDER, with the model's config.json in it"
        return
    longest = max(lengths)
    cache = longest * model.token_bytes
    words = f"keys and values of {longest:,} tokens: {gib(cache)} in 16 bit, {gib(cache // 2)} in 8 bit"
    yield words + (f"; weights {gib(model.weights_bytes)}" if model.weights_bytes else "")
    if card_gib is not None:
        usable = _SHARE_OF_A_CARD * card_gib * 2**30
        cards = [max(1, ceil(((model.weights_bytes or 0) + size) / usable)) for size in (cache, cache / 2)]
        without = "" if model.weights_bytes else ", without the weights: they are not here"
        yield f"cards of {card_gib:g} GiB for one request: {cards[0]} in 16 bit, {cards[1]} in 8 bit{without}"


_MB = 1_000_000


def write_requests(engine: Engine, cells: Iterable[Cell], tell: Callable[..., None]) -> int:
    """Write every request of these cells, and print a summary. Returns the number of cells without a prompt.

    `tell(line, red=...)`. Raises `InputError` where the files cannot be written.
    """
    settings = engine.settings
    most_requests, megabytes = map(int, settings.batch_limits)
    files = RequestFiles(Path(settings.batch_out or ""), most_requests, megabytes * _MB)
    skipped, failed = Counter[str](), list[str]()
    written = requests = prompt_tokens = 0
    for cell in cells:
        ready = make_ready(engine, cell)
        if not isinstance(ready, Ready):
            if ready.skipped:
                skipped[ready.skipped] += 1
            else:
                why = ready.response.error.message if ready.response.error else ""
                failed.append(printable(f"{cell.id}: {why}"))
            continue
        assert isinstance(ready.model, ServedModel)
        transport = ready.model.transport
        assert isinstance(transport, BatchTransport)
        written += 1
        trials = [ready.trial, ready.second("")] if ready.second else [ready.trial]  # it does not wait for an answer
        for request in map(request_of, trials):
            prompt_tokens += request.prompt.tokens
            for line in transport.lines(request):
                requests += 1
                files.write(line, engine.series_of(cell).model)
    files.close()
    for why, times in skipped.items():
        tell(f"batch-out: {times:,} cells are not asked: {why}")
    for name in failed[:3]:
        tell(f"batch-out: no prompt: {name}", red=True)
    if len(failed) > 3:
        tell(f"batch-out: no prompt of {len(failed) - 3:,} further cells", red=True)
    if not files.files:
        tell("batch-out: nothing is written: every cell has its answer, or is not asked")
        return len(failed)
    tell(f"batch-out: {requests:,} requests of {written:,} cells, {prompt_tokens:,} prompt tokens:")
    for path in files.files:
        tell(f"  {path} ({path.stat().st_size / _MB:,.1f} MB)")
    tell("when they are answered: the same command with --batch-in ANSWERS.jsonl, not --batch-out")
    return len(failed)
