"""Sentences as NLTK's English Punkt model ends them: what L-Eval's ROUGE-Lsum compares.

The model is data that NLTK does not bring along. It is read where NLTK looks for it, or out of the package
llama-index-core, which carries it (`requirements-data.txt`); without it there is no ROUGE-Lsum.
T. Kiss, J. Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32 (2006).
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_MODEL = Path("tokenizers", "punkt_tab", "english")
_IN_PACKAGE = Path("core", "_static", "nltk_cache")
_FILES = ("abbrev_types.txt", "sent_starters.txt", "collocations.tab", "ortho_context.tab")


def by_line(text: str) -> str | None:
    """The text with each sentence on a line of its own; `None` where the model is not installed."""
    tokenizer = _tokenizer()
    return None if tokenizer is None else "\n".join(tokenizer.tokenize(text))


@cache
def _tokenizer() -> Any:
    folder = next((each for each in _folders() if all((each / name).is_file() for name in _FILES)), None)
    if folder is None:
        return None
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    abbreviations, starters, pairs, context = ((folder / name).read_text("utf-8").split("\n") for name in _FILES)
    model = PunktParameters()
    model.abbrev_types = set(filter(None, abbreviations))
    model.sent_starters = set(filter(None, starters))
    model.collocations = {tuple(line.split("\t")) for line in pairs if line}
    model.ortho_context = defaultdict(int)
    for line in filter(None, context):
        word, _, flags = line.rpartition("\t")
        model.ortho_context[word] = int(flags)
    tokenizer = PunktSentenceTokenizer()
    tokenizer._params = model  # noqa: SLF001  # its constructor trains, or unpickles
    return tokenizer


def _folders() -> Iterator[Path]:
    try:
        import nltk.data
    except ImportError:
        return
    yield from (Path(folder) / _MODEL for folder in nltk.data.path)
    # A name without its package's code: only the namespace package above it is looked up.
    found = importlib.util.find_spec("llama_index")
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield Path(folder) / _IN_PACKAGE / _MODEL
