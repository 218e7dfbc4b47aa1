"""Contexts that are a conversation of any length: as many rounds as fit, and the wanted ones at their depths.

A round is a turn of the user and the assistant's reply to it. Rounds are the units of a list, with what the chat
template writes between turns in them; what the length leaves free lengthens the reply of a closing round, which stands
between the last of them and the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from needlework.haystack_fixtures.haystacks.joints import AroundTurns, Joints, irregular
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from needlework.haystack_fixtures.haystacks.pieces import WindowMemo
from needlework.haystack_fixtures.prompts.prompt import PlacedNeedle, Prompt, Written
from needlework.haystack_fixtures.prompts.turns import Turn
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Round:
    """What the user says, and the assistant's reply. Neither begins or ends with a space: templates trim."""

    ask: str
    reply: str


@dataclass(frozen=True, slots=True)
class GrowingConversation:
    """A conversation by its number of rounds.

    `rounds(n)`: its first n. `closing`: the round whose reply is lengthened so that the prompt has its exact length;
    without it a prompt is as long as it is. `fewest`, `most`: bounds of n. Needles are rounds among them.
    """

    rounds: Callable[[int], Sequence[Round]]
    closing: Round | None
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
    tokenizer: Tokenizer,
    conversation: GrowingConversation,
    around: AroundTurns,
    joints: Joints,
    *,
    sources: ListSources,
    prose: str,
    needles: Sequence[tuple[str, Round]],
    depths: Sequence[float],
    token_budget: int,
    reserved: int = 0,
    memo: WindowMemo | None = None,
) -> Prompt:
    """Build the prompt of a conversation of `token_budget` tokens, its question behind the closing round.

    Needles (name, round) stand whole between two rounds, nearest to their depths; `placed` has the span of each one's
    reply. `sources`: of `list_of_rounds`. `context`: the rounds, the closing one left out. Other arguments as for
    `build_listing`. Raises `InputError` when the budget cannot hold them, or when the template changes a turn.
    """
    prompt, n = build_listing(
        tokenizer,
        before=joints.head,
        after=(joints.ask if conversation.closing else "") + joints.tail,
        listing=list_of_rounds(conversation, joints),
        sources=sources,
        prose=prose,
        needles=[(name, _written(each, joints)) for name, each in needles],
        depths=depths,
        token_budget=token_budget,
        messages=lambda _context: (),
        bos=around.bos,
        reserved=reserved,
        memo=memo,
    )
    begin, end = prompt.context
    rounds = list(_in_order(conversation.rounds(n), prompt, dict(needles), joints))
    if conversation.closing:
        tail = joints.ask + joints.tail
        reply = prompt.text[end + len(conversation.closing.ask + joints.reply) : len(prompt.text) - len(tail)]
        rounds.append(Round(conversation.closing.ask, reply))
    messages, text = around.rendered([turn for each in rounds for turn in _turns(each)])
    if text != prompt.text:
        raise irregular()
    return replace(
        prompt,
        forms=Written(messages, text, prompt.ids),
        context=(begin, end - len(joints.ask)),
        placed=tuple(_narrowed(placed, each, joints) for placed, (_, each) in zip(prompt.placed, needles, strict=True)),
        flags=(*prompt.flags, "merged_roles") if around.merged else prompt.flags,
        conversation=True,
    )


def _turns(each: Round) -> tuple[Turn, Turn]:
    return Turn("user", each.ask), Turn("assistant", each.reply)


def _written(each: Round, joints: Joints) -> str:
    return f"{each.ask}{joints.reply}{each.reply}{joints.ask}"


def _in_order(rounds: Sequence[Round], prompt: Prompt, needles: dict[str, Round], joints: Joints) -> Iterator[Round]:
    """The rounds as they stand in the prompt, needles among them."""
    starts = {placed.start: needles[placed.name] for placed in prompt.placed}
    rest, place = iter(rounds), prompt.context[0]
    while place < prompt.context[1]:
        each = starts.get(place) or next(rest)
        yield each
        place += len(_written(each, joints))


def _narrowed(placed: PlacedNeedle, each: Round, joints: Joints) -> PlacedNeedle:
    """The place of a round's reply alone; tokens and depth stay those of the round."""
    return replace(placed, start=placed.start + len(each.ask + joints.reply), end=placed.end - len(joints.ask))
