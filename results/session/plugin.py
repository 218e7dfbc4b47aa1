"""The pytest side of recording: every cell's record, in the process that ran it."""

from __future__ import annotations

from needlework.results.session import answers, batches, benchmark, letters, news, plan, reports, sharding, start

PARTS = (start, benchmark, sharding, plan, batches, answers, letters, news, reports)
