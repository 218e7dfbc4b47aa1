"""Byte-level tokenizers have a fast twin: the same ids and starts, or none at all."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from needlework.models.tokenizers import hf_tokenizer
from needlework.models.tokenizers.byte_bpe import byte_bpe
from needlework.models.tokenizers.hf_tokenizer import FolderTokenizer, folder_tokenizer

LINES = (
    "The lighthouse keeper wrote down the weather, every morning at 7:45 and 19:30; he didn't forget it once.\n",
    "She'll ask whether they've seen the 1,250 crates that weren't there in 1987.  Nobody had.\n\n\n",
    "他每天早上都把天气写在本子上，然后去吃早饭。 Ça va? Здравствуй, мир! 👩‍🚀🏳️‍🌈\t\tdef f(x):\n    return x ** 2\r\n",
)
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = {"add_prefix_space": False, "trim_offsets": True}
FORMS = {
    "gpt2": pre_tokenizers.ByteLevel(**BYTES),
    "digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(**BYTES)]),
    "llama3": pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(**BYTES, use_regex=False)]
    ),
}


def trained(form):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = FORMS[form]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=alphabet, special_tokens=["<|start|>", "<|end|>"], show_progress=False
    )
    tokenizer.train_from_iterator(LINES * 3, trainer)
    return tokenizer


def described(tokenizer):
    return json.loads(tokenizer.to_str())


@pytest.fixture(scope="module", params=FORMS)
def pair(request):
    tokenizer = trained(request.param)
    twin = byte_bpe(described(tokenizer), tokenizer)
    assert twin is not None
    return twin, FolderTokenizer("slow", tokenizer, None, "", ())


def assert_equal(pair, text):
    twin, slow = pair
    fast, found = twin.encode(text), slow.encode(text)
    if fast is not None:
        assert fast.ids.tolist() == found.ids.tolist()
        assert fast.starts.tolist() == found.starts.tolist()
        assert (fast.ids.dtype, fast.starts.dtype) == (np.int32, np.int64)
    return fast is not None


WORDS = st.sampled_from(
    ["the", " the", "  ", "\n", "\r\n", "\t", "7", "1987", "'s", "'S", "n't", "é", "İ", "ſ", "你好", "！", "…", "👩‍🚀",
     "²", "Ⅷ", "<|start|>", "<|end|>", "<|sta", "|>", "e\u0301", "\u0d4d", "\u00a0", "\u3000", "\x85", "\x1c"]
)  # fmt: skip


@given(text=st.one_of(st.lists(WORDS, max_size=30).map("".join), st.text(max_size=60)))
def test_any_text_has_the_same_tokens(pair, text):
    assert_equal(pair, text)


def test_ordinary_text_is_covered(pair):
    for text in (*LINES, "".join(LINES), "", " ", "<|start|>user\nHow many?<|end|>"):
        assert assert_equal(pair, text)


def test_a_character_that_the_engines_see_differently_is_left_alone():
    tokenizer = trained("gpt2")
    twin = byte_bpe(described(tokenizer), tokenizer)
    agrees = twin._agrees
    twin._agrees = lambda text: "ß" not in text and agrees(text)
    assert twin.encode("Straße") is None
    assert twin.encode("Strasse and Gasse") is not None


def test_half_a_surrogate_pair_is_left_alone(pair):
    assert pair[0].encode("a\ud83d") is None


def test_a_normaliser_that_composes_sees_composed_text_only():
    from tokenizers import normalizers

    tokenizer = trained("llama3")
    tokenizer.normalizer = normalizers.NFC()
    pair = byte_bpe(described(tokenizer), tokenizer), FolderTokenizer("slow", tokenizer, None, "", ())
    assert pair[0] is not None
    assert assert_equal((pair[0], pair[1]), "Ça va, déjà vu")
    assert not assert_equal((pair[0], pair[1]), "de\u0301ja\u0300 vu")


def spoilt(change):
    found = described(trained("gpt2"))
    return found | {"model": found["model"] | change.pop("model", {})} | change


@pytest.mark.parametrize(
    ("tokens", "merges"),
    [
        (("ab", "bc", "cd", "abc", "bcd", "abcd"), [["ab", "c"], ["a", "bc"]]),  # two merges make "abc"
        (("qx", "xz", "qxz"), [["q", "x"], ["x", "z"], ["q", "xz"]]),  # "qx" comes first: "xz" never follows "q"
    ],
)
def test_a_token_that_is_made_twice_or_never_comes_out_has_no_twin(tokens, merges):
    found = described(trained("gpt2"))
    for token in tokens:
        found["model"]["vocab"].setdefault(token, len(found["model"]["vocab"]))
    found["model"]["merges"] += merges
    assert byte_bpe(found, Tokenizer.from_str(json.dumps(found))) is None


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"type": "Unigram"}},
        {"model": {"dropout": 0.1}},
        {"model": {"byte_fallback": True}},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}},
        {"pre_tokenizer": None},
        {"added_tokens": [{"content": "<a>", "id": 1, "lstrip": True}]},
        {"added_tokens": [{"content": "<a", "id": 1}, {"content": "<a>", "id": 2}]},
    ],
    ids=str,
)
def test_other_kinds_have_no_twin(change):
    assert byte_bpe(spoilt(change), trained("gpt2")) is None


def test_a_folder_gets_its_twin_when_there_is_much_to_encode(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text(trained("digits").to_str(), encoding="utf-8")
    made = []
    monkeypatch.setattr(hf_tokenizer, "byte_bpe", lambda *args: made.append(byte_bpe(*args)) or made[-1])
    tokenizer = folder_tokenizer(tmp_path)
    before = tokenizer.encode(LINES[0])
    assert not made

    text = "".join(LINES) * 20
    slow = folder_tokenizer(tmp_path)
    slow._vocabulary = b""
    assert tokenizer.encode(text).ids.tolist() == slow.encode(text).ids.tolist()
    assert len(made) == 1
    assert made[0] is not None
    assert tokenizer.encode(LINES[0]).starts.tolist() == before.starts.tolist()
