"""Byte-level BPE (GPT-2, Llama 3, Qwen, SmolLM2 types) through tiktoken's core: the same tokens in a tenth of the time.

Why the tokens are the same. `tokenizers` merges, within a word, the adjacent pair that comes first in its list of
merges; tiktoken the pair whose union comes first in its list of tokens. These differ only where two symbols unite to a
token that the list makes of another pair. Let every token be made by one merge, and every token, taken by itself, come
out as itself. Then, wherever two symbols stand that unite to token t, no merge has crossed the ends of t, so the merges
within were those of t by itself, whose last step is the pair in the list: the two symbols are that pair. Both
conditions are checked here. How text is cut into words depends on each character's class in two regular-expression
engines: each character is tried with both before it is trusted. Whatever is not covered is left to `tokenizers`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from needlework.models.tokenizers.tokenizer import Encoded, char_starts

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# The same on text whose digits have been cut out one by one: a piece ends before a digit as it does at the end.
_GPT2_DIGITS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
_SHORT = 1000  # characters of a text whose ids are faster had as a list
# Every kind of neighbour that a pattern tells apart.
_TRIAL = "a{c}a {c} {c}{c}1{c}1!{c}!\n{c}\n\t{c}  {c}'s'{c} '{c}e '{c}{c}\r{c}A{c}Z"


class ByteBpe:
    """The fast twin of a tokenizer. `inner` is the tokenizer itself, and the judge of every character."""

    def __init__(
        self,
        inner: tokenizers.Tokenizer,
        encoding: tiktoken.Encoding,
        ids: NDArray[np.int32],
        sizes: NDArray[np.int64],
        *,
        composed: bool,
    ) -> None:
        """`ids`, `sizes`: int32, int64 [ranks], id (-1: none) and bytes of each rank. `composed`: text must be NFC."""
        self._inner = inner
        self._encoding = encoding
        self._marks = set(encoding.special_tokens_set)
        # What nothing begins with but a mark; a tokenizer without marks finds none.
        self._mark_start = re.compile("|".join({re.escape(mark[:2]) for mark in self._marks}) or "(?!)")
        self._ids = ids
        self._lacking = bytes(np.flatnonzero(ids[:256] < 0).tolist())  # bytes that are no token by themselves
        self._sizes = sizes
        self._composed = composed
        self._trusted: set[str] = set()
        self._refused: set[str] = set()
        self._plain = b""  # the trusted characters of ASCII

    def encode(self, text: str) -> Encoded | None:
        """The tokens of a text; `None` where it is not covered."""
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:  # half a surrogate pair
            return None
        used = set(data.translate(None, self._plain).decode("utf-8"))
        if not used <= self._trusted:
            self._try(used - self._trusted - self._refused)
            self._plain = "".join(filter(str.isascii, self._trusted)).encode()
        if not self._refused.isdisjoint(used) or (self._composed and not unicodedata.is_normalized("NFC", text)):
            return None
        return self._encode(text, data, marked=len(text) > _SHORT or self._mark_start.search(text) is not None)

    def _encode(self, text: str, data: bytes, *, marked: bool = True) -> Encoded | None:
        """`marked`: marks may be in the text."""
        if marked:
            ranks = self._encoding.encode_to_numpy(text, allowed_special=self._marks, disallowed_special=())
        else:
            ranks = np.asarray(self._encoding.encode_ordinary(text), np.intp)
        ids, sizes = self._ids[ranks], self._sizes[ranks]
        places = sizes.cumsum()
        # A pattern that passes over something would lose it.
        if (places[-1] if len(ids) else 0) != len(data):
            return None
        if len(data.translate(None, self._lacking)) < len(data) and ids.min() < 0:
            return None
        places -= sizes
        return Encoded(text, ids, char_starts(places, text, data))

    def _try(self, chars: set[str]) -> None:
        """Trust the characters with which both engines give the same tokens."""
        if self._agrees("\n".join(_TRIAL.replace("{c}", char) for char in sorted(chars))):
            self._trusted |= chars
        elif len(chars) == 1:
            self._refused |= chars
        else:
            ordered = sorted(chars)
            for half in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]):
                self._try(set(half))

    def _agrees(self, text: str) -> bool:
        encoded = self._encode(text, text.encode("utf-8"))
        if encoded is None or (self._composed and any(unicodedata.category(char) == "Cn" for char in text)):
            return False
        return bool(encoded.ids.tolist() == self._inner.encode(text, add_special_tokens=False).ids)


def byte_bpe(described: Mapping[str, Any], inner: tokenizers.Tokenizer) -> ByteBpe | None:
    """The fast twin of the tokenizer that a `tokenizer.json` describes; `None` for other kinds."""
    model, normalizer = described.get("model") or {}, described.get("normalizer")
    pattern = _pattern(described.get("pre_tokenizer") or {})
    plain = not any(
        model.get(name) for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
    )
    composed = normalizer is not None and normalizer.get("type") == "NFC"
    if model.get("type") != "BPE" or pattern is None or not plain or not (normalizer is None or composed):
        return None
    marks = {token["content"]: token["id"] for token in described.get("added_tokens") or ()}
    if not _marks_stand_alone(described.get("added_tokens") or ()):
        return None
    merges: list[tuple[str, str]] = [
        (merge.partition(" ")[0], merge.partition(" ")[2]) if isinstance(merge, str) else (merge[0], merge[1])
        for merge in model["merges"]
    ]
    ranks = _ranks(model["vocab"], merges, marks)
    if ranks is None or not _each_by_itself(model, merges):
        return None
    import tiktoken

    numbers = {mark: len(ranks) + number for number, mark in enumerate(marks)}
    try:
        encoding = tiktoken.Encoding("byte-level", pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens=numbers)
    except ValueError:  # a pattern that this engine does not understand
        return None
    vocabulary = model["vocab"]
    ids = [vocabulary.get(_BYTES[byte], -1) for byte in range(256)] + [vocabulary[a + b] for a, b in merges]
    sizes = [*map(len, ranks), *(len(mark.encode()) for mark in marks)]
    return ByteBpe(
        inner,
        encoding,
        np.asarray([*ids, *marks.values()], np.int32),
        np.asarray(sizes, np.int64),
        composed=composed,
    )


def _pattern(pre_tokenizer: Mapping[str, Any]) -> str | None:
    """How words are cut, for the three forms that byte-level tokenizers have."""
    steps = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    last = steps[-1] if steps else {}
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space") is not False:
        return None
    uses_regex = last.get("use_regex", True)
    if len(steps) == 1:
        return _GPT2 if uses_regex else None
    first = steps[0]
    if len(steps) != 2:
        return None
    if uses_regex:
        return _GPT2_DIGITS if first.get("type") == "Digits" and first.get("individual_digits") is True else None
    regex = first.get("pattern", {}).get("Regex") if first.get("type") == "Split" else None
    return regex if first.get("behavior") == "Isolated" and first.get("invert") is False else None


def _marks_stand_alone(tokens: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the first mark found in a text is the one meant, and takes nothing but itself."""
    texts = sorted(token["content"] for token in tokens)
    nested = any(second.startswith(first) for first, second in pairwise(texts))
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    return not nested and "" not in texts and not any(token.get(flag) for token in tokens for flag in flags)


