"""A server for load: a process of its own that answers at once or after a while, and fails as often as it is told.

`python -m tests.storm_server LATENCY_S FAILING PORT` prints its port; GET /stats tells what it has seen.
"""

import asyncio
import json
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from aiohttp import web

from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.faults import turns
from tests.source import ROOT

_NEEDLE = re.compile(r"The \w+ code for (.+?) is (\d+)\.")
_HANG_S = 60.0
_SLOW_S = 0.1  # between two pieces of a slow stream
_REFUSALS = {
    "429 for a second": turns.error(429, "planted", Retry_After="1"),
    "429 for a moment": turns.error(429, "planted", Retry_After_Ms="100"),
    "429": turns.error(429, "planted"),
    "500": turns.error(500, "planted"),
    "502 page": turns.page(502, "Bad Gateway"),
    "503": turns.error(503, "planted"),
    "malformed": turns.Wire((b'{"choices": [{"text": "The co',)),
    "empty body": turns.Wire(()),
}
FAULTS = (*_REFUSALS, "dropped before", "dropped inside", "hang", "slow stream")


@dataclass
class Seen:
    """What has happened so far; prompts by their sha256. `answered`: right answers that went out whole.

    `began`, `ended`: seconds, of the first question and the last answer.
    """

    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    began: float | None = None
    ended: float = 0.0


class Handler:
    """Answers requests, or fails; `count` counts a prompt's tokens."""

    def __init__(self, latency_s, failing, count):
        self.seen = Seen()
        self._latency_s, self._failing, self._count = latency_s, failing, count

    async def stats(self, _request):
        return web.json_response(vars(self.seen))

    async def complete(self, request):
        seen, sent = self.seen, await request.json()
        prompt = sent.get("prompt") or "\n\n".join(each["content"] for each in sent["messages"])
        key = sha256(prompt.encode()).hexdigest()
        seen.began = seen.began or time.monotonic()
        seen.asked[key] += 1
        chance = random.Random(f"{key} {seen.asked[key]}")
        fault = chance.choice(FAULTS) if chance.random() < self._failing else ""
        seen.faults[fault] += 1
        seen.in_flight += 1
        seen.most_in_flight = max(seen.most_in_flight, seen.in_flight)
        await asyncio.sleep(self._latency_s)
        seen.in_flight -= 1  # before the answer: the next request may be there before this line is
        if fault in ("dropped before", "hang"):
            await asyncio.sleep(_HANG_S * (fault == "hang"))
            request.transport.close()
            return web.Response()
        wire = _REFUSALS.get(fault) or self._right(prompt, sent)
        answer = web.StreamResponse(status=wire.status, headers={"Content-Type": wire.kind, **wire.headers})
        await answer.prepare(request)
        for piece in wire.pieces if fault == "slow stream" else [b"".join(wire.pieces)]:
            await asyncio.sleep(_SLOW_S * (fault == "slow stream"))
            if fault == "dropped inside":
                await answer.write(piece[:20])
                request.transport.close()
                return answer
            await answer.write(piece)
        if fault not in _REFUSALS:  # before the end of the body: after [DONE] a client may hang up
            seen.answered[key] += 1
            seen.ended = time.monotonic()
        await answer.write_eof()
        return answer

    def _right(self, prompt, sent):
        """The right answer, streamed if it was asked for so."""
        needle = _NEEDLE.search(prompt)
        text = f"The code is {needle[2]}." if needle else "OK."
        said = turns.Said(text, "stop", turns.usage(self._count(prompt), 8))
        chat = "messages" in sent
        return (
            turns.events(said, "a", chat=chat, counted=True) if sent.get("stream") else turns.body(said, "a", chat=chat)
        )


@dataclass(frozen=True)
class Storm:
    """The running server, seen from a test."""

    port: int

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def seen(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats") as answer:
            return dict(json.load(answer))


@contextmanager
def storm_server(latency_s=0.0, failing=0.0, *, port=0):
    """Run one, in a process of its own, while the block lasts. `failing`: the share of requests that fail."""
    command = [sys.executable, "-m", "tests.storm_server", str(latency_s), str(failing), str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Storm(int(process.stdout.readline()))
        finally:
            process.kill()


async def _serve(latency_s, failing, port):
    tokenizer = load_tokenizer("tiktoken:gpt-4")
    handler = Handler(float(latency_s), float(failing), lambda text: len(tokenizer.encode(text).ids))
    app = web.Application(client_max_size=2**30)
    app.add_routes([web.get("/stats", handler.stats), web.post("/v1/completions", handler.complete)])
    app.add_routes([web.post("/v1/chat/completions", handler.complete)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(port)).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
