"""The parts that your own tasks are made of; see docs/extend.md. Each is imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.core.errors import InputError as InputError
    from needlework.core.grid import Cell as Cell
    from needlework.core.prompts import Message as Message
    from needlework.core.prompts import Needle as Needle
    from needlework.core.settings import Suite as Suite
    from needlework.haystack_fixtures.haystacks.conversations import Conversation as Conversation
    from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation as GrowingConversation
    from needlework.haystack_fixtures.haystacks.conversations import Round as Round
    from needlework.haystack_fixtures.haystacks.documents import Document as Document
    from needlework.haystack_fixtures.haystacks.listing import Listing as Listing
    from needlework.haystack_fixtures.tasks.task import FollowUp as FollowUp
    from needlework.haystack_fixtures.tasks.task import Prose as Prose
    from needlework.haystack_fixtures.tasks.task import Question as Question
    from needlework.haystack_fixtures.tasks.task import Task as Task

_MODULES = {
    "core.errors": ("InputError",),
    "core.grid": ("Cell",),
    "core.prompts": ("Message", "Needle"),
    "core.settings": ("Suite",),
    "haystack_fixtures.haystacks.conversations": ("Conversation", "GrowingConversation", "Round"),
    "haystack_fixtures.haystacks.documents": ("Document",),
    "haystack_fixtures.haystacks.listing": ("Listing",),
    "haystack_fixtures.tasks.task": ("FollowUp", "Prose", "Question", "Task"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"needlework.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
