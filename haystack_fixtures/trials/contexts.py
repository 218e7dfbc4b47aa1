"""Contexts of trials (text, lists, documents, conversations), and the encoded text that they share."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import CONTEXT, Message, Prompt
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.corpora.corpus import Corpus, load_corpus
from needlework.haystack_fixtures.haystacks.builder import build_prompt, verify_prompt
from needlework.haystack_fixtures.haystacks.conversations import (
    Conversation,
    GrowingConversation,
    Joints,
    OuterMessages,
    Round,
    build_conversation,
    build_given,
    joints_of,
    list_of_rounds,
)
from needlework.haystack_fixtures.haystacks.documents import (
    Document,
    OtherDocuments,
    ShownDocument,
    build_document,
    build_of_documents,
    cut_middle,
    document_source,
)
from needlework.haystack_fixtures.haystacks.frame import OuterText
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, TokenCache, order_source
from needlework.haystack_fixtures.haystacks.splice import remembering
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.retrieval.search import Retrieval, Retrieved
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks
from needlework.haystack_fixtures.tasks.task import Chunks, Prose, Question
from needlework.models.tokenizers.tokenizer import Tokenizer

# Characters of generated text per token: above the mean of every tokenizer here.
_CHARS_PER_TOKEN = 6
_SOURCES_KEPT = 3  # at least, whatever their tokens


def narrow_to_file(suite: Suite, repeat: int) -> tuple[Suite, int]:
    """The suite with the one corpus file of a repeat, and the repeat's number within that file.

    As in OpenCompass: all repeats of one file, then those of the next; after the last file the first again.
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
        self._sources: TokenCache[HaystackSource] = TokenCache(_SOURCES_KEPT)
        self._lock = threading.RLock()

    def corpus(self, suite: Suite) -> Corpus:
        """The corpus of the suite's task, else the suite's, long enough for the longest length of the run."""
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
        """The encoded text of a repeat: its haystacks of every length and depth begin with it."""
        with self._lock:
            suite, repeat = narrow_to_file(suite, repeat)
            corpus = self.corpus(suite)
            documents = self._encoded(corpus)
            return self._sources.get(
                (corpus.sha256, repeat),
                lambda: order_source(documents, seed=self._seed, repeat=repeat, min_tokens=self._longest),
            )

    def documents(self, suite: Suite, others: OtherDocuments) -> HaystackSource:
        """The encoded text of other documents in their order."""
        with self._lock:
            corpus = self.corpus(suite)
            documents = self._encoded(corpus)
            return self._sources.get(
                (corpus.sha256, others.order), lambda: document_source(documents, others, min_tokens=self._longest)
            )

    def _encoded(self, corpus: Corpus) -> EncodedDocuments:
        if corpus.sha256 not in self._documents:
            self._documents[corpus.sha256] = EncodedDocuments(corpus, self._tokenizer, self._cache_dir)
        return self._documents[corpus.sha256]


_LISTS_KEPT = 4
_DOCUMENTS_KEPT = 64
_PROSE = 20_000  # characters of the corpus that may follow a list


@dataclass(frozen=True)
class Trial:
    """A cell with its question, completed from the context, and its prompt."""

    cell: Cell
    suite: Suite
    asked: Question
    prompt: Prompt
    skipped: str = ""  # why it is not sent
    retrieved: Retrieved | None = None  # the chunks of its context, if a retriever found them


