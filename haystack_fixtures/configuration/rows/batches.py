"""Options of batch services: requests go to a file, answers come from files."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import SEND, Option
from needlework.haystack_fixtures.settings.option_values import file_limits, path

OPTIONS: tuple[Option, ...] = (
    Option(
        "batch-out",
        SEND,
        "write the requests of all cells without an answer to this file, in OpenAI's batch format, and ask nobody",
        path,
        metavar="FILE",
    ),
    Option(
        "batch-in",
        SEND,
        "take answers from this file of a batch service and ask nobody; may be given several times",
        path,
        metavar="FILE",
        repeatable=True,
    ),
    Option(
        "batch-limits",
        SEND,
        "with --batch-out: most requests and most megabytes of a file; what is more goes into a further file",
        file_limits,
        "50000,200",
        metavar="REQUESTS,MB",
    ),
)
