"""Arms: questions of L-Eval on chunks that a retriever found, on small data of ours in its layout."""

import json

import pytest

from needlework.core.errors import InputError
from tests.haystack_fixtures.retrieval.embeddings import embeddings
from tests.haystack_fixtures.tasks.built import context, mock_value, run_of
from tests.loopback import loopback

pytest.importorskip("bm25s")
FILLER = "Nothing happened that day, and nobody wrote it down. "
DOCUMENT = (
    f"{FILLER * 40}\n\nThe pear tree stood behind the mill.\n\n{FILLER * 40}\n\nThe ferry ran on Thursdays.\n\n{FILLER}"
)
PAIRS = [
    ("Where did the pear tree stand?\nA. behind the mill\nB. by the church", "A"),
    ("When?\nA. never\nB. on Thursdays", "B"),
]


@pytest.fixture
def run(tmp_path):
    """`run(**options)`: a builder, and every cell with its suite."""
    row = {
        "input": DOCUMENT,
        "instructions": [question for question, _ in PAIRS],
        "outputs": [answer for _, answer in PAIRS],
        "evaluation": "exam",
    }
    (tmp_path / "tpo.jsonl").write_text(json.dumps(row), encoding="utf-8")

    def make(**options):
        given = {"preset": "leval-closed", "task": "leval_tpo", "leval_data": str(tmp_path), "lengths": "1200"}
        return run_of(tmp_path, tmp_path, **given | {"chunk_size": "300", "chunk_overlap": "50"} | options)

    return make


def trials(run, **options):
    builder, cells = run(**options)
    return {cell.needle: builder.build(suite, cell) for suite, cell in cells}


def test_each_retriever_is_a_series_of_cells_of_its_own(run):
    with loopback(embeddings) as server:
        found = trials(
            run, retriever="none,bm25,dense", embedder="openai:words", embedder_base_url=server.url, retrieve="2"
        )
    assert list(found) == ["doc0_q0", "doc0_q0_bm25", "doc0_q0_dense", "doc0_q1", "doc0_q1_bm25", "doc0_q1_dense"]
    for name in ("doc0_q0_bm25", "doc0_q0_dense"):
        assert "The pear tree stood behind the mill." in context(found[name])
        assert found[name].asked.reference["twin"] == "doc0_q0"
        assert found[name].asked.reference["answers"] == ("A",)
        assert mock_value(found[name], "perfect") == 1
    assert found["doc0_q0"].retrieved is None


def test_a_retriever_searches_the_whole_document_and_chunks_are_cut_at_the_end_of_the_last(run):
    found = trials(run, retriever="none,bm25", lengths="800", retrieve="1")
    assert "Thursdays" not in context(found["doc0_q1"])
    assert found["doc0_q1"].prompt.flags == ("truncated",)
    assert "The ferry ran on Thursdays." in context(found["doc0_q1_bm25"])
    assert found["doc0_q1_bm25"].prompt.flags == ()
    found = trials(run, retriever="bm25", lengths="700", retrieve="20")["doc0_q0_bm25"]
    assert found.prompt.flags == ("truncated",)
    assert found.retrieved.text.startswith(context(found))
    assert "pear tree" in context(found)


def test_keys_without_a_retriever_stay_what_they_were_and_those_with_one_tell_how(run):
    def keys(**options):
        builder, cells = run(**options)
        return {cell.needle: builder.key(suite, cell, {}) for suite, cell in cells}

    alone, both = keys(chunk_size="1000", chunk_overlap="200"), keys(retriever="none,bm25")
    assert alone.items() < both.items()
    others = [keys(retriever="bm25", **option) for option in ({"retrieve": "3"}, {"chunk_size": "301"})]
    assert len({each["doc0_q0_bm25"] for each in (both, *others)}) == 3


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
def test_what_cannot_be_retrieved_is_told_in_one_line(run, options, said):
    with pytest.raises(InputError, match=said):
        trials(run, **options)
