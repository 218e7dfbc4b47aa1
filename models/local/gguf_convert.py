"""Convert one GGUF file into a folder that transformers loads: `python -m` and this module's name.

It runs in a process of its own: the parent then needs no torch to count tokens, gets its memory back, and survives
whatever a broken file does to the readers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from needlework.models.local.gguf import apply_word_rule


def convert_tokenizer(source: Path, target: Path) -> None:
    """Write tokenizer and chat template of a GGUF file into the folder `target`."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.save_pretrained(target)
    apply_word_rule(source, target)


def convert_model(source: Path, target: Path) -> None:
    """Write weights (fp32), configuration, tokenizer and chat template of a GGUF file into the folder `target`."""
    import torch
    from transformers import AutoModelForCausalLM

    # Without weights in the file, from_pretrained makes them up at random: it must say so instead.
    loader: Any = AutoModelForCausalLM
    model, info = loader.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32, output_loading_info=True
    )
    missing = sorted(info.get("missing_keys", ()))
    if missing:
        raise ValueError(f"the file lacks weights: {', '.join(missing[:3])}")
    # save_pretrained refuses quantized models; these weights are plain fp32 by now.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    convert_tokenizer(source, target)


def main(arguments: list[str]) -> None:
    """`model|tokenizer SOURCE TARGET`; what the readers raise ends on stderr, its last line says why."""
    source, target = map(Path, arguments[1:])
    (convert_model if arguments[0] == "model" else convert_tokenizer)(source, target)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a local file; nothing may be fetched for it
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    main(sys.argv[1:])
