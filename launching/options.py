"""The options of `needlework launch`, before the `--` after which pytest's words stand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from needlework.haystack_fixtures.command_line import OneLineParser
from needlework.haystack_fixtures.errors import InputError

ENGINES = ("local", "slurm", "ray", "kubernetes")


def parsed(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and pytest's words. Raises `InputError`; ends the process for `--help` and wrong options."""
    words = list(argv)
    ours, after = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
    # OpenCompass: `--slurm -p PARTITION -q QOS --max-num-workers N --retry N`.
    ours = ["slurm", *(word for word in ours if word != "--slurm")] if "--slurm" in ours else ours
    parser = _parser()
    if not ours or ours[0] not in (*ENGINES, "-h", "--help"):
        parser.error(f"{f'{ours[0]!r} is none: ' if ours else ''}an engine comes first: {', '.join(ENGINES)}")
    options = parser.parse_args(ours)
    if after is None:
        raise InputError("launch", options.engine, "write `--` and then the options of pytest, --run-name among them")
    return options, after


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework launch",
        description="Run the benchmarks in shards, follow them, merge them, and judge the gates of the whole.",
        epilog="needlework launch ENGINE --help tells the options of each; after `--` stand those of pytest.",
    )
    engines = parser.add_subparsers(dest="engine", required=True, metavar="ENGINE", parser_class=OneLineParser)
    _local(_engine(engines, "local", "processes of this machine, one for each card or core"))
    _slurm(_engine(engines, "slurm", "an array of jobs"))
    _ray(_engine(engines, "ray", "tasks of a Ray cluster"))
    _kubernetes(_engine(engines, "kubernetes", "an Indexed Job, written as YAML"))
    return parser


def _engine(engines: argparse._SubParsersAction[OneLineParser], name: str, about: str) -> argparse.ArgumentParser:
    usage = f"needlework launch {name} [options] -- PYTEST OPTIONS"
    each = engines.add_parser(name, help=about, description=about, usage=usage, allow_abbrev=False)
    each.add_argument("--shards", type=_count, metavar="N", help="parts that the run is divided into")
    each.add_argument(
        "--retries",
        "--retry",
        type=_number,
        default=2,
        metavar="R",
        help="how often a shard that died is tried again [2]",
    )
    each.add_argument("--dry-run", action="store_true", help="print what would be started, and start nothing")
    return each


def _local(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=_count, metavar="N", help="processes at once [cards, or cores where there are none]"
    )
    parser.add_argument("--gpus-per-job", type=_number, default=1, metavar="K", help="cards of each process [1]")


def _slurm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--partition", metavar="NAME")
    parser.add_argument("-q", "--qos", metavar="NAME")
    parser.add_argument("-A", "--account", metavar="NAME")
    parser.add_argument(
        "-t", "--time", metavar="TIME", help="time limit of a job, as sbatch takes it; then queued again"
    )
    parser.add_argument("--gpus-per-job", metavar="K", help="cards of each job: 2, or a100:2")
    parser.add_argument("-c", "--cpus-per-job", type=_count, metavar="K", help="cores of each job")
    parser.add_argument("--mem", metavar="SIZE", help="memory of each job, as sbatch takes it: 64G")
    parser.add_argument("--max-jobs", "--max-num-workers", type=_count, metavar="M", help="most jobs at once")
    parser.add_argument(
        "--sbatch", action="append", default=[], metavar="OPTION", help="another option: --sbatch constraint=a100"
    )
    parser.add_argument("--no-wait", action="store_true", help="submit, say how to go on, and end")


def _ray(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--address", metavar="auto|HOST:PORT", help="a cluster that is there [one of our own, on 127.0.0.1]"
    )
    parser.add_argument("--gpus-per-job", type=_part, default=0, metavar="K", help="cards of each shard: 1, or 0.5 [0]")
    parser.add_argument("--cpus-per-job", type=_part, default=1, metavar="K", help="cores of each shard [1]")


def _kubernetes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", required=True, metavar="IMAGE", help="has needlework, and what the model needs")
    parser.add_argument("--claim", required=True, metavar="PVC", help="claim of the volume that all pods write runs to")
    parser.add_argument(
        "--mount", default="/runs", metavar="DIR", help="where it is mounted, and pytest starts [/runs]"
    )
    parser.add_argument("--secret", metavar="NAME", help="Secret whose entries become environment variables: keys")
    parser.add_argument(
        "--gpus-per-job", type=_number, default=0, metavar="K", help="cards of each pod (nvidia.com/gpu) [0]"
    )
    parser.add_argument("--cpus-per-job", metavar="K", help="cores of each pod: 4, or 500m")
    parser.add_argument("--mem", metavar="SIZE", help="memory of each pod: 64Gi")
    parser.add_argument("--max-jobs", type=_count, metavar="M", help="most pods at once")


def _count(text: str) -> int:
    number = _number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: use a whole number from 1")
    return number


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: use a whole number")
    return int(text)


def _part(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r}: use a number, as 1 or 0.5")
    return number
