"""The file of a judge's prompt of one's own: its text, and its hash."""

from __future__ import annotations

from hashlib import sha256

from needlework.haystack_fixtures.settings.user_files import read_text

PROMPT = "--judge-prompt"


def prompt_text(path: str) -> str:
    """The text of the file. Raises `InputError`."""
    return read_text(PROMPT, path, "give a UTF-8 text file with {question}, {reference} and {answer}")


def prompt_sha256(path: str) -> str:
    """The hash of its text, which stands for it in recipes and manifests. Raises `InputError`."""
    return sha256(prompt_text(path).encode("utf-8", "surrogatepass")).hexdigest()
