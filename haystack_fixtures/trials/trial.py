"""A trial: one cell made concrete."""

from __future__ import annotations

from dataclasses import dataclass

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.prompts.prompt import Prompt
from needlework.haystack_fixtures.retrieval.found import Retrieved
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked


@dataclass(frozen=True)
class Trial:
    """A cell made concrete: what is asked, and the prompt that asks it.

    `skipped`: why it is not to be asked. `retrieved`: where its context comes from, if a retriever found it.
    """

    cell: Cell
    suite: Suite
    asked: Asked
    prompt: Prompt
    skipped: str = ""
    retrieved: Retrieved | None = None
