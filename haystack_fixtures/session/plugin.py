"""The pytest side of asking: options, cells as parameters, fixtures. Importing it imports no model library."""

from __future__ import annotations

from needlework.haystack_fixtures.session import (
    batches,
    collection,
    end,
    fixtures,
    limiting,
    options,
    plan,
    sharding,
    start,
)

PARTS = (options, start, collection, limiting, sharding, fixtures, plan, batches, end)
