"""NeedleBench's own tasks: chains of scattered facts, in a haystack and without one."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.needlebench import atc, reasoning

TASKS = (reasoning.TASK, atc.TASK)
