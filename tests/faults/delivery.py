"""Faults of servers, gateways and proxies on the wire: refusals, and answers that arrive broken, slowly or in part."""

import gzip
import json
import math
import time
from dataclasses import replace
from email.utils import formatdate
from itertools import count

from tests.faults import turns
from tests.faults.turns import Wire


def fails_first(*answers):
    """The first tries of every prompt fail, one with each of these, or with what it makes; then it is answered."""

    def admit(turn):
        answer = answers[turn.attempt - 1] if turn.attempt <= len(answers) else None
        return answer() if callable(answer) else answer

    return admit


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
    return turns.error(*kinds[turn.number % len(kinds)])


def rate_limited(wait_s):
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
        return turns.error(429, "Rate limit reached, slow down.", "rate_limit_exceeded", Retry_After=named)

    return admit


def first_try(send):
    """The fault befalls the first try of every prompt."""
    return lambda sent, turn: send(sent, turn) if turn.attempt == 1 else sent


def for_longer_prompts(window, send):
    """The fault befalls longer prompts only."""
    return lambda sent, turn: send(sent, turn) if len(turn.ids) > window else sent


def trickles(sent, _):
    """A few bytes now and then."""
    pieces = sent.pieces
    if len(pieces) == 1:
        whole = pieces[0]
        size = -(-len(whole) // 10)
        pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    return replace(sent, pieces=pieces, pause_s=2.0)


def stops_early(sent, turn):
    """The stream ends in good order after half of the answer; a body that is not streamed is cut off like a text."""
    return replace(sent, pieces=sent.pieces[: len(sent.pieces) // 2]) if turn.stream else replace(sent, cut=True)


def without_done(sent, _):
    """A whole stream that ends without `[DONE]`."""
    return replace(sent, pieces=tuple(piece for piece in sent.pieces if b"[DONE]" not in piece))


def garbled(sent, _):
    """JSON with a quote lost half-way."""
    half = len(sent.pieces) // 2
    broken = sent.pieces[half].replace(b'"}', b"}", 1).replace(b'",', b",", 1)
    return replace(sent, pieces=(*sent.pieces[:half], broken, *sent.pieces[half + 1 :]))


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


def edited(change):
    """Each JSON object that leaves, an answer or an event of one, is what `change(data, turn)` makes of it."""

    def send(sent, turn):
        pieces = []
        for piece in sent.pieces:
            data = piece.removeprefix(b"data: ").strip()
            new = {} if data == b"[DONE]" else change(json.loads(data), turn)
            pieces.append(piece if not new else turns.event(new) if turn.stream else json.dumps(new).encode())
        return replace(sent, pieces=tuple(pieces))

    return send


def with_nan_logprobs(data, _):
    """A number that JSON does not have, beside the answer: Python writes it all the same."""
    return data | {"choices": [choice | {"logprobs": math.nan} for choice in data["choices"]]}


def as_model(name, since=0):
    """Another model answers, and says so, from the prompt of that number on."""
    return edited(lambda data, turn: data | {"model": name} if turn.number >= since else data)


def error_inside(sent, turn):
    """Status 200, and an error in the body."""
    told = {"error": {"message": "CUDA out of memory", "type": "server_error", "code": 500}}
    if not turn.stream:
        return replace(sent, pieces=(json.dumps(told).encode(),))
    return replace(sent, pieces=(*sent.pieces[:2], turns.event(told)))


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
    spent = count(1)
    usage = lambda: {"prompt_tokens": len(turn.ids), "completion_tokens": next(spent)}  # noqa: E731
    return edited(lambda data, _: data if data.get("usage") else data | {"usage": usage()})(sent, turn)


_HALF_ERROR = {"message": "upstream overloaded", "status": 529}


def packed(spoil):
    """The answer is sent as gzip, which is then spoilt."""

    def send(sent, _):
        body = spoil(gzip.compress(b"".join(sent.pieces), mtime=0))
        return replace(sent, pieces=(body,), headers={**sent.headers, "Content-Encoding": "gzip"})

    return send


def crowded(longer_than, tries):
    """llama.cpp whose slots share one cache: no room beside the others, in the words of a prompt that is too long."""

    def admit(turn):
        full = turn.count(turn.rendered()) > longer_than and turn.attempt <= tries
        return turns.error(500, "Context size has been exceeded.", "server_error") if full else None

    return admit


def too_long_elsewhere(turn, window, asked):
    """The words of DashScope, xAI, Moonshot, Zhipu, TGI, TensorRT-LLM, LMDeploy, TabbyAPI, Groq, and nginx's page."""
    used = asked - turn.budget
    kinds: tuple[tuple[int, str] | Wire, ...] = (
        (400, f"Range of input length should be [1, {window}]"),
        (400, f"This model's maximum prompt length is {window} but the request contains {used} tokens."),
        (400, f"Invalid request: Your request exceeded model token limit: {window}"),
        turns.page(413, "413 Request Entity Too Large"),
        (400, "Prompt 超长"),
        (422, f"Input validation error: `inputs` must have less than {window} tokens. Given: {used}"),
        (400, f"Prompt length ({used}) exceeds maximum input length ({window})."),
        (400, f"input token length {used} exceeds session_len {window}"),
        (400, f"Prompt length {used} is greater than max_seq_len {window}"),
        (400, "Please reduce the length of the messages or completion."),
    )
    told = kinds[turn.number % len(kinds)]
    return told if isinstance(told, Wire) else turns.error(*told)


def second_choice_first(data, _):
    """Two answers, the one that nobody asked for first."""
    (choice,) = data["choices"]
    return data | {"choices": [choice | {"index": 1, "message": {"role": "assistant", "content": "1000000"}}, choice]}


def breaks_off(*events):
    """Half of a streamed answer, and then these bytes in place of its end."""
    return lambda sent, turn: (
        replace(sent, pieces=(*sent.pieces[: len(sent.pieces) // 2], *events)) if turn.stream else sent
    )


ERROR_EVENT = b"event: error\ndata: " + json.dumps(_HALF_ERROR).encode() + b"\n\ndata: [DONE]\n\n"
ERROR_OBJECT = turns.event({"object": "error", "message": "CUDA error", "code": 500})
ERROR_CODE = turns.event({"text": "worker is gone", "error_code": 50004})
ERROR_CHOICE = turns.event({"choices": [{"index": 0, "delta": {}, "error": _HALF_ERROR, "finish_reason": None}]})
DONE = b"data: [DONE]\n\n"


def begins_again(*, id_changes):
    """A gateway that loses its server in the middle of an answer, and sends another one's answer behind it."""

    def send(sent, turn):
        if not turn.stream:
            return sent
        again = tuple(piece.replace(b'"id": "', b'"id": "x') for piece in sent.pieces) if id_changes else sent.pieces
        return replace(sent, pieces=(*sent.pieces[: len(sent.pieces) // 2], *again))

    return send


def repeats(sent, turn):
    """Each event has the whole text so far."""
    so_far = []

    def change(data, _):
        for choice in data["choices"] if turn.stream else ():
            if text := choice["delta"].get("content"):
                so_far.append(text)
                choice["delta"]["content"] = "".join(so_far)
        return data

    return edited(change)(sent, turn)


def data_in_lines(sent, turn):
    """Each event's data in two lines, and carriage returns at the ends of lines, as the standard allows."""
    if not turn.stream:
        return sent
    pieces = [piece.replace(b', "choices"', b'\ndata: , "choices"').replace(b"\n", b"\r") for piece in sent.pieces]
    return replace(sent, pieces=tuple(pieces))


def filtered_elsewhere(turn):
    """The words of DashScope, Azure and Vertex AI for a prompt that is not answered."""
    codes = ("data_inspection_failed", "ResponsibleAIPolicyViolation", "PROHIBITED_CONTENT")
    return turns.error(400, "The request was blocked.", codes[turn.number % len(codes)])
