"""Learn from two short requests how a server counts, and whether each answer belongs to its request.

The short requests are the trial itself with another text: the same messages, template, question and end, the document
replaced by the needle alone (with another value) between sentences of no interest. What the server's template adds or
leaves out is then the same as in the trial. Every message of the second request is longer than that of the first, so
that a server which drops one of them, or counts with another tokenizer, shows two different differences.

Of a conversation, hundreds of messages, the short requests have one round and three.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from needlework.haystack_fixtures.models.model import Calibration, Request, Response, starts_answer
from needlework.haystack_fixtures.models.served.facts.replays import are_unique
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.prompts.prompt import Message, bare_prompt
from needlework.haystack_fixtures.prompts.shape import raw_text
from needlework.haystack_fixtures.prompts.turns import plain_turns
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

FILLER = "On 12 March 1921 the ferry Ægir left Skagen at 6:45 with 38 crates of tea; 红房子在河边。 "
_REPEATS = (1, 2)  # sentences of filler in the first and in the second request


def layout_of(request: Request, tokenizer: Tokenizer) -> tuple[str, ...]:
    """What the constant depends on: the endpoint, the roles in their order, and a raw prompt's last words."""
    asked = _asked(request)
    if request.prompt.conversation:
        roles = [message.role for message in asked if message.role == "system"]
        return (request.template, *roles, "turns", _end(request, tokenizer))
    return (request.template, *(message.role for message in asked), _end(request, tokenizer))


def short_requests(request: Request, tokenizer: Tokenizer, draw: random.Random) -> tuple[Request, Request]:
    """The two requests for a trial, with values of their own. Not trials: they have no cell."""
    short = _short_conversation if request.prompt.conversation else _short
    one, other = (short(request, tokenizer, FILLER * repeats, draw) for repeats in _REPEATS)
    return one, other


def new_short_requests(request: Request, tokenizer: Tokenizer) -> tuple[Request, Request]:
    """The two requests with values that nobody can know."""
    return short_requests(request, tokenizer, random.SystemRandom())


def calibrate(ours: Sequence[int], responses: Sequence[Response], error: float = 0.0) -> Calibration:
    """What the responses to two short requests say, which have `ours` tokens by our count.

    `error`: the share by which our count may be off, where another tokenizer than the model's counts.
    """
    for response in responses:
        if response.error is not None:
            return Calibration("failed", why=f"a short request failed: {response.error.message}")
    stale = next((response.stale for response in responses if response.stale), "")
    if stale:
        return Calibration("stale", why=f"the server mixes requests up, as two short ones show: {stale}")
    ids_differ = are_unique(responses[0].id, responses[1].id)
    counts = [response.prompt_tokens for response in responses]
    if None in counts:
        return Calibration("no_usage", ids_differ=ids_differ, why="the server does not count tokens")
    for cached in (False, True):
        differences = [
            (response.prompt_tokens or 0) + (response.cached_tokens or 0) * cached - tokens
            for response, tokens in zip(responses, ours, strict=True)
        ]
        if error:
            why = f"another tokenizer than the model's counts, off by about {error:.1%}"
            return Calibration("approximate", min(differences, key=abs), ids_differ, why, error)
        if abs(differences[0] - differences[1]) <= 1:
            return Calibration("exact", min(differences, key=abs), ids_differ)
    seen = ", ".join(f"{served} for {tokens}" for served, tokens in zip(counts, ours, strict=True))
    why = f"short requests show no constant difference ({seen}): it has another tokenizer than --tokenizer, or"
    return Calibration("inconsistent", why=f"{why} messages get lost")


def _asked(request: Request) -> tuple[Message, ...]:
    """The messages without a started answer: a server that closes it, and does not go on, then counts too many."""
    return request.prompt.messages[:-1] if starts_answer(request) else request.prompt.messages


def _short(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    needles = tuple(_revalued(needle, draw) for needle in request.needles)
    stated = " ".join(needle.text for needle in needles)
    document = filler + stated
    start, end = request.prompt.context
    context = request.prompt.text[start:end]
    messages = tuple(
        Message(message.role, _shortened(message.content, context, document, filler)) for message in _asked(request)
    )
    chat = request.template == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if chat else raw_text(messages, _end(request, tokenizer)) or document
    bos = np.asarray(() if chat else tokenizer.bos, dtype=np.int32)
    prompt = bare_prompt(messages, text, np.concatenate([bos, tokenizer.encode(text).ids]))
    return replace(request, prompt=prompt, cell=None, needles=needles, answer="".join(each.answer for each in needles))


def _short_conversation(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    """The question behind few turns, in place of many: one round, or three with a filler of two sentences."""
    asked = _asked(request)
    value = str(draw.randrange(1_000_000, 10_000_000))
    rounds = [(Message("user", filler.strip()), Message("assistant", f"{filler}{value}"))]
    rounds += [(Message("user", "Go on."), Message("assistant", filler.strip()))] * (2 * (filler.count(FILLER) - 1))
    system = [Message("system", filler + message.content) for message in asked if message.role == "system"]
    question = Message(asked[-1].role, filler + asked[-1].content)
    messages = (*system, *(message for each in rounds for message in each), question)
    chat = request.template == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if chat else plain_turns(messages, "en")
    bos = np.asarray(() if chat else tokenizer.bos, dtype=np.int32)
    prompt = bare_prompt(messages, text, np.concatenate([bos, tokenizer.encode(text).ids]))
    needle = Needle("value", f"{filler}{value}", "", value)
    return replace(request, prompt=prompt, cell=None, needles=(needle,), answer=value)


def _revalued(needle: Needle, draw: random.Random) -> Needle:
    """The needle with a number that stands nowhere else in place of its value."""
    value = str(draw.randrange(1_000_000, 10_000_000))
    if needle.answer and needle.answer in needle.text:
        return replace(needle, text=needle.text.replace(needle.answer, value), answer=value, accepted=())
    return replace(needle, text=f"{needle.question} {value}.", answer=value, accepted=())


def _shortened(content: str, context: str, document: str, filler: str) -> str:
    """A message with another document, or, where it has none, with filler before its own words."""
    return content.replace(context, document, 1) if context and context in content else filler + content


def _end(request: Request, tokenizer: Tokenizer) -> str:
    """What stands behind the last message where there is no chat template."""
    if request.template == "chat" and tokenizer.has_chat_template:
        return ""
    joined = raw_text(_asked(request), "")
    return request.prompt.text[len(joined) :].strip() if request.prompt.text.startswith(joined) else ""
