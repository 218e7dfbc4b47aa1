"""The texts of a run: corpora, and the haystack sources that are made of them, each made once and kept while needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, order_source
from needlework.haystack_fixtures.haystacks.whole_documents import DocumentSource, OtherDocuments, document_source
from needlework.haystack_fixtures.settings.settings import Settings, Suite
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

# Characters of generated text per token, more than any tokenizer here packs into one on average.
_CHARS_PER_TOKEN = 6
# Sources are kept while they have so many tokens together (about 40 bytes each), and never fewer of them than this.
_TOKENS_KEPT = 2_000_000
_SOURCES_KEPT = 3
_ORDERS_KEPT = 4096

Source = TypeVar("Source", HaystackSource, DocumentSource)


class _Kept(Generic[Source]):
    """Sources that are kept while there is room, the least recently used go first."""

    def __init__(self) -> None:
        self._sources: OrderedDict[Hashable, tuple[Source, int]] = OrderedDict()
        self._tokens = 0

    def get(self, key: Hashable) -> Source | None:
        """A source that was kept."""
        if key not in self._sources:
            return None
        self._sources.move_to_end(key)
        return self._sources[key][0]

    def keep(self, key: Hashable, source: Source, tokens: int) -> None:
        """Keep a source of so many tokens."""
        self._sources[key] = (source, tokens)
        self._tokens += tokens
        while len(self._sources) > _SOURCES_KEPT and self._tokens > _TOKENS_KEPT:
            self._tokens -= self._sources.popitem(last=False)[1][1]


def of_one_file(suite: Suite, repeat: int) -> tuple[Suite, int]:
    """The suite on the one file that a repeat's haystack is of, and which of that file's repeats it is.

    As OpenCompass goes: all repeats of a file, then those of the next; what is more begins again.
    """
    each, files = suite.repeats_per_file, suite.file_list
    if not each:
        return suite, repeat
    rounds, place = divmod(repeat, each * len(files))
    return replace(suite, file_list=(files[place // each],), repeats_per_file=0), rounds * each + place % each


class Sources:
    """Corpora and sources by suite and repeat. May be shared by threads."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path, *, tasks: Tasks = TASKS) -> None:
        self._tasks = tasks
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._seed = settings.seed
        self._longest = max(max(each.lengths) for each in settings.suites)
        self._corpora: dict[tuple[object, ...], Corpus] = {}
        self._documents: dict[str, EncodedDocuments] = {}
        self._sources: _Kept[HaystackSource] = _Kept()
        self._document_sources: _Kept[DocumentSource] = _Kept()
        # Of an order of documents: those that it begins with and that are needed.
        self._beginnings: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
        self._lock = threading.RLock()

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run; or the texts that its task has itself."""
        own = self._tasks[suite.task].corpus
        if own is not None:
            return own(suite)
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
            key = (corpus.sha256, repeat)
            found = self._sources.get(key)
            if found is None:
                found = order_source(self._encoded(corpus), seed=self._seed, repeat=repeat, min_tokens=self._longest)
                self._sources.keep(key, found, len(found.encoded.ids))
            return found

    def documents(self, suite: Suite, others: OtherDocuments) -> DocumentSource:
        """The encoded text of other documents in their order; orders that begin alike, as far as needed, have one."""
        with self._lock:
            corpus = self.corpus(suite)
            order = (corpus.sha256, others.order)
            found = self._document_sources.get((corpus.sha256, self._beginnings.get(order)))
            if found is not None:
                return found
            made = document_source(self._encoded(corpus), others, min_tokens=self._longest)
            if len(self._beginnings) >= _ORDERS_KEPT:
                self._beginnings.clear()
            self._beginnings[order] = made.numbers
            key = (corpus.sha256, made.numbers)
            found = self._document_sources.get(key)
            if found is None:
                self._document_sources.keep(key, made, len(made.haystack.encoded.ids))
            return found or made

    def _encoded(self, corpus: Corpus) -> EncodedDocuments:
        if corpus.sha256 not in self._documents:
            self._documents[corpus.sha256] = EncodedDocuments(corpus, self._tokenizer, self._cache_dir)
        return self._documents[corpus.sha256]
