"""Facts about safetensors files, read from their headers: no weights, no torch."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16}
_LARGEST_HEADER = 100 * 2**20  # the format's own limit


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """Numbers in all the files together; `stored_bytes` is what they take as they are stored."""

    elements: int
    stored_bytes: int


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


def read_facts(files: Sequence[Path]) -> WeightFacts:
    """Count what the files hold."""
    elements = stored = 0
    for path in files:
        for entry in _header(path).values():
            count = math.prod(entry["shape"])
            elements += count
            stored += count * _BITS.get(entry["dtype"], 8) // 8
    return WeightFacts(elements, stored)


def _header(path: Path) -> dict[str, Any]:
    damaged = InputError("--model", path, "not a whole safetensors file; fetch the model again")
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        if not 2 <= size <= _LARGEST_HEADER:
            raise damaged
        try:
            header = json.loads(stream.read(size))
        except ValueError:
            raise damaged from None
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    end = max((int(entry["data_offsets"][1]) for entry in tensors.values()), default=0)
    if path.stat().st_size < 8 + size + end:
        raise damaged
    return tensors
