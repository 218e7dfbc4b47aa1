"""Contexts that are lists or conversations, at length: CPU seconds of one prompt, and how they grow.

Each begins with nothing kept but the corpus whose prose fills what a list leaves free.
"""

from collections.abc import Callable
from functools import partial
from math import log
from statistics import linear_regression

import pytest

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.tasks.words import first_words
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.specs import resolve_tokenizer
from perf.arms import cpu_seconds
from perf.peers.lists import ruler_common_words

LENGTHS = (16_000, 32_000, 64_000, 128_000)
REPEATS = 2
# The power of the length that the time grows with; at this one, four times as many tokens take a tenth more than four
# times as long.
LINEAR = 1.07
TASKS = ("ruler_cwe", "ruler_fwe", "ruler_qa_1", "key_value", "mrcr")


@pytest.fixture
def tokenizer():
    return resolve_tokenizer("mock:perfect", {}, None, default_cache_dir())


def build(tokenizer, folder, task, length):
    """The prompts of some repeats, each of other draws; one builder each, so that they share nothing."""
    options = {"task": task, "lengths": str(length), "depths": "50", "repeats": str(REPEATS), "model": ["mock:perfect"]}
    settings = resolve_settings(options, {}, folder)
    series = next(iter(grid(settings)))
    for cell in series.cells:
        TrialBuilder(settings, tokenizer, folder).build(series.suite, cell)


@pytest.mark.parametrize("task", TASKS)
def test_lists_and_conversations_at_length(task, tokenizer, tmp_path, perf_row):
    build(tokenizer, tmp_path, task, LENGTHS[0])
    arms: dict[str, Callable[[], object]] = {
        str(length): partial(build, tokenizer, tmp_path, task, length) for length in LENGTHS
    }
    if task == "ruler_cwe":
        words = first_words(("peer",), "en", 50, 20_000)
        encode = partial(tokenizer._encoding.encode, disallowed_special=())  # noqa: SLF001
        arms["ruler"] = lambda: [ruler_common_words(LENGTHS[-1], encode, words) for _ in range(REPEATS)]
    seconds = {name: taken / REPEATS for name, taken in cpu_seconds(arms, rounds=3).items()}
    ours = [seconds[str(length)] for length in LENGTHS]
    what = f"one prompt of 128k tokens, {task}"
    perf_row(
        what=what,
        ours=ours[-1],
        unit="CPU s",
        note=f"of 16k, 32k, 64k: {', '.join(f'{each:.3f}' for each in ours[:-1])}",
    )
    if "ruler" in seconds:
        named = {"peer": seconds["ruler"], "peer_name": "RULER's algorithm", "unit": "CPU s"}
        perf_row(what=what, ours=ours[-1], note="re-implemented from its description", target=2, **named)
    power = linear_regression([log(length) for length in LENGTHS], [log(each) for each in ours]).slope
    perf_row(
        what=f"prompts of 16k..128k, {task}: time grows with the length to the power",
        ours=power,
        unit="",
        target=LINEAR,
    )
