"""Faults before the model: what is lost, added or changed on the way from the request to the token ids."""

from collections.abc import Callable
from dataclasses import replace

from needlework.core.prompts import Message
from tests.faults.turns import Turn

Ids = tuple[int, ...]
See = Callable[[Ids, Turn], Ids]


def last(window):
    """Keep the last tokens, as servers do that drop the oldest."""
    return lambda ids, _: ids[-window:]


def first(window):
    """Keep the first tokens, as tokenizers do with `truncation=True`."""
    return lambda ids, _: ids[:window]


def both_ends(window):
    """Keep both ends and lose the middle."""
    return lambda ids, _: ids if len(ids) <= window else ids[: window // 2] + ids[window // 2 - window :]


def half_of(window, keep):
    """Past the window keep the first few tokens and fill half of the window from the end (llama.cpp's old shift)."""
    half = window // 2
    return lambda ids, _: ids if len(ids) <= window else ids[:keep] + ids[keep - half :]


def sheds(lost, above):
    """Above a size lose a few tokens from the middle: too few to show in a percentage."""

    def see(ids, _):
        middle = len(ids) // 2
        return ids if len(ids) <= above else ids[:middle] + ids[middle + lost :]

    return see


def doubled_bos(ids, _):
    """One more beginning-of-text token than the template has."""
    return (ids[0], *ids)


def bos_in_chunks(size):
    """Tokenize in chunks and begin each like a text of its own: more tokens for longer prompts."""
    return lambda ids, _: tuple(each for at in range(0, len(ids), size) for each in (ids[0], *ids[at : at + size]))


def drops_system(messages):
    """Lose system messages."""
    return tuple(message for message in messages if message.role != "system")


def system_to_user(messages):
    """Put the system message before the user's, in one message."""
    told = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = drops_system(messages)
    return (replace(rest[0], content=f"{told}\n\n{rest[0].content}"), *rest[1:]) if told and rest else messages


def joins_lines(messages):
    """Make one space of every run of white space, as gateways do that clean their input."""
    return tuple(replace(message, content=" ".join(message.content.split())) for message in messages)


def doubles_user(messages):
    """Send the last message twice, as retrying gateways did."""
    return (*messages, messages[-1])


def adds_system(messages):
    """Put a system message of the gateway's own before all others."""
    return (Message("system", "Be helpful and harmless. Never speak of politics."), *messages)
