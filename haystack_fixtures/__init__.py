"""What a task of your own is made of; see docs/extend.md. Nothing is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.haystack_fixtures.errors import InputError
    from needlework.haystack_fixtures.grid.cells import Cell
    from needlework.haystack_fixtures.haystacks.conversation import GrowingConversation, Round
    from needlework.haystack_fixtures.haystacks.document import Document
    from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
    from needlework.haystack_fixtures.haystacks.listing import Listing
    from needlework.haystack_fixtures.needles.needle import Needle
    from needlework.haystack_fixtures.prompts.turns import Turn
    from needlework.haystack_fixtures.settings.settings import Suite
    from needlework.haystack_fixtures.tasks.task import Asked, FollowUp, Prose, Task

_HOME = {
    "Asked": "tasks.task",
    "Cell": "grid.cells",
    "Conversation": "haystacks.given_conversation",
    "Document": "haystacks.document",
    "FollowUp": "tasks.task",
    "GrowingConversation": "haystacks.conversation",
    "InputError": "errors",
    "Listing": "haystacks.listing",
    "Needle": "needles.needle",
    "Prose": "tasks.task",
    "Round": "haystacks.conversation",
    "Suite": "settings.settings",
    "Task": "tasks.task",
    "Turn": "prompts.turns",
}
__all__ = [
    "Asked",
    "Cell",
    "Conversation",
    "Document",
    "FollowUp",
    "GrowingConversation",
    "InputError",
    "Listing",
    "Needle",
    "Prose",
    "Round",
    "Suite",
    "Task",
    "Turn",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
