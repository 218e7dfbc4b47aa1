"""The own options of questions on the user's documents; RULER reads `questions` too."""

from __future__ import annotations

from dataclasses import dataclass

from needlework.haystack_fixtures.settings.option import OUT, WHAT, WHO, FileIn, Option, never
from needlework.haystack_fixtures.settings.option_values import (
    one_of,
    path,
    text,
    variable,
    whole,
)


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """`questions`: the user's file of questions; `documents`: the folder of the documents that they are about.
    `questions_model`: who writes the questions as the run begins, reached at `questions_model_base_url` with the key of
    `questions_model_api_key_env`. `vote`: answers over orders of the documents that vote, 0 for none; `vote_by`: what
    they are alike in.
    """

    questions: str | None = None
    documents: str | None = None
    questions_model: str | None = None
    questions_model_base_url: str | None = None
    questions_model_api_key_env: str = "OPENAI_API_KEY"
    vote: int = 0
    vote_by: str = "words"


OPTIONS = (
    Option(
        "questions",
        WHAT,
        "questions of yours: what `needlework questions` writes, for tasks doc_...; JSON as SQuAD or HotpotQA have it,"
        " for ruler_qa_1 and ruler_qa_2",
        path,
        shown_default="generated documents",
        metavar="FILE",
        suite=True,
        counts=lambda own: "documents" not in own,
        file=FileIn,
    ),
    Option(
        "documents",
        WHAT,
        "folder of documents of yours, for tasks doc_...; see docs/documents.md",
        path,
        metavar="DIR",
        suite=True,
        counts=never,
        file=FileIn,
    ),
    Option(
        "questions-model",
        WHAT,
        "model that writes a question about each of up to twenty --documents before the run asks them, once: the run's"
        " folder keeps them",
        text,
        metavar="SPEC",
        counts=never,
    ),
    Option(
        "questions-model-base-url",
        WHO,
        "address of the server of --questions-model, ending in /v1",
        text,
        shown_default="OpenAI's",
        metavar="URL",
        counts=never,
    ),
    Option(
        "questions-model-api-key-env",
        WHO,
        "environment variable that holds the key of the server of --questions-model",
        variable,
        "OPENAI_API_KEY",
        metavar="NAME",
        counts=never,
    ),
    Option(
        "vote",
        OUT,
        "of the answers over this many orders of the documents, also score the one most like the others (doc_ tasks)",
        whole(0),
        "0",
        metavar="K",
        counts=never,
    ),
    Option(
        "vote-by",
        OUT,
        "what the answers of --vote are alike in: words, or embeddings (of --embedder)",
        one_of("words", "embeddings"),
        "words",
        counts=never,
    ),
)
