"""Embeddings on disk: what is there comes back, what is damaged is made again."""

import sqlite3

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from needlework.haystack_fixtures.retrieval.embedders import Embedded, store, stored

numbers = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text(), st.tuples(arrays(np.float32, st.integers(1, 8), elements=numbers), st.booleans())))
def test_what_was_stored_comes_back(tmp_path_factory, vectors):
    folder = tmp_path_factory.mktemp("cache")
    store(folder, "model", {text: Embedded(vector, cut) for text, (vector, cut) in vectors.items()})
    found = stored(folder, "model", [*vectors, "a text that is not there"])
    assert found.keys() == vectors.keys()
    for text, (vector, cut) in vectors.items():
        assert np.array_equal(found[text].vector, vector)
        assert found[text].cut == cut


def test_another_embedder_has_vectors_of_its_own(tmp_path):
    store(tmp_path, "one", {"a": Embedded(np.ones(2, np.float32))})
    assert stored(tmp_path, "other", ["a"]) == {}


def test_a_damaged_row_and_a_damaged_file_are_no_vectors(tmp_path):
    store(tmp_path, "m", {"a": Embedded(np.ones(2, np.float32))})
    with sqlite3.connect(tmp_path / "embeddings.sqlite3") as cache:
        cache.execute("UPDATE embedding SET data = substr(data, 1, 5) || x'00000000' || substr(data, 10)")
    assert stored(tmp_path, "m", ["a"]) == {}
    (tmp_path / "embeddings.sqlite3").write_bytes(b"no database, not at all" * 100)
    store(tmp_path, "m", {"a": Embedded(np.ones(2, np.float32))})
    assert stored(tmp_path, "m", ["a"]) == {}


def test_many_texts_are_looked_up_at_once(tmp_path):
    store(tmp_path, "m", {str(number): Embedded(np.full(3, number, np.float32)) for number in range(1200)})
    assert len(stored(tmp_path, "m", map(str, range(1300)))) == 1200
