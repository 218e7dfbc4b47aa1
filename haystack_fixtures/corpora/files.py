"""Corpora from the user's own files: txt, md, and jsonl with a text field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from needlework.haystack_fixtures.corpora.corpus import Corpus, documents_sha256
from needlework.haystack_fixtures.corpora.text import clean_text
from needlework.haystack_fixtures.errors import InputError

SUFFIXES = (".txt", ".md", ".jsonl")
# The domain files of CDME (OpenCompass), as they are named upstream.
CDME_FILES = tuple(f"zh_{domain}.jsonl" for domain in ("finance", "game", "general", "government", "movie", "tech"))
_LICENCE = "not stated (the user's own files)"


def load_path(path: Path, *, language: str, text_field: str, file_list: tuple[str, ...]) -> Corpus:
    """Read a file, or a folder with everything below it.

    A folder's files are sorted by relative POSIX path; names that begin with a dot are passed over. `file_list` takes
    files of a folder by relative name instead, in that order, and names every one that is absent. A text or markdown
    file is one document, each line of a jsonl file is one. Empty files and empty texts are skipped.
    """
    if path.is_dir():
        files = _chosen(path, file_list) if file_list else _found(path)
    elif file_list:
        raise InputError("--corpus", path, f"is a file; a file list ({', '.join(file_list)}) needs a folder")
    else:
        files = [path]
    documents = tuple(text for file in files for text in _documents(file, text_field) if text.strip())
    if not documents:
        raise InputError("--corpus", path, f"holds no text: it needs {_kinds()} files that are not empty")
    return Corpus(path.resolve().name, language, _LICENCE, str(path), documents, documents_sha256(documents))


def load_cdme(folder: Path, *, language: str, text_field: str, file_list: tuple[str, ...]) -> Corpus:
    """A folder with CDME's domain files, all of which must be there unless `file_list` asks for some of them."""
    if not path_exists(folder) or not folder.is_dir():
        raise InputError("--corpus", folder, f"no such folder: it should hold {', '.join(CDME_FILES)}")
    return load_path(folder, language=language, text_field=text_field, file_list=file_list or CDME_FILES)


def path_exists(path: Path) -> bool:
    """Whether there is such a path; a name that no file can have (too long, with a NUL) is just absent."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _kinds() -> str:
    return ", ".join(suffix.removeprefix(".") for suffix in SUFFIXES[:-1]) + f" or {SUFFIXES[-1].removeprefix('.')}"


def _found(folder: Path) -> list[Path]:
    relative = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    visible = (path for path in relative if not any(part.startswith(".") for part in path.parts))
    return [folder / path for path in sorted(visible, key=Path.as_posix) if (folder / path).is_file()]


def _chosen(folder: Path, names: tuple[str, ...]) -> list[Path]:
    unique = tuple(dict.fromkeys(names))
    absent = [name for name in unique if not (folder / name).is_file()]
    if absent:
        raise InputError("--corpus", folder, f"these files are absent: {', '.join(absent)}")
    return [folder / name for name in unique]


def _documents(file: Path, text_field: str) -> Iterator[str]:
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError("--corpus", file, f"not a {_kinds()} file: convert or rename it")
    if not file.is_file():
        raise InputError("--corpus", file, "is not a file (a pipe, a device or a broken link)")
    text = _read(file)
    if suffix != ".jsonl":
        yield text
        return
    # Only "\n" ends a line of jsonl: a text may hold U+2028 and other things that splitlines() takes for line ends.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _field(line, text_field, f"{file}:{number}")


def _read(file: Path) -> str:
    try:
        return clean_text(file.read_text("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        own = "iconv -t utf-8 -f latin1, or -f gb18030: its own encoding"
        remedy = f"byte {error.start} is not UTF-8: save it as UTF-8 ({own})"
        raise InputError("--corpus", file, remedy) from None
    except OSError as error:
        raise InputError("--corpus", file, f"cannot be read: {error.strerror}") from None


def _field(line: str, text_field: str, where: str) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else "too deeply nested or too large a number"
        raise InputError("--corpus", where, f"not JSON ({problem}): correct or delete the line") from None
    if not isinstance(row, dict):
        raise InputError("--corpus", where, f"not a JSON object but {type(row).__name__}: give it a {text_field!r}")
    if text_field not in row:
        fields = ", ".join(sorted(row)) or "none"
        remedy = f"no field {text_field!r}: name one of its fields with --text-field ({fields})"
        raise InputError("--corpus", where, remedy)
    text = row[text_field]
    if not isinstance(text, str):
        remedy = f"field {text_field!r} is {type(text).__name__}, not text: name another with --text-field"
        raise InputError("--corpus", where, remedy)
    return clean_text(text, where)
