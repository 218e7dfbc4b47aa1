"""The texts that contexts are cut from, encoded once for all trials of a tokenizer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import structs

from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.corpora.files import Corpus
from needlework.haystack_fixtures.haystacks.documents import DocumentSource, OtherDocuments, document_source
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, order_source
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks
from needlework.models.tokenizers.tokenizer import Tokenizer

# Characters of generated text per token, more than any tokenizer here packs into one on average.
_CHARS_PER_TOKEN = 6
# Sources are kept while they have so many tokens together (about 40 bytes each), and never fewer of them than this.
_TOKENS_KEPT = 2_000_000
_SOURCES_KEPT = 3

Source = TypeVar("Source", HaystackSource, DocumentSource)


class SourceCache(Generic[Source]):
    """Sources that are kept while there is room, the least recently used go first."""

    def __init__(self) -> None:
        self._sources: OrderedDict[Hashable, Source] = OrderedDict()
        self._tokens = 0

    def get(self, key: Hashable, make: Callable[[], Source]) -> Source:
        """The source that was kept, or the one that is made now."""
        if key in self._sources:
            self._sources.move_to_end(key)
            return self._sources[key]
        source = self._sources[key] = make()
        self._tokens += source.tokens
        while len(self._sources) > _SOURCES_KEPT and self._tokens > _TOKENS_KEPT:
            self._tokens -= self._sources.popitem(last=False)[1].tokens
        return source


def of_one_file(suite: Suite, repeat: int) -> tuple[Suite, int]:
    """The suite on the one file that a repeat's haystack is of, and which of that file's repeats it is.

    As OpenCompass goes: all repeats of a file, then those of the next; what is more begins again.
    """
    per_file, files = suite.repeats_per_file, suite.file_list
    if not per_file:
        return suite, repeat
    rounds, index = divmod(repeat, per_file * len(files))
    one_file = structs.replace(suite, file_list=(files[index // per_file],), repeats_per_file=0)
    return one_file, rounds * per_file + index % per_file


class SourcePool:
    """Corpora and sources by suite and repeat. May be shared by threads."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path, *, tasks: Tasks = TASKS) -> None:
        self._tasks = tasks
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._seed = settings.seed
        self._longest = max(max(each.lengths) for each in settings.suites)
        self._corpora: dict[tuple[object, ...], Corpus] = {}
        self._documents: dict[str, EncodedDocuments] = {}
        self._sources: SourceCache[HaystackSource] = SourceCache()
        self._document_sources: SourceCache[DocumentSource] = SourceCache()
        self._lock = threading.RLock()

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run; or the texts that its task has itself."""
        of_task = self._tasks[suite.task].corpus
        if of_task is not None:
            return of_task(suite)
        key = (suite.corpus, suite.language, suite.text_field, suite.file_list)
        with self._lock:
            if key not in self._corpora:
                self._corpora[key] = load_corpus(
                    suite.corpus,
                    language=suite.language,
                    seed=self._seed,
                    min_chars=self._longest * _CHARS_PER_TOKEN,
                    text_field=suite.text_field,
                    file_list=suite.file_list,
                    cache_dir=self._cache_dir,
                )
            return self._corpora[key]

    def source(self, suite: Suite, repeat: int) -> HaystackSource:
        """The encoded text that the haystacks of one repeat begin with, whatever their length and depth."""
        with self._lock:
            suite, repeat = of_one_file(suite, repeat)
            corpus = self.corpus(suite)
            documents = self._encoded(corpus)
            return self._sources.get(
                (corpus.sha256, repeat),
                lambda: order_source(documents, seed=self._seed, repeat=repeat, min_tokens=self._longest),
            )

    def documents(self, suite: Suite, others: OtherDocuments) -> DocumentSource:
        """The encoded text of other documents in their order."""
        with self._lock:
            corpus = self.corpus(suite)
            documents = self._encoded(corpus)
            return self._document_sources.get(
                (corpus.sha256, others.order), lambda: document_source(documents, others, min_tokens=self._longest)
            )

    def _encoded(self, corpus: Corpus) -> EncodedDocuments:
        if corpus.sha256 not in self._documents:
            self._documents[corpus.sha256] = EncodedDocuments(corpus, self._tokenizer, self._cache_dir)
        return self._documents[corpus.sha256]
