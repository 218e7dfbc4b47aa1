"""Embeddings on disk: what is there comes back, what is damaged is made again."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from needlework.haystack_fixtures.retrieval.embedded import Embedded, store, stored

numbers = st.floats(-1e3, 1e3, width=32)


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


def test_a_damaged_vector_is_none(tmp_path):
    store(tmp_path, "m", {"a": Embedded(np.ones(2, np.float32))})
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-4] + bytes(4))
    assert stored(tmp_path, "m", ["a"]) == {}
