"""Faults of what stands between: gateways, proxies and servers under load, by what independent checks have met."""

import gzip
import json
import time
from dataclasses import replace

from tests.faults import wire
from tests.faults.turns import Wire

_HALF_ERROR = {"message": "upstream overloaded", "status": 529}
_NAME = f'"model": "{wire.MODEL}"'.encode()


def named(name, since=0):
    """Another model answers, and says so, from the prompt of that number on."""

    def send(sent, turn):
        told = f'"model": "{name}"'.encode()
        if turn.number < since:
            return sent
        return replace(sent, pieces=tuple(piece.replace(_NAME, told) for piece in sent.pieces))

    return send


def drips(sent, _):
    """The head of the answer comes byte by byte, and never ends in any patience."""
    return replace(sent, drip_s=0.2)


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
        return wire.error(500, "Context size has been exceeded.", "server_error") if full else None

    return admit


def too_long_elsewhere(turn, window, asked):
    """The words of DashScope, xAI, Moonshot, Zhipu, TGI, TensorRT-LLM, LMDeploy, TabbyAPI, Groq, and nginx's page."""
    used = asked - turn.budget
    kinds: tuple[tuple[int, str] | Wire, ...] = (
        (400, f"Range of input length should be [1, {window}]"),
        (400, f"This model's maximum prompt length is {window} but the request contains {used} tokens."),
        (400, f"Invalid request: Your request exceeded model token limit: {window}"),
        wire.page(413, "413 Request Entity Too Large"),
        (400, "Prompt 超长"),
        (422, f"Input validation error: `inputs` must have less than {window} tokens. Given: {used}"),
        (400, f"Prompt length ({used}) exceeds maximum input length ({window})."),
        (400, f"input token length {used} exceeds session_len {window}"),
        (400, f"Prompt length {used} is greater than max_seq_len {window}"),
        (400, "Please reduce the length of the messages or completion."),
    )
    told = kinds[turn.number % len(kinds)]
    return told if isinstance(told, Wire) else wire.error(*told)


def goes_on(said, turn):
    """The answer, and then more and more of it, whatever the limit; counted as if it had been short."""
    return replace(said, content=f"{turn.reading.answer}{' And so on.' * 4000}")


def coloured(said, turn):
    """The answer in the colours of a terminal."""
    value = turn.reading.value or "sorry"
    return replace(said, content=turn.reading.answer.replace(value, f"\x1b[31m{value}\x1b[0m"))


def second_choice_first(sent, turn):
    """Two answers, the one that nobody asked for first."""
    told = json.loads(sent.pieces[0])
    other = json.loads(json.dumps(told["choices"][0]))
    other["index"] = 1
    other["message" if turn.chat else "text"] = {"role": "assistant", "content": "1000000"} if turn.chat else "1000000"
    told["choices"].insert(0, other)
    return replace(sent, pieces=(json.dumps(told).encode(),))


def says_no_error(sent, _):
    """`error` beside every good answer, to say that there was none."""
    told = json.loads(sent.pieces[0]) | {"error": {"code": 0, "message": "ok"}}
    return replace(sent, pieces=(json.dumps(told).encode(),))


def many_headers(sent, _):
    """More headers than any client reads."""
    return replace(sent, headers={f"X-Trace-{number}": "1" for number in range(150)})


def breaks_off(*events):
    """Half of a streamed answer, and then these bytes in place of its end."""
    return lambda sent, turn: (
        replace(sent, pieces=(*sent.pieces[: len(sent.pieces) // 2], *events)) if turn.stream else sent
    )


ERROR_EVENT = b"event: error\ndata: " + json.dumps(_HALF_ERROR).encode() + b"\n\ndata: [DONE]\n\n"
ERROR_OBJECT = wire.event({"object": "error", "message": "CUDA error", "code": 500})
ERROR_CODE = wire.event({"text": "worker is gone", "error_code": 50004})
ERROR_CHOICE = wire.event({"choices": [{"index": 0, "delta": {}, "error": _HALF_ERROR, "finish_reason": None}]})
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
    if not turn.stream:
        return sent
    pieces, so_far = [], ""
    for piece in sent.pieces:
        data = piece.removeprefix(b"data: ").strip()
        chunk = {} if data == b"[DONE]" else json.loads(data)
        for choice in chunk.get("choices", ()):
            if text := choice["delta"].get("content"):
                so_far += text
                choice["delta"]["content"] = so_far
        pieces.append(wire.event(chunk) if chunk else piece)
    return replace(sent, pieces=tuple(pieces))


def data_in_lines(sent, turn):
    """Each event's data in two lines, and carriage returns at the ends of lines, as the standard allows."""
    if not turn.stream:
        return sent
    pieces = [piece.replace(b', "choices"', b'\ndata: , "choices"').replace(b"\n", b"\r") for piece in sent.pieces]
    return replace(sent, pieces=tuple(pieces))


def filtered_elsewhere(turn):
    """The words of DashScope, Azure and Vertex AI for a prompt that is not answered."""
    codes = ("data_inspection_failed", "ResponsibleAIPolicyViolation", "PROHIBITED_CONTENT")
    return wire.error(400, "The request was blocked.", codes[turn.number % len(codes)])


def until(seconds):
    """429 on the first try, with the point in time when the next one is welcome."""

    def admit(turn):
        return wire.error(429, "slow down", Retry_After=str(time.time() + seconds)) if turn.attempt == 1 else None

    return admit
