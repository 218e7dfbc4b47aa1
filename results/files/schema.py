"""`needlework schema`: print the JSON Schema of a record."""

import json
from collections.abc import Sequence

import msgspec

from needlework.core.errors import OneLineParser
from needlework.core.record import Record


def main(argv: Sequence[str]) -> int:
    """Print the schema (draft 2020-12) of a line of journal.jsonl, which is a row of `records` in results.json."""
    OneLineParser(prog="needlework schema", description=f"{main.__doc__}").parse_args(argv)
    print(json.dumps(msgspec.json.schema(Record), indent=1, ensure_ascii=False))
    return 0
