"""Rules give the numbers that their own systems' code gave (tests/parity, shared/parity/leval), and never raise."""

import json
import os
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.leval.predictions import find_files, read_answers
from needlework.results.leval.scores import score_task
from needlework.scoring.judges.replies import JudgeReplyError, parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.leval import overlap
from needlework.scoring.leval.exact import asked_for, compat_letters, stated_letters
from needlework.scoring.leval.overlap import F1, ROUGE, MissingPackageError, by_line, rouge
from needlework.scoring.published.data_sets import (
    GradedReply,
    authors_letter,
    authors_table,
    card_bin,
    evalscope_letter,
    harness_bin,
)
from needlework.scoring.published.opencompass import boxed_answer, edit_score
from needlework.scoring.published.ruler import normalize_answer, postprocessed, rule_score
from needlework.scoring.registry import SCORERS, scorer_named
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
        assert postprocessed(pair["pred"]) == pair["pred_postprocessed"]
        assert pair["lm_eval_string_match_all"] == pair["lm_eval_string_match_part"]
        scales = (("ruler_all", "string_match_all", 100), ("ruler_part", "string_match_part", 100))
        for name, told, scale in (*scales, ("ruler_all", "lm_eval_string_match_all", 1)):
            score = scorer_named(name).judge(pair["pred"], Reference((), parts=tuple(pair["refs"])))
            assert round(score.value * scale, 2) == round(pair[told], 2), pair


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


_NAMES = sorted(name for name in SCORERS if name.startswith("leval_"))
_PIECES = st.sampled_from(
    ["A", "B, C", "(D)", "The answer is ", "[fact: ", "]", "True", "false", "$1,234.50", "-3/4", "[1 2", "`", "\n\n"]
)
_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=80), st.lists(_PIECES, max_size=8).map(" ".join)
)


@pytest.mark.parametrize("name", _NAMES)
@given(answer=_TEXT, gold=_TEXT)
def test_scores_are_0_to_1_and_nothing_raises(name, answer, gold):
    # Only a topic that has a letter or digit can be looked for.
    reference = Reference((f"topic {gold}" if name == "leval_topic" else gold,))
    score = SCORERS[name].judge(answer, reference)
    assert 0 <= score.value <= 1
    assert (score.verdict == "found") == (score.value == 1)


@pytest.mark.parametrize("name", [name for name in _NAMES if not name.endswith("_compat")])
def test_no_answer_is_never_right_for_a_strict_rule(name):
    for gold in ("B", "12", "[1 2]", "-. .-.", "True [fact: False]", "The role of art", "some words"):
        assert [SCORERS[name].judge(answer, Reference((gold,))).value for answer in ("", " \n\t", "\ud800")] == [0] * 3


@given(st.sets(st.sampled_from("ABCD"), min_size=1), st.sampled_from([", ", " and ", "/", " & "]))
def test_letters_are_read_however_they_are_listed(letters, between):
    listed = sorted(letters)
    for answer in (between.join(listed), f"The answer is {between.join(listed)}.", "".join(listed)):
        assert stated_letters(answer) == "".join(listed), answer


@given(_TEXT.filter(str.strip))
def test_compat_always_takes_a_letter(answer):
    for several in (False, True):
        assert set(compat_letters(answer, several=several)) <= set("ABCD")


def test_the_question_says_which_topic_is_asked_for():
    assert asked_for("What is the second topic we discussed?") == "second"
    assert asked_for("What are the first topic and the third topic?") is None


_WORDS = st.text(st.sampled_from("abc ABC.,\n'é1"), max_size=60)


def test_rouge_lsum_takes_sentences_one_by_one():
    if by_line("") is None:
        pytest.skip("no Punkt model: pip install --no-deps llama-index-core==0.14.25")
    assert by_line("Mr. Smith went. He came back.") == "Mr. Smith went.\nHe came back."
    scores = rouge("He came back. She went.", "She went. He came back.")
    assert scores["rougeLsum"] == pytest.approx(1)
    assert scores["rougeL"] < 1


