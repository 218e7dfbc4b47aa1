"""A real OpenAI-compatible server (llama.cpp) with the embedded model, as a fixture: for answers or for embeddings."""

import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest

from needlework.models.specs import installed_gguf

_SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.warmup = 2048, 1, False
if sys.argv[3:] == ["embeddings"]:
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def llama_server():
    """Base URL of a real llama.cpp server with the embedded model's own GGUF file."""
    with _running() as url:
        yield url


@pytest.fixture(scope="session")
def embedding_server():
    """Base URL of one that gives vectors: the mean of the last layer's, 576 numbers."""
    with _running("embeddings") as url:
        yield url


@contextmanager
def _running(*mode):
    pytest.importorskip("xllamacpp")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(installed_gguf()), str(port), *mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
