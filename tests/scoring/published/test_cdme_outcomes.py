"""CDME's outcomes say whether an answer is right, its score how near its letters are to the hidden sentence."""

from __future__ import annotations

import pytest

from needlework.scoring.published.opencompass import CDME
from needlework.scoring.scores import Reference

REFERENCE = Reference(
    ("上海人工智能实验室",),
    statement="小明最喜欢的实习的地点就是上海人工智能实验室。",
    keyword="上海人工智能实验室",
)


@pytest.mark.parametrize(
    ("answer", "verdict", "above"),
    [
        ("小明最喜欢的实习的地点就是上海人工智能实验室。", "found", 0.99),
        ("小明最喜欢的实习地点就是上海人工智能实验室。", "found", 0.9),
        ("上海人工智能实验室", "found", 0.3),
        ("小明最喜欢的实习的地点就是北京。", "wrong", 0.5),
        ("", "empty", -1.0),
    ],
)
def test_the_keyword_says_whether_it_is_right(answer: str, verdict: str, above: float) -> None:
    score = CDME.judge(answer, REFERENCE)
    assert score.verdict == verdict
    assert score.value > above
    assert score.details["compared_with"] == REFERENCE.statement
