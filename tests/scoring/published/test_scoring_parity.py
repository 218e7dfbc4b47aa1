"""Every published rule gives the numbers that its own system's code gave (tests/parity/niah)."""

from statistics import fmean

import pytest
from rapidfuzz.distance import Levenshtein

from needlework.scoring.judges.replies import JudgeReplyError, parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.published.data_sets import (
    GradedReply,
    authors_letter,
    authors_table,
    card_bin,
    evalscope_letter,
    harness_bin,
)
from needlework.scoring.published.opencompass import boxed_answer, edit_score
from needlework.scoring.published.ruler import any_found, normalize_answer, postprocessed, rule_score, share_found
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference
from tests.parity.cases import cases


def _exactly(number):
    return pytest.approx(number, rel=0, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "function"), [("es_normalize_answer", normalize_answer), ("oc_atc_postprocess", boxed_answer)]
)
def test_texts_are_read_as_published(name, function):
    for case in cases(f"niah/{name}"):
        assert function(case["text"]) == case["result"], case


def test_evalscope_rule_scores():
    for case in cases("niah/es_rule_scores"):
        assert rule_score(case["prediction"], case["reference"]) == case["score"], case


def test_evalscope_judge_replies():
    for case in cases("niah/es_judge_parse"):
        if case["ok"]:
            verdict = parse_evalscope_reply(case["reply"])
            assert verdict == _exactly(case["verdict"]), case
            assert verdict / 10 == _exactly(case["score"]), case
        else:
            with pytest.raises(JudgeReplyError, match=str(case["error"]).split()[0]):
                parse_evalscope_reply(case["reply"])


def test_llmtest_judge_replies():
    for case in cases("niah/gk_judge_parse"):
        if "raises" in case:
            with pytest.raises(ValueError, match="double brackets"):
                parse_llmtest_reply(case["text"])
        else:
            assert parse_llmtest_reply(case["text"]) == case["score"], case


def points(scorer, prediction, reference):
    return 100 * scorer_named(scorer).judge(prediction, reference).value


def split(reference):
    """A published reference, `answer*keyword`."""
    answer, keyword = reference.split("*", 1)
    return Reference((answer,), statement=answer, keyword=keyword)


def test_atc_scores():
    for case in cases("niah/oc_atc_scores"):
        boxed = [rf"\boxed{{{prediction}}}" for prediction in case["predictions"]]
        # A prediction with braces of its own is read otherwise; of lists of two lengths there is no score.
        if "error" not in case["result"] and [boxed_answer(each) for each in boxed] == case["predictions"]:
            pairs = zip(boxed, case["gold"], strict=True)
            scores = [points("needlebench_atc_compat", each, Reference((), keyword=name)) for each, name in pairs]
            assert fmean(scores or [0]) == _exactly(case["result"]["score"]), case


def test_levenshtein_and_cdme_in_batches():
    for case in cases("niah/oc_levenshtein"):
        assert Levenshtein.distance(case["s1"], case["s2"]) == case["distance"], case
    for case in cases("niah/oc_cdme_batch"):
        scores = [edit_score(*pair).score for pair in zip(case["predictions"], case["references"], strict=True)]
        assert fmean(scores or [0]) == _exactly(case["result"]["score"]), case


@pytest.mark.parametrize(("name", "trim"), [("oc_cdme_single_scores", False), ("oc_cdme_single_scores_trim", True)])
def test_cdme_single(name, trim):
    for case in cases(f"niah/{name}"):
        result, detail = edit_score(case["prediction"], case["reference"], trim=trim), case["detail"]
        compared = (detail["edit_distance"], detail["pred"], detail["answer"])
        assert result.score == _exactly(case["score"]), case
        assert (result.distance, result.prediction, result.reference) == compared


@pytest.mark.parametrize(
    ("name", "scorer"),
    [
        ("oc_cdme_multi_scores", "cdme_multi_compat"),
        ("oc_nb1_origin_scores", "needlebench_v1_compat"),
        ("oc_nb2_origin_scores", "needlebench_v2_compat"),
    ],
)
def test_keyword_or_edit_distance(name, scorer):
    for case in cases(f"niah/{name}"):
        reference, detail = split(case["reference_string"]), case["detail"]
        if not reference.keyword:
            continue  # ours falls back on the answer
        assert points(scorer, case["prediction"], reference) == _exactly(case["score"]), case
        edit = edit_score(case["prediction"], reference.statement)
        assert (edit.prediction, edit.reference) == (detail["pred"], detail["answer"])
        assert edit.distance == detail.get("edit_distance", edit.distance)


