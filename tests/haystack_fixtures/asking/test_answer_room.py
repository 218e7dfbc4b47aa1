"""An answer budget that answers do not fit is told before the first cell, with one that all of them fit."""

import re

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.pipeline.engine import Engine
from needlework.pipeline.preparation import prepare


def prepare_run(folder, budget):
    given = {"task": "mrcr", "language": "zh", "lengths": "4k", "repeats": "4", "answer_budget": budget}
    settings = resolve_settings(given | {"model": ["mock:perfect"], "tokenizer": "cl100k_base"}, {}, folder)
    engine = Engine(settings, folder, workers=1, tasks=TASKS)
    prepare(engine, [cell for series in grid(settings) for cell in series.cells])


def test_the_budget_that_is_told_fits_every_answer_of_the_run(tmp_path):
    with pytest.raises(InputError, match=r"--answer-budget: '200': the answer of mrcr n\d_zh\w* and its end") as caught:
        prepare_run(tmp_path, "200")
    told = re.search(r"use at least (\d+)", str(caught.value))
    assert told
    prepare_run(tmp_path, told[1])
    with pytest.raises(InputError, match=f"use at least {told[1]}"):
        prepare_run(tmp_path, str(int(told[1]) - 1))
