"""A GGUF file's own rule for cutting words is kept, or its loss is said."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.models.local import gguf as gguf_words
from needlework.models.local.gguf import UNKNOWN, apply_word_rule
from needlework.models.specs import resolve_tokenizer


def test_smollm2_counts_a_number_after_a_line_end_as_the_real_model_does(smol_tokenizer):
    # With GPT-2's rule alone the space and the line end would be two tokens.
    assert smol_tokenizer.encode("famous \n1984").ids.tolist()[1:] == [3717, 33, 41, 40, 36]


@pytest.fixture
def converted(tmp_path, monkeypatch):
    def make(kind, rule):
        fields = {"ggml.model": kind, "ggml.pre": rule}
        monkeypatch.setattr(gguf_words, "_tokenizer_fields", lambda _source: fields)
        (tmp_path / "tokenizer.json").write_text(json.dumps({"pre_tokenizer": None}))
        apply_word_rule(tmp_path / "x.gguf", tmp_path)
        return json.loads((tmp_path / "tokenizer.json").read_text())["pre_tokenizer"]

    return make


def test_known_rules_are_written_and_other_vocabularies_left_alone(converted):
    assert converted("gpt2", "smollm")["pretokenizers"][0] == {"type": "Digits", "individual_digits": True}
    assert converted("gpt2", "qwen2")["pretokenizers"][0]["type"] == "Split"
    assert converted("gpt2", "gpt-2")["type"] == "ByteLevel"
    assert converted("llama", "default") is None
    assert converted("gpt2", None) is None


def test_an_unknown_rule_is_refused_in_one_line(converted, tmp_path, monkeypatch):
    assert converted("gpt2", "martian") is None
    assert (tmp_path / UNKNOWN).read_text() == "martian"
    monkeypatch.setattr("needlework.models.specs.prepare_gguf", lambda *_args, **_named: tmp_path)
    with pytest.raises(InputError, match=r"'martian' is not known here.*--tokenizer FOLDER"):
        resolve_tokenizer("gguf:x.gguf", {}, None, tmp_path)
