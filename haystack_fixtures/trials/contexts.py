"""The context of a trial, with all that stands around it: prose with needles, a list, a document, whole documents, or
what a retriever found of these. Conversations are built by `conversations`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypedDict

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.build import build_prompt, verify_prompt
from needlework.haystack_fixtures.haystacks.conversation import GrowingConversation
from needlework.haystack_fixtures.haystacks.document import Document, build_document, middle_cut
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from needlework.haystack_fixtures.haystacks.pieces import WindowMemo
from needlework.haystack_fixtures.haystacks.whole_documents import OtherDocuments, ShownDocument, build_of_documents
from needlework.haystack_fixtures.needles.canaries import Canaries
from needlework.haystack_fixtures.prompts.prompt import Message, Prompt
from needlework.haystack_fixtures.prompts.shape import CONTEXT
from needlework.haystack_fixtures.retrieval.found import Retrieved
from needlework.haystack_fixtures.retrieval.retrieve import Retrieval
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Chunks, Prose
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer
from needlework.haystack_fixtures.trials.sources import Sources

_LISTS_KEPT = 4
_DOCUMENTS_KEPT = 512
_LONG, _LONG_KEPT = 200_000, 8  # characters of a document of which few are kept: a row of a data set may have millions
PROSE = 20_000  # characters of the corpus that may follow a list


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the context: the rendered text before and after it, and the messages with a hole for it."""

    before: str
    after: str
    bos: tuple[int, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Built:
    """A prompt, and what is asked of it now that its context is known. `skipped`: why it is not to be asked."""

    prompt: Prompt
    asked: Asked
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

    def __init__(self, tokenizer: Tokenizer, sources: Sources, retrieval: Retrieval, *, verify: bool) -> None:
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

    def build(self, suite: Suite, cell: Cell, asked: Asked, frame: Frame, ends: Canaries | None) -> Built:
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

    def _with_statements(self, suite: Suite, cell: Cell, asked: Asked, around: _Around, ends: Canaries | None) -> Built:
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
        asked: Asked,
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
        self, suite: Suite, asked: Asked, others: OtherDocuments, around: _Around
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

    def _of_what_was_found(self, suite: Suite, asked: Asked, chunks: Chunks, around: _Around) -> Built:
        search, closes = chunks.search, ""
        if chunks.among is not None:
            whole, shown = self._among_documents(suite, asked, chunks.among, around)
            # By name: where the one that answers stands among them must not decide between equal chunks.
            search = replace(search, texts=tuple(sorted((each.name, each.text) for each in shown)))
            asked, closes = whole.asked, chunks.among.separator
        found = self._retrieval.retrieve(suite, search, chunks.retriever)
        return replace(self._of_document(asked, Document(f"{found.text}{closes}"), around), retrieved=found)

    def _of_document(self, asked: Asked, document: Document, around: _Around) -> Built:
        prompt = build_document(document, self._encoded(document.text), **around)
        over = document.truncation == "none" and prompt.tokens > around["token_budget"]
        needed = prompt.tokens + around["reserved"]
        skipped = f"--no-truncate, --data-cut none: its document needs a length of {needed}"
        return Built(prompt, asked, skipped if over else "")

    def _message_cut(self, frame: Frame, document: Document) -> tuple[Frame, Document]:
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
