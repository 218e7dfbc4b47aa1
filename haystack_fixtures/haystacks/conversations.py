"""Contexts of conversations: given ones and growing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.prompts import Message, Prompt, merge_roles, rendered_prompt, text_sha256
from needlework.core.record import NeedleFacts
from needlework.haystack_fixtures.haystacks.frame import OuterText, gap
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from needlework.haystack_fixtures.haystacks.splice import Encode
from needlework.models.tokenizers.tokenizer import Tokenizer


# A round is a turn of the user and the assistant's reply to it. Rounds are the units of a list, with what the chat
# template writes between turns in them; what the length leaves free lengthens the reply of a closing round, which
# stands between the last of them and the question.
@dataclass(frozen=True, slots=True)
class Round:
    """The user's message and the assistant's reply, without outer spaces: templates trim them."""

    ask: str
    reply: str


@dataclass(frozen=True, slots=True)
class GrowingConversation:
    """A conversation by its number of rounds; needles are rounds among them."""

    rounds: Callable[[int], Sequence[Round]]  # the first n
    closing: Round | None  # its reply is padded to the exact length; without it prompts may be shorter
    fewest: int = 1
    most: int | None = None


def list_of_rounds(conversation: GrowingConversation, joints: Joints) -> Listing:
    """The conversation as a list whose units are rounds as the template writes them."""
    closing = conversation.closing
    return Listing(
        units=lambda n: [_written(each, joints) for each in conversation.rounds(n)],
        closing=f"{closing.ask}{joints.reply}{closing.reply}" if closing else "",
        fewest=conversation.fewest,
        most=conversation.most,
        fill=closing is not None,
        joined=True,
    )


def build_conversation(
    outer: OuterMessages,
    joints: Joints,
    conversation: GrowingConversation,
    sources: ListSources,
    prose: str,
    needles: Sequence[tuple[str, Round]],
    depths: Sequence[float],
    *,
    budget: int,
    encode: Encode,
    reserved: int = 0,
) -> Prompt:
    """Build the prompt of a conversation of `budget` tokens, its question behind the closing round.

    Needles (name, round) stand whole between two rounds, nearest to their depths; `placed` has the span of each one's
    reply. `sources`: of `list_of_rounds`. `context`: the rounds, the closing one left out. Other arguments as for
    `build_listing`. Raises `InputError` when the budget cannot hold them, or when the template changes a turn.
    """
    after = (joints.ask if conversation.closing else "") + joints.tail
    prompt, n = build_listing(
        OuterText(joints.head, after, outer.bos, lambda _context: (), budget, encode, reserved),
        sources,
        prose,
        [(name, _written(each, joints)) for name, each in needles],
        depths,
    )
    begin, end = prompt.context
    rounds = list(_in_order(conversation.rounds(n), prompt, dict(needles), joints))
    if conversation.closing:
        tail = joints.ask + joints.tail
        reply = prompt.text[end + len(conversation.closing.ask + joints.reply) : len(prompt.text) - len(tail)]
        rounds.append(Round(conversation.closing.ask, reply))
    turns = [(Message("user", each.ask), Message("assistant", each.reply)) for each in rounds]
    messages, text = outer.rendered([turn for pair in turns for turn in pair])
    if text != prompt.text:
        raise irregular()
    return replace(
        prompt,
        make_messages=lambda _text: messages,
        context=(begin, end - len(joints.ask)),
        # The place of a round's reply alone; tokens and depth stay those of the round.
        placed=tuple(
            structs.replace(placed, start=placed.start + len(each.ask + joints.reply), end=placed.end - len(joints.ask))
            for placed, (_, each) in zip(prompt.placed, needles, strict=True)
        ),
        flags=(*prompt.flags, "merged_roles") if outer.merged else prompt.flags,
        conversation=True,
    )


def _written(turns: Round, joints: Joints) -> str:
    return f"{turns.ask}{joints.reply}{turns.reply}{joints.ask}"


def _in_order(rounds: Sequence[Round], prompt: Prompt, needles: dict[str, Round], joints: Joints) -> Iterator[Round]:
    """The rounds as they stand in the prompt, needles among them."""
    starts = {placed.start: needles[placed.name] for placed in prompt.placed}
    rest, at = iter(rounds), prompt.context[0]
    while at < prompt.context[1]:
        turns = starts.get(at) or next(rest)
        yield turns
        at += len(_written(turns, joints))


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation, in any order of roles; without the question that follows."""

    turns: tuple[Message, ...]
    target: int | None = None  # the turn that the question asks for; its place and depth are recorded
    by_window: bool = False  # it may fill the model's window; else its cell's length


