"""Encoded documents on disk: a document is tokenised once per machine and tokenizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.cache import cache_key, keep, kept
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends_of
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

# Part of the key: raise it when sentence ends or the file layout change.
_VERSION = 4
# Encoding a shorter document takes no longer than reading a file.
_WORTH_A_FILE = 1500


@dataclass(frozen=True)
class EncodedDocument:
    """A document's tokens and its sentence ends (int64 character offsets)."""

    encoded: Encoded
    ends: NDArray[np.int64]


def encode_documents(texts: Sequence[str], tokenizer: Tokenizer, folder: Path) -> list[EncodedDocument]:
    """Encode documents, or read what an earlier run encoded. A damaged or unwritable cache costs time only.

    Documents begin and end with a visible character. What is new among them is cut into sentences in one go.
    """
    paths = [_path(text, tokenizer, folder) if len(text) >= _WORTH_A_FILE else None for text in texts]
    found = [None if path is None else _read(path, text) for path, text in zip(paths, texts, strict=True)]
    missing = [number for number, document in enumerate(found) if document is None]
    if not missing:
        return [document for document in found if document is not None]
    ends = sentence_ends_of([texts[number] for number in missing])
    made = {
        number: EncodedDocument(tokenizer.encode(texts[number]), own) for number, own in zip(missing, ends, strict=True)
    }
    for number, document in made.items():
        path = paths[number]
        if path is not None:
            _keep(path, document)
    return [document or made[number] for number, document in enumerate(found)]


def _path(text: str, tokenizer: Tokenizer, folder: Path) -> str:
    key = cache_key(f"encoded {_VERSION}", tokenizer.fingerprint, text)
    return os.path.join(folder, "encoded", f"{key}.tokens")  # noqa: PTH118 - there are many, and a Path is slow


def _read(path: str, text: str) -> EncodedDocument | None:
    content = kept(path)
    if content is None:
        return None
    numbers = np.frombuffer(content, "<i4")
    tokens, body = int(numbers[0]), numbers[1:]
    starts = body[tokens : 2 * tokens].cumsum(dtype=np.int64)
    ends = body[2 * tokens :].astype(np.int64)
    return EncodedDocument(Encoded(text, body[:tokens].astype(np.int32, copy=False), starts), ends)


def _keep(path: str, document: EncodedDocument) -> None:
    """The number of tokens, their ids, the steps between their starts, the sentence ends; each four bytes."""
    ids = document.encoded.ids
    steps = np.diff(document.encoded.starts, prepend=0)
    keep(path, np.concatenate(([len(ids)], ids, steps, document.ends), dtype="<i4", casting="unsafe").tobytes())
