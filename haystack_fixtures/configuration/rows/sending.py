"""Options that say how requests are sent."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import SEND, Option
from needlework.haystack_fixtures.settings.option_values import one_of, pattern, seconds, switch, whole

OPTIONS: tuple[Option, ...] = (
    Option(
        "strict-model",
        SEND,
        "answers of another model than the one asked for, by the name in the server's reply, are invalid; without it"
        " they are flagged and told",
        switch,
        "false",
        flag=True,
    ),
    Option(
        "too-long-pattern",
        SEND,
        "regular expression for how your server says that a prompt does not fit its window, where that is not"
        " recognised: such cells are skipped and no errors",
        pattern,
        metavar="REGEX",
    ),
    Option(
        "concurrency",
        SEND,
        "requests in flight at a served model, and as many at each judge, all workers together",
        whole(1),
        "8",
        metavar="N",
    ),
    Option(
        "gpus-per-worker",
        SEND,
        "with -n: cards that each worker's copy of a local model is spread over (--model-arg device_map=auto)",
        whole(1),
        "1",
        metavar="K",
    ),
    Option(
        "cache-policy",
        SEND,
        "shared: equal beginnings may be reused; isolated: every prompt begins differently",
        one_of("shared", "isolated"),
        "shared",
    ),
    Option(
        "stability",
        SEND,
        "cells to ask again, warm, cold and in a batch; answers that differ are reported beside the score",
        whole(0),
        "0",
        metavar="CELLS",
    ),
    Option("timeout", SEND, "seconds for a short request; longer prompts get more", seconds, "120", metavar="SECONDS"),
    Option("retries", SEND, "further tries after a fault that may pass", whole(0), "4", metavar="N"),
)
