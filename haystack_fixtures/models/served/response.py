"""From an answer that was read to the response that a trial gets."""

from __future__ import annotations

from needlework.haystack_fixtures.models.model import Response
from needlework.haystack_fixtures.models.served.reading.reply import Reply


def response_of(reply: Reply, attempts: int = 1, latency_s: float | None = None) -> Response:
    """The response of a reply; `latency_s`: `None` where nobody measured it."""
    return Response(
        text=reply.text,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        reasoning_tokens=reply.reasoning_tokens,
        cached_tokens=reply.cached_tokens,
        latency_s=latency_s,
        ttft_s=reply.ttft_s,
        attempts=attempts,
        id=reply.id,
        model=reply.model,
        fingerprint=reply.fingerprint,
        flags=reply.flags,
    )
