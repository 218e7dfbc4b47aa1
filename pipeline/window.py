"""`--lengths window`: the length that fills a model's context window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.grid import parse_tokens
from needlework.core.settings import Settings
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments
from needlework.haystack_fixtures.tasks.catalogue import Tasks, task_named
from needlework.models.specs import runs_here
from needlework.models.tokenizers.tokenizer import approximation
from needlework.pipeline.model_pool import ModelPool

OPTION, WORD = "--lengths", "window"
_EVEN = 100  # tokens: a length that documents set is rounded down to these, so that ids are short


@dataclass(frozen=True, slots=True)
class Filled:
    """The length that fills a model's window. `tokens`: of prompt and answer. `reason`: why so many, in words."""

    tokens: int
    reason: str

    def __str__(self) -> str:
        return f"{OPTION} {WORD}: {self.tokens:,} tokens, {self.reason}"


def asks_window(settings: Settings) -> bool:
    """Whether a suite has the window as a length that is not known yet."""
    return any(suite.window for suite in settings.suites)


def filled(settings: Settings, tasks: Tasks, cache_dir: Path) -> Filled:
    """The length for all suites of the run: of several models the smallest window, so that they are asked the same.

    No weights are loaded; a server is asked for its window, but none that the run itself is to start. Raises
    `InputError` where the window is not known.
    """
    if any(suite.window and suite.length_means == "context" for suite in settings.suites):
        raise InputError(OPTION, WORD, "is what prompt and answer have together: leave out --length-means context")
    known = replace(settings, suites=tuple(replace(suite, lengths=suite.lengths or (1,)) for suite in settings.suites))
    pool = ModelPool(known, cache_dir, 1, None)
    try:
        window, model, about = min(_windows(pool, known))
        words = f"the window of {model}{about}"
        reach = min(_reaches(pool, known, tasks, cache_dir), default=window)
    finally:
        pool.close()
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


def _windows(pool: ModelPool, settings: Settings) -> Iterator[tuple[int, str, str]]:
    """Of each model its tokens, its name, and what is to be said of them."""
    for spec in dict.fromkeys(settings.model):
        window = _to_serve(settings) or pool.described(spec).window
        error = 0.0
        if window is None and settings.serve is None and not runs_here(spec):
            tokenizer = pool.tokenizer(spec, settings.tokenizer)
            window, error = pool.model(spec, tokenizer).window, approximation(tokenizer)
        if window is None:
            raise InputError(OPTION, WORD, f"the window of {spec} is not known: {_remedy(spec, settings)}")
        about = f", less the {error:.0%} by which our counts may be off" if error else ""
        yield int(window / (1 + error)), spec, about


def _to_serve(settings: Settings) -> int | None:
    """The window of `--serve-arg`."""
    tokens = dict(word.partition("=")[::2] for word in settings.serve_arg).get("window")
    return parse_tokens("--serve-arg window", tokens) if tokens else None


def _remedy(spec: str, settings: Settings) -> str:
    if settings.serve is not None:
        return "its server is not up yet: say it, --serve-arg window=32k"
    return "give lengths in tokens" if runs_here(spec) else "say it, --model-arg window=32768"


def _reaches(pool: ModelPool, settings: Settings, tasks: Tasks, cache_dir: Path) -> Iterator[int]:
    """The length that each suite's own texts fill, counted by each tokenizer of the run."""
    counts: dict[tuple[str, str], Sequence[int]] = {}
    for suite in settings.suites:
        task = task_named(suite.task, tasks)
        if not (suite.window and task.reach and task.corpus):
            continue
        corpus = task.corpus(suite)
        for spec in dict.fromkeys(settings.model):
            tokenizer = pool.tokenizer(spec, settings.tokenizer or suite.tokenizer_model)
            at = (corpus.sha256, tokenizer.fingerprint)
            if at not in counts:
                documents = EncodedDocuments(corpus, tokenizer, cache_dir)
                counts[at] = [len(documents[number].encoded.ids) for number in range(len(documents.texts))]
            tokens = task.reach(suite, counts[at]) + suite.kept_free
            yield max(1, tokens - tokens % _EVEN)
