"""Corpora: texts of files and folders."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from needlework.core.errors import InputError
from needlework.core.files import json_rows


@dataclass(frozen=True)
class Corpus:
    """Named source text; a haystack's seed shuffles its documents."""

    name: str
    language: str
    licence: str
    source: str
    documents: tuple[str, ...] = field(repr=False)  # sorted by file name, or as published
    sha256: str = ""  # of the text, or of the recipe that makes generated text

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", documents_sha256(self.documents))

    @property
    def chars(self) -> int:
        """Characters in all documents."""
        return sum(map(len, self.documents))

    @property
    def facts(self) -> dict[str, str | int]:
        """The corpus's entry in the manifest."""
        named = {name: getattr(self, name) for name in ("name", "language", "licence", "source", "sha256")}
        return named | {"documents": len(self.documents), "characters": self.chars}


def documents_sha256(documents: Iterable[str]) -> str:
    """Hash documents in order; lengths are part of it, so that moving a boundary changes the hash."""
    digest = hashlib.sha256()
    for document in documents:
        data = document.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def plain_text(text: str) -> str:
    """Text with `\\n` as its only line end and without a byte-order mark; nothing else is removed.

    Raises `ValueError` for NUL characters and lone surrogates (from a JSON escape, say): no model can be sent them.
    """
    if "\0" in text:
        raise ValueError("it holds NUL characters, which no model can be sent")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair: write the text in UTF-8 again") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def clean_text(text: str, where: str) -> str:
    """The plain text. Raises `InputError`, which names `where`."""
    try:
        return plain_text(text)
    except ValueError as error:
        raise InputError("--corpus", where, str(error)) from None


SUFFIXES = (".txt", ".md", ".jsonl")
_KINDS = "txt, md or jsonl"
# The domain files of CDME (OpenCompass), as they are named upstream.
CDME_FILES = tuple(f"zh_{domain}.jsonl" for domain in ("finance", "game", "general", "government", "movie", "tech"))


def load_path(path: Path, *, language: str, text_field: str, file_list: tuple[str, ...]) -> Corpus:
    """Read a file, or a folder with everything below it.

    A folder's files are sorted by relative POSIX path; names that begin with a dot are passed over. `file_list` takes
    files of a folder by relative name instead, in that order, and names every one that is absent. A text or markdown
    file is one document, each line of a jsonl file is one. Empty files and empty texts are skipped.
    """
    if not path.is_dir() and file_list:
        raise InputError("--corpus", path, f"is a file; a file list ({', '.join(file_list)}) needs a folder")
    files = _files_of(path, tuple(dict.fromkeys(file_list))) if path.is_dir() else [path]
    documents = tuple(text for file in files for text in _documents(file, text_field) if text.strip())
    if not documents:
        raise InputError("--corpus", path, f"holds no text: it needs {_KINDS} files that are not empty")
    return Corpus(path.resolve().name, language, "not stated (the user's own files)", str(path), documents)


def load_cdme(folder: Path, *, language: str, text_field: str, file_list: tuple[str, ...]) -> Corpus:
    """Load a folder with CDME's domain files; all must be there unless `file_list` names some."""
    if not path_exists(folder) or not folder.is_dir():
        raise InputError("--corpus", folder, f"no such folder: it should hold {', '.join(CDME_FILES)}")
    return load_path(folder, language=language, text_field=text_field, file_list=file_list or CDME_FILES)


def path_exists(path: Path) -> bool:
    """Whether there is such a path; a name that no file can have (too long, with a NUL) is just absent."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _files_of(folder: Path, names: tuple[str, ...]) -> list[Path]:
    if names:
        absent = [name for name in names if not (folder / name).is_file()]
        if absent:
            raise InputError("--corpus", folder, f"these files are absent: {', '.join(absent)}")
        return [folder / name for name in names]
    relative = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    visible = (path for path in relative if not any(part.startswith(".") for part in path.parts))
    return [folder / path for path in sorted(visible, key=Path.as_posix) if (folder / path).is_file()]


def _documents(file: Path, text_field: str) -> Iterator[str]:
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError("--corpus", file, f"not a {_KINDS} file: convert or rename it")
    if not file.is_file():
        raise InputError("--corpus", file, "is not a file (a pipe, a device or a broken link)")
    try:
        text = clean_text(file.read_text("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        commands = "iconv -t utf-8 -f latin1, or -f gb18030: its own encoding"
        raise InputError("--corpus", file, f"byte {error.start} is not UTF-8: save it as UTF-8 ({commands})") from None
    except OSError as error:
        raise InputError("--corpus", file, f"cannot be read: {error.strerror}") from None
    if suffix != ".jsonl":
        yield text
        return
    yield from (_field(row, text_field, where) for where, row in json_rows("--corpus", file, text))


def _field(row: object, text_field: str, where: str) -> str:
    text = row.get(text_field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        fields = ", ".join(sorted(row)) if isinstance(row, dict) else "it is no object"
        problem = f"has no text in a field {text_field!r}: name one of its fields with --text-field ({fields})"
        raise InputError("--corpus", where, problem)
    return clean_text(text, where)


def presets_files(spec: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A preset's file list, if it can be about this corpus: a corpus of another kind is read whole."""
    is_cdme = spec.startswith("cdme:")
    try:
        folder = Path(spec.removeprefix("cdme:")).expanduser()
        is_folder = folder.is_dir()
    except (OSError, ValueError, RuntimeError):  # no name of a folder
        is_folder = False
    if is_cdme or not is_folder:
        return names if is_cdme else ()
    has_one = any((folder / name).is_file() for name in names)
    return names if has_one or not set(names) <= set(CDME_FILES) else ()
