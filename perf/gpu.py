"""`make gpu`: shared prompts on a card: equality with `generate`, speed to 128k, memory, faults.

Models are Llama's shape with random weights: nothing is downloaded, and time and memory do not depend on what the
weights say. Equality is looked at in float32, where a tie between two tokens is no matter of rounding. Without a card
it says so in one line, and ends with 0.
"""

import argparse
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from needlework.core.errors import InputError
from needlework.core.prompts import rendered_prompt
from needlework.models.local import memory
from needlework.models.local.decoder import decoder_for
from needlework.models.local.memory import Limits
from needlework.models.local.model import LocalModel
from needlework.models.model import Request
from needlework.models.tokenizers.tokenizer import load_tokenizer

BUDGET, CHUNK, DEPTHS = 16, 2048, (0.1, 0.3, 0.5, 0.7, 0.9)
TIMES = 3  # whose median is told, after one that warms up
VOCABULARY = 32_000
COLUMNS = (
    "model", "length", "prompts", "prompt tokens", "computed", "`generate`, s", "shared, s", "faster", "tokens/s",
    "peak GiB", "planned GiB",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """The sizes of a Llama-type model; `lengths`: tokens of the prompts that it is asked."""

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    lengths: tuple[int, ...]


LONG = (4_000, 16_000, 32_000, 64_000, 128_000)
SHAPES = (
    Shape("1B", 2048, 16, 32, 8, 8192, LONG),
    Shape("8B", 4096, 32, 32, 8, 14_336, LONG),
)
SMALL = (Shape("tiny", 64, 2, 4, 2, 128, (64, 256)),)


def build(shape: Shape, device: str, dtype: Any) -> Any:
    """A model with random weights, made on the device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=200_000,
    )
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(usual)


def prompts_of(length: int) -> list[Any]:
    """Prompts of one haystack: alike up to a needle at each depth, and behind it."""
    random = np.random.default_rng(length)
    text, needle = random.integers(0, VOCABULARY, length), random.integers(0, VOCABULARY, 16)
    rows = []
    for depth in DEPTHS:
        at = int(depth * (length - len(needle)))
        rows.append(np.concatenate([text[:at], needle, text[at : length - len(needle)]]).astype(np.int32))
    return rows


def alone(model: Any, prompts: Sequence[Any], device: str) -> tuple[list[list[int]], float]:
    """Each prompt by `generate`: its new tokens, and the seconds of all."""
    import torch

    answers, begun = [], time.perf_counter()
    for ids in prompts:
        tensor = torch.tensor(ids[None], dtype=torch.long, device=device)
        out = model.generate(
            tensor, attention_mask=torch.ones_like(tensor), max_new_tokens=BUDGET, do_sample=False, eos_token_id=None
        )
        answers.append(out[0, len(ids) :].tolist())
    return answers, time.perf_counter() - begun


def equality(shape: Shape, device: str) -> Iterator[str]:
    """Count the answers equal to `generate`'s at the shortest length.
    In bfloat16 attention takes another path, and a tie between two tokens may go either way."""
    import torch

    for dtype in (torch.float32, torch.bfloat16):
        model, prompts = build(shape, device, dtype), prompts_of(shape.lengths[0])
        expected, _ = alone(model, prompts, device)
        decoder = decoder_for(model, (), None)
        answers = decoder.run(prompts, [BUDGET] * len(prompts), Limits(CHUNK, len(prompts), 0))
        equal = sum(list(answer.ids) == ids for answer, ids in zip(answers, expected, strict=True))
        name = str(dtype).removeprefix("torch.")
        yield f"{shape.name}: {equal} of {len(prompts)} answers are those of generate ({name}, {decoder.sharing})"


def speed(shape: Shape, device: str) -> Iterator[str]:
    """A row for each length that fits: time of both ways, tokens computed, memory used and planned."""
    import torch

    cuda = device.startswith("cuda")
    model = build(shape, device, torch.bfloat16)
    sizes = memory.dimensions(model.config.to_dict())
    weights = sum(each.numel() * each.element_size() for each in model.parameters())
    for length in shape.lengths:
        prompts, longest = prompts_of(length), length + BUDGET
        passing = memory.passing_bytes(sizes, 2, longest, CHUNK, "sdpa")
        free, where = memory.available_bytes(device, spread=False)
        try:
            memory.require(shape.name, passing + longest * memory.token_bytes(sizes, 2), free, where)
        except InputError as error:
            yield _row(shape.name, f"{length:,}", str(error), *[""] * (len(COLUMNS) - 3))
            continue
        limits = memory.plan(memory.token_bytes(sizes, 2), longest, CHUNK, free - passing, device)
        decoder = decoder_for(model, (), None)
        try:
            before_s = median(alone(model, prompts, device)[1] for _ in range(1 + TIMES))
            torch.cuda.empty_cache()  # does nothing where there is no card
            if cuda:
                torch.cuda.reset_peak_memory_stats()
            runs = [together(decoder, prompts, limits) for _ in range(1 + TIMES)]
        except RuntimeError as error:  # memory that ran out, mostly
            decoder.forget()
            torch.cuda.empty_cache()
            yield _row(shape.name, f"{length:,}", " ".join(str(error).split())[:100], *[""] * (len(COLUMNS) - 3))
            continue
        shared_s = median(seconds for seconds, _ in runs)
        total = sum(map(len, prompts))
        computed = total - runs[-1][1]
        cache_bytes = min(2 * limits.rows, len(prompts)) * longest * memory.token_bytes(sizes, 2)
        peak = f"{torch.cuda.max_memory_allocated() / 2**30:.2f}" if cuda else "-"
        planned = (weights + cache_bytes + passing) / 2**30
        tokens = (f"{length:,}", len(prompts), f"{total:,}", f"{computed:,}")
        times = (f"{before_s:.2f}", f"{shared_s:.2f}", f"{before_s / shared_s:.1f}x", f"{total / shared_s:,.0f}")
        yield _row(shape.name, *tokens, *times, peak, f"{planned:.2f}")
        decoder.forget()


def median(seconds: Iterable[float]) -> float:
    """The median of all but the first, which warms up."""
    return statistics.median(list(seconds)[1:])


def together(decoder: Any, prompts: Sequence[Any], limits: Limits) -> tuple[float, int]:
    """Seconds of all prompts, and how many of their tokens were shared."""
    decoder.forget()
    begun = time.perf_counter()
    answers = decoder.run(prompts, [BUDGET] * len(prompts), limits)
    return time.perf_counter() - begun, sum(answer.cached for answer in answers)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def a_process_a_card() -> Iterator[str]:
    """Run `-n` with several cards: a copy of the embedded model on each."""
    command = [sys.executable, "-m", "pytest", "benchmarks", "-n", "16", "--lengths", "500", "--model", "smollm2"]
    with TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--results-dir", folder], capture_output=True, text=True, check=False)
    notes = [line for line in done.stdout.splitlines() if "workers, not -n" in line]
    yield from notes or done.stdout.splitlines()[-3:]


def out_of_memory(shape: Shape, device: str) -> Iterator[str]:
    """Ask a prompt too large for memory: the error has to be one line, and the next one answered."""
    import torch

    model = build(shape, device, torch.bfloat16)
    decoder = decoder_for(model, (), None)
    tokenizer = load_tokenizer("tiktoken:cl100k_base")
    limits = Limits(10**9, 1, 0)
    answering = LocalModel(
        decoder=decoder, tokenizer=tokenizer, window=None, vocabulary=VOCABULARY, limits=limits, identity={}
    )
    free, _ = memory.available_bytes(device, spread=False)
    # So many that the activations of one pass alone are more than there is, and the retry in pieces is, too.
    tokens = 2 * free // memory.token_bytes(memory.dimensions(model.config.to_dict()), 2)
    for count in (int(tokens), 64):
        ids = np.zeros(count, np.int32)
        prompt = rendered_prompt((), "", ids)
        error = answering.respond(Request(prompt, "raw", answer_budget=4)).error
        yield f"{count:,} tokens: {'answered' if error is None else f'{error.kind}: {error.message[:160]}'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print everything for the cards of this machine."""
    parser = argparse.ArgumentParser(description="Try a card: equality, speed, memory, faults.")
    parser.add_argument("--cpu-tiny", action="store_true", help="try this script itself, where there is no card")
    arguments = parser.parse_args(argv)
    import torch

    cuda = torch.cuda.is_available()
    if not cuda and not arguments.cpu_tiny:
        print(f"make gpu: torch {torch.__version__} sees no card here; nothing was run")
        return 0
    device, shapes = ("cpu", SMALL) if arguments.cpu_tiny else ("cuda", SHAPES)
    names = [torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count())] if cuda else ["CPU"]
    print(f"{', '.join(names)}; torch {torch.__version__}, Python {sys.version.split()[0]}\n")
    blocks: list[Iterable[str]] = [
        equality(shapes[0], device),
        ["", _row(*COLUMNS), "|---" * len(COLUMNS) + "|"],
        rows(shapes, device),
    ]
    if cuda:
        blocks += [["", "without a check of memory:"], out_of_memory(shapes[0], device)]
    if len(names) > 1:
        blocks += [["", "with -n:"], a_process_a_card()]
    for line in chain.from_iterable(blocks):
        print(line, flush=True)
    return 0


def rows(shapes: Sequence[Shape], device: str) -> Iterator[str]:
    """The rows of all models, one model in memory at a time."""
    import torch

    for shape in shapes:
        gc.collect()
        torch.cuda.empty_cache()  # of the model before; does nothing where there is no card
        yield from speed(shape, device)


if __name__ == "__main__":
    sys.exit(main())
