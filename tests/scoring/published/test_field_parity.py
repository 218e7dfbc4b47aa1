"""The compatible scorers of OpenAI MRCR, MRCR v2, GraphWalks and LongBench v2 give what the original functions gave."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.scoring.published.data_sets import (
    GradedReply,
    Nodes,
    authors_letter,
    authors_table,
    card_bin,
    card_f1,
    card_nodes,
    evalscope_letter,
    harness_bin,
    lm_eval_f1,
    lm_eval_nodes,
    openbench_f1,
    openbench_nodes,
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


def read(nodes: Nodes) -> dict[str, Any]:
    return {"nodes": list(nodes.names), "parse_error": not nodes.readable}


@pytest.mark.parametrize("case", cases("field/graphwalks"), ids=lambda case: case["note"])
def test_graphwalks(case: dict[str, Any]) -> None:
    response, gold = case["response"], case["gold"]
    card, openbench, lm_eval = case["card"], case["openbench"], case["lm_eval"]
    reference = Reference((), parts=tuple(gold))

    assert read(card_nodes(response)) == {key: card[key] for key in ("nodes", "parse_error")}
    assert value("graphwalks_card_compat", response, reference) == pytest.approx(card["f1"], abs=EQUAL)
    assert card_f1(card_nodes(response).names, gold).f1 == pytest.approx(card["f1"], abs=EQUAL)

    assert read(openbench_nodes(response)) == {key: openbench[key] for key in ("nodes", "parse_error")}
    result = openbench_f1(openbench_nodes(response).names, gold)
    for key in ("precision", "recall", "f1"):
        assert getattr(result, key) == pytest.approx(openbench[key], abs=EQUAL)
    assert value("graphwalks_openbench_compat", response, reference) == pytest.approx(openbench["f1"], abs=EQUAL)

    for flexible, prefix, name in ((False, "", "lm_eval"), (True, "flexible_", "lm_eval_flexible")):
        nodes = lm_eval_nodes(response, flexible=flexible)
        assert read(nodes) == {key: lm_eval[f"{prefix}{key}"] for key in ("nodes", "parse_error")}
        assert lm_eval_f1(nodes.names, gold).f1 == pytest.approx(lm_eval[f"{prefix}f1"], abs=EQUAL)
        assert value(f"graphwalks_{name}_compat", response, reference) == pytest.approx(
            lm_eval[f"{prefix}f1"], abs=EQUAL
        )


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
