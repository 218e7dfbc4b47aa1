"""Checkpoints by folder or hub id."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.errors import InputError

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

    wanted = _SMALL_FILES + ["*.safetensors"] * weights + ["*.py"] * code
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted))
    except Exception as error:  # the hub's client and its transport raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(
            "--model hf", name, f"no such folder, and the hub gave nothing ({why}); give a folder"
        ) from error
