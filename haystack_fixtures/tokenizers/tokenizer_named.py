"""From what a user writes to a tokenizer."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tokenizers.tiktoken_ranks import tiktoken_tokenizer
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


def load_tokenizer(spec: str) -> Tokenizer:
    """Load `tiktoken:NAME`, a bare OpenAI encoding or model name, or a folder with a `tokenizer.json`.

    Raises `InputError` for anything else.
    """
    if spec.startswith("tiktoken:"):
        return tiktoken_tokenizer(spec.removeprefix("tiktoken:"))
    folder = _folder(spec)
    if folder is not None:
        from needlework.haystack_fixtures.tokenizers.hf_tokenizer import folder_tokenizer

        return folder_tokenizer(folder)
    if "/" in spec or "\\" in spec or spec.startswith((".", "~")):
        raise InputError("--tokenizer", spec, "there is no such folder")
    try:
        return tiktoken_tokenizer(spec)
    except InputError:
        remedy = (
            "use a folder with a tokenizer.json, an OpenAI model name, tiktoken:cl100k_base or tiktoken:o200k_base,"
            " gguf:FILE, smollm2, or server (its own counter)"
        )
        raise InputError("--tokenizer", spec, remedy) from None


def _folder(spec: str) -> Path | None:
    try:
        path = Path(spec).expanduser()
        return path if path.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # no name of a folder: too long, with a NUL, ~nobody
        return None
