"""What is too short for its task, in words."""

from __future__ import annotations

from needlework.core.errors import TooLongError
from needlework.core.grid import Misfit, left_out, not_filled, nothing_fits

COPY = [Misfit("copy", 1000, 2065), Misfit("copy", 2000, 2065)]
WORDS = [Misfit("ruler_cwe freq6", 1000, 1138), Misfit("ruler_cwe freq6_zh", 1000, 1200)]
CHAIN = [Misfit("chain", 1000, None)]


def test_each_task_is_named_with_its_lengths_and_the_least_that_fits_all_its_needles() -> None:
    assert left_out([*COPY, *WORDS, *CHAIN]) == (
        "left out, too short: copy at 1000, 2000 (from 2065), ruler_cwe at 1000 (from 1200), chain at 1000"
    )


def test_where_nothing_fits_the_least_over_all_tasks_is_told_at_once() -> None:
    assert str(nothing_fits([*WORDS, *COPY], [1000, 2000], 48)) == (
        "--lengths: '1000,2000': too short for ruler_cwe, copy: use at least 2065"
        " (ruler_cwe at 1000 (from 1200), copy at 1000, 2000 (from 2065)), or other tasks (--task)"
    )
    assert str(nothing_fits(COPY, [1000, 2000], 48)).endswith(
        "too short for copy: use at least 2065, or other tasks (--task)"
    )
    assert str(nothing_fits(CHAIN, [1000], 48)).endswith(
        "too short for chain: use longer ones, or other tasks (--task)"
    )


def test_where_most_of_a_length_is_kept_free_the_options_that_keep_it_are_named() -> None:
    assert str(nothing_fits(COPY, [1000, 2000], 1500)).endswith(
        "; --answer-budget and --length-buffer keep 1500 of them"
    )


def test_a_task_that_is_asked_at_shares_of_a_length_tells_the_length_to_type() -> None:
    sizes = [Misfit("doc_size", 1000, 1217, share=25), Misfit("doc_size", 2000, 2100, share=25)]
    assert left_out(sizes[:1]) == "left out, too short: doc_size at 1000 (from 1217: --lengths 4868)"
    assert str(nothing_fits(sizes[:1], [4000], 48)) == (
        "--lengths: '4000': too short for doc_size: use at least 4868, or other tasks (--task)"
    )


def test_of_documents_that_are_few_the_length_told_is_one_for_all_questions() -> None:
    found = [TooLongError(8000, 3200, "question q0"), TooLongError(8000, 2506, "question q1")]
    assert str(not_filled(found)) == (
        "--lengths: '8000': all documents together fill 2506 tokens with question q1, the fewest of all questions:"
        " use at most 2500, or add some"
    )
    assert str(not_filled(found[:1])).endswith("fill 3200 tokens with question q0: use at most 3200, or add some")
