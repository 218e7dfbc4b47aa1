"""Arms of a task: its questions with chunks that a retriever found in place of the documents.

Each arm is a series of cells of its own beside the documents as they are (`--retriever none`), which it is compared
with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.haystacks.whole_documents import OtherDocuments
from needlework.haystack_fixtures.retrieval.chunks import chunking
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Chunks, Task, bare

OPTION = "--retriever"
AS_THEY_ARE = "none"
_LIBRARY = {"bm25": "bm25s", "dense": "faiss"}


def arms_of(task: Task, suite: Suite) -> tuple[str, ...]:
    """The retrievers that a suite's questions are asked with."""
    named = own_of(suite, RetrievalOptions).retriever if task.retrieves else ()
    return tuple(arm for arm in named if arm != AS_THEY_ARE)


def asks_whole(task: Task, suite: Suite) -> bool:
    """Whether a suite's questions are asked on the documents as they are; of a task that retrieves nothing, always."""
    return not task.retrieves or AS_THEY_ARE in own_of(suite, RetrievalOptions).retriever


def with_retriever(asked: Asked, arm: str, twin: str) -> Asked:
    """The trial whose context is retrieved; `twin`: the label of the one on the documents as they are.

    Needles that are whole documents stay: they are among those that are searched.
    """
    reference = asked.reference | {"retriever": arm, "twin": twin}
    if asked.search is None:
        raise ValueError(f"the task does not say what {arm} is to search")
    if isinstance(asked.context, OtherDocuments):
        return replace(asked, context=Chunks(arm, asked.search, asked.context), reference=reference)
    return replace(bare(asked), context=Chunks(arm, asked.search), reference=reference)


def check_arms(suites: Sequence[tuple[Task, Suite]]) -> None:
    """Refuse what cannot be retrieved: nothing to search, chunks of no length, no embedder. Raises `InputError`."""
    retrievers = (own_of(suite, RetrievalOptions).retriever for _, suite in suites)
    asked = {arm for each in retrievers for arm in each if arm != AS_THEY_ARE}
    if asked and not any(task.retrieves for task, _ in suites):
        names = ", ".join(dict.fromkeys(task.name for task, _ in suites))
        remedy = f"nothing can be retrieved for {names}: use a task on documents, such as those of L-Eval"
        raise InputError(OPTION, ",".join(sorted(asked)), remedy)
    for task, suite in suites:
        arms = arms_of(task, suite)
        if not arms:
            continue
        own = own_of(suite, RetrievalOptions)
        chunking(own.chunk_size, own.chunk_overlap)
        if "dense" in arms:
            from needlework.haystack_fixtures.retrieval.embedders import check_embedder

            check_embedder(own.embedder)
        for arm in arms:
            if find_spec(_LIBRARY[arm]) is None:
                from needlework.haystack_fixtures.retrieval.bm25 import missing_packages

                raise missing_packages(arm)
