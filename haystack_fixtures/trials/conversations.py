"""The prompts of conversations: given as they are, or as many rounds as the length holds."""

from __future__ import annotations

from collections import OrderedDict

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.build import verify_prompt
from needlework.haystack_fixtures.haystacks.conversation import (
    GrowingConversation,
    Round,
    build_conversation,
    list_of_rounds,
)
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation, build_given
from needlework.haystack_fixtures.haystacks.joints import AroundTurns, Joints, joints_of
from needlework.haystack_fixtures.haystacks.listing import ListSources
from needlework.haystack_fixtures.haystacks.pieces import WindowMemo
from needlework.haystack_fixtures.prompts.prompt import Prompt
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer
from needlework.haystack_fixtures.trials.contexts import PROSE, Built
from needlework.haystack_fixtures.trials.sources import Sources

_KEPT = 4


class Conversations:
    """Builds the conversations of one tokenizer; keeps their encoded rounds. Threads may share it."""

    def __init__(self, tokenizer: Tokenizer, sources: Sources, *, verify: bool) -> None:
        """`verify`: prove each prompt by encoding it whole."""
        self._tokenizer = tokenizer
        self._sources = sources
        self._verify = verify
        self._windows = WindowMemo(tokenizer)
        self._rounds: OrderedDict[tuple[str, str, int, Joints], ListSources] = OrderedDict()

    def build(
        self, suite: Suite, cell: Cell, asked: Asked, context: Conversation | GrowingConversation, around: AroundTurns
    ) -> Built:
        """Build a cell's prompt. Raises `InputError`."""
        budget = cell.length - suite.kept_free
        skipped = ""
        if isinstance(context, Conversation):
            prompt = build_given(self._tokenizer, context, around, token_budget=budget)
            if prompt.slack < 0 and not context.by_window:
                skipped = f"its conversation needs a length of {prompt.tokens + suite.kept_free}"
        else:
            prompt = self._growing(suite, cell, asked, context, around, budget)
        if self._verify:
            verify_prompt(self._tokenizer, prompt)
        return Built(prompt, asked, skipped)

    def _growing(
        self, suite: Suite, cell: Cell, asked: Asked, context: GrowingConversation, around: AroundTurns, budget: int
    ) -> Prompt:
        around, joints = joints_of(around)
        return build_conversation(
            self._tokenizer,
            context,
            around,
            joints,
            sources=self._list_sources(cell, context, joints),
            prose=self._sources.source(suite, cell.repeat).text[:PROSE] if context.closing else "",
            needles=[(needle.name, Round(needle.ask, needle.text)) for needle in asked.needles],
            depths=asked.depths,
            token_budget=budget,
            reserved=suite.kept_free,
            memo=self._windows,
        )

    def _list_sources(self, cell: Cell, context: GrowingConversation, joints: Joints) -> ListSources:
        """The encoded rounds of a cell's trial: they are the same at every length and depth."""
        # Not the question: a follower of the same rounds has another.
        key = (cell.task, cell.needle, cell.repeat, Joints("", joints.reply, joints.ask, ""))
        found = self._rounds.pop(key, None) or ListSources(list_of_rounds(context, joints), self._tokenizer)
        self._rounds[key] = found
        if len(self._rounds) > _KEPT:
            self._rounds.popitem(last=False)
        return found
