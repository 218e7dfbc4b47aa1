"""How a GGUF file's tokenizer cuts text into words before its merges apply.

transformers gives every byte-level vocabulary GPT-2's rule and leaves the file's own (`tokenizer.ggml.pre`) out: counts
are then a token off wherever a number follows a line end. The rules are those of llama.cpp's `llama-vocab.cpp`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UNKNOWN = "unknown_word_rule"

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_GPT2: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_DIGITS: dict[str, Any] = {"type": "Digits", "individual_digits": True}


def _split(rule: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, {**_GPT2, "use_regex": False}]}


_EACH_DIGIT_THEN_GPT2 = {"type": "Sequence", "pretokenizers": [_DIGITS, _GPT2]}
WORD_RULES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("gpt-2", "gpt2", "phi-2", "olmo", "jais", "default"), _GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), _EACH_DIGIT_THEN_GPT2),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3"), _split(_LLAMA3)),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen"), _split(_QWEN2)),
}


def apply_word_rule(source: Path, folder: Path) -> None:
    """Give the converted tokenizer in `folder` the rule of the GGUF file `source`.

    A rule that is not known here leaves a file called `unknown_word_rule` with its name: a tokenizer that might count
    otherwise than the model must not be used in silence.
    """
    kind, rule = _named(source)
    if kind != "gpt2" or rule is None:
        return
    if rule not in WORD_RULES:
        (folder / UNKNOWN).write_text(rule, encoding="utf-8")
        return
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["pre_tokenizer"] = WORD_RULES[rule]
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")


def _named(source: Path) -> tuple[str | None, str | None]:
    from gguf import GGUFReader

    fields = GGUFReader(source).fields
    kind, rule = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    return (None if kind is None else str(kind.contents())), (None if rule is None else str(rule.contents()))
