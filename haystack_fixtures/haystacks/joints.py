"""What stands around the turns of a conversation and between them, in the text that the model sees.

A chat template is a program. What it writes between turns is found by rendering marks in place of their texts; where
that is the same everywhere, the length of a conversation is a sum over its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.haystacks.placement import gap
from needlework.haystack_fixtures.prompts.prompt import Message
from needlework.haystack_fixtures.prompts.turns import Turn, merge_roles

_PROBED = (4, 7)  # rounds of the conversations of marks


@dataclass(frozen=True, slots=True)
class AroundTurns:
    """What stands around turns.

    `before`, `after`: messages; the last has the question. `opening` begins the first turn. `render`: the text that the
    model sees for messages, up to where its answer begins. `prefix`: how the answer begins. `merged`: neighbours of one
    role are one message.
    """

    before: tuple[Message, ...]
    opening: str
    after: tuple[Message, ...]
    bos: tuple[int, ...]
    render: Callable[[Sequence[Message]], str]
    prefix: str = ""
    merged: bool = False

    def rendered(self, turns: Sequence[Turn]) -> tuple[tuple[Message, ...], str]:
        """The messages with these turns, and their text. Raises `InputError` where the chat template refuses them."""
        said = [Message(turn.role, turn.text) for turn in turns]
        if said:
            said[0] = Message(said[0].role, self.opening + said[0].content)
        messages = (*self.before, *said, *self.after)
        messages = merge_roles(messages) if self.merged else messages
        text = self.render(messages)
        if not self.prefix:
            return messages, text
        return (*messages, Message("assistant", self.prefix)), text + gap(text, self.prefix) + self.prefix

    def accepted(self, turns: Sequence[Turn]) -> AroundTurns:
        """The same, or with neighbours of one role merged where the chat template refuses them as they are."""
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
    """Texts around turns: before the first, between a user's and the assistant's, from that to the next user's, and
    all that stands behind the one before the question."""

    head: str
    reply: str
    ask: str
    tail: str


def joints_of(around: AroundTurns) -> tuple[AroundTurns, Joints]:
    """The joints of a chat template, and what to render with it.

    Raises `InputError` for a template that refuses the messages, or that does not write the same between all turns.
    """
    around = around.accepted(_marks(_PROBED[0]))
    few, many = (_joints(around, rounds) for rounds in _PROBED)
    if few is None or few != many:
        raise irregular()
    return around, few


def irregular() -> InputError:
    """What is wrong with a template that treats turns by their number or content."""
    remedy = "the model's chat template does not write all turns of a conversation alike: use --template raw"
    return InputError("--template", "chat", remedy)


def _marks(rounds: int) -> list[Turn]:
    """Turns of private-use characters, which no template and no text has by chance."""
    return [Turn(("user", "assistant")[number % 2], f"\ue000{number}\ue001") for number in range(2 * rounds)]


def _joints(around: AroundTurns, rounds: int) -> Joints | None:
    """What stands between the marks; `None` where it is not always the same."""
    marks = _marks(rounds)
    parts, rest = [], around.rendered(marks)[1]
    for turn in marks:
        part, mark, rest = rest.partition(turn.text)
        if not mark:
            return None
        parts.append(part)
    replies, asks = set(parts[1::2]), set(parts[2::2])
    if len(replies) != 1 or len(asks) != 1 or "\ue000" in rest:
        return None
    [reply], [ask] = replies, asks
    # Some templates put the system prompt into the last message.
    return Joints(parts[0], reply, ask, rest.removeprefix(ask)) if rest.startswith(ask) else None
