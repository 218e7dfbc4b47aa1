"""Every item and every score that L-Eval's own code gave (shared/parity/leval; skipped without it)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS as TASKS
from needlework.results.leval.predictions import find_files, read_predictions
from needlework.results.leval.scores import score_task
from needlework.scoring.leval.overlap import by_line

_ROOT = Path(__file__).resolve().parents[3]
_PARITY = Path(os.environ.get("NEEDLEWORK_PARITY_LEVAL", _ROOT.parent / "shared" / "parity" / "leval"))
_WITHOUT = {"sci_fi"}  # no predictions of it are stored

pytestmark = pytest.mark.skipif(not _PARITY.is_dir(), reason=f"no parity results at {_PARITY}")


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