@pytest.mark.parametrize(("scorer", "package"), [(ROUGE, "rouge_score"), (F1, "jieba")])
def test_a_missing_package_is_named_with_its_remedy(scorer, package, monkeypatch):
    caches = (overlap.rouge, overlap._scorer, overlap._segmenter)
    for each in caches:
        each.cache_clear()
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        with pytest.raises(MissingPackageError, match=r"pip install 'needlework\[leval\]'"):
            scorer.judge("上海 says so", Reference(("上海",)))
    finally:
        monkeypatch.undo()
        for each in caches:
            each.cache_clear()


_ROOT = Path(__file__).resolve().parents[2]
_PARITY = Path(os.environ.get("NEEDLEWORK_PARITY_LEVAL", _ROOT.parent / "shared" / "parity" / "leval"))
_WITHOUT = {"sci_fi"}  # no predictions of it are stored


QUICK = {"patent_summ", *(task.name for task in TASKS.values() if task.evaluation != "rouge")}
QUICK.remove("topic_retrieval_longchat")
TASKS_HERE = [
    pytest.param(task, marks=[] if name in QUICK else pytest.mark.slow, id=name)
    for name, task in TASKS.items()
    if name not in _WITHOUT
]


@pytest.fixture(scope="module")
def golden():
    scores: dict[str, dict[str, Any]] = json.loads((_PARITY / "golden_scores.json").read_text())["turbo-16k-0613"]
    return scores


@pytest.fixture(scope="module")
def per_item():
    lines = (_PARITY / "per_item_turbo.jsonl").read_text().splitlines()
    return {(row["task"], row["idx"]): row for row in map(json.loads, lines)}


@pytest.mark.skipif(not _PARITY.is_dir(), reason=f"no parity results at {_PARITY}")
@pytest.mark.parametrize("task", TASKS_HERE)
def test_every_score_and_count_is_the_published_one_and_within_floor_and_ceiling(task, golden, per_item):
    files, _ = find_files([_PARITY / "predictions"], None)
    (path,) = (path for path, found in files.items() if found == task)
    scored, published = score_task(task, read_answers(path, task=task)), golden[task.name]
    check_means(scored, published)
    for at, ours in enumerate(scored.scores["compat"]):
        check_item(task, ours, per_item[task.name, at])
    values = [score.value for score in scored.scores["compat"]]
    assert len(values) == published.get("num_predicted", task.expected) == task.expected
    if "n_correct" in published:
        assert (values.count(1), values.count(0.25)) == (published["n_correct"], published["n_partial"])
    for means in scored.means.values():
        for mean in means.values():
            assert mean.score.value <= mean.ceiling
            assert 0 <= mean.floor <= 1
    if task.name in (known := {"coursera": (25.5814, 100.0), "codeU": (None, 97.7778), "quality": (27.7228, 100.0)}):
        mean, (floor, ceiling) = scored.means["exact_match"]["compat"], known[task.name]
        assert round(100 * mean.ceiling, 4) == ceiling
        assert floor is None or round(100 * mean.floor, 4) == floor


def check_means(scored, published):
    ours = {name: mean["compat"].score.value for name, mean in scored.means.items()}
    names = {"average_exact_match": "mean", "exact_match": "exact_match", "f1": "f1"}
    names |= {f"first_{at}/exact_match": name for at, name in enumerate(("first", "second", "third"), 1)}
    names |= {f"rouge/{name}": name for name in ("rouge1", "rouge2", "rougeL", "rougeLsum", "geometric_mean")}
    if by_line("") is None:
        del names["rouge/rougeLsum"]
    compared = {name: ours[names[name]] for name in published if name in names}
    assert compared
    for name, value in compared.items():
        assert round(100 * value, 4) == pytest.approx(published[name], abs=5e-5), name


def check_item(task, ours, theirs):
    if task.evaluation == "rouge":
        for name in {"rouge1", "rouge2", "rougeL", "rougeLsum"} & ours.details.keys():
            assert ours.details[name] == pytest.approx(theirs[name], abs=1e-9), name
    else:
        assert ours.value == pytest.approx(theirs["exact_match" if "exact_match" in theirs else "f1"])
    if "processed_pred" in theirs:
        assert (ours.details["taken"], ours.details["gold"]) == (theirs["processed_pred"], theirs["processed_gt"])
