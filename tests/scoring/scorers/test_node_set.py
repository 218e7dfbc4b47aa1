"""`node_set` reads the last list of nodes however it is written, and takes F1 with the right set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.scorers.sets import named_nodes, node_set_score
from needlework.scoring.scores import Reference

THREE = ("1a2b3c4d5e", "0f0f0f0f0f", "99aa88bb77")
LISTED = ", ".join(THREE)


@pytest.mark.parametrize(
    "answer",
    [
        f"Final Answer: [{LISTED}]",
        f"Step by step.\n**Final Answer:** [{LISTED}]\n\nI hope that this helps.",
        f"```\nfinal answer: [{LISTED}]\n```",
        "Final Answer: [\n`1a2b3c4d5e`,\n`0f0f0f0f0f`,\n`99aa88bb77`\n]",
        f"Final Answer: [0000000000]. No: Final Answer: [{LISTED}] (3 nodes)",
        f"FINAL ANSWER: {{{LISTED.upper()}}}",
        rf"Final Answer: $\boxed{{{LISTED}}}$",
        f"Final Answer: [[{'], ['.join(THREE)}]]",
        "Final Answer: [1. 1a2b3c4d5e, 2. 0f0f0f0f0f, 3. 99aa88bb77]",
        f"Final Answer: [{LISTED}]\nFinal Answer: see above",
        f"The nodes are\n[{LISTED}].",
    ],
)
def test_the_last_list_counts_however_it_is_written(answer: str) -> None:
    score = node_set_score(answer, Reference((), parts=THREE))
    assert (score.value, score.verdict, score.details["exact"]) == (1.0, "found", True)


@pytest.mark.parametrize("answer", ["Final Answer: []", "Final Answer: none", "**Final answer:** [None]", "[]"])
def test_an_empty_set_is_an_answer(answer: str) -> None:
    assert named_nodes(answer) == ()
    assert node_set_score(answer, Reference(())).value == 1
    assert node_set_score(answer, Reference((), parts=THREE)).value == 0


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("", "empty"), ("I looked at [0000000000] first.", "wrong"), ("I cannot answer.", "refused")],
)
def test_no_list_earns_nothing_where_the_right_set_is_empty_too(answer: str, verdict: str) -> None:
    score = node_set_score(answer, Reference(()))
    assert (score.value, score.verdict) == (0, verdict)


def test_details_say_what_is_missing_and_what_is_too_much() -> None:
    reference = Reference((), parts=THREE, kinds={"aaaaaaaaaa": "start"})
    score = node_set_score(f"Final Answer: [{THREE[0]}, AAAAAAAAAA, bbbbbbbbbb]", reference)
    assert score.value == pytest.approx(2 / 6)
    assert score.verdict == "partial"
    assert score.details == {
        "precision": 1 / 3,
        "recall": 1 / 3,
        "exact": False,
        "extra": 2,
        "missed": 2,
        "extra_start": 1,
    }


@given(st.sets(st.from_regex(r"[0-9a-f]{10}", fullmatch=True), max_size=30), st.data())
def test_order_and_repetition_do_not_matter(nodes: set[str], data: st.DataObject) -> None:
    shown = data.draw(st.permutations([*nodes, *list(nodes)[:3]]))
    assert node_set_score(f"Final Answer: [{', '.join(shown)}]", Reference((), parts=tuple(nodes))).value == 1
