"""Corpora from Hugging Face data sets, on the hub or in a local folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.corpora.corpus import Corpus, documents_sha256
from needlework.haystack_fixtures.corpora.files import path_exists
from needlework.haystack_fixtures.corpora.text import clean_text
from needlework.haystack_fixtures.errors import InputError

_DEFAULT_SPLIT = "train"


def load_hub(target: str, *, language: str, text_field: str) -> Corpus:
    """One split of a data set; `target` is an id or a local path, with `:split` behind it when not "train".

    Rows without text are skipped. Code that a data set may carry is never run. The files go where the `datasets`
    library keeps its own cache, so a data set that was prepared before works without a network.
    """
    name, split = _parts(target)
    rows = _load(name, split)
    columns = list(rows.column_names)
    if text_field not in columns:
        remedy = f"no column {text_field!r}: name one of its columns ({', '.join(columns) or 'none'})"
        raise InputError("--corpus", target, remedy)
    texts = rows[text_field]
    documents = tuple(
        clean_text(text, f"{target} row {number}")
        for number, text in enumerate(texts)
        if _is_text(text, target, number, text_field) and text.strip()
    )
    if not documents:
        raise InputError("--corpus", target, f"column {text_field!r} holds no text: name another column or split")
    licence = str(rows.info.license or "").strip() or "not stated"
    source = f"Hugging Face data set {name}, split {split}"
    return Corpus(Path(name).name, language, licence, source, documents, documents_sha256(documents))


def _parts(target: str) -> tuple[str, str]:
    name, _, split = target.partition(":")  # the first colon: a split may have one of its own, train[:10%]
    if not name:
        raise InputError("--corpus", target, "name a data set or a folder: hf:ID_OR_PATH[:split]")
    if path_exists(Path(target)):  # and so may a local path
        return target, _DEFAULT_SPLIT
    return name, split or _DEFAULT_SPLIT


def _load(name: str, split: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise InputError("--corpus", name, "needs the datasets library: pip install 'needlework[hub]'") from None
    try:
        return datasets.load_dataset(name, split=split)
    # Dozens of kinds: network, hub, Arrow, pandas, file system. Whichever it is, the user reads one line of it.
    except Exception as error:  # noqa: BLE001
        problem = " ".join(str(error).split())[:300]
        remedy = f"cannot be loaded ({type(error).__name__}: {problem}): check the id, the split and the network"
        raise InputError("--corpus", f"{name}:{split}", remedy) from None


def _is_text(value: object, target: str, number: int, text_field: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InputError("--corpus", target, f"column {text_field!r}, row {number} is {kind}, not text: name another")
    return True
