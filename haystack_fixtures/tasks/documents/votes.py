"""`--vote`: of the answers over several orders of the documents, the one most like the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.documents.options import DocumentOptions

_ORDERED = "doc_"  # tasks whose repeats are orders of documents
_FEWEST = 3


def votes_of(suites: Sequence[Suite]) -> int:
    """How many answers of a run vote on a question; 0 for none."""
    return max((own_of(suite, DocumentOptions).vote for suite in suites), default=0)


def votes_by_embeddings(suites: Sequence[Suite]) -> Suite | None:
    """A suite whose answers vote by embeddings; `None` where none do."""
    own = ((suite, own_of(suite, DocumentOptions)) for suite in suites if suite.task.startswith(_ORDERED))
    return next((suite for suite, said in own if said.vote and said.vote_by == "embeddings"), None)


def with_votes(suites: tuple[Suite, ...]) -> tuple[Suite, ...]:
    """The suites with as many orders of documents as vote; more stay more. Raises `InputError`."""
    vote = votes_of(suites)
    if not vote:
        return suites
    if vote < _FEWEST:
        raise InputError("--vote", vote, f"of two answers neither is more like the others: give {_FEWEST} or more")
    voting = votes_by_embeddings(suites)
    if voting is not None and own_of(voting, RetrievalOptions).embedder is None:
        raise InputError("--vote-by", "embeddings", "by whose? give --embedder st:NAME_OR_FOLDER or openai:NAME")
    if not any(suite.task.startswith(_ORDERED) for suite in suites):
        raise InputError("--vote", vote, "is for questions over orders of documents: use --preset own-documents")
    return tuple(
        replace(suite, repeats=max(suite.repeats, vote)) if suite.task.startswith(_ORDERED) else suite
        for suite in suites
    )
