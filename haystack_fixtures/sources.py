"""The texts of a run: corpora, and the haystack sources that are made of them, each made once and kept while needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from haystack_fixtures.corpora.corpus import Corpus
from haystack_fixtures.corpora.load import load_corpus
from haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, order_source
from haystack_fixtures.settings import Settings, Suite
from haystack_fixtures.tasks.load import task_named
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

# Characters of generated text per token, more than any tokenizer here packs into one on average.
_CHARS_PER_TOKEN = 6
# Sources are kept while they have so many tokens together (about 40 bytes each), and never fewer of them than this.
_TOKENS_KEPT = 2_000_000
_SOURCES_KEPT = 3


class Sources:
    """Corpora and sources by suite and repeat. May be shared by threads."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path) -> None:
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._seed = settings.seed
        self._longest = max(max(each.lengths) for each in settings.suites)
        self._corpora: dict[tuple[object, ...], Corpus] = {}
        self._documents: dict[str, EncodedDocuments] = {}
        self._sources: OrderedDict[tuple[str, int], HaystackSource] = OrderedDict()
        self._tokens = 0
        self._lock = threading.RLock()

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run; or the texts that its task has itself."""
        own = task_named(suite.task).corpus
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
            corpus = self.corpus(suite)
            key = (corpus.sha256, repeat)
            if key in self._sources:
                self._sources.move_to_end(key)
            else:
                if corpus.sha256 not in self._documents:
                    self._documents[corpus.sha256] = EncodedDocuments(corpus, self._tokenizer, self._cache_dir)
                documents = self._documents[corpus.sha256]
                self._keep(key, order_source(documents, seed=self._seed, repeat=repeat, min_tokens=self._longest))
            return self._sources[key]

    def _keep(self, key: tuple[str, int], source: HaystackSource) -> None:
        self._sources[key] = source
        self._tokens += len(source.encoded.ids)
        while len(self._sources) > _SOURCES_KEPT and self._tokens > _TOKENS_KEPT:
            self._tokens -= len(self._sources.popitem(last=False)[1].encoded.ids)
