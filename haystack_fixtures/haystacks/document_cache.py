"""Encoded documents on disk: a document is tokenised once per machine and tokenizer."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from haystack_fixtures.haystacks.sentences import sentence_ends
from haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

# Part of the key: raise it when sentence ends or the file layout change.
_VERSION = 1
# Encoding a shorter document takes no longer than reading a file.
_WORTH_A_FILE = 1500


@dataclass(frozen=True)
class EncodedDocument:
    """A document's tokens and its sentence ends (int64 character offsets)."""

    encoded: Encoded
    ends: NDArray[np.int64]


def encode_document(text: str, tokenizer: Tokenizer, folder: Path) -> EncodedDocument:
    """Encode a document, or read what an earlier run encoded. A damaged or unwritable cache costs time only."""
    if len(text) < _WORTH_A_FILE:
        return EncodedDocument(tokenizer.encode(text), sentence_ends(text))
    key = sha256(f"{_VERSION}\n{tokenizer.fingerprint}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    path = folder / "encoded" / key[:2] / f"{key}.npz"
    found = _read(path, text)
    if found is None:
        found = EncodedDocument(tokenizer.encode(text), sentence_ends(text))
        with contextlib.suppress(OSError):
            _write(path, found)
    return found


def _read(path: Path, text: str) -> EncodedDocument | None:
    """The cached arrays, if the file is there, whole, and of this text."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            ids, steps, ends = arrays["ids"], arrays["steps"], arrays["ends"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    if len(ids) != len(steps) or not len(ends) or ends[-1] > len(text):
        return None
    starts = np.cumsum(steps, dtype=np.int64)
    return EncodedDocument(Encoded(text, ids.astype(np.int32), starts), ends.astype(np.int64))


def _write(path: Path, document: EncodedDocument) -> None:
    """Write to a name of its own, then move: readers and other writers never see half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:8]}-", suffix=".npz")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            steps = np.diff(document.encoded.starts, prepend=0).astype(np.int32)
            np.savez(file, ids=document.encoded.ids, steps=steps, ends=document.ends)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
