"""Files of checkpoints: folders of a hub, checksums, weights."""

import hashlib
import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.files import cache_key, read_cached, write_cached


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
