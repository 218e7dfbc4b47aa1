"""Questions about the whole text: how many, how many different, which number, which words most often."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.aggregate import common_words, count, distinct, numbers

TASKS = (count.TASK, distinct.TASK, numbers.TASK, common_words.TASK)
