"""What the editor asks of a kind of file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.routing import BaseRoute


@dataclass(frozen=True, slots=True)
class EditedFile:
    """One file in the editor. `how_far`: says how far people are with it. `routes`: its addresses, below its own."""

    title: str
    how_far: Callable[[], str]
    routes: Sequence[BaseRoute]
