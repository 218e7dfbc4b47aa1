"""RULER's 13 tasks, in the order of its table."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.ruler import frequency, niah, questions, tracking, words

TASKS = (*niah.TASKS, tracking.TASK, words.TASK, frequency.TASK, *questions.TASKS)
