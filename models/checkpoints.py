"""Files of checkpoints: folders of a hub, checksums, weights; GGUF files, converted once to a folder of the cache.

`python -m` and this module's name converts one: in a process of its own the parent needs no torch to count tokens,
gets its memory back, and survives whatever a broken file does to the readers.
"""

import hashlib
import json
import logging
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.files import cache_key, locked, read_cached, write_cached
from needlework.core.grid import slug


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remembered_sha256(path: Path, cache_dir: Path) -> str:
    """`file_sha256`, cached for as long as the file keeps its path, size and modification time."""
    path = path.resolve()
    stat = path.stat()
    memory = cache_dir / "checksums" / cache_key(str(path), str(stat.st_size), str(stat.st_mtime_ns))
    if (stored := read_cached(memory)) is not None:
        return str(stored, "ascii")
    digest = file_sha256(path)
    write_cached(memory, digest.encode())
    return digest


def json_table(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def joint_sha256(paths: Sequence[Path], cache_dir: Path) -> str:
    """One sha256 for several files: their own for one file, else that of the sorted names and digests."""
    if len(paths) == 1:
        return remembered_sha256(paths[0], cache_dir)
    lines = [f"{path.name} {remembered_sha256(path, cache_dir)}\n" for path in sorted(paths)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


_SMALL_FILES = ["*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]


def checkpoint_folder(name: str, *, revision: str | None, weights: bool, code: bool = False) -> Path:
    """The folder `name`, or the hub's repository of that id, fetched into the hub's cache.

    `weights`: safetensors too; without it only what a tokenizer needs is fetched. `code`: Python files, for
    checkpoints whose code the user trusts.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    looks_like_path = name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1
    if looks_like_path or folder.exists():
        raise InputError("--model hf", name, "there is no such folder")
    from huggingface_hub import snapshot_download

    patterns = _SMALL_FILES + ["*.safetensors"] * weights + ["*.py"] * code
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(
            "--model hf", name, f"no such folder, and the hub gave nothing ({why}); give a folder"
        ) from error


PACKAGES = ("torch", "transformers", "safetensors", "accelerate", "gguf", "psutil")
INSTALL = "pip install 'needlework[local]'"


def missing_packages() -> list[str]:
    """The packages of the extra `local` that are not installed; none of them is imported."""
    return [name for name in PACKAGES if find_spec(name) is None]


def require_packages(spec: object) -> None:
    """Raise `InputError`, with the command that installs them, if packages are missing."""
    if missing := missing_packages():
        raise InputError("--model", spec, f"needs {', '.join(missing)}: {INSTALL}")


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a model's folder: those its index names, else all there are."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError):
            raise InputError("--model", index, "the index cannot be read; fetch the model again") from None
        files = tuple(folder / name for name in names)
    elif (folder / "model.safetensors").is_file():
        files = (folder / "model.safetensors",)
    else:
        files = tuple(sorted(folder.glob("*.safetensors")))
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise InputError("--model", missing[0], "this file of the model is missing; fetch the model again")
    if not files:
        raise InputError("--model", folder, "the folder has no *.safetensors; convert the weights to safetensors first")
    return files


def count_weights(files: Sequence[Path]) -> tuple[int, int]:
    """How many numbers the files hold, and their bytes as stored. Raises `InputError` for a damaged one."""
    from safetensors import SafetensorError, safe_open

    numbers = 0
    for path in files:
        try:
            with safe_open(path, "numpy") as file:
                numbers += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except SafetensorError:
            raise InputError("--model", path, "not a whole safetensors file; fetch the model again") from None
    return numbers, sum(path.stat().st_size for path in files)


STAMP = "needlework.json"
_HEAD = 64 * 2**20  # bytes; the largest vocabularies have some 30 million
_TOKENIZER_S = 300
_CONVERSION_S = 3600  # the most that a conversion may take: a file may be made to take for ever
_FORMAT = 2
_LOG = logging.getLogger("needlework")


def prepare_gguf(source: Path, cache_dir: Path, *, weights: bool = True) -> Path:
    """The folder with a GGUF file's conversion, made on first use; without `weights` its tokenizer.

    A server has the weights, which may be many gigabytes: a tokenizer is identified by the head of the file, and the
    rest is not read. One process converts while others wait; the folder appears whole or not at all.
    """
    source = source.expanduser().resolve()
    if not source.is_file():
        raise InputError("--model gguf" if weights else "--tokenizer gguf", source, "there is no such file")
    if weights:
        sha256 = remembered_sha256(source, cache_dir)
    else:
        if find_spec("gguf") is None:
            raise InputError("GGUF file", source, "its tokenizer is read by gguf: pip install 'needlework[llama]'")
        with source.open("rb") as file:
            head = file.read(_HEAD)
        sha256 = hashlib.sha256(f"{source.stat().st_size} ".encode() + head).hexdigest()
    folder = cache_dir / ("models" if weights else "tokenizers") / f"{slug(source.stem)}-{sha256[:16]}"
    if _is_complete(folder):
        return folder
    with locked(folder.with_name(f"{folder.name}.lock")):
        if _is_complete(folder):
            return folder
        # Only the holder of the lock makes such folders: what is there was left by a process that was killed.
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _convert(source, work, weights)
            stamp = {"format": _FORMAT, "source": source.name, "source_sha256": sha256}
            (work / STAMP).write_text(json.dumps(stamp, indent=1), encoding="utf-8")
            # mkdtemp makes private folders, save_pretrained private weights; others may read a shared cache.
            for path in (work, *work.iterdir()):
                path.chmod(0o755 if path.is_dir() else 0o644)
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier version, or of one that did not see the lock
            work.replace(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return folder


def _is_complete(folder: Path) -> bool:
    return json_table(folder / STAMP).get("format") == _FORMAT


def _convert(source: Path, target: Path, weights: bool) -> None:
    if weights:
        require_packages(source)
    part = "model" if weights else "tokenizer"
    _LOG.info("converting the %s of %s (once, some seconds)", part, source)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "needlework.models.checkpoints", part, str(source), str(target)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # imports as this process does
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            timeout=_CONVERSION_S if weights else _TOKENIZER_S,
        )
        lines = done.stderr.strip().splitlines()
        why = lines[-1][:300] if lines else f"the reader ended with code {done.returncode}"
        if done.returncode == 0:
            return
    except subprocess.TimeoutExpired:
        why = "its conversion does not end"
    raise InputError("GGUF file", source, f"it cannot be read ({why}); fetch it again or use another file")


# transformers gives every byte-level vocabulary GPT-2's rule and leaves the file's own (`tokenizer.ggml.pre`) out:
# counts are then a token off wherever a number follows a line end. The rules are those of llama.cpp's
# `llama-vocab.cpp`.
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


_CONTROL, _USER_DEFINED = 3, 4  # kinds of tokens that are looked for before a text is cut into words
_WHOLE_WORDS_FIRST = ("llama-bpe", "llama3", "llama-v3")
_EACH_DIGIT_THEN_GPT2 = {"type": "Sequence", "pretokenizers": [_DIGITS, _GPT2]}
WORD_RULES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("gpt-2", "gpt2", "phi-2", "olmo", "jais", "default"), _GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), _EACH_DIGIT_THEN_GPT2),
    **dict.fromkeys(_WHOLE_WORDS_FIRST, _split(_LLAMA3)),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen"), _split(_QWEN2)),
}


def apply_word_rule(source: Path, folder: Path) -> None:
    """Give the converted tokenizer in `folder` the rule of the GGUF file `source`.

    An unknown rule leaves a file called `unknown_word_rule` with its name: a tokenizer that might count otherwise than
    the model must not be used in silence.
    """
    fields = _tokenizer_fields(source)
    rule = fields.get("ggml.pre")
    if fields.get("ggml.model") != "gpt2" or rule is None:
        return
    if rule not in WORD_RULES:
        (folder / UNKNOWN).write_text(rule, encoding="utf-8")
        return
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["pre_tokenizer"] = WORD_RULES[rule]
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")


def _tokenizer_fields(source: Path) -> dict[str, Any]:
    """The values under `tokenizer.` in a GGUF file."""
    from gguf import GGUFReader

    fields = GGUFReader(source).fields.items()
    prefix = "tokenizer."
    return {name.removeprefix(prefix): field.contents() for name, field in fields if name.startswith(prefix)}


def convert_model(source: Path, target: Path) -> None:
    """Write a GGUF file's weights (fp32), configuration, tokenizer and chat template into `target`."""
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


def convert_tokenizer(source: Path, target: Path) -> None:
    """Write tokenizer and chat template of a GGUF file into the folder `target`."""
    if missing_packages():
        _convert_plain_tokenizer(source, target)
        return
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.save_pretrained(target)
    apply_word_rule(source, target)


def _convert_plain_tokenizer(source: Path, target: Path) -> None:
    """Convert a byte-level tokenizer, which nearly all models have, by gguf and tokenizers alone."""
    fields = _tokenizer_fields(source)
    rule = fields.get("ggml.pre")
    if fields.get("ggml.model") != "gpt2" or rule not in WORD_RULES:
        raise ValueError(f"its tokenizer is of a kind that takes {', '.join(missing_packages())}: {INSTALL}")
    tokens, kinds = fields["ggml.tokens"], fields["ggml.token_type"]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    marks = [
        {"id": number, "content": token, **flags, "special": kind == _CONTROL}
        for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    described = {
        "version": "1.0",
        "added_tokens": marks,
        "pre_tokenizer": WORD_RULES[rule],
        "decoder": {**_GPT2, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": fields.get("ggml.merges"),
            "ignore_merges": rule in _WHOLE_WORDS_FIRST,
        },
    }
    (target / "tokenizer.json").write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")
    named = {"bos_token": "ggml.bos_token_id", "eos_token": "ggml.eos_token_id", "unk_token": "ggml.unknown_token_id"}
    config = {name: tokens[fields[field]] for name, field in named.items() if field in fields}
    config |= {"chat_template": fields.get("chat_template"), "add_bos_token": bool(fields.get("ggml.add_bos_token"))}
    (target / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":  # `model|tokenizer SOURCE TARGET`; the last line on stderr says what went wrong
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a local file; nothing may be fetched for it
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    (convert_model if sys.argv[1] == "model" else convert_tokenizer)(Path(sys.argv[2]), Path(sys.argv[3]))
