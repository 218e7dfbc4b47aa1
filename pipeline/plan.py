"""`--plan`: what a run would ask, and how long it would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from needlework.core.grid import Cell, depth_label
from needlework.core.settings import Suite, family_options
from needlework.haystack_fixtures.retrieval.chunks import chunking
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.models.local.memory import Described
from needlework.pipeline.engine import Engine

_MOST_WHOLE = 12  # series that are described in full


def plan_lines(engine: Engine, cells: Sequence[Cell], *, whole: bool) -> Iterator[str]:
    """Lines that tell trials, lengths, depths, tokens and requests, for each series of cells that is selected. Of many
    series a line each, unless `whole`.
    """
    chosen: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        # Questions on documents are many, and alike in everything that is told.
        series = engine.series_of(cell)
        label = cell.needle if series.task.corpus is None else series.retriever
        chosen.setdefault((cell.task, label, cell.model), []).append(cell)
    total_in = total_out = 0
    yield f"plan: preset {engine.settings.preset}, seed {engine.settings.seed}"
    whole = whole or len(chosen) <= _MOST_WHOLE
    for group in chosen.values():
        series = engine.series_of(group[0])
        suite, first = series.suite, group[0]
        lengths = sorted({cell.length for cell in group})
        depths = sorted({cell.depth for cell in group}, key=lambda depth: -1 if depth is None else depth)
        repeats = len({cell.repeat for cell in group})
        corpus = engine.builder(first).corpus(suite)
        model = engine.models.described(series.model)
        beside = _beside(engine, suite, group)
        fit = [cell for cell in group if model.window is None or cell.length + beside <= model.window]
        answer_tokens = len(fit) * suite.answer_tokens
        prompt_tokens = sum(cell.length + beside - _unused(suite) for cell in fit) - answer_tokens
        if series.retriever:
            prompt_tokens = min(prompt_tokens, len(fit) * _retrieved_tokens(engine, first))
        total_in, total_out = total_in + prompt_tokens, total_out + answer_tokens
        shown = [depth_label(depth) for depth in depths]
        needles = list(dict.fromkeys(cell.needle for cell in group))
        asked = f"needle {needles[0]}" if len(needles) == 1 else f"{len(needles)} questions"
        if series.retriever:
            own = family_options(suite, RetrievalOptions)
            asked += f", {series.retriever} ({own.retrieve} chunks of {own.chunk_size})"
        named = f"{first.task}, {asked}, {series.model}: {_counted(group)}"
        lengths_asked = [cell.length + beside for cell in group]
        if not whole:
            yield f"{named}, {lengths[0]} to {lengths[-1]} tokens long: {prompt_tokens:,} prompt tokens"
            continue
        yield ""
        yield named
        yield f"  {len(lengths)} lengths ({_unit(suite)}):  {' '.join(map(str, lengths))}"
        placed = "no depth axis: the task says where what it asks for stands"
        yield "  " + (placed if depths == [None] else f"{len(shown)} depths (percent): {' '.join(shown)}")
        yield f"  trials a cell: {repeats if engine.settings.adaptive is None else 'as many as it takes'}"
        yield f"  corpus {corpus.name} ({corpus.language}, {corpus.licence}), sha256 {corpus.sha256[:12]}"
        told = f"scorer {engine.scorer(first)}, tokenizer {engine.builder(first).tokenizer.name}"
        yield f"  prompt {suite.prompt}, template {suite.template}, {told}"
        yield f"  {prompt_tokens:,} prompt tokens, at most {answer_tokens:,} answer tokens"
        for line in size_lines(model, lengths_asked, engine.settings.gpu_memory):
            yield f"  {line}"
    yield "" if whole else "(-v tells depths, corpus, prompt and scorer of each)"
    total = f"{total_in:,} prompt tokens, at most {total_out:,} answer tokens"
    if engine.settings.adaptive:
        yield f"these are the places of the grid: --adaptive asks as many samples there as it takes, {total} a round"
        yield "nothing was run; leave out --plan to run it"
        return
    yield f"in all: {_counted(cells)} = {len(cells):,} {'request' if len(cells) == 1 else 'requests'}, {total}"
    if engine.settings.price:
        yield _cost(total_in, total_out, *map(float, engine.settings.price))
    if engine.settings.top_up:
        yield f"--top-up: at most {engine.settings.top_up:,} further requests while a gate is inconclusive"
    yield "nothing was run; leave out --plan to run it"


def _unit(suite: Suite) -> str:
    """What lengths are counted in."""
    if suite.length_means == "total":
        return "tokens"
    short = f" less {suite.length_buffer}" if suite.length_buffer else ""
    return f"tokens of the context alone{short}; template, question and answer on top"


def _unused(suite: Suite) -> int:
    """Tokens of what a cell needs of the window that neither prompt nor answer uses."""
    return suite.length_buffer if suite.length_means == "total" else 0


_AROUND_CHUNKS = 150  # tokens of template and question, about


def _retrieved_tokens(engine: Engine, cell: Cell) -> int:
    """About how many tokens a prompt has whose context is retrieved: chunks of the size that is asked for."""
    builder, suite = engine.builder(cell), engine.series_of(cell).suite
    options = family_options(suite, RetrievalOptions)
    rule = chunking(options.chunk_size, options.chunk_overlap)
    size = rule.size
    if rule.unit == "characters":
        sample = max((text[:size] for text in builder.corpus(suite).documents), key=len, default="word " * (size // 5))
        size = len(builder.tokenizer.encode(sample).ids)
    return options.retrieve * size + _AROUND_CHUNKS


def _beside(engine: Engine, suite: Suite, group: Sequence[Cell]) -> int:
    """Tokens of the window that a cell needs beyond its length: those around its context, and of its answer."""
    if suite.length_means == "total":
        return 0
    shortest = min(group, key=lambda cell: cell.length)
    prompt = engine.trial(shortest).prompt
    return prompt.tokens + prompt.slack + suite.answer_tokens - shortest.length


def _counted(trials: Sequence[Cell]) -> str:
    """How many trials of how many cells: a cell has a trial for each repeat."""
    cells = len({replace(trial, repeat=0) for trial in trials})
    told = f"{len(trials):,} {'trial' if len(trials) == 1 else 'trials'}"
    return told if cells == len(trials) else f"{told} in {cells:,} {'cell' if cells == 1 else 'cells'}"


def _cost(prompt_tokens: int, answer_tokens: int, prompt_price: float, answer_price: float) -> str:
    """The most that a run can cost but for retries, at prices in dollars per million tokens."""
    prompts, answers = prompt_tokens * prompt_price / 1e6, answer_tokens * answer_price / 1e6
    parts = f"{prompts:,.2f} for prompts, {answers:,.2f} for answers"
    return (
        f"at most {prompts + answers:,.2f} dollars ({parts}); less where a server bills what it has in its cache lower"
    )


# vLLM and SGLang keep about a tenth of a card for activations and themselves.
_SHARE_OF_A_CARD = 0.9
_GIB = 2**30


def size_lines(model: Described, lengths: Sequence[int], card_gib: float | None = None) -> Iterator[str]:
    """Lines on trials of these `lengths` (tokens, one each): what the window does not hold, and the memory of one.

    `card_gib`: memory of a card, in GiB.
    """
    beyond = sorted(length for length in lengths if model.window is not None and length > model.window)
    if model.window is not None and beyond:
        told = " ".join(map(str, dict.fromkeys(beyond)))
        over = f"{len(beyond):,} of {len(lengths):,} trials are over its window of {model.window:,} tokens"
        yield f"{over} and would be skipped: length {told}"
    if model.token_bytes is None:
        if card_gib is not None:
            yield "no memory can be told: give --tokenizer FOLDER, with the model's config.json in it"
        return
    longest = max(lengths)
    kept = longest * model.token_bytes
    told = f"keys and values of {longest:,} tokens: {_gib(kept)} in 16 bit, {_gib(kept / 2)} in 8 bit"
    yield told + (f"; weights {_gib(model.weights_bytes)}" if model.weights_bytes else "")
    if card_gib is not None:
        cards = [_cards(model.weights_bytes or 0, bytes_kept, card_gib) for bytes_kept in (kept, kept / 2)]
        without = "" if model.weights_bytes else ", without the weights: they are not here"
        yield f"cards of {card_gib:g} GiB for one request: {cards[0]} in 16 bit, {cards[1]} in 8 bit{without}"


def _cards(weights: float, kept: float, card_gib: float) -> int:
    return max(1, ceil((weights + kept) / (_SHARE_OF_A_CARD * card_gib * _GIB)))


def _gib(size: float) -> str:
    return f"{size / _GIB:,.2f} GiB"