def build_given(tokenizer: Tokenizer, conversation: Conversation, outer: OuterMessages, *, budget: int) -> Prompt:
    """Build the prompt of a conversation as it is. `slack` is negative if it exceeds the budget.

    Neighbours of one role are sent as they are; where the chat template refuses that, they are joined, and the prompt
    has the flag `merged_roles`. Raises `InputError` where the template refuses the messages or changes a turn.
    """
    turns = conversation.turns
    outer = outer.accepted(turns)
    messages, text = outer.rendered(turns)
    encoded = tokenizer.encode(text)
    ids = np.concatenate((np.asarray(outer.bos, np.int32), encoded.ids))
    spans = spans_of([turn.content for turn in turns], text)
    context = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    tokens = encoded.starts.searchsorted(np.asarray([context, *spans], np.int64)).tolist()
    (first, last), turns_tokens = tokens[0], tokens[1:]
    placed: tuple[NeedleFacts, ...] = ()
    if conversation.target is not None:
        low, high = turns_tokens[conversation.target]
        depth = 100 * (low - first) / max(1, last - first - (high - low))
        start, end = spans[conversation.target]
        tokens = {"tokens_before": low - first, "tokens": high - low}
        name = f"turn{conversation.target}"
        placed = (NeedleFacts(name=name, start=start, end=end, **tokens, requested=depth, depth=depth),)
    return rendered_prompt(
        messages,
        text,
        ids,
        context=context,
        context_tokens=last - first,
        placed=placed,
        slack=budget - len(ids),
        filler_sha256=text_sha256(text[slice(*context)]),
        flags=("merged_roles",) if outer.merged else (),
        conversation=True,
    )


def spans_of(contents: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Find each text in the rendered one, behind the previous. Raises `InputError` if one is missing."""
    spans, end = [], 0
    for number, content in enumerate(contents):
        # Most templates trim texts.
        stripped = content.strip()
        start = text.find(stripped, end)
        if start < 0:
            remedy = f"the model's chat template changes the text of turn {number}: use --template raw"
            raise InputError("--template", "chat", remedy)
        end = start + len(stripped)
        spans.append((start, end))
    return spans


# A chat template is a program. What it writes between turns is found by rendering marks in place of their texts; where
# that is the same everywhere, the length of a conversation is a sum over its parts.
_PROBED = (4, 7)  # rounds of the conversations of marks


@dataclass(frozen=True, slots=True)
class OuterMessages:
    """The messages of a prompt before and after its turns."""

    before: tuple[Message, ...]
    opening: str  # the start of the first turn
    after: tuple[Message, ...]  # the last has the question
    bos: tuple[int, ...]
    render: Callable[[Sequence[Message]], str]  # the text before the answer
    prefix: str = ""  # the start of the answer
    merged: bool = False  # neighbours of one role are one message

    def rendered(self, turns: Sequence[Message]) -> tuple[tuple[Message, ...], str]:
        """The messages with these turns, and their text. Raises `InputError` if the template refuses them."""
        opened = [replace(turn, content=self.opening + turn.content) for turn in turns[:1]]
        messages = (*self.before, *opened, *turns[1:], *self.after)
        messages = merge_roles(messages) if self.merged else messages
        text = self.render(messages)
        if not self.prefix:
            return messages, text
        return (*messages, Message("assistant", self.prefix)), text + gap(text, self.prefix) + self.prefix

    def accepted(self, turns: Sequence[Message]) -> OuterMessages:
        """Itself, or with neighbours of one role merged if the chat template refuses them otherwise."""
        try:
            self.rendered(turns)
        except InputError as refused:
            merged = replace(self, merged=True)
            try:
                merged.rendered(turns)
            except InputError:
                raise refused from None
            return merged
        return self


@dataclass(frozen=True, slots=True)
class Joints:
    """Texts between turns.
    `head`: before the first. `reply`: from user to assistant. `ask`: from assistant to user. `tail`: the rest."""

    head: str
    reply: str
    ask: str
    tail: str


def joints_of(outer: OuterMessages) -> tuple[OuterMessages, Joints]:
    """The joints of a chat template, and the messages in a form that it accepts.

    Raises `InputError` for a template that refuses the messages, or that does not write the same between all turns.
    """
    outer = outer.accepted(_marks(_PROBED[0]))
    few, many = (_joints(outer, rounds) for rounds in _PROBED)
    if few is None or few != many:
        raise irregular()
    return outer, few


def irregular() -> InputError:
    """The error of a template that treats turns by their number or content."""
    remedy = "the model's chat template does not write all turns of a conversation alike: use --template raw"
    return InputError("--template", "chat", remedy)


def _marks(rounds: int) -> list[Message]:
    """Turns of private-use characters, which no template and no text has by chance."""
    return [Message(("user", "assistant")[number % 2], f"\ue000{number}\ue001") for number in range(2 * rounds)]


def _joints(outer: OuterMessages, rounds: int) -> Joints | None:
    """The text between the marks; `None` where it varies."""
    marks = _marks(rounds)
    parts, rest = [], outer.rendered(marks)[1]
    for turn in marks:
        part, mark, rest = rest.partition(turn.content)
        if not mark:
            return None
        parts.append(part)
    replies, asks = set(parts[1::2]), set(parts[2::2])
    if len(replies) != 1 or len(asks) != 1 or "\ue000" in rest:
        return None
    [reply], [ask] = replies, asks
    # Some templates put the system prompt into the last message.
    return Joints(parts[0], reply, ask, rest.removeprefix(ask)) if rest.startswith(ask) else None
