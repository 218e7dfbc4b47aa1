"""The options of the bench's runs: a small grid, the same for our harness and the naive one."""

from pathlib import Path

from tests.faults.server import TOKENIZER

ROOT = Path(__file__).parents[2]
# 600 tokens, the window of the faults that have one, lie between the two lengths.
_GRID = ("--lengths=400,900", "--depths=0,50,100", "--corpus=pydoc", "--retries=2", "--timeout=20", "--concurrency=6")


def options(fault):
    """What is asked of the server; what the fault says comes last and wins."""
    given = ("--model=openai:oracle", f"--tokenizer={TOKENIZER}", *_GRID, *fault.args)
    return tuple({name_of(word): word for word in given}.values())


def name_of(word):
    """`--lengths` of `--lengths=400,900`."""
    return word.partition("=")[0]


def written(args):
    """Options as the settings read them from a command line."""
    pairs = [(name_of(word).removeprefix("--").replace("-", "_"), word.partition("=")[2] or "true") for word in args]
    return {key: [value] if key in ("model", "model_arg") else value for key, value in pairs}
