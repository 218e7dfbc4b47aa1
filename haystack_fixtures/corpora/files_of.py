"""Which files of a corpus a preset asks for, before any of them is read."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.corpora.files import CDME_FILES


def _folder(spec: str) -> Path | None:
    """The folder that `cdme:FOLDER` or a path names; `None` for a name, a single file, and what is not there."""
    try:
        folder = Path(spec.removeprefix("cdme:")).expanduser()
        return folder if folder.is_dir() and not spec.startswith("hf:") else None
    except (OSError, ValueError, RuntimeError):
        return None


def presets_files(spec: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A preset's file list, where the corpus is one that it can be about: a corpus of another kind is read whole."""
    folder = _folder(spec)
    if folder is None:
        return names if spec.startswith("cdme:") else ()
    of_cdme = set(names) <= set(CDME_FILES) and not spec.startswith("cdme:")
    return () if of_cdme and not any((folder / name).is_file() for name in names) else names
