"""Proofs from a server's counts and answers: its template, cut prompts, mixed-up answers."""

import random
import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from needlework.core.prompts import Message, Needle, plain_turns, raw_text, rendered_prompt
from needlework.models.model import Calibration, Request, Response, starts_answer
from needlework.models.tokenizers.tokenizer import Tokenizer

# The short requests are the trial itself with another text: the same messages, template, question and end, the document
# replaced by the needle alone (with another value) between filler sentences. What the server's template adds or
# leaves out is then the same as in the trial. Every message of the second request is longer than that of the first, so
# that a server which drops one of them, or counts with another tokenizer, shows two different differences.
#
# In place of a conversation's hundreds of messages the short requests have one round and three.
FILLER = "On 12 March 1921 the ferry Ægir left Skagen at 6:45 with 38 crates of tea; 红房子在河边。 "
_MOST_PER_MESSAGE = 16  # tokens that a template adds for a message beside ours, or leaves out
_REPEATS = (1, 2)  # sentences of filler in the first and in the second request


def layout_of(request: Request, tokenizer: Tokenizer) -> tuple[str, ...]:
    """The layout that fixes a template's size: endpoint, roles in order, a raw prompt's last words."""
    roles: list[str] = [message.role for message in _before_answer(request)]
    if request.prompt.conversation:
        roles = [*(role for role in roles if role == "system"), "turns"]
    return (request.template, *roles, _end(request, tokenizer))


def new_short_requests(request: Request, tokenizer: Tokenizer) -> tuple[Request, Request]:
    """Two short requests like a trial's, with random values. Not trials: they have no cell."""
    short, draw = _short_conversation if request.prompt.conversation else _short, random.SystemRandom()
    one, other = (short(request, tokenizer, FILLER * repeats, draw) for repeats in _REPEATS)
    return one, other


def calibrate(
    ours: Sequence[int], responses: Sequence[Response], error: float = 0.0, messages: Sequence[int] = (0, 0)
) -> Calibration:
    """Calibrate by the responses to two short requests, which have `ours` tokens by our count.

    `error`: the share by which our count may be off, where another tokenizer than the model's counts. `messages`: their
    numbers. Where these differ, a template that adds some tokens for each message is told from one that adds a
    constant; a trial's own count then shows whether that holds.
    """
    for response in responses:
        if response.error is not None:
            return Calibration("failed", why=f"a short request failed: {response.error.message}")
        if response.stale:
            return Calibration("stale", why=f"the server mixes requests up, as two short ones show: {response.stale}")
    ids_differ = are_unique(responses[0].id, responses[1].id)
    served = [response.prompt_tokens for response in responses]
    if served[0] is None or served[1] is None:
        return Calibration("no_usage", ids_differ=ids_differ, why="the server does not count tokens")
    less = [served[0] - ours[0], served[1] - ours[1]]
    with_cached = [less[0] + (responses[0].cached_tokens or 0), less[1] + (responses[1].cached_tokens or 0)]
    if error:
        why = f"another tokenizer than the model's counts, off by about {error:.1%}"
        return Calibration("approximate", min(less, key=abs), ids_differ, why, error)
    for differences in (less, with_cached):
        if abs(differences[0] - differences[1]) <= 1:
            return Calibration("exact", min(differences, key=abs), ids_differ)
    more = messages[1] - messages[0]
    per_message, rest = divmod(less[1] - less[0], more) if more else (0, 1)
    if rest == 0 and abs(per_message) <= _MOST_PER_MESSAGE:
        constant = less[0] - per_message * messages[0]
        return Calibration("exact", constant, ids_differ, message_tokens=per_message)
    seen = ", ".join(f"{counted} for {tokens}" for counted, tokens in zip(served, ours, strict=True))
    why = f"short requests show no constant difference ({seen}): it has another tokenizer than --tokenizer, or"
    return Calibration("inconsistent", why=f"{why} messages get lost")


def _before_answer(request: Request) -> tuple[Message, ...]:
    """The messages without a started answer: a server that closes it counts too many tokens."""
    return request.prompt.messages[:-1] if starts_answer(request) else request.prompt.messages


