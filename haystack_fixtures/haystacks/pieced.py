"""The forms of a prompt that was built: each is put together out of pieces when it is first asked for.

A server is sent messages, a model on this machine takes ids, and some 128,000 tokens are a megabyte in each form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.haystacks.candidate import Draft
from needlework.haystack_fixtures.haystacks.frame import Frame
from needlework.haystack_fixtures.haystacks.pieces import text_of
from needlework.haystack_fixtures.prompts.prompt import Message

# Stands in for the context while messages are laid out; private-use characters, so no text holds it by chance.
_HOLE = "\ue000context\ue001"
_SHORT = 50_000  # characters of a text that is not worth being spared


class Pieced:
    """See `prompt.Forms`."""

    def __init__(
        self, frame: Frame, draft: Draft, bos: tuple[int, ...], around: Callable[[str], tuple[Message, ...]]
    ) -> None:
        """`around` makes the messages around a context, which they hold as it is."""
        self.tokens = len(bos) + draft.spliced.count
        self._before, self._after = frame.before, frame.after
        self._source = frame.source
        self._pieces = draft.pieces
        self._spliced = draft.spliced
        self._context = draft.context
        self._short = draft.context[1] < _SHORT
        self._bos = bos
        self._around = around

    @cached_property
    def text(self) -> str:
        """The whole rendered request."""
        if self._short:
            return text_of(self._pieces)
        return "".join(self._parts(0, self._context[1] + len(self._after)))

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """The text's tokens."""
        return self._spliced.ids(self._bos)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """What a chat is asked: mostly the contents stand in the text as they are, and are made as parts of it."""
        begin, end = self._context
        made = []
        for message in self._around(_HOLE):
            head, hole, tail = message.content.partition(_HOLE)
            if hole and self._before.endswith(head) and self._after.startswith(tail):
                content = self._part(begin - len(head), end + len(tail))
            else:
                content = message.content.replace(_HOLE, self._part(begin, end)) if hole else message.content
            made.append(Message(message.role, content))
        return tuple(made)

    def _part(self, start: int, end: int) -> str:
        """Characters start..end of the text; of a long one without making all of it."""
        return self.text[start:end] if self._short else "".join(self._parts(start, end))

    def _parts(self, start: int, end: int) -> Iterator[str]:
        place = 0
        for each in self._pieces:
            size = len(each) if isinstance(each, str) else each.end - each.start
            low, high = max(start - place, 0), min(end - place, size)
            if low < high:
                if isinstance(each, str):
                    yield each[low:high]
                else:
                    yield from self._source.blocks(each.start + low, each.start + high)
            place += size
