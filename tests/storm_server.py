"""A server for load: a process of its own that answers at once or after a while, and fails as often as it is told.

`python -m tests.storm_server --latency 0.05 --failing 0.2` prints its port; GET /stats tells what it has seen.
"""

import argparse
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
from pathlib import Path

from aiohttp import web

ROOT = Path(__file__).parent.parent
_NEEDLE = re.compile(r"The \w+ code for (.+?) is (\d+)\.")
_HANG_S = 60.0
_PIECES = 6  # of a slow stream
_SLOW_S = 0.1  # between two of them
_ERROR = '{"error": {"message": "planted"}}'
_REFUSALS = {
    "429 for a second": (429, _ERROR, {"Retry-After": "1"}),
    "429 for a moment": (429, _ERROR, {"Retry-After-Ms": "100"}),
    "429": (429, _ERROR, {}),
    "500": (500, _ERROR, {}),
    "502 page": (502, "<html><h1>502 Bad Gateway</h1></html>", {"Content-Type": "text/html"}),
    "503": (503, _ERROR, {}),
    "malformed": (200, '{"choices": [{"text": "The co', {}),
    "empty body": (200, "", {}),
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

    def __init__(self, options, count):
        self.seen = Seen()
        self._latency_s, self._failing, self._count = options.latency, options.failing, count

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
        if fault in _REFUSALS:
            status, text, headers = _REFUSALS[fault]
            return web.Response(status=status, text=text, headers={"Content-Type": "application/json", **headers})
        if fault in ("dropped before", "hang"):
            await asyncio.sleep(_HANG_S * (fault == "hang"))
            request.transport.close()
            return web.Response()
        pauses_s = _SLOW_S if fault == "slow stream" else 0.0
        usage = {"prompt_tokens": self._count(prompt), "completion_tokens": 8}
        kind, pieces = _answer(prompt, usage, sent.get("stream") or pauses_s, _PIECES if pauses_s else 1)
        answer = web.StreamResponse(headers={"Content-Type": kind})
        await answer.prepare(request)
        for piece in pieces:
            if fault == "dropped inside":
                await answer.write(piece[:20])
                request.transport.close()
                return answer
            await answer.write(piece)
            await asyncio.sleep(pauses_s)
        await answer.write_eof()
        seen.answered[key] += 1
        seen.ended = time.monotonic()
        return answer


def _answer(prompt, usage, streamed, pieces):
    """The content type and the pieces of the right answer."""
    needle = _NEEDLE.search(prompt)
    text = f"The code is {needle[2]}." if needle else "OK."
    if not streamed:
        choice = {"index": 0, "finish_reason": "stop", "text": text}
        return "application/json", [json.dumps({"choices": [choice], "usage": usage}).encode()]
    step = -(-len(text) // pieces)
    choices = [{"index": 0, "text": text[at : at + step]} for at in range(0, len(text), step)]
    choices.append({"index": 0, "text": "", "finish_reason": "stop"})
    events = [json.dumps({"choices": [choice]}) for choice in choices]
    lines = [f"data: {event}\n\n" for event in (*events, json.dumps({"choices": [], "usage": usage}), "[DONE]")]
    return "text/event-stream", [line.encode() for line in (lines if pieces > 1 else ["".join(lines)])]


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
    command = [sys.executable, "-m", "tests.storm_server", f"--latency={latency_s}", f"--failing={failing}"]
    command.append(f"--port={port}")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Storm(int(process.stdout.readline()))
        finally:
            process.kill()


async def _serve(options, count):
    handler, app = Handler(options, count), web.Application(client_max_size=2**30)
    app.add_routes([web.get("/stats", handler.stats), web.post("/v1/completions", handler.complete)])
    app.add_routes([web.post("/v1/chat/completions", handler.complete)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def _main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--failing", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    from needlework.models.tokenizers.tokenizer import load_tokenizer

    tokenizer = load_tokenizer("tiktoken:gpt-4")
    asyncio.run(_serve(options, lambda text: len(tokenizer.encode(text).ids)))


if __name__ == "__main__":
    _main()
