"""The pytest side of asking: options, cells as parameters, fixtures. Importing it imports no model library."""

from __future__ import annotations

pytest_plugins = (
    "needlework.haystack_fixtures.session.options",
    "needlework.haystack_fixtures.session.start",
    "needlework.haystack_fixtures.session.collection",
    "needlework.haystack_fixtures.session.limiting",
    "needlework.haystack_fixtures.session.sharding",
    "needlework.haystack_fixtures.session.fixtures",
    "needlework.haystack_fixtures.session.plan",
    "needlework.haystack_fixtures.session.batches",
    "needlework.haystack_fixtures.session.end",
)
