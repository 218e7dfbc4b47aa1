"""The stages of an answer, honest unless the fault says otherwise."""

import json

from needlework.core.prompts import Message
from tests.faults import wire
from tests.faults.oracle import read
from tests.faults.turns import Said, Seen, Turn


def turn_of(request, *, chat, session, tokenizer):
    """Read a request's body. Raises `ValueError` with words for the client."""
    messages = request.get("messages") if chat else ()
    if not isinstance(messages, list | tuple) or not all(isinstance(row, dict) for row in messages):
        raise ValueError("messages is a list of objects")
    prompt = "" if chat else request.get("prompt")
    if not isinstance(prompt, str):
        raise ValueError("prompt is a text")
    budget = request.get("max_completion_tokens") or request.get("max_tokens") or 256
    return Turn(
        session=session,
        tokenizer=tokenizer,
        chat=chat,
        stream=bool(request.get("stream")),
        budget=int(budget),
        messages=tuple(Message(row["role"], _text(row.get("content"))) for row in messages),
        raw=prompt,
    )


def respond(turn, behaviour, *, count_in_stream):
    """Answer one request and note what was done to it. `count_in_stream`: the client wants `usage` in its stream."""
    seen = _note(turn)
    refused = behaviour.admit(turn) if behaviour.admit else None
    if refused is not None:
        seen.touched = True
        return refused
    taken = behaviour.take(turn.messages) if behaviour.take else turn.messages
    bos = () if turn.chat else turn.tokenizer.bos
    whole = (*bos, *(int(each) for each in turn.tokenizer.encode(turn.rendered(taken)).ids))
    turn.ids = behaviour.see(whole, turn) if behaviour.see else whole
    turn.reading = read(turn.tokenizer.decode(turn.ids))
    honest = _said(turn)
    said = behaviour.say(honest, turn) if behaviour.say else honest
    plain = _written(said, turn, count_in_stream)
    sent = behaviour.send(plain, turn) if behaviour.send else plain
    seen.touched |= taken != turn.messages or turn.ids != whole or _unlike(said, honest) or sent != plain
    return sent


def _note(turn):
    with turn.session.lock:
        seen = turn.session.seen.setdefault(turn.sha, Seen())
        seen.requests += 1
        turn.attempt = seen.requests
    return seen


def _said(turn):
    text, finish = turn.reading.answer, "stop"
    ids = turn.tokenizer.encode(text).ids
    if len(ids) > turn.budget:
        text, finish = turn.tokenizer.decode([int(each) for each in ids[: turn.budget]]), "length"
    return Said(text, finish, usage(len(turn.ids), min(len(ids), turn.budget)))


def usage(prompt, completion):
    """Token counts as the API words them."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _written(said, turn, count_in_stream):
    name = f"cmpl-{turn.sha[:12]}-{turn.attempt}"
    if turn.stream:
        return wire.events(said, name, chat=turn.chat, usage=count_in_stream)
    return wire.body(said, name, chat=turn.chat)


def _unlike(said, honest):
    # By text: a NaN is unlike itself.
    return json.dumps(_fields(said), default=repr) != json.dumps(_fields(honest), default=repr)


def _fields(said):
    return [said.content, said.finish, said.usage, said.reasoning, dict(said.message)]


def _text(content):
    """A message's content: a text, or a list of blocks with texts."""
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""
