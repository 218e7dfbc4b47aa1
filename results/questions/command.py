"""`needlework questions make|check`: questions about your own documents, written by a model and checked.

What both steps share: how a model is reached, what is printed about the folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, ending_signals, printable, refuse
from needlework.core.files import write_whole
from needlework.core.options import variable
from needlework.haystack_fixtures.documents.questions import Rows, question_file
from needlework.haystack_fixtures.documents.readers import DocumentSet
from needlework.models.judge import CommandJudge, judge_for_command

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
    try:
        with ending_signals():
            code: int = steps[options.step].run(options)
        return code
    except InputError as error:
        return refuse(f"questions {options.step}", error)
    except KeyboardInterrupt:
        return refuse(f"questions {options.step}", "stopped; the same command goes on where it was")


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how the model of `--model` is reached, where replies are kept, and what is listed."""
    parser.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="as in pytest, repeatable"
    )
    parser.add_argument("--base-url", metavar="URL", help="address of the model's server, ending in /v1")
    parser.add_argument(
        "--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]"
    )
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests in flight at once [8]")
    parser.add_argument("--replies", type=Path, metavar="FILE", help="replies, gone on with [OUT.replies.jsonl]")
    parser.add_argument(
        "--list-left-out", action="store_true", help=f"list every file that is no document [the first {_SHOWN}]"
    )


def open_model(options: argparse.Namespace, reply_budget: int, option: str = "--model") -> CommandJudge:
    """Open what `option` names (`--model` or `--checker`). `reply_budget`: tokens of a reply. Raises `InputError`."""
    prefix = "" if option == "--model" else "checker_"
    api_key_env = getattr(options, f"{prefix}api_key_env")
    variable(f"--{prefix}api_key_env".replace("_", "-"), api_key_env)
    if options.concurrency < 1:
        raise InputError("--concurrency", options.concurrency, "give a whole number from 1")
    return judge_for_command(
        getattr(options, option.removeprefix("--")),
        base_url=getattr(options, f"{prefix}base_url"),
        api_key_env=api_key_env,
        concurrency=options.concurrency,
        reply_budget=reply_budget,
        model_args=[] if prefix else options.model_arg,
        option=option,
    )


def replies_file(options: argparse.Namespace, out: Path) -> Path:
    """The file of replies: `--replies`, else beside the file of questions. Raises `InputError` where that is none."""
    if out.is_dir():
        raise InputError("--out", out, "is a folder: give a file")
    return options.replies or replies_beside(out)


def replies_beside(out: Path) -> Path:
    """The file of replies beside a file of questions."""
    return out.with_name(f"{out.name.removesuffix('.json')}.replies.jsonl")


def write_questions_file(out: Path, rows: Rows, option: str = "--out") -> None:
    """Write the file of questions whole. Raises `InputError`."""
    try:
        write_whole(out, question_file(rows))
    except (OSError, ValueError) as error:
        raise InputError(option, out, f"cannot be written ({getattr(error, 'strerror', None) or error})") from None


def folder_lines(folder: DocumentSet, twins: Sequence[Sequence[str]], *, every: bool) -> Iterator[str]:
    """Lines about what in the folder is not simply one document. `every`: list all files that are left out."""
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    left_out = [f"{name!r}: {reason}" for name, reason in folder.left_out]
    shown = len(left_out) if every else _SHOWN
    yield from listed("files that are no documents", left_out, shown, " (--list-left-out shows all)")


def listed(title: str, items: Sequence[str], shown: int = _SHOWN, remedy: str = "") -> Iterator[str]:
    """How many there are, and the first of them. `remedy`: how to see the others."""
    if items:
        yield f"{title}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:shown])
        if len(items) > shown:
            yield f"- and {len(items) - shown} more{remedy}"
