"""Cost of building a cell's prompt: ours against other systems' own code, CPU seconds, one thread.

The standard grid: 8 lengths from 1k to 128k tokens x 11 depths on Paul Graham's essays. Every one of our prompts has
its exact number of tokens, template and answer budget included, checked here by encoding each whole prompt again.
"""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora.corpus import load_corpus
from needlework.haystack_fixtures.haystacks.builder import verify_prompt
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.specs import resolve_tokenizer
from perf.arms import cpu_seconds
from perf.peers import building
from perf.peers.published import label

LENGTHS = [1000 * 2**step for step in range(8)]
DEPTHS = list(range(0, 101, 10))
# As EvalScope and needlehaystack have it: one needle and question for all cells; by default each of ours has its own.
ONE = {"needle_set": "san_francisco"}
GRID = {"lengths": "1k:128k", "length_spacing": "doubling", "depths": "0:100:11", "model": ["mock:perfect"]}
ENGINES = {"tiktoken": None, "Hugging Face tokenizers": "smollm2"}


class Bench:
    """One tokenizer: our builder, and its encode and decode as the others call them."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.tokenizer = resolve_tokenizer("mock:perfect", {}, ENGINES[engine], default_cache_dir())
        if engine == "tiktoken":
            inner = vars(self.tokenizer)["_encoding"]
            self.encode = lambda text: inner.encode(text, disallowed_special=())
        else:
            inner = vars(self.tokenizer)["_inner"]
            self.encode = lambda text: inner.encode(text, add_special_tokens=False).ids
        self.decode = inner.decode
        self.documents = load_corpus("essays", language="en", seed=0, min_chars=0, cache_dir=folder).documents
        self.corpus = "\n".join(self.documents)
        self.folder = folder
        self.warm = folder / "warm"
        self.ours(GRID, self.warm)

    def prompts(self, options, cache):
        """Our prompts, one by one."""
        settings = resolve_settings(options, {}, self.folder)
        builder = TrialBuilder(settings, self.tokenizer, cache)
        for series in grid(settings):
            for cell in series.cells:
                yield builder.build(series.suite, cell).prompt

    def ours(self, options, cache):
        """Build them as a run does, which sends one's messages while it builds the next, and keeps neither."""
        for prompt in self.prompts(options, cache):
            assert prompt.messages

    def ours_cold(self, options=GRID):
        # A new folder each time: emptying the last one is no part of building.
        return self.ours(options, Path(mkdtemp(dir=self.folder)))

    def evalscope(self):
        return building.evalscope(LENGTHS, DEPTHS, self.encode, self.decode, self.corpus, self.folder)

    def opencompass(self):
        return building.opencompass(LENGTHS, DEPTHS, self.encode, self.decode, self.documents, self.folder)

    def llmtest(self):
        return building.llmtest(LENGTHS, DEPTHS, self.encode, self.decode)

    def off(self, texts):
        """The tokens by which the texts miss their lengths."""
        lengths = [length for length in LENGTHS for _ in DEPTHS]
        missing = [length - len(self.encode(text)) for length, text in zip(lengths, texts, strict=True)]
        return f"off by {min(missing)}..{max(missing)} tokens, {missing.count(0)} of {len(missing)} exact"


@pytest.fixture
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def _ours(bench):
    """Our arms: from an empty cache, with the corpus encoded before, and so with one needle for all cells."""
    return {
        "cold": bench.ours_cold,
        "cached": lambda: bench.ours(GRID, bench.warm),
        "one": lambda: bench.ours(GRID | ONE, bench.warm),
    }


@pytest.mark.parametrize("bench", ENGINES, indirect=True)
def test_every_prompt_has_its_exact_length(bench, perf_row):
    prompts = list(bench.prompts(GRID, bench.warm))
    for prompt in prompts:
        verify_prompt(bench.tokenizer, prompt)

    exact = sum(prompt.slack == 0 for prompt in prompts)
    what = f"prompts of the standard grid with their exact length, {bench.tokenizer.name}"
    note = f"most missing: {max(prompt.slack for prompt in prompts)} tokens; every whole prompt encoded again"
    perf_row(what=what, ours=100 * exact / len(prompts), unit="%", target=98, more=True, note=note)


