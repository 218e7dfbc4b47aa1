"""Statements that look alike: the value of one key among many, all values of a key, of several keys, the newest one."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.statements import multikey, multivalue, superseded

TASKS = (multikey.TASK, multivalue.MULTIVALUE, multivalue.MULTIQUERY, superseded.TASK)
