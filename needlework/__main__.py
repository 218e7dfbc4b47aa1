"""The console command `needlework`, also `python -m needlework`: calls each sub-command's module."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module, metadata
from io import TextIOWrapper

from needlework.core.files import replace_closed_streams

# name: (module with `main(argv) -> exit code`, one line of help). Imported only when asked for.
COMMANDS = {
    "compare": ("needlework.results.compare.command", "compare two runs or more, trial by trial"),
    "export": ("needlework.results.files.export", "a run for inspect_ai, Every Eval Ever or Hugging Face"),
    "history": ("needlework.results.compare.history", "runs in order, by date or step, and their changes"),
    "judge": ("needlework.results.leval.judge", "have a judge compare two L-Eval prediction files"),
    "judge-audit": ("needlework.results.judging.audit", "compare a judge with human labels, and with itself"),
    "launch": ("needlework.cluster.launch", "run in shards on Slurm, Ray, Kubernetes, or this machine's cards"),
    "leaderboard": ("needlework.results.compare.leaderboard", "models of many runs beside each other, and their ranks"),
    "leval-export": ("needlework.results.leval.submission", "the folder that L-Eval's leaderboard asks for, from runs"),
    "matrix": ("needlework.cluster.matrix", "run configurations over the same cells, and compare them"),
    "merge": ("needlework.results.merge.command", "put the shards of a run together, and judge its gates"),
    "plot": ("needlework.results.plot", "draw heatmaps from our results or another system's"),
    "prompt": ("needlework.results.prompt", "print a recorded trial's prompt, byte for byte"),
    "questions": ("needlework.results.questions.make", "make questions about your documents, and check them"),
    "rescore": ("needlework.results.rescore", "judge a run's stored answers by another scorer, without a model"),
    "run": ("needlework.pytest_plugin.options", "run the benchmarks; --help lists their options"),
    "schema": ("needlework.results.files.schema", "print the JSON Schema of a record"),
    "score": ("needlework.results.score", "score answers made elsewhere: L-Eval, MRCR, GraphWalks, LongBench v2"),
    "serve": ("needlework.results.web.command", "pages for people: rate, annotate, review, on this machine alone"),
    "status": ("needlework.results.merge.parts", "how far a run and each of its shards are"),
}

# Scripts of L-Eval's README, and the command that does the same here.
_SCRIPTS = {"auto_eval": "score leval", "llm_eval": "judge", "web_human_eval": "serve", "web_annotate_jsonl": "serve"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command and return its exit code; 2 for an unknown command and at Ctrl-C."""
    replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a report is never lost to a terminal
    try:
        code = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("needlework: stopped", file=sys.stderr)
        return 2
    except BrokenPipeError:  # as `| head` closes it
        # What is left is flushed once more when Python ends: to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _run(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0 if words else 2
    if words[0] == "--version":
        print(f"needlework {metadata.version('needlework')}")
        return 0
    if words[0] not in COMMANDS:
        near = get_close_matches(words[0], COMMANDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`needlework --help` lists the commands"
        if script := _SCRIPTS.get(words[0].removesuffix(".py")):
            hint = f"L-Eval's script of that name is `needlework {script}` here (docs/leval.md)"
        print(f"needlework: there is no command {words[0]!r}; {hint}", file=sys.stderr)
        return 2
    code: int = import_module(COMMANDS[words[0]][0]).main(words[1:])
    return code


def usage() -> str:
    """Return the help text."""
    rows = "\n".join(f"  {name:<13} {about}" for name, (_, about) in COMMANDS.items())
    return (
        "usage: needlework COMMAND ...\n\n"
        f"commands:\n{rows}\n\n"
        "`needlework COMMAND --help` explains one. `needlework run` is `pytest --pyargs needlework.benchmarks`;"
        " in a checkout `pytest benchmarks` does the same."
    )


if __name__ == "__main__":
    sys.exit(main())
