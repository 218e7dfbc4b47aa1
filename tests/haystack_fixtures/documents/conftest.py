"""Folders of documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write files into a folder: name = text, or bytes."""

    def build(files: dict[str, str | bytes], name: str = "documents") -> Path:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build