def _ranks(
    vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], marks: Mapping[str, int]
) -> dict[bytes, int] | None:
    """Tokens by the order of their merges, single bytes first; `None` when one token is made twice or not known."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for merge in merges:
        token = "".join(merge)
        if token not in vocabulary or token in marks:
            return None
        try:
            made = token.translate(_CHARS).encode("latin-1")
        except UnicodeEncodeError:  # not a byte-level vocabulary
            return None
        if made in ranks:
            return None
        ranks[made] = len(ranks)
    return ranks


def _each_by_itself(model: Mapping[str, Any], merges: Sequence[tuple[str, str]]) -> bool:
    """Whether each token comes out as itself. Where whole words are looked up first, each word must have its merge."""
    from tokenizers.models import BPE

    if model.get("ignore_merges"):
        made = {a + b for a, b in merges}
        if any(token not in made and len(token) > 1 for token in model["vocab"]):
            return False
    bpe = BPE(model["vocab"], list(merges))
    return all(len(bpe.tokenize(a + b)) == 1 for a, b in merges)


def _byte_chars() -> dict[int, str]:
    """GPT-2's names for bytes: printable ones stand for themselves, the others for letters from U+0100 on."""
    themselves = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in themselves]
    return {byte: chr(byte) for byte in themselves} | {byte: chr(256 + n) for n, byte in enumerate(others)}


_BYTES = _byte_chars()
_CHARS = {ord(char): byte for byte, char in _BYTES.items()}
