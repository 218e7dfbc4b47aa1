"""Terminal control sequences around an answer are no part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.recording import without_escapes


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31m2582150\x1b[0m",
        "\x1b[1;38;5;196m2582150\x1b[m",
        "\x9b31m2582150",
        "\x1b]0;a title\x072582150",
        "\x1b]8;;http://x\x1b\\2582150\x1b]8;;\x1b\\",
        "\x1bP1;2|secret\x1b\\2582150",
        "\x1b(B2582150\x1b7",
        "2582150" + "\x1b]" * 200_000,
    ],
)
def test_what_a_terminal_obeys_is_left_out(text):
    assert without_escapes(text) == "2582150"


@given(st.text(st.characters(exclude_categories=["Cc"])))
def test_other_text_stays_as_it_is(text):
    assert without_escapes(text) == text
