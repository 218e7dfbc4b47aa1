"""Contexts of trials: text, lists, documents, conversations."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypedDict, TypeVar

from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import CONTEXT, Message, Prompt
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.corpora.files import Corpus
from needlework.haystack_fixtures.haystacks.builder import build_prompt, verify_prompt
from needlework.haystack_fixtures.haystacks.conversations import (
    AroundTurns,
    Conversation,
    GrowingConversation,
    Joints,
    Round,
    build_conversation,
    build_given,
    joints_of,
    list_of_rounds,
)
from needlework.haystack_fixtures.haystacks.documents import (
    Document,
    DocumentSource,
    OtherDocuments,
    ShownDocument,
    build_document,
    build_of_documents,
    document_source,
    middle_cut,
)
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from needlework.haystack_fixtures.haystacks.pieces import WindowMemo
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, order_source
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.retrieval.search import Retrieval, Retrieved
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks
from needlework.haystack_fixtures.tasks.task import Chunks, Prose, Question
from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer

# what a retriever found of these. Conversations are built by `conversations`.
_LISTS_KEPT = 4
_DOCUMENTS_KEPT = 512
_LONG, _LONG_KEPT = 200_000, 8  # characters of a document of which few are kept: a row of a data set may have millions
PROSE = 20_000  # characters of the corpus that may follow a list


@dataclass(frozen=True, slots=True)
class ContextFrame:
    """What stands around the context: the rendered text before and after it, and the messages with a hole for it."""

    before: str
    after: str
    bos: tuple[int, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Built:
    """A prompt, and what is asked of it now that its context is known. `skipped`: why it is not to be asked."""

    prompt: Prompt
    asked: Question
    skipped: str = ""
    retrieved: Retrieved | None = None


class _Around(TypedDict):
    """What every kind of context is built with."""

    before: str
    after: str
    token_budget: int
    reserved: int
    messages: Callable[[str], tuple[Message, ...]]
    bos: tuple[int, ...]
    memo: WindowMemo


class Contexts:
    """Builds the contexts of one tokenizer; keeps what several of them need. Threads may share it."""

    def __init__(self, tokenizer: Tokenizer, sources: SourcePool, retrieval: Retrieval, *, verify: bool) -> None:
        """`verify`: prove each prompt by encoding it whole."""
        self._tokenizer = tokenizer
        self._sources = sources
        self._retrieval = retrieval
        self._verify = verify
        self._windows = WindowMemo(tokenizer)
        # All questions of a document have the same one.
        self._short_encoded = lru_cache(_DOCUMENTS_KEPT)(tokenizer.encode)
        self._long_encoded = lru_cache(_LONG_KEPT)(tokenizer.encode)
        self._lists: OrderedDict[tuple[str, str, int], ListSources] = OrderedDict()

    def build(self, suite: Suite, cell: Cell, asked: Question, frame: ContextFrame, ends: Canaries | None) -> Built:
        """Build a cell's prompt. `ends`: canaries at both ends of the text. Raises `InputError`."""
        if isinstance(asked.context, Document) and asked.context.most:
            frame, cut = self._message_cut(frame, asked.context)
            asked = replace(asked, context=cut)
        around: _Around = {
            "before": frame.before,
            "after": frame.after,
            "token_budget": cell.length - suite.kept_free,
            "reserved": suite.kept_free,
            "messages": lambda context: tuple(put(message, context) for message in frame.messages),
            "bos": frame.bos,
            "memo": self._windows,
        }
        if ends is not None and not isinstance(asked.context, Prose | Listing):
            raise InputError("--canary", "true", f"{suite.task} asks about documents as they are: leave it out")
        match asked.context:
            case Chunks() as chunks:
                built = self._of_what_was_found(suite, asked, chunks, around)
            case Document() as document:
                built = self._of_document(asked, document, around)
            case OtherDocuments() as others:
                built = self._among_documents(suite, asked, others, around)[0]
            case Prose() | Listing():
                built = self._with_statements(suite, cell, asked, around, ends)
            case Conversation() | GrowingConversation():
                raise ValueError(f"{suite.task} is a conversation")
        if self._verify:
            verify_prompt(self._tokenizer, built.prompt)
        return built

    def _with_statements(
        self, suite: Suite, cell: Cell, asked: Question, around: _Around, ends: Canaries | None
    ) -> Built:
        """Prose or a list, with needles and distractors in it."""
        statements = [(needle.name, needle.text) for needle in asked.needles]
        distractors = asked.all_distractors
        statements += [(f"distractor{i}", text) for i, text in enumerate(distractors)]
        # Distractors stand evenly over the haystack, the same at every depth of the needle.
        spread = [100 * (k + 1) / (len(distractors) + 1) for k in range(len(distractors))]
        depths = [*asked.depths, *spread]
        if ends is not None:
            first, last = ends.statements
            statements, depths = [first, *statements, last], [0.0, *depths, 100.0]
        unique = tuple(text for needle in asked.needles if needle.key for text in (needle.key, needle.answer))
        unique += asked.avoid
        if isinstance(asked.context, Listing):
            return self._of_list(suite, cell, asked, asked.context, statements, depths, unique, around)
        prompt = build_prompt(
            self._tokenizer,
            source=self._sources.source(suite, cell.repeat),
            needles=statements,
            depths=depths,
            unique=unique,
            answers=[needle.answer for needle in asked.needles if not needle.key],
            of_context=suite.length_means == "context",
            **around,
        )
        return Built(prompt, asked)

    def _of_list(
        self,
        suite: Suite,
        cell: Cell,
        asked: Question,
        listing: Listing,
        statements: Sequence[tuple[str, str]],
        depths: Sequence[float],
        unique: Sequence[str],
        around: _Around,
    ) -> Built:
        prose = self._sources.source(suite, cell.repeat).text[:PROSE] if listing.fill else ""
        prompt, size = build_listing(
            self._tokenizer,
            listing=listing,
            sources=self._list_sources(cell, listing),
            prose=prose,
            needles=[(name, f"{text}\n") for name, text in statements],
            depths=depths,
            unique=unique,
            of_context=suite.length_means == "context",
            **around,
        )
        if listing.resolve is not None:
            answer, reference = listing.resolve(size)
            asked = replace(asked, answer=answer, reference={**asked.reference, **reference})
        return Built(prompt, asked)

    def _among_documents(
        self, suite: Suite, asked: Question, others: OtherDocuments, around: _Around
    ) -> tuple[Built, tuple[ShownDocument, ...]]:
        """The prompt on whole documents, and what they are."""
        source = self._sources.documents(suite, others)
        prompt, shown = build_of_documents(
            others,
            source,
            needles=[(needle.name, needle.text) for needle in asked.needles],
            depths=asked.depths,
            longest=max(suite.lengths) - suite.kept_free,
            # In the absent arms too, where no needle has it.
            answers=[asked.search.answer] if asked.search is not None else [],
            **around,
        )
        cut = next((each.name for each in shown if each.cut), None)
        told = {"documents": tuple(each.name for each in shown), "cut_document": cut}
        return Built(prompt, replace(asked, reference=asked.reference | told)), shown

    def _of_what_was_found(self, suite: Suite, asked: Question, chunks: Chunks, around: _Around) -> Built:
        search, closes = chunks.search, ""
        if chunks.among is not None:
            whole, shown = self._among_documents(suite, asked, chunks.among, around)
            # By name: where the one that answers stands among them must not decide between equal chunks.
            search = replace(search, texts=tuple(sorted((each.name, each.text) for each in shown)))
            asked, closes = whole.asked, chunks.among.separator
        found = self._retrieval.retrieve(suite, search, chunks.retriever)
        return replace(self._of_document(asked, Document(f"{found.text}{closes}"), around), retrieved=found)

    def _of_document(self, asked: Question, document: Document, around: _Around) -> Built:
        prompt = build_document(document, self._encoded(document.text), **around)
        over = document.truncation == "none" and prompt.tokens > around["token_budget"]
        needed = prompt.tokens + around["reserved"]
        skipped = f"--no-truncate, --data-cut none: its document needs a length of {needed}"
        return Built(prompt, asked, skipped if over else "")

    def _message_cut(self, frame: ContextFrame, document: Document) -> tuple[ContextFrame, Document]:
        """The document with all of its message around it, cut in the middle as one text."""
        place = next(place for place, message in enumerate(frame.messages) if CONTEXT in message.content)
        head, _, tail = frame.messages[place].content.partition(CONTEXT)
        text = f"{head}{document.text}{tail}"
        encoded = self._encoded(text)
        tokens = len(encoded.ids)
        if tokens > document.most:
            text = self._tokenizer.decode(middle_cut(encoded.ids.tolist(), document.most))
        bare = replace(
            frame,
            before=frame.before.removesuffix(head),
            after=frame.after.removeprefix(tail),
            messages=tuple(
                Message(message.role, CONTEXT) if at == place else message for at, message in enumerate(frame.messages)
            ),
        )
        return bare, replace(document, text=text, most=0, cut=max(0.0, 1 - document.most / tokens))

    def _encoded(self, text: str) -> Encoded:
        return self._long_encoded(text) if len(text) > _LONG else self._short_encoded(text)

    def _list_sources(self, cell: Cell, listing: Listing) -> ListSources:
        """The encoded lists of a cell's trial: they are the same at every length and depth."""
        key = (cell.task, cell.needle, cell.repeat)
        found = self._lists.pop(key, None) or ListSources(listing, self._tokenizer)
        self._lists[key] = found
        if len(self._lists) > _LISTS_KEPT:
            self._lists.popitem(last=False)
        return found


