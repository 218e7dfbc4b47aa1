"""Greedy decoding of a transformers model, with shared prefixes and batched answers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from needlework.models.local.memory import Limits

Ids = NDArray[np.int32]
Processors = Callable[[Any, Any], Any]


@dataclass(slots=True)
class Generated:
    """The answer to one prompt, while it grows and when it has ended.

    Times are in seconds. Where answers are written together each has its share: they add up to the time of all.
    """

    prompt: Ids
    budget: int  # the most tokens that it may have
    ids: list[int] = field(default_factory=list)  # with the stop token, if one came
    stopped: bool = False
    cached: int = 0  # prompt tokens that were not computed again
    ttft_s: float = 0.0
    latency_s: float = 0.0


@dataclass(eq=False)
class GreedyDecoder:
    """Continues prompts by the likeliest tokens, as transformers' `generate(do_sample=False)` does.

    Keys and values of the last prompts stay in memory: a prompt is computed from where it leaves the one that it shares
    most with. `sharing`: `batched` writes answers together, `prefix: WHY` one at a time, `none: WHY` leaves every
    prompt to `generate`.
    """

    model: Any
    stop_ids: Sequence[int]
    processors: Processors | None = None
    sharing: str = "batched"
    store: str | None = None  # the device of keys and values, where that is not the model's

    def __post_init__(self) -> None:
        self._stops = frozenset(self.stop_ids)
        self._accepted = inspect.signature(self.model.forward).parameters
        self._rows: PromptRows | None = None

    def run(self, prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[Generated]:
        """Continue each prompt by at most its budget of tokens. No prompt may be empty."""
        import torch

        rows = limits.rows if self.sharing == "batched" else 1
        answers = [Generated(prompt, budget) for prompt, budget in zip(prompts, budgets, strict=True)]
        order = sorted(answers, key=lambda answer: answer.prompt.astype(">u4").tobytes())
        try:
            with torch.inference_mode():
                for first in range(0, len(order), rows):
                    if self.sharing.startswith("none"):
                        self._leave_to_generate(order[first])
                    else:
                        self._answer(order[first : first + rows], limits)
        except BaseException:
            self.forget()  # a row may be half filled
            raise
        for answer in answers:
            answer.stopped = answer.ids[-1] in self._stops
        return answers

    def forget(self) -> None:
        """Drop keys and values of earlier prompts."""
        self._rows = None

    def _answer(self, answers: list[Generated], limits: Limits) -> None:
        import torch

        prompts = [answer.prompt for answer in answers]
        room = max(map(len, prompts)) + max(answer.budget for answer in answers)
        if limits.rows > 1:
            rows = PromptRows(prompts, room, self.store)
        else:  # memory may not do for two: the one row there is becomes that of the next prompt
            rows = PromptRows(prompts, max(room, limits.tokens), self.store, self._rows)
        logits = []
        for row, answer in enumerate(answers):
            begun = time.perf_counter()
            answer.cached = self._copy_beginning(rows, row)
            ids = torch.from_numpy(answer.prompt.astype(np.int64))[None].to(self.model.device)
            for start in range(answer.cached, ids.shape[1], limits.chunk):
                rows.open_row(row, start)
                last = self._step(rows, ids[:, start : start + limits.chunk])
            logits.append(last)
            answer.latency_s = time.perf_counter() - begun
        self._rows = rows
        self._write(answers, torch.cat(logits), rows)

    def _copy_beginning(self, rows: PromptRows, row: int) -> int:
        """Copy what a prompt shares with an earlier one to its row; returns the number of tokens."""
        prompt = rows.prompts[row]
        sources = [(rows, other) for other in range(row)]
        if self._rows is not None:
            sources += [(self._rows, other) for other in range(len(self._rows.prompts))]
        shared = [common_prefix(source.prompts[other], prompt) for source, other in sources]
        tokens = min(max(shared, default=0), len(prompt) - 1)  # the last one is always computed, for its logits
        if tokens:
            rows.copy_prefix(tokens, row, *sources[shared.index(max(shared))])
        return tokens

    def _write(self, answers: list[Generated], logits: Any, rows: PromptRows) -> None:
        """Write answers to their ends; `answers` and `logits` [answers, vocabulary] in row order."""
        import torch

        begun, written = time.perf_counter(), 0
        while True:
            for answer, token in zip(answers, self._likeliest(answers, logits), strict=True):
                answer.ids.append(token)
            written += 1
            share = (time.perf_counter() - begun) / len(answers)
            begun = time.perf_counter()
            for row, answer in reversed(list(enumerate(answers))):
                answer.latency_s += share
                answer.ttft_s = answer.ttft_s or answer.latency_s
                if answer.ids[-1] in self._stops or len(answer.ids) == answer.budget:
                    rows.swap(row, len(answers) - 1)
                    answers[row] = answers[-1]
                    answers.pop()
            if not answers:
                return
            rows.open_first(len(answers), written - 1)
            new = torch.tensor([[answer.ids[-1]] for answer in answers], device=self.model.device)
            logits = self._step(rows, new, **self._padding(rows, answers, written))

    def _padding(self, rows: PromptRows, answers: Sequence[Generated], written: int) -> dict[str, Any]:
        """Arguments that mark where the rows of a batch begin; one prompt alone needs none."""
        import torch

        if len(rows.prompts) == 1:
            return {}
        lengths = torch.tensor([[len(answer.prompt)] for answer in answers], device=self.model.device)
        columns = torch.arange(rows.longest + written, device=self.model.device)
        mask = (columns >= rows.longest - lengths).long()
        return {"attention_mask": mask, "position_ids": lengths + written - 1}

    def _likeliest(self, answers: Sequence[Generated], logits: Any) -> list[int]:
        import torch

        scores = logits.float()
        if self.processors is not None:
            processed = []
            for answer, row in zip(answers, scores, strict=True):
                ids = torch.from_numpy(np.concatenate([answer.prompt, answer.ids]).astype(np.int64))
                processed.append(self.processors(ids[None].to(row.device), row[None]))
            scores = torch.cat(processed)
        return [int(token) for token in scores.argmax(-1).tolist()]

    def _step(self, rows: PromptRows, ids: Any, **padding: Any) -> Any:
        """Logits [rows, vocabulary] behind some tokens of the open rows."""
        # Full logits of a long prompt would take more memory than everything else together.
        inputs = {"input_ids": ids, "past_key_values": rows.cache, "use_cache": True, "logits_to_keep": 1, **padding}
        accepted = {name: value for name, value in inputs.items() if name in self._accepted}
        return self.model(**accepted).logits[:, -1]

    def _leave_to_generate(self, answer: Generated) -> None:
        import torch

        begun = time.perf_counter()

        def note(_ids: Any, _scores: Any, **_more: Any) -> Any:
            answer.ttft_s = answer.ttft_s or time.perf_counter() - begun
            return torch.zeros(1, dtype=torch.bool, device=self.model.device)

        _reset_rope(self.model)
        prompt = torch.from_numpy(answer.prompt.astype(np.int64))[None].to(self.model.device)
        stops = sorted(self._stops)
        options: dict[str, Any] = {
            "attention_mask": torch.ones_like(prompt),
            "max_new_tokens": answer.budget,
            "do_sample": False,
            "num_beams": 1,
            "temperature": None,
            "top_p": None,
            "top_k": None,
            "eos_token_id": stops or None,
            "pad_token_id": stops[0] if stops else 0,
            "stopping_criteria": [note],
        }
        if self.processors is not None:  # they stand for the checkpoint's own settings, which are not applied twice
            neutral = {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "suppress_tokens": None}
            options |= {"logits_processor": self.processors, **neutral}
        answer.ids = self.model.generate(prompt, **options)[0, prompt.shape[1] :].tolist()
        answer.latency_s = time.perf_counter() - begun


def _reset_rope(model: Any) -> None:
    """Reset dynamic rope, which remembers the longest prompt so far: answers must not depend on it."""
    for module in model.modules():
        original = getattr(module, "original_inv_freq", None)
        if original is not None and hasattr(module, "max_seq_len_cached"):
            module.max_seq_len_cached = module.original_max_seq_len
            module.inv_freq = original.to(module.inv_freq.device).clone()


# These turn positions by an angle that depends on the whole prompt's length: a shorter prompt's keys are other keys.
_ROPE_BY_LENGTH = ("dynamic", "longrope")
# Largest difference of logits, as a share of their own spread, that the order of additions explains.
_TOLERANCE = 2e-3
_TOLERANCE_16_BIT = 0.25


def decoder_for(
    model: Any, stop_ids: Sequence[int], processors: Processors | None, store: str | None = None
) -> GreedyDecoder:
    """The decoder of a model, which shares as much work between prompts as the model allows."""
    if why := _why_not_shared(model):
        return GreedyDecoder(model, stop_ids, processors, f"none: {why}")
    sharing = f"prefix: {why}" if (why := _why_not_batched(model)) else "batched"
    return GreedyDecoder(model, stop_ids, processors, sharing, store)


def _why_not_shared(model: Any) -> str | None:
    """The reason why what was computed for one prompt cannot serve another one."""
    from transformers import DynamicCache

    config = model.config.get_text_config(decoder=True)
    if model.config.is_encoder_decoder:
        return "an encoder-decoder model"
    if "past_key_values" not in inspect.signature(model.forward).parameters:
        return "it keeps a state of another kind than keys and values"
    if "chunked_attention" in (getattr(config, "layer_types", None) or ()):
        return "chunked attention"
    kinds = {type(layer).__name__ for layer in DynamicCache(config=model.config).layers}
    if not kinds <= {"DynamicLayer", "DynamicSlidingWindowLayer"}:
        return f"its cache has layers of another kind ({', '.join(sorted(kinds))})"
    parameters = getattr(config, "rope_parameters", None) or {}
    for rope in (parameters, *parameters.values()):
        kind = rope.get("rope_type") if isinstance(rope, dict) else None
        if kind in _ROPE_BY_LENGTH:
            return f"rope type {kind} depends on the prompt's length"
    return None


def _why_not_batched(model: Any) -> str | None:
    """Write answers to two short prompts together, and compare what the model says, number by number."""
    import torch

    scored: list[tuple[list[int], Any]] = []

    def note(ids: Any, scores: Any) -> Any:
        scored.append((ids[0].tolist(), scores[0]))
        return scores

    vocabulary = int(model.get_input_embeddings().weight.shape[0])
    ids = np.random.default_rng(0).integers(0, vocabulary, 29).astype(np.int32)
    prompts = [ids[:13], np.concatenate([ids[:9], ids[13:]])]
    differences: list[float] = []
    try:
        GreedyDecoder(model, (), note).run(prompts, [2, 2], Limits(16, 2, 0))
        with torch.inference_mode():
            for written, _ in scored[len(prompts) :]:
                plain = model(input_ids=torch.tensor([written], device=model.device), use_cache=False).logits[0].float()
                for seen, scores in scored:
                    if seen == written[: len(seen)]:
                        difference = (plain[len(seen) - 1] - scores.to(plain.device)).abs().max()
                        differences.append(float(difference / plain.std()))
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        why = " ".join(str(error).split())[:100]
        return f"tried out, it failed ({type(error).__name__}: {why})"
    allowed = _TOLERANCE if model.dtype in (torch.float32, torch.float64) else _TOLERANCE_16_BIT
    if all(difference <= allowed for difference in differences):  # NaN is not
        return None
    return f"tried out, its answers came out differently (by {max(differences):.2g} of their spread)"


class PromptRows:
    """A cache with a row for each prompt, all ending at the same place, as in a batch padded on the left.

    One row at a time is open while prompts are read, all together while answers are written. Every layer keeps every
    token, those with a sliding window too: what they may look at is the mask's matter. `store`: the device that keeps
    keys and values, where that is not the model's. `earlier`: rows whose memory may be taken over, if it is enough.
    """

    def __init__(
        self, prompts: Sequence[Ids], room: int, store: str | None = None, earlier: PromptRows | None = None
    ) -> None:
        from transformers.cache_utils import DynamicCache

        self.prompts = list(prompts)
        self.room = room
        self.store = store
        self.open_rows = slice(0, 1)
        self.start = 0
        self.layers: list[LayerRows] = []
        make: Any = DynamicCache
        self.cache = make()
        self.cache.layer_class_to_replicate = self._add_layer  # called as the first forward pass comes to a new layer
        if earlier is not None and len(earlier.prompts) == len(prompts) and earlier.room >= room:
            self.room = earlier.room
            for layer in earlier.layers:
                self.cache.layers.append(self._add_layer(layer.buffers))

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt: where all of them end."""
        return max(map(len, self.prompts))

    def open_row(self, row: int, tokens: int) -> None:
        """The next forward pass continues the first `tokens` tokens of one prompt."""
        self._open(slice(row, row + 1), self._start_of(row), tokens)

    def open_first(self, rows: int, written: int) -> None:
        """The next forward pass writes a token of the answers in the first rows, behind those written before."""
        self._open(slice(0, rows), 0, self.longest + written)

    def copy_prefix(self, tokens: int, row: int, source: PromptRows, source_row: int) -> None:
        """Copy the first tokens of a prompt to a row; `source` may be this cache."""
        begin, source_begin = self._start_of(row), source._start_of(source_row)
        for number, layer in enumerate(source.layers):
            if number == len(self.layers):
                self.cache.layers.append(self._add_layer())
            target = self.layers[number]
            target.allocate(*layer.buffers)
            for to, of in zip(target.buffers, layer.buffers, strict=True):
                to[row, :, begin : begin + tokens] = of[source_row, :, source_begin : source_begin + tokens]

    def swap(self, one: int, other: int) -> None:
        """Let two rows change places."""
        if one == other:
            return
        self.prompts[one], self.prompts[other] = self.prompts[other], self.prompts[one]
        for layer in self.layers:
            for buffer in layer.buffers:
                buffer[[one, other]] = buffer[[other, one]]

    def _start_of(self, row: int) -> int:
        return self.longest - len(self.prompts[row])

    def _open(self, rows: slice, start: int, tokens: int) -> None:
        self.open_rows, self.start = rows, start
        for layer in self.layers:
            layer.tokens = tokens

    def _add_layer(self, buffers: tuple[Any, ...] = ()) -> Any:
        """A layer of transformers' cache that keeps its keys and values in rows."""
        from transformers.cache_utils import DynamicLayer

        rows = LayerRows(self, buffers)
        self.layers.append(rows)
        make: Any = DynamicLayer
        layer = make()
        layer.update = rows.update
        layer.get_seq_length = lambda: rows.tokens
        return layer


