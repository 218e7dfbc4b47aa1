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


@pytest.fixture(scope="module")
def golden():
    scores: dict[str, dict[str, Any]] = json.loads((_PARITY / "golden_scores.json").read_text())["turbo-16k-0613"]
    return scores


@pytest.fixture(scope="module")
def per_item():
    lines = (_PARITY / "per_item_turbo.jsonl").read_text().splitlines()
    return {(row["task"], row["idx"]): row for row in map(json.loads, lines)}


@pytest.fixture(scope="module", params=sorted(TASKS.keys() - _WITHOUT))
def scored(request):
    files, _ = find_files([_PARITY / "predictions"], None)
    [(path, task)] = [(path, task) for path, task in files.items() if task.name == request.param]
    return score_task(read_predictions(path, task))


def test_every_golden_score(scored, golden):
    published = golden[scored.task.name]
    ours = {name: mean["compat"].score.value for name, mean in scored.means.items()}
    names = {"average_exact_match": "mean", "exact_match": "exact_match", "f1": "f1"}
    names |= {f"first_{at}/exact_match": name for at, name in enumerate(("first", "second", "third"), 1)}
    names |= {f"rouge/{name}": name for name in ("rouge1", "rouge2", "rougeL", "rougeLsum", "geometric_mean")}
    if by_line("") is None:
        del names["rouge/rougeLsum"]
    compared = {name: ours[names[name]] for name in published if name in names}
    assert compared
    for name, value in compared.items():
        assert value is not None
        assert round(100 * value, 4) == pytest.approx(published[name], abs=5e-5), name


def test_every_count(scored, golden):
    published = golden[scored.task.name]
    values = [score.value for score in scored.scores["compat"]]
    if "num_predicted" in published:
        assert len(values) == published["num_predicted"] == scored.task.expected
    if "n_correct" in published:
        assert (values.count(1), values.count(0.25)) == (published["n_correct"], published["n_partial"])


def test_every_item(scored, per_item):
    for at, ours in enumerate(scored.scores["compat"]):
        theirs = per_item[scored.task.name, at]
        if scored.task.evaluation == "rouge":
            for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
                if name in ours.details:
                    assert ours.details[name] == pytest.approx(theirs[name], abs=1e-9), (at, name)
        else:
            assert ours.value == pytest.approx(theirs["exact_match" if "exact_match" in theirs else "f1"]), at
        if "processed_pred" in theirs:
            assert (ours.details["taken"], ours.details["gold"]) == (theirs["processed_pred"], theirs["processed_gt"])


def test_no_stored_answer_beats_the_ceiling(scored):
    for means in scored.means.values():
        for mean in means.values():
            assert mean.score.value is not None
            assert mean.score.value <= mean.ceiling
            assert 0 <= mean.floor <= 1


def test_known_floors_and_ceilings(scored):
    known = {"coursera": (25.5814, 100.0), "codeU": (None, 97.7778), "quality": (27.7228, 100.0)}
    if scored.task.name in known:
        floor, ceiling = known[scored.task.name]
        mean = scored.means["exact_match"]["compat"]
        assert round(100 * mean.ceiling, 4) == ceiling
        assert floor is None or round(100 * mean.floor, 4) == floor
