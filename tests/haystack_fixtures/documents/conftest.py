"""Folders of documents."""

import pytest


@pytest.fixture
def folder(tmp_path):
    """Write files into a folder: name = text, or bytes."""

    def build(files, name="documents"):
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build
