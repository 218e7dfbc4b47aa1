"""The options of `--retriever`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from needlework.core.options import WHAT, WHO, FileIn, Option, Parsed, never, some_of, text, variable, whole


class RetrievalOptions(Struct, frozen=True):
    """The options of tasks whose documents can be retrieved."""

    retriever: tuple[str, ...] = ("none",)  # how documents are shown, each a series of cells; `none`: as they are
    chunk_size: str = "1000"  # as written: characters, or tokens with a `t`
    chunk_overlap: str = "200"
    retrieve: int = 4  # chunks that are shown
    embedder: str | None = None  # finds chunks by vectors, in this process or behind a server
    embedder_base_url: str | None = None
    embedder_api_key_env: str = "OPENAI_API_KEY"


def _retrieves(family: Mapping[str, Parsed]) -> bool:
    """Keys of trials whose context is retrieved say how, whatever the suite says of others."""
    return "retriever" in family


def _embedder_file(value: str) -> FileIn | None:
    return FileIn(value.removeprefix("st:"), "st:", or_name=True) if value.startswith("st:") else None


OPTIONS = (
    Option(
        "retriever",
        WHAT,
        "what documents are shown by: none (as they are), bm25, dense (the chunks nearest to the question); of several"
        " each is asked",
        some_of("none", "bm25", "dense"),
        "none",
        metavar="LIST",
        suite=True,
        counts=never,
    ),
    Option(
        "chunk-size",
        WHAT,
        "longest chunk for --retriever: characters, or tokens of the model's tokenizer such as 1024t",
        text,
        "1000",
        metavar="N[t]",
        suite=True,
        counts=_retrieves,
    ),
    Option(
        "chunk-overlap",
        WHAT,
        "most that neighbouring chunks share, in the unit of --chunk-size",
        text,
        "200",
        metavar="N[t]",
        suite=True,
        counts=_retrieves,
    ),
    Option(
        "retrieve",
        WHAT,
        "chunks that --retriever shows, best first",
        whole(1),
        "4",
        metavar="K",
        suite=True,
        counts=_retrieves,
    ),
    Option(
        "embedder",
        WHAT,
        "model of --retriever dense: st:NAME_OR_FOLDER (sentence-transformers), openai:NAME (a server)",
        text,
        metavar="SPEC",
        suite=True,
        counts=_retrieves,
        file=_embedder_file,
    ),
    Option(
        "embedder-base-url",
        WHO,
        "address of the embedder's server, ending in /v1",
        text,
        shown_default="OpenAI's",
        metavar="URL",
        counts=never,
    ),
    Option(
        "embedder-api-key-env",
        WHO,
        "environment variable that holds the key of the embedder's server",
        variable,
        "OPENAI_API_KEY",
        metavar="NAME",
        counts=never,
    ),
)