class ContextBuilder:
    """Builds prompts with their contexts, for one tokenizer; caches encoded texts. Thread-safe."""

    def __init__(self, tokenizer: Tokenizer, sources: SourcePool, retrieval: Retrieval, *, verify: bool) -> None:
        """`verify`: check each prompt by encoding it whole."""
        self._tokenizer = tokenizer
        self._sources = sources
        self._retrieval = retrieval
        self._verify = verify
        self._encode = remembering(tokenizer)
        self._encoded = lru_cache(_DOCUMENTS_KEPT)(tokenizer.encode)  # all questions on a document share its encoding
        self._lists: OrderedDict[Hashable, ListSources] = OrderedDict()

    def build(
        self, suite: Suite, cell: Cell, question: Question, frame: OuterText | OuterMessages, ends: Canaries | None
    ) -> Trial:
        """Build a cell's trial. `ends`: canaries at both ends of the text. Raises `InputError`."""
        if ends is not None and not isinstance(question.context, Prose | Listing):
            kind = "conversations" if isinstance(frame, OuterMessages) else "documents"
            raise InputError("--canary", "true", f"{suite.task} asks about {kind} as they are: leave it out")
        if isinstance(frame, OuterMessages):
            trial = self._of_turns(suite, cell, question, frame)
        else:
            trial = self._of_text(suite, cell, question, frame, ends)
        if self._verify:
            verify_prompt(self._tokenizer, trial.prompt)
        return trial

    def _of_text(self, suite: Suite, cell: Cell, question: Question, frame: OuterText, ends: Canaries | None) -> Trial:
        if isinstance(question.context, Document) and question.context.message_tokens:
            frame, cut = self._cut_message(frame, question.context)
            question = replace(question, context=cut)
        budget = cell.length - suite.kept_free
        outer = replace(frame, budget=budget, encode=self._encode, reserved=suite.kept_free)
        match question.context:
            case Chunks() as chunks:
                return self._of_chunks(suite, cell, question, chunks, outer)
            case Document() as document:
                return self._of_document(suite, cell, question, document, outer)
            case OtherDocuments() as others:
                prompt, question, _ = self._among_documents(suite, question, others, outer)
                return Trial(cell, suite, question, prompt)
            case Prose() | Listing():
                edges = (0, 0) if suite.length_means == "context" else None
                return self._with_statements(suite, cell, question, replace(outer, edges=edges), ends)
        raise ValueError(f"{suite.task} is a conversation")

    def _with_statements(
        self, suite: Suite, cell: Cell, question: Question, outer: OuterText, ends: Canaries | None
    ) -> Trial:
        """The prompt on prose or a list, with needles and distractors."""
        statements = [(needle.name, needle.text) for needle in question.needles]
        distractors = question.all_distractors
        statements += [(f"distractor{i}", text) for i, text in enumerate(distractors)]
        # Distractors are spread evenly, at the same depths whatever the needle's.
        spread = [100 * (k + 1) / (len(distractors) + 1) for k in range(len(distractors))]
        depths = [*question.depths, *spread]
        if ends is not None:
            first, last = ends.statements
            statements, depths = [first, *statements, last], [0.0, *depths, 100.0]
        unique = [text for needle in question.needles if needle.key for text in (needle.key, needle.answer)]
        unique += question.avoid
        if isinstance(question.context, Prose):
            source = self._sources.source(suite, cell.repeat)
            answers = [needle.answer for needle in question.needles if not needle.key]
            prompt = build_prompt(outer, source, statements, depths, unique=unique, answers=answers)
            return Trial(cell, suite, question, prompt)
        assert isinstance(question.context, Listing)
        listing = question.context
        key = (cell.task, cell.needle, cell.repeat)
        prompt, size = build_listing(
            outer,
            self._list_sources(key, listing),
            self._prose(suite, cell) if listing.fill else "",
            [(name, f"{text}\n") for name, text in statements],
            depths,
            unique,
        )
        if listing.resolve is not None:
            answer, reference = listing.resolve(size)
            question = replace(question, answer=answer, reference={**question.reference, **reference})
        return Trial(cell, suite, question, prompt)

    def _among_documents(
        self, suite: Suite, question: Question, others: OtherDocuments, outer: OuterText
    ) -> tuple[Prompt, Question, Sequence[ShownDocument]]:
        """The prompt on whole documents, its question, and the documents that it has."""
        prompt, shown = build_of_documents(
            outer,
            others,
            self._sources.documents(suite, others),
            [(needle.name, needle.text) for needle in question.needles],
            question.depths,
            longest=max(suite.lengths) - suite.kept_free,
            # Of the search: in the absent arms no needle has the answer.
            answers=[question.search.answer] if question.search is not None else [],
        )
        cut = next((each.name for each in shown if each.cut), None)
        documents = {"documents": tuple(each.name for each in shown), "cut_document": cut}
        return prompt, replace(question, reference=question.reference | documents), shown

    def _of_chunks(self, suite: Suite, cell: Cell, question: Question, chunks: Chunks, outer: OuterText) -> Trial:
        search, closes = chunks.search, ""
        if chunks.among is not None:
            _, question, shown = self._among_documents(suite, question, chunks.among, outer)
            # Sorted by name: the position of the answer's document must not decide between equal chunks.
            search = replace(search, texts=tuple(sorted((each.name, each.text) for each in shown)))
            closes = chunks.among.separator
        retrieved = self._retrieval.retrieve(suite, search, chunks.retriever)
        trial = self._of_document(suite, cell, question, Document(f"{retrieved.text}{closes}"), outer)
        return replace(trial, retrieved=retrieved)

    def _of_document(self, suite: Suite, cell: Cell, question: Question, document: Document, outer: OuterText) -> Trial:
        prompt = build_document(outer, document, self._encoded(document.text))
        over = document.truncation == "none" and prompt.slack < 0
        needed = prompt.tokens + outer.reserved
        skipped = f"--no-truncate, --data-cut none: its document needs a length of {needed}"
        return Trial(cell, suite, question, prompt, skipped if over else "")

    def _cut_message(self, frame: OuterText, document: Document) -> tuple[OuterText, Document]:
        """Move the whole message into the document and cut its middle; returns frame and document."""
        messages = frame.messages(CONTEXT)
        at = next(at for at, message in enumerate(messages) if CONTEXT in message.content)
        head, _, tail = messages[at].content.partition(CONTEXT)
        text = f"{head}{document.text}{tail}"
        encoded = self._encoded(text)
        tokens = len(encoded.ids)
        if tokens > document.message_tokens:
            text = self._tokenizer.decode(cut_middle(encoded.ids.tolist(), document.message_tokens))
        bare = replace(
            frame,
            before=frame.before.removesuffix(head),
            after=frame.after.removeprefix(tail),
            messages=lambda context: (*messages[:at], Message(messages[at].role, context), *messages[at + 1 :]),
        )
        return bare, replace(document, text=text, message_tokens=0, cut=max(0.0, 1 - document.message_tokens / tokens))

    def _of_turns(self, suite: Suite, cell: Cell, question: Question, outer: OuterMessages) -> Trial:
        budget = cell.length - suite.kept_free
        context = question.context
        if isinstance(context, Conversation):
            prompt = build_given(self._tokenizer, context, outer, budget=budget)
            too_long = prompt.slack < 0 and not context.by_window
            needed = f"its conversation needs a length of {prompt.tokens + suite.kept_free}"
            return Trial(cell, suite, question, prompt, needed if too_long else "")
        assert isinstance(context, GrowingConversation)
        outer, joints = joints_of(outer)
        # Without the question: other questions have the same rounds.
        key = (cell.task, cell.needle, cell.repeat, Joints("", joints.reply, joints.ask, ""))
        prompt = build_conversation(
            outer,
            joints,
            context,
            self._list_sources(key, list_of_rounds(context, joints)),
            self._prose(suite, cell) if context.closing else "",
            [(needle.name, Round(needle.ask, needle.text)) for needle in question.needles],
            question.depths,
            budget=budget,
            encode=self._encode,
            reserved=suite.kept_free,
        )
        return Trial(cell, suite, question, prompt)

    def _prose(self, suite: Suite, cell: Cell) -> str:
        return self._sources.source(suite, cell.repeat).text[:_PROSE]

    def _list_sources(self, key: Hashable, listing: Listing) -> ListSources:
        """The encoded lists of a cell, cached: they are the same at every length and depth."""
        sources = self._lists.pop(key, None) or ListSources(listing, self._tokenizer)
        self._lists[key] = sources
        if len(self._lists) > _LISTS_KEPT:
            self._lists.popitem(last=False)
        return sources


def fill_in(message: Message, context: str) -> Message:
    """The message with the context in place of `CONTEXT`."""
    return Message(message.role, message.content.replace(CONTEXT, context))
