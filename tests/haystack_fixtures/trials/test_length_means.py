"""What a length means: the whole prompt with its answer, or the context alone, each exact to the token."""

import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.pipeline.preparation import filled

MODEL = {"spec": "mock:perfect", "args": [], "base_url": None}


@cache
def tokenizer(name):
    return load_tokenizer(name)


def run(**options):
    given = {"corpus": "noise", "depths": "50", "verify_prompts": "true", "model": ["mock:perfect"]} | options
    return resolve_settings(given, {}, Path(tempfile.gettempdir()))


def built(counted="tiktoken:cl100k_base", **options):
    """The trials of a run with these options, verified, and their keys."""
    found = run(**options)
    builder = TrialBuilder(found, tokenizer(counted), Path(tempfile.gettempdir()))
    cells = [(series.suite, cell) for series in grid(found) for cell in series.cells]
    return [builder.build(*each) for each in cells], [builder.key(*each, MODEL) for each in cells]


def context_in_place(trial, counted):
    """Tokens of the prompt that have a part of its context, counted on the whole prompt encoded anew."""
    text, (begin, end) = trial.prompt.text, trial.prompt.context
    starts = [*tokenizer(counted).encode(text).starts.tolist(), len(text)]
    return sum(start < end and following > begin for start, following in pairwise(starts))


@settings(max_examples=6, deadline=None)
@given(
    length=st.integers(500, 2500),
    depth=st.sampled_from(("0", "37", "100")),
    buffer=st.integers(0, 150),
    language=st.sampled_from(("en", "zh")),
    counted=st.sampled_from(("tiktoken:cl100k_base", "o200k_base")),
    task=st.sampled_from(("niah", "multi_needle")),
)
def test_both_lengths_are_exact(tmp_path_factory, length, depth, buffer, language, counted, task):
    file = tmp_path_factory.mktemp("presets") / "mine.toml"
    file.write_text(f'[mine]\n[[mine.suite]]\ntask = "{task}"\nlength_buffer = {buffer}\n', encoding="utf-8")
    asked = {"preset": str(file), "lengths": str(length), "depths": depth, "language": language, "corpus": "generated"}
    (alone,), _ = built(counted, **asked, length_means="context")
    (total,), _ = built(counted, **asked)
    room = length - buffer
    assert context_in_place(alone, counted) == alone.prompt.context_tokens
    assert 0 <= room - alone.prompt.context_tokens == alone.prompt.slack <= max(2, room // 2000)
    assert total.prompt.tokens + total.suite.answer_tokens + total.prompt.slack == room
    assert 0 <= total.prompt.slack <= max(2, room // 2000)
    for trial in (alone, total):
        for needle in trial.asked.needles:
            assert trial.prompt.text.count(needle.text) == 1
        wanted = [needle.requested for needle in trial.prompt.placed]
        assert [needle.depth for needle in trial.prompt.placed] == pytest.approx(wanted, abs=12)


@pytest.mark.parametrize(
    ("preset", "task"), [("families", "copy"), ("mrcr-offline", "mrcr"), ("needlebench-v2-atc", "needlebench_atc")]
)
def test_what_has_no_context_to_fill_refuses(preset, task):
    with pytest.raises(InputError, match=f"--length-means: 'context': {task} asks about .*its lengths are total"):
        built(preset=preset, task=task, language="en", length_means="context")


def test_a_window_is_that_of_prompt_and_answer():
    with pytest.raises(InputError, match="--lengths: 'window': is what prompt and answer have together"):
        filled(run(task="niah", lengths="1k,window", length_means="context"), TASKS, Path(tempfile.gettempdir()))


def test_published_suites_are_as_long_as_published():
    def tokens(preset, **options):
        found = [trial.prompt.context_tokens for trial in built(preset=preset, depths="50", **options)[0]]
        return pytest.approx(found, abs=1)

    assert tokens("cdme-8k", lengths="1000", repeats="1") == [800]
    assert tokens("cdme-multi-8k", lengths="2000", repeats="1") == [1800]
    assert tokens("evalscope", lengths="1000") == [850, 850]
    assert tokens("llmtest", lengths="1000") == [800]
