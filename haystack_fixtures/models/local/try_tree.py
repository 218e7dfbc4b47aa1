"""Whether a model can be run over a token tree: tried out on it, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from needlework.haystack_fixtures.models.local.greedy_runner import Limits
from needlework.haystack_fixtures.models.local.tree_runner import TreeRunner

# Largest difference of logits, as a share of their own spread, that the order of additions explains.
_TOLERANCE = 2e-3
_TOLERANCE_16_BIT = 0.25


def why_not_over_a_tree(
    model: Any,
    vocabulary: int,
    whole: Callable[[Any], Any],
    over_tree: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> str | None:
    """Run two short prompts over a tree and each at once, and compare what the model says, number by number.

    `whole` gives the logits [1, tokens, vocabulary] of ids [1, tokens] without a tree; `over_tree` makes the model
    ready for one. `None`: both are the same.
    """
    import torch

    said: list[tuple[list[int], Any]] = []

    def note(seen: Any, scores: Any) -> Any:
        said.append((seen[0].tolist(), scores[0]))
        return scores

    ids = np.random.default_rng(0).integers(0, vocabulary, 29).astype(np.int32)
    prompts = [ids[:13], np.concatenate([ids[:9], ids[13:]])]
    runner = TreeRunner(model, (), note)
    differences: list[float] = []
    try:
        with over_tree():
            runner.run(prompts, [2, 2], Limits(16, 2, 10**6))
        with torch.inference_mode():
            for written, _ in said[len(prompts) :]:
                plain = whole(torch.tensor([written], device=model.device))[0].float()
                for seen, scores in said:
                    if seen == written[: len(seen)]:
                        difference = (plain[len(seen) - 1] - scores.to(plain.device)).abs().max()
                        differences.append(float(difference / plain.std()))
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        why = " ".join(str(error).split())[:100]
        return f"tried out, it failed ({type(error).__name__}: {why})"
    allowed = _TOLERANCE if model.dtype in (torch.float32, torch.float64) else _TOLERANCE_16_BIT
    if all(each <= allowed for each in differences):  # NaN is not
        return None
    return f"tried out, its answers came out differently (by {max(differences):.2g} of their spread)"