@pytest.mark.parametrize("bench", ["tiktoken"], indirect=True)
def test_standard_grid_against_systems_that_use_tiktoken(bench, perf_row):
    arms = _ours(bench)
    arms |= {"needlehaystack": bench.llmtest, "opencompass": bench.opencompass, "evalscope": bench.evalscope}
    seconds = cpu_seconds(arms, rounds=3)
    for package, cold, cached in (("needlehaystack", 75, None), ("opencompass", 10, None), ("evalscope", 1.5, 4)):
        note = f"same engine (tiktoken, cl100k_base); theirs {bench.off(arms[package]())}"
        named = {"peer": seconds[package], "peer_name": label(package), "unit": "CPU s", "note": note}
        perf_row(what="88 prompts 1k..128k, cold", ours=seconds["cold"], target=cold, **named)
        perf_row(what="88 prompts 1k..128k, corpus cached", ours=seconds["cached"], target=cached, **named)
        if cached:
            perf_row(what="88 prompts, one needle for all, corpus cached", ours=seconds["one"], target=cached, **named)


@pytest.mark.parametrize("bench", ["Hugging Face tokenizers"], indirect=True)
def test_standard_grid_against_evalscope_as_shipped(bench, perf_row):
    arms = _ours(bench) | {"evalscope": bench.evalscope}
    seconds = cpu_seconds(arms, rounds=3)
    note = f"SmolLM2's vocabulary on both sides, theirs through Hugging Face; theirs {bench.off(bench.evalscope())}"
    named = {"peer": seconds["evalscope"], "peer_name": label("evalscope"), "unit": "CPU s", "note": note}
    perf_row(what="88 prompts 1k..128k, SmolLM2, cold", ours=seconds["cold"], target=8, **named)
    perf_row(what="88 prompts 1k..128k, SmolLM2, corpus cached", ours=seconds["cached"], target=20, **named)
    perf_row(what="88 prompts, SmolLM2, one needle for all, corpus cached", ours=seconds["one"], target=20, **named)


@pytest.mark.parametrize("bench", ["tiktoken"], indirect=True)
def test_standard_grid_against_ruler(bench, perf_row):
    arms = {
        "cold": bench.ours_cold,
        "ruler": lambda: building.ruler(LENGTHS, DEPTHS, bench.encode, bench.corpus),
    }
    seconds = cpu_seconds(arms, rounds=1)
    note = f"niah_single_2, re-implemented from its description; theirs {bench.off(arms['ruler']())}"
    named = {"peer": seconds["ruler"], "peer_name": "RULER's algorithm", "unit": "CPU s", "note": note}
    perf_row(what="88 prompts 1k..128k, cold", ours=seconds["cold"], **named)


@pytest.mark.parametrize("bench", ["tiktoken"], indirect=True)
def test_one_prompt_of_a_million_tokens(bench, perf_row):
    options = GRID | {"lengths": "1m", "depths": "50"}
    encode, decode, folder = bench.encode, bench.decode, bench.folder
    arms = {
        "cold": lambda: bench.ours_cold(options),
        "evalscope": lambda: building.evalscope([1_000_000], [50], encode, decode, bench.corpus, folder),
        # It does not repeat its corpus, and would give a short prompt without a word.
        "opencompass": lambda: building.opencompass([1_000_000], [50], encode, decode, bench.documents * 8, folder),
    }
    seconds = cpu_seconds(arms, rounds=3)
    perf_row(what="one prompt of 1M tokens, cold", ours=seconds["cold"], unit="CPU s", target=0.2)
    for package in ("evalscope", "opencompass"):
        named = {"peer": seconds[package], "peer_name": label(package), "unit": "CPU s", "target": 2}
        perf_row(what="one prompt of 1M tokens, cold", ours=seconds["cold"], note="same engine (tiktoken)", **named)
