"""The compatible scorers of OpenAI MRCR, MRCR v2, GraphWalks and LongBench v2 give what the original functions gave."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.scoring.published.data_sets import (
    GradedReply,
    authors_letter,
    authors_table,
    card_bin,
    evalscope_letter,
    harness_bin,
)
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference
from tests.parity.cases import cases

EQUAL = 1e-12


def value(scorer: str, response: str, reference: Reference) -> float:
    return scorer_named(scorer).judge(response, reference).value


@pytest.mark.parametrize("who", ["card", "openbench", "evalscope"])
def test_openai_mrcr(who: str) -> None:
    for case in cases("field/mrcr_grade"):
        reference = Reference((case["answer"],), given=(case["prefix"],))
        assert value(f"mrcr_{who}_compat", case["response"], reference) == pytest.approx(case[who], abs=EQUAL), case[
            "note"
        ]


def test_deepmind_mrcr() -> None:
    for case in cases("field/mrcr_v2_deepmind"):
        reference = Reference((case["target"],))
        said = case["prediction"] or ""
        assert value("mrcr_deepmind_compat", said, reference) == pytest.approx(case["score"], abs=EQUAL), case["note"]


def test_bins() -> None:
    for case in cases("field/mrcr_bins"):
        tokens = case["tokens_in"] + case["tokens_out"]
        assert (card_bin(tokens), harness_bin(tokens), harness_bin(tokens)) == (
            case["card"],
            case["openbench"],
            case["evalscope"],
        )


@pytest.mark.parametrize("case", cases("field/graphwalks"), ids=lambda case: case["note"])
def test_graphwalks(case: dict[str, Any]) -> None:
    reference = Reference((), parts=tuple(case["gold"]))
    theirs = {
        "card": case["card"],
        "openbench": case["openbench"],
        "lm_eval": case["lm_eval"],
        "lm_eval_flexible": {key.removeprefix("flexible_"): value for key, value in case["lm_eval"].items()},
    }
    for name, result in theirs.items():
        score = scorer_named(f"graphwalks_{name}_compat").judge(case["response"], reference)
        assert score.value == pytest.approx(result["f1"], abs=EQUAL), name
        assert (score.answer, score.details["nodes"]) == (", ".join(result["nodes"])[:160], len(result["nodes"]))
        assert score.details["readable"] is not result["parse_error"]
        for key in ("precision", "recall") if name == "openbench" else ():
            assert score.details[key] == pytest.approx(result[key], abs=EQUAL)


def test_longbench_v2_letters() -> None:
    for case in cases("field/longbench_v2_letters"):
        assert (authors_letter(case["response"]), evalscope_letter(case["response"])) == (
            case["longbench"],
            case["evalscope"],
        ), case["response"]


def test_longbench_v2_table() -> None:
    for case in cases("field/longbench_v2_aggregates"):
        rows = [GradedReply(row["difficulty"], row["length"], row["pred"], row["answer"]) for row in case["rows"]]
        assert authors_table(rows) == case["plain"]
        assert authors_table(rows, compensated=True) == case["compensated"]