def put(message: Message, context: str) -> Message:
    """The message with a context in its hole."""
    return Message(message.role, message.content.replace(CONTEXT, context))


_KEPT = 4


class Conversations:
    """Builds the conversations of one tokenizer; keeps their encoded rounds. Threads may share it."""

    def __init__(self, tokenizer: Tokenizer, sources: SourcePool, *, verify: bool) -> None:
        """`verify`: prove each prompt by encoding it whole."""
        self._tokenizer = tokenizer
        self._sources = sources
        self._verify = verify
        self._windows = WindowMemo(tokenizer)
        self._rounds: OrderedDict[tuple[str, str, int, Joints], ListSources] = OrderedDict()

    def build(
        self,
        suite: Suite,
        cell: Cell,
        asked: Question,
        context: Conversation | GrowingConversation,
        around: AroundTurns,
    ) -> Built:
        """Build a cell's prompt. Raises `InputError`."""
        budget = cell.length - suite.kept_free
        skipped = ""
        if isinstance(context, Conversation):
            prompt = build_given(self._tokenizer, context, around, token_budget=budget)
            if prompt.slack < 0 and not context.by_window:
                skipped = f"its conversation needs a length of {prompt.tokens + suite.kept_free}"
        else:
            prompt = self._growing(suite, cell, asked, context, around, budget)
        if self._verify:
            verify_prompt(self._tokenizer, prompt)
        return Built(prompt, asked, skipped)

    def _growing(
        self, suite: Suite, cell: Cell, asked: Question, context: GrowingConversation, around: AroundTurns, budget: int
    ) -> Prompt:
        around, joints = joints_of(around)
        return build_conversation(
            self._tokenizer,
            context,
            around,
            joints,
            sources=self._list_sources(cell, context, joints),
            prose=self._sources.source(suite, cell.repeat).text[:PROSE] if context.closing else "",
            needles=[(needle.name, Round(needle.ask, needle.text)) for needle in asked.needles],
            depths=asked.depths,
            token_budget=budget,
            reserved=suite.kept_free,
            memo=self._windows,
        )

    def _list_sources(self, cell: Cell, context: GrowingConversation, joints: Joints) -> ListSources:
        """The encoded rounds of a cell's trial: they are the same at every length and depth."""
        # Not the question: a follower of the same rounds has another.
        key = (cell.task, cell.needle, cell.repeat, Joints("", joints.reply, joints.ask, ""))
        found = self._rounds.pop(key, None) or ListSources(list_of_rounds(context, joints), self._tokenizer)
        self._rounds[key] = found
        if len(self._rounds) > _KEPT:
            self._rounds.popitem(last=False)
        return found


# Characters of generated text per token, more than any tokenizer here packs into one on average.
_CHARS_PER_TOKEN = 6
# Sources are kept while they have so many tokens together (about 40 bytes each), and never fewer of them than this.
_TOKENS_KEPT = 2_000_000
_SOURCES_KEPT = 3
_ORDERS_KEPT = 4096

Source = TypeVar("Source", HaystackSource, DocumentSource)


class _SourceCache(Generic[Source]):
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
    return structs.replace(suite, file_list=(files[place // each],), repeats_per_file=0), rounds * each + place % each


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
        self._sources: _SourceCache[HaystackSource] = _SourceCache()
        self._document_sources: _SourceCache[DocumentSource] = _SourceCache()
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
