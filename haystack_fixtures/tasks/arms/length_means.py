"""Whether a task's length may be that of its context alone (`--length-means context`)."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.haystacks.conversation import GrowingConversation
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Context, Prose


def check_length_means(suite: Suite, context: Context) -> None:
    """Refuse `context` for what is not filled up to a length: documents, conversations, a text to copy.

    Raises `InputError`.
    """
    if suite.length_means == "total" or isinstance(context, Prose) or (isinstance(context, Listing) and context.fill):
        return
    if isinstance(context, GrowingConversation | Conversation):
        asks = "conversations, whose turns are no text by itself"
    elif isinstance(context, Listing):
        asks = "a text that is as long as it is"
    else:
        asks = "documents as they are"
    remedy = f"{suite.task} asks about {asks}: its lengths are total; give it a run of its own (--task)"
    raise InputError("--length-means", "context", remedy)
