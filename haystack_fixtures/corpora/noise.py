"""RULER's noise: the same few sentences again and again, a haystack in which only the needle says anything."""

from __future__ import annotations

from needlework.haystack_fixtures.corpora.corpus import Corpus, documents_sha256
from needlework.haystack_fixtures.errors import InputError

UNIT = {
    # RULER's own (c3f5e3b), a constant of its protocol.
    "en": "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.",
    "zh": "草是绿的。天是蓝的。太阳是黄的。我们走吧。去了又回来。",
}
_LINES = 400  # of one document; haystacks repeat it


def load_noise(language: str) -> Corpus:
    """Lines of noise in one language. Raises `InputError` for a language that has none."""
    if language not in UNIT:
        raise InputError("--corpus noise, --language", language, f"choose one of {', '.join(UNIT)}")
    documents = ("\n".join([UNIT[language]] * _LINES),)
    return Corpus(
        "noise", language, "MIT (part of needlework)", "RULER's sentences", documents, documents_sha256(documents)
    )
