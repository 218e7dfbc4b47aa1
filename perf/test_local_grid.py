"""A local model on a grid, on a document with many questions, on a long prompt: against `generate`.

`generate` by itself for every cell is what every other system does. CPU seconds of one thread unless said otherwise;
the plain cells are spread between the other arms, so that a machine that gets slower does not favour one of them.
Sizes come from the environment (the defaults take minutes):

NEEDLEWORK_PERF_LENGTHS, NEEDLEWORK_PERF_DEPTHS  the grid
NEEDLEWORK_PERF_DOCUMENT                         tokens of the document with 8 questions; published: 3200
NEEDLEWORK_PERF_PROMPT                           tokens of the long prompt; published: 4000
NEEDLEWORK_PERF_THREADS                          threads; with more than one, wall seconds are measured

With `--long` (`make perf LONG=1`) a grid of 121 cells up to 2,200 tokens is measured as well: a quarter of an hour.
"""

import os
import time

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.local.decoder import GreedyDecoder
from needlework.models.local.load import use_fast_linears
from needlework.models.local.memory import Limits
from needlework.models.specs import prepare, resolve_tokenizer

LENGTHS = os.environ.get("NEEDLEWORK_PERF_LENGTHS", "300,600,900")
DEPTHS = os.environ.get("NEEDLEWORK_PERF_DEPTHS", "0:100:4")
DOCUMENT = int(os.environ.get("NEEDLEWORK_PERF_DOCUMENT", "800"))
PROMPT = int(os.environ.get("NEEDLEWORK_PERF_PROMPT", "1500"))
THREADS = int(os.environ.get("NEEDLEWORK_PERF_THREADS", "1"))
BUDGET = 12  # tokens of each answer
STOPS = (2,)
BATCH = 16
TOGETHER = Limits(chunk=2048, rows=BATCH, tokens=0)
UNIT = "CPU s" if THREADS == 1 else f"s, {THREADS} threads"
clock = time.process_time if THREADS == 1 else time.perf_counter


class Arm:
    """One way to answer all prompts: its model, its decoder, its answers and its seconds."""

    def __init__(self, name, target=None, *, sharing="batched", kernels="auto"):
        torch.set_num_threads(THREADS)
        model = AutoModelForCausalLM.from_pretrained(prepare(default_cache_dir()), dtype=torch.float32).eval()
        self.name, self.target, self.batch = name, target, 1 if sharing == "none" else BATCH
        self.kernels = use_fast_linears(model, 2**34) if kernels == "auto" else "plain"
        self.decoder = GreedyDecoder(model, STOPS, sharing=sharing)
        self.answers, self.computed, self.seconds = {}, 0, 0.0

    def answer(self, prompts, numbers, budget=BUDGET):
        for first in range(0, len(numbers), self.batch):
            part = numbers[first : first + self.batch]
            begun = clock()
            generated = self.decoder.run([prompts[number] for number in part], [budget] * len(part), TOGETHER)
            self.seconds += clock() - begun
            self.answers.update(zip(part, (one.ids for one in generated), strict=True))
            self.computed += sum(len(prompts[number]) - one.cached for number, one in zip(part, generated, strict=True))


def compare(plain, arms, prompts, perf_row, what):
    """All arms on all prompts; the answers of each must be those of `plain`."""
    order = sorted(range(len(prompts)), key=lambda number: prompts[number].astype(">u4").tobytes())
    for tried in (plain, *arms):
        tried.answer([prompts[0][:64]], [0], 2)  # first calls set things up
        tried.decoder.forget()
        tried.answers, tried.computed, tried.seconds = {}, 0, 0.0
    for turn in range(len(arms) + 1):
        plain.answer(prompts, order[turn :: len(arms) + 1])
        if turn < len(arms):
            arms[turn].answer(prompts, order)
    for arm in arms:
        same = sum(arm.answers[tried] == plain.answers[tried] for tried in order)
        perf_row(
            what=f"{what}: {arm.name}",
            ours=arm.seconds,
            peer=plain.seconds,
            peer_name="generate per cell",
            unit=UNIT,
            target=arm.target,
            note=f"{same} of {len(order)} answers equal; {arm.computed} tokens computed of {sum(map(len, prompts))}; "
            f"linear layers: {arm.kernels}",
        )
        assert same == len(order)


