"""Models on this machine, through transformers."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Mapping
from typing import Any

from haystack_fixtures.models.greedy import Generated, GreedyRunner
from haystack_fixtures.models.model import ErrorKind, ModelError, Request, Response
from haystack_fixtures.models.reasoning import split_reasoning
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

_RETRY_CHUNK = 8  # after memory ran out, chunks are this many times smaller
_SMALLEST_CHUNK = 64


class LocalModel:
    """A loaded transformers model; answers one request at a time, whoever asks."""

    def __init__(
        self,
        runner: GreedyRunner,
        *,
        tokenizer: Tokenizer,
        window: int | None,
        vocabulary: int,
        chunk: int,
        identity: Mapping[str, str | int | float | None],
    ) -> None:
        self._runner: GreedyRunner | None = runner
        self._tokenizer = tokenizer
        self._window = window
        self._vocabulary = vocabulary
        self._chunk = chunk
        self._identity = dict(identity)
        self._lock = threading.Lock()

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return self._identity

    @property
    def window(self) -> int | None:
        return self._window

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def respond(self, request: Request) -> Response:
        """Continue the prompt's ids greedily, to a stop token or to the end of both budgets."""
        refusal = self._refusal(request)
        if refusal is not None:
            return Response(error=ModelError("client", refusal))
        with self._lock:
            begun = time.perf_counter()
            generated, attempts = self._generate(request)
            latency = time.perf_counter() - begun
        if isinstance(generated, ModelError):
            return Response(error=generated, attempts=attempts, latency_s=latency)
        text, reasoning = split_reasoning(self._tokenizer.decode(generated.ids), request.prompt.text)
        return Response(
            text=text,
            reasoning=reasoning,
            finish_reason="stop" if generated.stopped else "length",
            prompt_tokens=request.prompt.tokens,
            completion_tokens=len(generated.ids),
            cached_tokens=generated.cached,
            latency_s=latency,
            ttft_s=generated.ttft_s,
            attempts=attempts,
        )

    def close(self) -> None:
        """Free the model's memory; it answers no more."""
        with self._lock:
            self._runner = None
            _free_memory()

    def _refusal(self, request: Request) -> str | None:
        tokens, budget = request.prompt.tokens, _budget(request)
        if tokens == 0 or budget < 1:
            return "nothing to do: the prompt or the answer budget is empty"
        if self._window is not None and tokens + budget > self._window:
            return f"{tokens} prompt tokens and {budget} for the answer are over the window of {self._window}"
        if int(request.prompt.ids.max()) >= self._vocabulary:
            return f"the tokenizer {self._tokenizer.name} is not this model's: leave --tokenizer away"
        return None

    def _generate(self, request: Request) -> tuple[Generated | ModelError, int]:
        """What came out, and in how many attempts: memory that ran out is given a second, smaller one."""
        smaller = max(_SMALLEST_CHUNK, self._chunk // _RETRY_CHUNK)
        failure = ModelError("client", "the model is closed")
        for attempt, chunk in enumerate((self._chunk, smaller), start=1):
            if self._runner is None:
                return failure, attempt
            try:
                return self._runner.run(request.prompt.ids, _budget(request), chunk), attempt
            except (RuntimeError, MemoryError, ValueError, IndexError) as error:
                failure = ModelError(_kind(error), f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
            self._runner.forget()
            _free_memory()
            if failure.kind != "oom":
                return failure, attempt
        return failure, 2


def _budget(request: Request) -> int:
    return request.answer_budget + request.thinking_budget


def _kind(error: Exception) -> ErrorKind:
    """`oom`, or `server`: the model itself failed. Torch says out-of-memory in a different way on each device."""
    words = f"{type(error).__name__} {error}".lower()
    signs = ("outofmemory", "memoryerror", "out of memory", "can't allocate memory", "not enough memory")
    return "oom" if any(sign in words for sign in signs) else "server"


def _free_memory() -> None:
    import torch

    gc.collect()
    for device in (torch.cuda, getattr(torch, "mps", None)):
        if device is not None and device.is_available():
            device.empty_cache()


def describe(model: Any, device: str) -> dict[str, str | int | float | None]:
    """The facts of a loaded model that can change its answers."""
    import torch
    import transformers

    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": device.partition(":")[0],
        "attn_implementation": getattr(model.config, "_attn_implementation", None),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
