"""Faults around the model: refusals at the door, and answers that leave the server broken, late or not at all."""

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate

from tests.faults import wire
from tests.faults.turns import Turn, Wire

Admit = Callable[[Turn], Wire | None]
Send = Callable[[Wire, Turn], Wire]
LATE_S = 30.0  # longer than any patience in the bench


def fails_first(*answers):
    """The first tries of every prompt fail, one with each of these; then it is answered."""
    return lambda turn: answers[turn.attempt - 1] if turn.attempt <= len(answers) else None


def always(answer):
    """Every prompt is refused."""
    return lambda _: answer


def above(window, answer):
    """Prompts that do not fit with their answer are refused; `answer` gets the window and the tokens asked for."""

    def admit(turn):
        asked = turn.count(turn.rendered()) + turn.budget
        return answer(turn, window, asked) if asked > window else None

    return admit


def too_long(turn, window, asked):
    """The words of OpenAI and vLLM, llama.cpp, TGI, Anthropic's and Google's gateways, and a proxy that says 500."""
    used = asked - turn.budget
    kinds = (
        (400, f"This model's maximum context length is {window} tokens. However, you requested {asked} tokens.",
         "context_length_exceeded"),
        (400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
        (422, f"`inputs` tokens + `max_new_tokens` must be <= {window}. Given: {used} `inputs` tokens", "validation"),
        (400, f"prompt is too long: {used} tokens > {window} maximum", "invalid_request_error"),
        (400, f"The input token count ({used}) exceeds the maximum number of tokens allowed ({window}).", "400"),
        (500, f"litellm.ContextWindowExceededError: maximum context length is {window} tokens", "500"),
    )  # fmt: skip
    return wire.error(*kinds[turn.number % len(kinds)])


def storm(wait_s):
    """429 on every prompt's first try, and again for whoever comes back before the time that was named is over.

    The time is named in seconds or as a date, by turns.
    """

    def admit(turn):
        dated = bool(turn.number % 2)
        with turn.session.lock:
            until = time.time() + wait_s
            free = turn.session.memory.setdefault(f"free {turn.sha}", math.ceil(until) if dated else until)
            if time.time() >= free - 0.02:
                return None
            if turn.attempt > 1:
                turn.session.seen[turn.sha].hasty += 1
        named = formatdate(free, usegmt=True) if dated else str(wait_s)
        return wire.error(429, "Rate limit reached, slow down.", "rate_limit_exceeded", Retry_After=named)

    return admit


def first_try(send):
    """The fault befalls the first try of every prompt."""
    return lambda sent, turn: send(sent, turn) if turn.attempt == 1 else sent


def past(window, send):
    """The fault befalls longer prompts only."""
    return lambda sent, turn: send(sent, turn) if len(turn.ids) > window else sent


def hangs(sent, _):
    """Nothing at all for longer than anyone waits."""
    return replace(sent, wait_s=LATE_S)


def trickles(sent, _):
    """A few bytes now and then."""
    pieces = sent.pieces
    if len(pieces) == 1:
        whole = pieces[0]
        size = -(-len(whole) // 10)
        pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    return replace(sent, pieces=pieces, pause_s=0.6)


def hangs_up(sent, _):
    """The connection is closed without a byte."""
    return replace(sent, pieces=(), cut=True)


def drops(sent, _):
    """The connection ends in the middle of the body."""
    return replace(sent, cut=True)


def stops_early(sent, turn):
    """The stream ends in good order after half of the answer; a body that is not streamed is cut off like a text."""
    if not turn.stream:
        return drops(sent, turn)
    return replace(sent, pieces=sent.pieces[: len(sent.pieces) // 2])


def without_done(sent, _):
    """A whole stream that ends without `[DONE]`."""
    return replace(sent, pieces=tuple(piece for piece in sent.pieces if b"[DONE]" not in piece))


def garbled(sent, _):
    """JSON with a quote lost half-way."""
    half = len(sent.pieces) // 2
    broken = sent.pieces[half].replace(b'"}', b"}", 1).replace(b'",', b",", 1)
    return replace(sent, pieces=(*sent.pieces[:half], broken, *sent.pieces[half + 1 :]))


def instead(answer):
    """Something else altogether."""
    return lambda *_: answer


def split_characters(sent, _):
    """Pieces that end in the middle of a character and of an event."""
    whole = b"".join(sent.pieces)
    return replace(sent, pieces=tuple(whole[at : at + 7] for at in range(0, len(whole), 7)))


def broken_bytes(sent, turn):
    """The last digit of the answer leaves as half a character."""
    value = turn.reading.value or "sorry"
    last = value[-1].encode()
    pieces = list(sent.pieces)
    for at in reversed(range(len(pieces))):
        head, found, tail = pieces[at].partition(b'"content": "') if turn.chat else pieces[at].partition(b'"text": "')
        said, end, rest = tail.partition(b'"')
        if found and last in said:
            before, _, after = said.rpartition(last)
            pieces[at] = head + found + before + b"\xe5\x8f" + after + end + rest
            break
    return replace(sent, pieces=tuple(pieces))


def nan_logprobs(sent, _):
    """A number that JSON does not have, beside the answer: Python writes it all the same."""
    pieces = tuple(piece.replace(b'"logprobs": null', b'"logprobs": NaN') for piece in sent.pieces)
    return replace(sent, pieces=pieces)


def constant_id(sent, _):
    """Every answer has the same id, as some small servers give them."""
    return replace(sent, pieces=tuple(re.sub(rb'"id": "cmpl-[^"]*"', b'"id": "cmpl-1"', each) for each in sent.pieces))


def error_inside(sent, turn):
    """Status 200, and an error in the body."""
    told = {"error": {"message": "CUDA out of memory", "type": "server_error", "code": 500}}
    if not turn.stream:
        return replace(sent, pieces=(json.dumps(told).encode(),))
    return replace(sent, pieces=(*sent.pieces[:2], wire.event(told)))


def other_dialect(sent, turn):
    """What the standard of server-sent events allows: carriage returns, comments, names, no space behind the colon."""
    if not turn.stream:
        return replace(sent, pieces=tuple(b"\r\n " + piece + b"\r\n" for piece in sent.pieces))
    pieces = [b": keep-alive\r\n\r\n"]
    for piece in sent.pieces:
        data = piece.removeprefix(b"data: ").strip()
        pieces.append(b"event: message\r\nid: 1\r\ndata:" + data + b"\r\n\r\n: ping\r\n\r\n")
    return replace(sent, pieces=tuple(pieces))


def counts_in_each_event(sent, turn):
    """Usage in every event of the stream, growing, as some servers send it."""
    if not turn.stream:
        return sent
    pieces, spent = [], 0
    for piece in sent.pieces:
        data = piece.removeprefix(b"data: ").strip()
        if data != b"[DONE]" and not (made := json.loads(data)).get("usage"):
            spent += 1
            made["usage"] = {"prompt_tokens": len(turn.ids), "completion_tokens": spent}
            piece = wire.event(made)
        pieces.append(piece)
    return replace(sent, pieces=tuple(pieces))
