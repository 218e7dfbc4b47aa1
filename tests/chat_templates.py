"""Chat templates in the style of those that models have, and some that do not treat all turns alike."""

from dataclasses import dataclass

from needlework.models.tokenizers.hf_tokenizer import ChatTemplate
from needlework.models.tokenizers.tokenizer import Tokenizer

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


@dataclass(frozen=True)
class Templated:
    """A tokenizer with another chat template."""

    inner: Tokenizer
    template: ChatTemplate
    has_chat_template: bool = True

    @property
    def name(self):
        return self.inner.name

    @property
    def fingerprint(self):
        return f"{self.inner.fingerprint} {self.template.source}"

    @property
    def bos(self):
        return self.inner.bos

    def encode(self, text):
        return self.inner.encode(text)

    def decode(self, ids):
        return self.inner.decode(ids)

    def render_chat(self, messages):
        return self.template.render(messages)


def templated(inner, source):
    """The tokenizer with this template."""
    return Templated(inner, ChatTemplate(source, {"bos_token": "<s>", "eos_token": "</s>"}, "a template"))
