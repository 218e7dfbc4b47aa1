from __future__ import annotations

import pytest

from needlework.core.errors import nearest

OURS = ["needle", "needle_set", "retrieve", "lengths", "question"]
THEIRS = ["retrieval_question", "length", "context_lengths"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("needel", "needle"),
        ("retrieval_questoin", "retrieval_question"),
        ("lengthz", "lengths"),  # ours first, where it is near enough
        ("context_lenghts", "context_lengths"),
        ("sretieve", "retrieve"),  # its letters in another order
        ("frobnicate", ""),
    ],
)
def test_the_name_that_was_meant(word: str, meant: str) -> None:
    assert nearest(word, OURS, THEIRS) == meant
