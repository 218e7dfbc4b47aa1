"""The terminal as this process was given it: while a test runs, pytest has put a file in its place."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import Any

import pytest


def output_of(config: pytest.Config, *, errors: bool = False) -> int | None:
    """A descriptor of one's own of standard output (or of `errors`); `None` where there is none, in a notebook."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        stream = sys.__stderr__ if errors else sys.__stdout__
        try:
            return os.dup(stream.fileno()) if stream is not None else None
        except (OSError, ValueError):
            return None
