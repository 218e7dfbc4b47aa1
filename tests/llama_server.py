"""A real OpenAI-compatible server (llama.cpp) with the embedded model, as a fixture: for answers or for embeddings."""

from contextlib import contextmanager

import pytest

from needlework.models.engines.recipes import find_recipe
from needlework.models.engines.serve import ServedRun, Serving
from needlework.models.specs import installed_gguf


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory):
    """Base URL of a real llama.cpp server with the embedded model's own GGUF file."""
    with _running(tmp_path_factory.mktemp("llama")) as url:
        yield url


@pytest.fixture(scope="session")
def embedding_server(tmp_path_factory):
    """Base URL of one that gives vectors: the mean of the last layer's, 576 numbers."""
    with _running(tmp_path_factory.mktemp("llama"), {"embedding": None, "pooling-type": "mean"}) as url:
        yield url


@contextmanager
def _running(folder, options=None):
    pytest.importorskip("xllamacpp")
    args = {"window": "2048", "threads": "1", **(options or {})}
    server = Serving(
        ServedRun(find_recipe("xllamacpp"), args, str(installed_gguf()), "smollm2", None, ""), lambda: folder
    )
    try:
        yield server.address()
    finally:
        server.stop()