@dataclass(eq=False)
class LayerRows:
    """One layer's keys and values."""

    rows: PromptRows
    buffers: tuple[Any, ...] = ()  # [rows, heads, room, head size], zeros where unwritten
    tokens: int = 0  # how many there are of each open row

    def allocate(self, *like: Any) -> None:
        """Make the buffers, once, for heads and numbers as in these tensors."""
        if self.buffers:
            return
        shapes = [(len(self.rows.prompts), each.shape[1], self.rows.room, each.shape[3]) for each in like]
        device = self.rows.store or like[0].device
        self.buffers = tuple(each.new_zeros(shape, device=device) for each, shape in zip(like, shapes, strict=True))

    def update(self, key_states: Any, value_states: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, ...]:
        """Add new tokens to the open rows [rows, heads, tokens, head size]; returns all tokens of these rows."""
        self.allocate(key_states, value_states)
        rows, start = self.rows.open_rows, self.rows.start
        begin = start + self.tokens
        end = begin + key_states.shape[2]
        for buffer, new in zip(self.buffers, (key_states, value_states), strict=True):
            buffer[rows, :, begin:end] = new
        self.tokens += key_states.shape[2]
        device = key_states.device
        return tuple(buffer[rows, :, start:end].to(device, non_blocking=True) for buffer in self.buffers)


def common_prefix(first: Ids, second: Ids) -> int:
    """Number of ids that two sequences share from the start."""
    size = min(len(first), len(second))
    differs = first[:size] != second[:size]
    return int(differs.argmax()) if differs.any() else size
