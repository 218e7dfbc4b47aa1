"""What a task of your own is made of; see docs/extend.md. Nothing is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.core.errors import InputError
    from needlework.core.grid import Cell
    from needlework.core.prompts import Needle, Turn
    from needlework.core.settings import Suite
    from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation, Round
    from needlework.haystack_fixtures.haystacks.documents import Document
    from needlework.haystack_fixtures.haystacks.listing import Listing
    from needlework.haystack_fixtures.tasks.task import FollowUp, Prose, Question, Task

_HOME = {
    "Cell": "needlework.core.grid",
    "Conversation": "needlework.haystack_fixtures.haystacks.conversations",
    "Document": "needlework.haystack_fixtures.haystacks.documents",
    "FollowUp": "needlework.haystack_fixtures.tasks.task",
    "GrowingConversation": "needlework.haystack_fixtures.haystacks.conversations",
    "InputError": "needlework.core.errors",
    "Listing": "needlework.haystack_fixtures.haystacks.listing",
    "Needle": "needlework.core.prompts",
    "Prose": "needlework.haystack_fixtures.tasks.task",
    "Question": "needlework.haystack_fixtures.tasks.task",
    "Round": "needlework.haystack_fixtures.haystacks.conversations",
    "Suite": "needlework.core.settings",
    "Task": "needlework.haystack_fixtures.tasks.task",
    "Turn": "needlework.core.prompts",
}
__all__ = [
    "Cell",
    "Conversation",
    "Document",
    "FollowUp",
    "GrowingConversation",
    "InputError",
    "Listing",
    "Needle",
    "Prose",
    "Question",
    "Round",
    "Suite",
    "Task",
    "Turn",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
