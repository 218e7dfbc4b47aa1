"""Encoded documents on disk: a document is tokenised once per machine and tokenizer."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.haystacks.sentences import sentence_ends_of
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

# Part of the key: raise it when sentence ends or the file layout change.
_VERSION = 3
# Encoding a shorter document takes no longer than reading a file.
_WORTH_A_FILE = 1500
_HEAD = 3  # numbers before the arrays: how many tokens, how many ends, the CRC of the arrays


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
            with contextlib.suppress(OSError):
                _write(path, document)
    return [document or made[number] for number, document in enumerate(found)]


def _path(text: str, tokenizer: Tokenizer, folder: Path) -> str:
    key = sha256(f"{_VERSION}\n{tokenizer.fingerprint}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return os.path.join(folder, "encoded", f"{key}.tokens")  # noqa: PTH118 - there are many, and a Path is slow


def _read(path: str, text: str) -> EncodedDocument | None:
    """The cached arrays, if the file is there, whole, and of this text."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            data = file.read()
    except OSError:
        return None
    numbers = np.frombuffer(data, "<i4", len(data) // 4)
    if len(data) % 4 or len(numbers) < _HEAD:
        return None
    tokens, sentences, check = numbers[:_HEAD].tolist()
    body = numbers[_HEAD:]
    if tokens < 0 or sentences < 1 or len(body) != 2 * tokens + sentences or _crc(body) != check:
        return None
    starts = body[tokens : 2 * tokens].cumsum(dtype=np.int64)
    ends = body[2 * tokens :].astype(np.int64)
    if ends[-1] > len(text):
        return None
    return EncodedDocument(Encoded(text, body[:tokens].astype(np.int32, copy=False), starts), ends)


def _write(path: str, document: EncodedDocument) -> None:
    """Write to a name of its own, then move: readers and other writers never see half a file."""
    steps = np.diff(document.encoded.starts, prepend=0)
    body = np.concatenate((document.encoded.ids, steps, document.ends), dtype="<i4", casting="unsafe")
    head = np.asarray([len(document.encoded.ids), len(document.ends), _crc(body)], "<i4")
    content = head.tobytes() + body.tobytes()
    temporary = f"{path}.{os.urandom(6).hex()}"
    try:
        file = _new_file(temporary)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        file = _new_file(temporary)
    try:
        try:
            written = os.write(file, content)
        finally:
            os.close(file)
        if written < len(content):
            raise OSError("no space left")
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _new_file(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)


def _crc(body: NDArray[np.int32]) -> int:
    """31 bits, so that it fits among the numbers."""
    return zlib.crc32(body.data) & 0x7FFFFFFF
