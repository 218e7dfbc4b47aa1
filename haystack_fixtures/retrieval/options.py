"""The options of `--retriever`."""

from typing import Annotated

from msgspec import Meta, Struct

from needlework.core.errors import InputError
from needlework.core.options import Parsed, some_of, variable


def retrievers(option: str, value: str) -> Parsed:
    """Names of retrievers, in capitals or not."""
    if value.strip().lower() == "adaembedding":  # long-context-eval's
        raise InputError(option, value, "is --retriever dense --embedder openai:text-embedding-ada-002")
    return some_of("none", "bm25", "dense")(option, value.lower())


class RetrievalOptions(Struct, frozen=True):
    """The options of tasks whose documents can be retrieved."""

    # how documents are shown, each a series of cells; `none`: as they are
    retriever: Annotated[tuple[str, ...], retrievers] = ("none",)
    chunk_size: str = "1000"  # as written: characters, or tokens with a `t`
    chunk_overlap: str = "200"
    retrieve: Annotated[int, Meta(ge=1)] = 4  # chunks that are shown
    embedder: str | None = None  # finds chunks by vectors, in this process or behind a server
    embedder_base_url: str | None = None
    embedder_api_key_env: Annotated[str, variable] = "OPENAI_API_KEY"
