"""From what the user wrote after `--corpus` to a corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from needlework.haystack_fixtures.cache import keep, kept
from needlework.haystack_fixtures.corpora.builtin import load_essays, load_pydoc, load_sanguo
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.corpora.files import load_cdme, load_path, path_exists
from needlework.haystack_fixtures.corpora.generated import LANGUAGES, VERSION, generate_documents, recipe_sha256
from needlework.haystack_fixtures.corpora.hub import load_hub
from needlework.haystack_fixtures.corpora.noise import load_noise
from needlework.haystack_fixtures.errors import InputError

# Characters of generated text, at least: 0.45 million cl100k tokens of English, 0.9 million of Chinese.
GENERATED_CHARS = {"en": 2_000_000, "zh": 700_000}
DEFAULTS = {"en": "essays", "zh": "sanguo"}
NAMES = ("default", "essays", "sanguo", "pydoc", "generated", "noise")
_PACKAGED: dict[str, Callable[[], Corpus]] = {"essays": load_essays, "sanguo": load_sanguo, "pydoc": load_pydoc}


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
    """Load the corpus that `spec` names: a built-in name, `cdme:FOLDER`, `hf:ID_OR_PATH[:split]`, or a path.

    `language` is the language of generated text and of the user's own; a packaged corpus has its own. `seed` and
    `min_chars` (characters) matter to generated text only: every other corpus is returned whole, however short.
    `text_field` is the field of jsonl files and data sets; `file_list` picks files of a folder. `./essays` is a path
    where `essays` is a name. What cannot be used raises InputError.
    """
    name = DEFAULTS.get(language, "") if spec == "default" else spec
    if not name and spec == "default":
        have = " and ".join(DEFAULTS)
        raise InputError("--language", language, f"has no default corpus ({have} have): name one with --corpus")
    kind, _, rest = name.partition(":")
    takes_files = kind == "cdme" or (kind != "hf" and name not in NAMES)
    if file_list and not takes_files:
        raise InputError("--corpus", spec, f"a file list ({', '.join(file_list)}) needs a folder")
    if name in _PACKAGED:
        return _PACKAGED[name]()
    if name == "noise":
        return load_noise(language)
    if name == "generated":
        return generated_corpus(language, seed, min_chars, cache_dir)
    if kind == "hf" and name != kind:
        return load_hub(rest, language=language, text_field=text_field)
    if kind == "cdme" and name != kind:
        return load_cdme(_path(rest, spec), language=language, text_field=text_field, file_list=file_list)
    return load_path(_existing(name), language=language, text_field=text_field, file_list=file_list)


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
    found = kept(file)
    documents = generate_documents(language, seed, size) if found is None else tuple(json.loads(bytes(found)))
    if found is None:
        keep(file, json.dumps(documents, ensure_ascii=False).encode())
    source = f"needlework generator {VERSION}, seed {seed}, at least {size} characters"
    return Corpus("generated", language, "MIT (part of needlework)", source, documents, recipe)


def _existing(spec: str) -> Path:
    path = _path(spec, spec)
    if not spec or not path_exists(path):
        remedy = f"unknown: choose {', '.join(NAMES)}, cdme:FOLDER, hf:DATASET[:split], or a path"
        raise InputError("--corpus", spec, remedy)
    return path


def _path(text: str, spec: str) -> Path:
    if spec == "cdme:":
        raise InputError("--corpus", spec, "name the folder: cdme:FOLDER")
    try:
        return Path(text).expanduser()
    except (RuntimeError, ValueError):  # ~nobody, a NUL
        raise InputError("--corpus", spec, "this home folder is unknown: write the whole path") from None
