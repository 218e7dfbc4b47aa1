"""Vectors by sentence-transformers, on this machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.retrieval.bm25 import missing_packages
from needlework.haystack_fixtures.retrieval.embedded import Embedded

_BATCH = 32


def open_embedder(spec: str, folder: Path) -> Callable[[Sequence[str], bool], list[Embedded]]:
    """Load the model in a folder. What it gives embeds texts, or questions where its second argument is true.

    Texts that are longer than the model's window are cut by the library; these are marked. Raises `InputError`.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_packages("dense") from None
    try:
        model = SentenceTransformer(str(folder), trust_remote_code=False, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - the library and what it loads with raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError("--embedder", spec, f"sentence-transformers cannot load it ({why})") from None

    def embed(texts: Sequence[str], query: bool) -> list[Embedded]:
        encode = model.encode_query if query else model.encode_document
        vectors = encode(list(texts), batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True)
        most = model.max_seq_length or math.inf
        cut = [len(ids) > most for ids in model.tokenizer(list(texts), verbose=False)["input_ids"]]
        return [Embedded(vector.astype("float32"), long) for vector, long in zip(vectors, cut, strict=True)]

    return embed
