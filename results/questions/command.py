"""`needlework questions make|check`: questions about your own documents, written by a model and checked.

What both steps share: how a model is reached, what is printed about the folder.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, printable
from needlework.haystack_fixtures.documents.readers import DocumentSet
from needlework.results.judging.ask import add_asking_arguments, run_asking

_SHOWN = 10


def main(argv: Sequence[str]) -> int:
    """Run one step; returns its exit code, 2 after one line about what was wrong."""
    from needlework.results.questions import check, make

    steps = {"make": make, "check": check}
    parser = OneLineParser(prog="needlework questions", description=__doc__)
    parsers = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, step in steps.items():
        step.add_arguments(parsers.add_parser(name, help=step.ABOUT, description=step.__doc__))
    options = parser.parse_args(argv)
    return run_asking(f"questions {options.step}", lambda: int(steps[options.step].run(options)))


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options on reaching `--model`, on the file of replies, and on listing."""
    add = parser.add_argument
    add("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="as in pytest, repeatable")
    add("--base-url", metavar="URL", help="address of the model's server, ending in /v1")
    add("--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]")
    add_asking_arguments(parser, "OUT.replies.jsonl")
    add("--list-left-out", action="store_true", help=f"list every file that is no document [the first {_SHOWN}]")


def replies_beside(out: Path) -> Path:
    """The file of replies beside a file of questions. Raises `InputError` where that is none."""
    if out.is_dir():
        raise InputError("--out", out, "is a folder: give a file")
    return out.with_name(f"{out.name.removesuffix('.json')}.replies.jsonl")


def folder_lines(folder: DocumentSet, twins: Sequence[Sequence[str]], *, every: bool) -> Iterator[str]:
    """Lines on files that are not simply one document. `every`: list all that are left out."""
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    left_out = [f"{name!r}: {reason}" for name, reason in folder.left_out]
    shown = len(left_out) if every else _SHOWN
    yield from listed("files that are no documents", left_out, shown, " (--list-left-out shows all)")


def listed(title: str, items: Sequence[str], shown: int = _SHOWN, remedy: str = "") -> Iterator[str]:
    """Their number, and the first of them. `remedy`: the option that lists the others."""
    if items:
        yield f"{title}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:shown])
        if len(items) > shown:
            yield f"- and {len(items) - shown} more{remedy}"
