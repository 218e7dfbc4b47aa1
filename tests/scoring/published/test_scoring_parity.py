"""Every published rule gives the numbers that its own system's code gave (tests/parity/niah)."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.scoring.judges.replies import JudgeReplyError, parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.published.opencompass import (
    atc_score,
    batch_mean,
    boxed_answer,
    cdme_multi_compat,
    edit_score,
    edit_scores,
    levenshtein,
    needlebench_parallel_compat,
    needlebench_v1_compat,
    needlebench_v1_multi_compat,
    needlebench_v2_compat,
)
from needlework.scoring.published.ruler import normalize_answer, rule_score
from tests.parity.cases import cases


def _exactly(number: float) -> Any:
    return pytest.approx(number, rel=0, abs=1e-9)


def test_evalscope_normalize_answer() -> None:
    for case in cases("niah/es_normalize_answer"):
        assert normalize_answer(case["text"]) == case["result"], case


def test_evalscope_rule_scores() -> None:
    for case in cases("niah/es_rule_scores"):
        assert rule_score(case["prediction"], case["reference"]) == case["score"], case


def test_evalscope_judge_replies() -> None:
    for case in cases("niah/es_judge_parse"):
        if case["ok"]:
            verdict = parse_evalscope_reply(case["reply"])
            assert verdict == _exactly(case["verdict"]), case
            assert verdict / 10 == _exactly(case["score"]), case
        else:
            with pytest.raises(JudgeReplyError, match=str(case["error"]).split()[0]):
                parse_evalscope_reply(case["reply"])


def test_llmtest_judge_replies() -> None:
    for case in cases("niah/gk_judge_parse"):
        if "raises" in case:
            with pytest.raises(ValueError, match="double brackets"):
                parse_llmtest_reply(case["text"])
        else:
            assert parse_llmtest_reply(case["text"]) == case["score"], case


def test_atc_boxed_answers() -> None:
    for case in cases("niah/oc_atc_postprocess"):
        assert boxed_answer(case["text"]) == case["result"], case


def test_atc_scores() -> None:
    for case in cases("niah/oc_atc_scores"):
        if "error" in case["result"]:
            with pytest.raises(ValueError, match=case["result"]["error"]):
                atc_score(case["predictions"], case["gold"])
        else:
            assert atc_score(case["predictions"], case["gold"]) == _exactly(case["result"]["score"]), case


def test_levenshtein() -> None:
    for case in cases("niah/oc_levenshtein"):
        assert levenshtein(case["s1"], case["s2"]) == case["distance"], case


@pytest.mark.parametrize(("name", "trim"), [("oc_cdme_single_scores", False), ("oc_cdme_single_scores_trim", True)])
def test_cdme_single(name: str, trim: bool) -> None:
    rows = cases(f"niah/{name}")
    for case in rows:
        result, detail = edit_score(case["prediction"], case["reference"], trim=trim), case["detail"]
        assert result.score == _exactly(case["score"]), case
        assert (result.distance, result.prediction, result.reference) == (
            detail["edit_distance"],
            detail["pred"],
            detail["answer"],
        )
    batch = edit_scores([case["prediction"] for case in rows], [case["reference"] for case in rows], trim=trim)
    assert batch == [_exactly(case["score"]) for case in rows]


def test_cdme_batch() -> None:
    for case in cases("niah/oc_cdme_batch"):
        scores = edit_scores(case["predictions"], case["references"])
        assert batch_mean(scores) == _exactly(case["result"]["score"]), case


@pytest.mark.parametrize(
    ("name", "rule"), [("oc_cdme_multi_scores", cdme_multi_compat), ("oc_nb1_origin_scores", needlebench_v1_compat)]
)
def test_keyword_or_edit_distance(name: str, rule: Any) -> None:
    for case in cases(f"niah/{name}"):
        result, detail = rule(case["prediction"], case["reference_string"]), case["detail"]
        assert result.score == _exactly(case["score"]), case
        assert (result.edit_distance, result.prediction, result.answer) == (
            detail["edit_distance"],
            detail["pred"],
            detail["answer"],
        )


def test_needlebench_v2_origin() -> None:
    for case in cases("niah/oc_nb2_origin_scores"):
        result = needlebench_v2_compat(case["prediction"], case["reference_string"])
        assert result.score == _exactly(case["score"]), case
        assert (result.prediction, result.answer) == (case["detail"]["pred"], case["detail"]["answer"])


def test_needlebench_v1_multi() -> None:
    for case in cases("niah/oc_nb1_multi_scores"):
        if "raises" in case:
            with pytest.raises(ValueError, match="answer\\*keyword"):
                needlebench_v1_multi_compat(case["prediction"], case["reference"])
            continue
        result = needlebench_v1_multi_compat(case["prediction"], case["reference"])
        assert result.score == _exactly(case["score"]), case
        assert result.matched == case["detail"]["matched_keywords"], case


def test_parallel() -> None:
    for case in cases("niah/oc_parallel_scores"):
        if "raises" in case:
            with pytest.raises(ValueError, match=r"gold|invalid literal"):
                needlebench_parallel_compat(case["predictions"], case["gold"])
            continue
        result = needlebench_parallel_compat(case["predictions"], case["gold"])
        expected = {key: value for key, value in case.items() if key.startswith("Depth")}
        assert {f"Depth{depth}": points for depth, points in result.by_depth.items()} == {
            key: _exactly(value) for key, value in expected.items()
        }, case
        assert result.average == _exactly(case["average_score"]), case