def test_needlebench_v1_multi():
    for case in cases("niah/oc_nb1_multi_scores"):
        if "raises" in case:
            if "*" in case["reference"]:  # one without is no reference of ours
                with pytest.raises(ValueError, match="answer\\*keyword"):
                    points("needlebench_v1_multi_compat", case["prediction"], split(case["reference"]))
            continue
        score = scorer_named("needlebench_v1_multi_compat").judge(case["prediction"], split(case["reference"]))
        assert 100 * score.value == _exactly(case["score"]), case
        assert sum(map(bool, score.details.values())) == case["detail"]["matched_keywords"], case


def test_parallel():
    scorer = scorer_named("needlebench_parallel_compat")
    for case in cases("niah/oc_parallel_scores"):
        if "raises" in case:
            continue  # references that cannot be read: ours have fields
        depths = case["gold"][0].split("#")[1].split("*")
        by_depth = dict.fromkeys((f"Depth{int(depth)}" for depth in depths), 0.0)
        for prediction, gold in zip(case["predictions"], case["gold"], strict=True):
            parts = tuple(gold.split("#")[0].split("*"))
            hits = scorer.judge(prediction, Reference((), parts=parts)).details.values()
            for depth, hit in zip(depths, hits, strict=False):
                by_depth[f"Depth{int(depth)}"] += 100 * bool(hit) / len(case["predictions"])
        assert by_depth == {key: _exactly(value) for key, value in case.items() if key.startswith("Depth")}, case
        assert fmean(by_depth.values()) == _exactly(case["average_score"]), case


def test_ruler():
    """RULER's scale is percent to 2 decimals; lm-eval's port has 0..1, and a share where RULER takes any reference."""
    assert postprocessed(" \x01a\x07b\t \x1f") == "a\nb"
    pairs = cases("ruler/scorer_pairs")
    assert len(pairs) == 20
    for pair in pairs:
        said, references = postprocessed(pair["pred"]), pair["refs"]
        assert said == pair["pred_postprocessed"]
        assert round(share_found(said, references) * 100, 2) == pair["string_match_all"], pair
        assert round(any_found(said, references) * 100, 2) == pair["string_match_part"], pair
        assert share_found(said, references) == pair["lm_eval_string_match_all"] == pair["lm_eval_string_match_part"]
        for name, told in (("ruler_all", "string_match_all"), ("ruler_part", "string_match_part")):
            score = scorer_named(name).judge(pair["pred"], Reference((), parts=tuple(references)))
            assert round(score.value * 100, 2) == pair[told], pair


@pytest.mark.parametrize("who", ["card", "openbench", "evalscope"])
def test_openai_mrcr(who):
    for case in cases("field/mrcr_grade"):
        reference = Reference((case["answer"],), given=(case["prefix"],))
        assert points(f"mrcr_{who}_compat", case["response"], reference) == _exactly(100 * case[who]), case["note"]


def test_deepmind_mrcr():
    for case in cases("field/mrcr_v2_deepmind"):
        reference = Reference((case["target"],))
        said = case["prediction"] or ""
        assert points("mrcr_deepmind_compat", said, reference) == _exactly(100 * case["score"]), case["note"]


def test_bins():
    for case in cases("field/mrcr_bins"):
        tokens = case["tokens_in"] + case["tokens_out"]
        assert card_bin(tokens) == case["card"]
        assert harness_bin(tokens) == case["openbench"] == case["evalscope"]


@pytest.mark.parametrize("case", cases("field/graphwalks"), ids=lambda case: case["note"])
def test_graphwalks(case):
    reference = Reference((), parts=tuple(case["gold"]))
    theirs = {
        "card": case["card"],
        "openbench": case["openbench"],
        "lm_eval": case["lm_eval"],
        "lm_eval_flexible": {key.removeprefix("flexible_"): value for key, value in case["lm_eval"].items()},
    }
    for name, result in theirs.items():
        score = scorer_named(f"graphwalks_{name}_compat").judge(case["response"], reference)
        assert score.value == pytest.approx(result["f1"], abs=1e-12), name
        assert (score.answer, score.details["nodes"]) == (", ".join(result["nodes"])[:160], len(result["nodes"]))
        assert score.details["readable"] is not result["parse_error"]
        for key in ("precision", "recall") if name == "openbench" else ():
            assert score.details[key] == pytest.approx(result[key], abs=1e-12)


def test_longbench_v2_letters_and_table():
    for case in cases("field/longbench_v2_letters"):
        letters = (authors_letter(case["response"]), evalscope_letter(case["response"]))
        assert letters == (case["longbench"], case["evalscope"]), case["response"]
    for case in cases("field/longbench_v2_aggregates"):
        rows = [GradedReply(row["difficulty"], row["length"], row["pred"], row["answer"]) for row in case["rows"]]
        assert authors_table(rows) == case["plain"]
        assert authors_table(rows, compensated=True) == case["compensated"]
