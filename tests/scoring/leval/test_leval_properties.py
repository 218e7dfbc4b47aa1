"""L-Eval: scorers on arbitrary answers, F1 and ROUGE, and every score that its own code gave (shared/parity/leval)."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.leval.predictions import find_files, read_predictions
from needlework.results.leval.scores import score_task
from needlework.scoring.leval import overlap
from needlework.scoring.leval.exact import asked_for, compat_letters, stated_letters
from needlework.scoring.leval.overlap import F1, ROUGE, MissingPackageError, by_line, of_itself, rouge
from needlework.scoring.registry import SCORERS
from needlework.scoring.scores import Reference

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


@given(_WORDS)
def test_a_text_beside_itself(text):
    told = rouge(text, text)
    own = of_itself(text)
    assert {name: pytest.approx(own[name]) for name in told} == told


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


_ROOT = Path(__file__).resolve().parents[3]
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
    scored, published = score_task(read_predictions(path, task)), golden[task.name]
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
