"""Needles in prose, asked about one by one or together."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.needle import multi_needle, niah, parallel

TASKS = (niah.TASK, multi_needle.TASK, parallel.TASK)
