"""Tasks on rows of published data sets: four families of the user's copies."""

from __future__ import annotations

from needlework.haystack_fixtures.tasks.published import deepmind_mrcr, graphwalks, longbench_v2, openai_mrcr

TASKS = (*openai_mrcr.TASKS, *deepmind_mrcr.TASKS, *graphwalks.TASKS, *longbench_v2.TASKS)
