"""A model on this machine: requests to answers, whatever computes them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from needlework.models.local.memory import BATCH_TOKENS, Limits
from needlework.models.model import ModelError, Request, Response, part_reasoning
from needlework.models.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from needlework.models.local.decoder import Generated, GreedyDecoder

_RETRY_CHUNK = 8  # after memory ran out, chunks are this many times smaller
_SMALLEST_CHUNK = 64
_NO_MEMORY = ("outofmemory", "memoryerror", "out of memory", "can't allocate memory", "not enough memory")


@dataclass(eq=False, kw_only=True)
class LocalModel:
    """A loaded model; answers several requests together. Threads may share it."""

    decoder: GreedyDecoder | None  # `None` once it is closed
    tokenizer: Tokenizer
    window: int | None
    vocabulary: int
    limits: Limits
    identity: Mapping[str, str | int | float | None]
    batch_size: int = 1  # the best number of requests for `respond_many`
    batch_tokens: int = BATCH_TOKENS  # of these requests together
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def respond(self, request: Request) -> Response:
        """Continue the prompt's ids greedily, to a stop token or to the end of both budgets."""
        return self.respond_many([request])[0]

    def respond_many(self, requests: Sequence[Request]) -> list[Response]:
        """Answer requests, in their order. Shared prefixes are computed once, answers written together.

        `latency_s` and `ttft_s` are each request's share of the time of all.
        """
        refusals = [self._refusal(request) for request in requests]
        accepted = [request for request, refusal in zip(requests, refusals, strict=True) if refusal is None]
        with self._lock:
            answers = iter(self._answer(accepted))
        return [
            next(answers) if refusal is None else Response(error=ModelError("client", refusal)) for refusal in refusals
        ]

    def forget(self) -> None:
        with self._lock:
            if self.decoder is not None:
                self.decoder.forget()

    def close(self) -> None:
        """Free the model's memory; it answers no more."""
        with self._lock:
            self.decoder = None
            _free_memory()

    def _refusal(self, request: Request) -> str | None:
        tokens, budget = request.prompt.tokens, _budget(request)
        if tokens == 0 or budget < 1:
            return "nothing to do: the prompt or the answer budget is empty"
        if self.window is not None and tokens + budget > self.window:
            return f"{tokens} prompt tokens and {budget} for the answer are over the window of {self.window}"
        if int(request.prompt.ids.max()) >= self.vocabulary:
            return f"the tokenizer {self.tokenizer.name} is not this model's: leave --tokenizer away"
        return None

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        """Together; if that fails, one by one in smaller pieces, so that a failure is that of one request."""
        generated = self._generate(requests, self.limits)
        if not isinstance(generated, ModelError):
            return [self._response(*pair, attempts=1) for pair in zip(requests, generated, strict=True)]
        if len(requests) == 1 and generated.kind != "oom":
            return [Response(error=generated)]
        alone = Limits(max(_SMALLEST_CHUNK, self.limits.chunk // _RETRY_CHUNK), 1, 0)
        responses = []
        for request in requests:
            one = self._generate([request], alone)
            if isinstance(one, ModelError):
                responses.append(Response(error=one, attempts=2))
            else:
                responses.append(self._response(request, one[0], attempts=2))
        return responses

    def _generate(self, requests: Sequence[Request], limits: Limits) -> list[Generated] | ModelError:
        if self.decoder is None:
            return ModelError("client", "the model is closed")
        try:
            prompts = [request.prompt.ids for request in requests]
            return self.decoder.run(prompts, list(map(_budget, requests)), limits)
        except (RuntimeError, MemoryError, ValueError, IndexError) as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            # Torch reports missing memory by device; anything else: the model itself failed.
            failure = ModelError("oom" if any(sign in words.lower() for sign in _NO_MEMORY) else "server", words)
        self.decoder.forget()
        _free_memory()
        return failure

    def _response(self, request: Request, generated: Generated, attempts: int) -> Response:
        parted = part_reasoning(self.tokenizer.decode(generated.ids), request.prompt.text)
        unfinished = bool(parted.reasoning) and not parted.answer.strip()
        return Response(
            text=parted.answer,
            reasoning=parted.reasoning,
            finish_reason="length" if not generated.stopped else "unfinished" if unfinished else "stop",
            prompt_tokens=request.prompt.tokens,
            completion_tokens=len(generated.ids),
            cached_tokens=generated.cached,
            latency_s=generated.latency_s,
            ttft_s=generated.ttft_s,
            attempts=attempts,
            flags=("reasoning_only",) * unfinished,
        )


def _budget(request: Request) -> int:
    return request.answer_budget + request.thinking_budget


def _free_memory() -> None:
    import torch

    gc.collect()
    for device in (torch.cuda, getattr(torch, "mps", None)):
        if device is not None and device.is_available():
            device.empty_cache()