def _short(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    needles = tuple(_revalued(needle, draw) for needle in request.needles)
    document = filler + " ".join(needle.text for needle in needles)
    start, end = request.prompt.context
    context = request.prompt.text[start:end]
    messages = tuple(
        Message(message.role, _shortened(message.content, context, document, filler))
        for message in _before_answer(request)
    )
    raw = raw_text(messages, _end(request, tokenizer)) or document
    return _with_messages(request, tokenizer, messages, raw, needles)


def _short_conversation(request: Request, tokenizer: Tokenizer, filler: str, draw: random.Random) -> Request:
    """The question behind few turns, in place of many: one round, or three with a filler of two sentences."""
    messages_before = _before_answer(request)
    value = str(draw.randrange(1_000_000, 10_000_000))
    rounds = [(Message("user", filler.strip()), Message("assistant", f"{filler}{value}"))]
    rounds += [(Message("user", "Go on."), Message("assistant", filler.strip()))] * (2 * (filler.count(FILLER) - 1))
    system = [Message("system", filler + message.content) for message in messages_before if message.role == "system"]
    question = Message(messages_before[-1].role, filler + messages_before[-1].content)
    messages = (*system, *(message for each in rounds for message in each), question)
    needle = Needle("value", f"{filler}{value}", "", value)
    return _with_messages(request, tokenizer, messages, plain_turns(messages, "en"), (needle,))


def _with_messages(
    request: Request, tokenizer: Tokenizer, messages: tuple[Message, ...], raw: str, needles: tuple[Needle, ...]
) -> Request:
    """The request with other messages and needles; `raw`: its text where there is no chat template."""
    chat = request.template == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if chat else raw
    bos = np.asarray(() if chat else tokenizer.bos, dtype=np.int32)
    prompt = rendered_prompt(messages, text, np.concatenate([bos, tokenizer.encode(text).ids]))
    return replace(request, prompt=prompt, cell=None, needles=needles, answer="".join(each.answer for each in needles))


def _revalued(needle: Needle, draw: random.Random) -> Needle:
    """The needle with a new random number in place of its value."""
    value = str(draw.randrange(1_000_000, 10_000_000))
    if needle.answer and needle.answer in needle.text:
        return replace(needle, text=needle.text.replace(needle.answer, value), answer=value, accepted=())
    return replace(needle, text=f"{needle.question} {value}.", answer=value, accepted=())


def _shortened(content: str, context: str, document: str, filler: str) -> str:
    """A message with another document, or, where it has none, with filler before its own words."""
    return content.replace(context, document, 1) if context and context in content else filler + content


def _end(request: Request, tokenizer: Tokenizer) -> str:
    """The text behind the last message where there is no chat template."""
    if request.template == "chat" and tokenizer.has_chat_template:
        return ""
    joined = raw_text(_before_answer(request), "")
    return request.prompt.text[len(joined) :].strip() if request.prompt.text.startswith(joined) else ""


def tokens_read(ours: int, response: Response) -> int:
    """Tokens that the server has read of a prompt of `ours`: some leave cached ones out of `usage`."""
    served = response.prompt_tokens or 0
    whole = served + (response.cached_tokens or 0)
    return min(served, whole, key=lambda tokens: abs(tokens - ours))


_LEAST = 0.02  # least share by which one prompt is longer than another, for equal counts to prove a cut
_ALIKE = 2  # tokens; counts that differ by no more are the same


class Growth:
    """A server's counts so far. May be used from many threads at once.

    A prompt that is surely longer than another, by more than both counts may be off, and for which the server counts no
    more tokens, was cut: the server has an undeclared window. The first of such prompts proves nothing by
    itself; of two that were cut to one size the longer one is reported.
    """

    def __init__(self, error: float) -> None:
        """`error`: the share by which our counts may be off."""
        self._lock = threading.Lock()
        self._surely = 1 + max(_LEAST, 3 * error)
        self._counts: dict[int, int] = {}

    def problem(self, ours: int, response: Response) -> str:
        """The proof that the server has read less than this prompt of `ours` tokens; empty without one."""
        if response.prompt_tokens is None:
            return ""
        served = tokens_read(ours, response)
        with self._lock:
            shorter = [
                (tokens, counted)
                for tokens, counted in self._counts.items()
                if ours > self._surely * tokens and served <= counted + _ALIKE
            ]
            self._counts[ours] = min(served, self._counts.get(ours, served))
        if not shorter:
            return ""
        tokens, counted = max(shorter)
        return f"the server counted {served} tokens of a prompt of about {ours}, and {counted} of one of about {tokens}"


_NUMBER = re.compile(r"\d{5,}")
_GROUPING = re.compile(r"(?<=\d)[,，'’_\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_ID_SIGNS = 12  # Ollama's ids are numbers below 1000, and come again soon


class Replays:
    """The prompts of a server and the ids of its answers. May be used from many threads at once.

    Two kinds of evidence. The answer gives the value of another request's needle and none of its own, and that value
    stands nowhere in its own prompt: needle values are numbers of five digits or more, drawn at random, so no model
    guesses one. Or the response's id was given to another prompt before: only for servers whose ids were seen to be
    long and to differ (`ids_differ`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._ids: dict[str, str] = {}
        self.ids_differ = False

    def ask(self, request: Request) -> None:
        """Remember the values of a request that is about to be asked."""
        with self._lock:
            self._values |= values_of(request)

    def problem(self, request: Request, text: str, id_: str) -> str:
        """The proof that this is the answer to another request; empty without one."""
        expected, values = values_of(request), _numbers(text)
        with self._lock:
            others = values & self._values
            before = self._ids.setdefault(id_, request.prompt.text_sha256) if _is_unique(id_) else ""
        if self.ids_differ and before not in ("", request.prompt.text_sha256):
            return "the answer to another request: its id was given to another prompt before"
        foreign = sorted(value for value in others if value not in request.prompt.text)
        if not foreign or values & expected:
            return ""
        return f"the answer to another request: it gives {foreign[0]}, which that one asked for and this prompt lacks"


def are_unique(one: str, other: str) -> bool:
    """Whether the ids of two answers show that each answer gets one of its own."""
    return one != other and _is_unique(one) and _is_unique(other)


def values_of(request: Request) -> frozenset[str]:
    """The values of a request's needles that no model could guess."""
    return frozenset(needle.answer for needle in request.needles if _NUMBER.fullmatch(needle.answer))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", _GROUPING.sub("", text))))


def _is_unique(id_: str) -> bool:
    """Whether an id is long enough to be unique, without a prefix such as `chatcmpl-`."""
    return sum(char.isalnum() for char in id_.rpartition("cmpl-")[2]) >= _ID_SIGNS
