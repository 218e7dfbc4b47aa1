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
from typing import Any

ROOT = Path(__file__).parent.parent
_NEEDLE = re.compile(r"The \w+ code for (.+?) is (\d+)\.")
_HANG_S = 60.0
_SLOW = 6  # events of a slow stream
_SLOW_S = 0.1  # between two of them


def _head(status, length, *headers, kind="application/json"):
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return "\r\n".join([f"HTTP/1.1 {status} -", f"Content-Type: {kind}", size, *headers, "", ""]).encode()


def _whole(body, status=200, *headers, kind="application/json"):
    return _head(status, len(body), *headers, kind=kind) + body


_ERROR = b'{"error": {"message": "planted"}}'
_WHOLE = {
    "429 for a second": _whole(_ERROR, 429, "Retry-After: 1"),
    "429 for a moment": _whole(_ERROR, 429, "Retry-After-Ms: 100"),
    "429": _whole(_ERROR, 429),
    "500": _whole(_ERROR, 500),
    "502 page": _whole(b"<html><h1>502 Bad Gateway</h1></html>", 502, kind="text/html"),
    "503": _whole(_ERROR, 503),
    "malformed": _whole(b'{"choices": [{"text": "The co'),
    "empty body": _whole(b""),
}
FAULTS = (*_WHOLE, "dropped before", "dropped inside", "hang", "slow stream")


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
    connections: int = 0
    began: float | None = None
    ended: float = 0.0


class Conversation(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, seen, options, count):
        self._seen = seen
        self._latency_s: float = options.latency
        self._failing: float = options.failing
        self._count = count
        self._bytes = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport):
        self._transport = transport
        self._seen.connections += 1

    def connection_lost(self, _error):
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data):
        self._bytes += data
        head, end, body = self._bytes.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head.lower())
        if end and len(body) >= (int(length[1]) if length else 0):
            self._bytes = b""
            self._task = asyncio.get_running_loop().create_task(self._answer(head, body))

    async def _answer(self, head, body):
        if b"completions" not in head.partition(b"\r\n")[0]:
            known = head.startswith(b"GET /stats ")
            told = json.dumps(vars(self._seen) if known else {}).encode()
            self._transport.write(_whole(told, 200 if known else 404))
            return
        sent = json.loads(body)
        prompt = sent.get("prompt") or "\n\n".join(each["content"] for each in sent["messages"])
        key = sha256(prompt.encode()).hexdigest()
        self._seen.began = self._seen.began or time.monotonic()
        self._seen.asked[key] += 1
        chance = random.Random(f"{key} {self._seen.asked[key]}")
        fault = chance.choice(FAULTS) if chance.random() < self._failing else ""
        self._seen.faults[fault] += 1
        self._seen.in_flight += 1
        self._seen.most_in_flight = max(self._seen.most_in_flight, self._seen.in_flight)
        try:
            if self._latency_s:
                await asyncio.sleep(self._latency_s)
        finally:
            self._seen.in_flight -= 1  # before the answer: the next request may be there before this line is
        if await self._say(fault, sent, prompt) and not self._transport.is_closing():
            self._seen.answered[key] += 1
            self._seen.ended = time.monotonic()

    async def _say(self, fault, sent, prompt):
        """Answer, or fail. Returns whether the answer went out whole."""
        found = _NEEDLE.search(prompt)
        text = f"The code is {found[2]}." if found else "OK."
        usage = {"prompt_tokens": self._count(prompt), "completion_tokens": 8}
        match fault:
            case fault if fault in _WHOLE:
                self._transport.write(_WHOLE[fault])
            case "dropped before":
                self._transport.close()
            case "dropped inside":
                self._transport.write(_head(200, 500) + b'{"choices": [{"te')
                self._transport.close()
            case "hang":
                await asyncio.sleep(_HANG_S)
            case "slow stream":
                return await self._stream(text, usage, _SLOW_S)
            case _ if sent.get("stream"):
                return await self._stream(text, usage, 0)
            case _:
                choice = {"index": 0, "finish_reason": "stop", "text": text}
                self._transport.write(_whole(json.dumps({"choices": [choice], "usage": usage}).encode()))
                return True
        return False

    async def _stream(self, text, usage, pause_s):
        step = -(-len(text) // _SLOW) if pause_s else len(text)
        pieces = [text[i : i + step] for i in range(0, len(text), step)]
        events: list[dict[str, Any]] = [{"choices": [{"index": 0, "text": piece}]} for piece in pieces]
        events += [{"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"]
        chunks = [b"%x\r\n%s\r\n" % (len(line), line) for line in lines] + [b"0\r\n\r\n"]
        chunks[0] = _head(200, None, kind="text/event-stream") + chunks[0]
        if not pause_s:
            chunks = [b"".join(chunks)]
        self._transport.write(chunks[0])
        for chunk in chunks[1:]:
            await asyncio.sleep(pause_s)
            self._transport.write(chunk)
        return True


async def _serve(options, count):
    seen = Seen()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Conversation(seen, options, count), "127.0.0.1", options.port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


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
