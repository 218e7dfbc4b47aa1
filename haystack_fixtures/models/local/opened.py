"""What opening a checkpoint gives, and what both ways of opening it share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.models.local.model import Runner
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

# Chat models end their turn with one of these; some checkpoints name only the end of the text.
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "</s>")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model goes and in which numbers; `dtype` is a torch dtype name or `auto`."""

    device: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint that is ready to run.

    `sharing`: how work is shared between prompts; `kernels`: of its linear layers; `vocabulary`: tokens that it knows;
    `penalty`: of repetitions, 1 for none; `facts`: what can change its answers, by name.
    """

    runner: Runner
    sharing: str
    kernels: str
    vocabulary: int
    penalty: float
    facts: Mapping[str, str | int | float | None]


def stop_ids(ends: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Ids that end an answer: those that the checkpoint names, and the ends of a turn that its tokenizer knows."""
    found = set(ends)
    for text in _TURN_ENDS:
        ids = tokenizer.encode(text).ids
        if len(ids) == 1:  # a token of its own, not spelt out
            found.add(int(ids[0]))
    return sorted(found)
