"""From a question to its context: words, which chunks, in what order, and what is made once."""

import numpy as np
import pytest
from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.record import RetrievalFacts
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.retrieval.search import Retrieval, Search, bm25_index, search_words
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.haystack_fixtures.retrieval.embeddings import embeddings
from tests.loopback import loopback

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
        return Retrieval(settings, load_tokenizer("o200k_base"), tmp_path), settings.suites[0]

    return make


def test_the_best_chunks_are_the_context_and_stand_where_the_record_says(retrieval):
    made, suite = retrieval()
    found = made.retrieve(suite, QUESTION, "bm25")
    assert found.facts.hits[0].document == "boats.txt"
    assert found.text.startswith("The ferry ran on Thursdays only.\n\n")
    texts = dict(TEXTS)
    shown = [texts[hit.document][hit.start : hit.end].strip() for hit in found.facts.hits]
    assert found.text == "\n\n".join(shown)
    facts = replace(found.facts, hits=[])
    assert facts == RetrievalFacts("bm25", k=2, chunk_size=45, unit="characters", chunks=6, gold="boats.txt", rank=1)


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


def test_sizes_in_tokens_are_those_of_the_models_tokenizer(retrieval):
    made, suite = retrieval(chunk_size="8t")
    found = made.retrieve(suite, QUESTION, "bm25")
    assert found.facts.unit == "tokens"
    for piece in found.text.split("\n\n"):
        assert len(load_tokenizer("o200k_base").encode(piece).ids) <= 8


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


def test_a_cache_that_cannot_be_read_costs_time_only(retrieval, tmp_path):
    with loopback(embeddings) as server:
        made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url)
        first = made.retrieve(suite, QUESTION, "dense")
        for path in (tmp_path / "embeddings").iterdir():
            path.write_bytes(path.read_bytes()[:-4] + b"????")
        made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url)
        assert made.retrieve(suite, QUESTION, "dense").facts.hits == first.facts.hits


def test_everything_that_decides_what_is_found_is_in_the_recipe(retrieval):
    with loopback(embeddings) as server:
        recipes = set()
        for options in ({}, {"retrieve": "3"}, {"chunk_size": "46"}, {"chunk_size": "45t"}, {"chunk_overlap": "1"}):
            made, suite = retrieval(embedder="openai:words", embedder_base_url=server.url, **options)
            recipes |= {made.recipe(suite, "bm25"), made.recipe(suite, "dense")}
        made, suite = retrieval(embedder="openai:others", embedder_base_url=server.url)
        recipes |= {made.recipe(suite, "bm25"), made.recipe(suite, "dense")}
    assert len(recipes) == 11  # BM25 has no embedder


def test_texts_of_white_space_cannot_be_searched(retrieval):
    made, suite = retrieval()
    with pytest.raises(InputError, match="no text to search"):
        made.retrieve(suite, Search((("a", " \n\n "),), "Which?"), "bm25")


CHUNKS = [
    "The ferry ran on Thursdays only.",
    "The pear tree stood behind the mill.",
    "梨树在磨坊后面。",
    "渡船只在星期四开。",
]


def test_the_chunk_that_shares_the_words_comes_first_and_without_known_words_none_does():
    for place, question in enumerate(
        ("When did the ferry run?", "Which TREE was behind the mill?", "梨树在哪里？", "渡船什么时候开？")
    ):
        assert np.argmax(bm25_index(CHUNKS)(question)) == place
    assert search_words("The Ferry\u2019s ﬁre, ＡＢＣ!") == ["the", "ferry", "s", "fire", "abc"]
    assert search_words("梨树在") == ["梨", "树", "在", "梨树", "树在"]
    assert bm25_index(CHUNKS)("xyzzy ?!").tolist() == [0, 0, 0, 0]
    assert bm25_index(["!!", "..."])("ferry").tolist() == [0, 0]