@pytest.fixture(scope="module")
def tokenizer():
    return resolve_tokenizer("smollm2", {}, None, default_cache_dir())


def build(tokenizer, folder, **options):
    settings = resolve_settings({key: str(value) for key, value in options.items()}, {}, folder)
    builder = TrialBuilder(settings, tokenizer, default_cache_dir())
    return [builder.build(series.suite, cell).prompt for series in grid(settings) for cell in series.cells]


def test_a_grid(tokenizer, tmp_path, perf_row):
    prompts = [prompt.ids for prompt in build(tokenizer, tmp_path, lengths=LENGTHS, depths=DEPTHS)]
    arms = [
        Arm("shared beginnings, one answer at a time", sharing="prefix", kernels="plain"),
        Arm("answers together", kernels="plain"),
        Arm("all, with kernels", 2.5),
    ]
    compare(Arm("", sharing="none", kernels="plain"), arms, prompts, perf_row, f"grid {LENGTHS} x {DEPTHS}")


@pytest.mark.parametrize("needle", ["each its own", "one for all"])
def test_a_grid_of_121_cells(needle, tokenizer, tmp_path, perf_row, request):
    if not request.config.getoption("--long"):
        pytest.skip("takes a quarter of an hour: pytest perf --long")
    one = {"needle_set": "san_francisco"} if needle == "one for all" else {}  # as LLMTest and EvalScope ask
    prompts = [prompt.ids for prompt in build(tokenizer, tmp_path, lengths="200:2200:11", depths="0:100:11", **one)]
    what = f"121 cells up to 2,200, needle {needle}"
    compare(Arm("", sharing="none", kernels="plain"), [Arm("all, with kernels")], prompts, perf_row, what)


def test_questions_on_one_document(tokenizer, tmp_path, perf_row):
    [prompt] = build(tokenizer, tmp_path, lengths=DOCUMENT, depths="50")
    questions = ["Who wrote this?", "Where is it set?", "What is it about?", "Is there a number?", "What comes last?"]
    questions += ["Which city is named?", "What does the author advise?", "Name one person."]
    ends = [tokenizer.encode(f" {question}<|im_end|>\n<|im_start|>assistant\n").ids for question in questions]
    prompts = [np.concatenate([prompt.ids, end]).astype(np.int32) for end in ends]
    arms = [Arm("shared beginnings, one answer at a time", sharing="prefix"), Arm("all, with kernels", 8)]
    compare(Arm("", sharing="none", kernels="plain"), arms, prompts, perf_row, f"8 questions on {DOCUMENT} tokens")


def test_one_long_prompt(perf_row):
    arm, plain = Arm("all"), Arm("", sharing="none", kernels="plain")
    ids = np.random.default_rng(0).integers(3, 49152, PROMPT).astype(np.int32)
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(3):
        for name, other in (("ours", arm), ("plain", plain)):
            other.decoder.forget()
            begun = clock()
            other.decoder.run([ids], [1], TOGETHER)
            times[name].append(clock() - begun)
    best = {name: PROMPT / min(seconds) for name, seconds in times.items()}
    square = torch.randn(2048, 2048)
    products = []
    for _ in range(5):
        begun = clock()
        square @ square
        products.append(clock() - begun)
    peak = 2 * 2048**3 / min(products) / 1e9
    # SmolLM2-135M: 212 million operations a token in linear layers, 69,120 for each token it looks back at.
    reached = best["ours"] * (212e6 + 69_120 * PROMPT / 2) / 1e9
    perf_row(
        what=f"prefill of {PROMPT} tokens",
        ours=best["ours"],
        peer=best["plain"],
        peer_name="transformers",
        unit=f"tokens a {UNIT}",
        target=1.25,
        more=True,
        note=f"{reached:.0f} of the {peak:.0f} GF/s of a large matrix product here; linear layers: {arm.kernels}",
    )
