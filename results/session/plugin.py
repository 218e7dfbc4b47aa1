"""The pytest side of recording: every cell's record, in the process that ran it."""

from __future__ import annotations

pytest_plugins = (
    "needlework.results.session.start",
    "needlework.results.session.benchmark",
    "needlework.results.session.sharding",
    "needlework.results.session.plan",
    "needlework.results.session.batches",
    "needlework.results.session.answers",
    "needlework.results.session.letters",
    "needlework.results.session.reports",
)
