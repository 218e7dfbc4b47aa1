"""Runs against a fault: ours in processes that keep what they imported, and a naive harness's."""

import contextlib
import gc
import io
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.pipeline.engine import Engine
from tests.faults.server import TOKENIZER

ROOT = Path(__file__).parents[2]
# 600 tokens, the window of the faults that have one, lie between the two lengths.
_GRID = ("--lengths=400,900", "--depths=0,50,100", "--corpus=pydoc", "--retries=2", "--timeout=20", "--concurrency=6")
# What our runs do not need; the last would collect garbage twice a run.
_UNUSED = ("cacheprovider", "hypothesispytest", "unraisableexception")


def options(fault):
    """What is asked of the server; what the fault says comes last and wins."""
    given = ("--model=openai:oracle", f"--tokenizer={TOKENIZER}", *_GRID, *fault.args)
    return tuple({word.partition("=")[0]: word for word in given}.values())


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over: its exit code, what it printed, and its records."""

    status: int
    output: str
    records: list[dict[str, Any]] = field(default_factory=list)


def pool(workers):
    """Processes for `session`. Spawned: a server's threads must not be forked."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_settle)


def _settle():
    from needlework.results.run import finish

    finish.write_charts = lambda *_, **__: []  # nobody looks at them, and they take longer than a run
    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "OPENAI_", "GITHUB_", "COV_"))]:
        del os.environ[name]


def session(args):
    """Run `pytest benchmarks/test_niah.py` with these options, results in a folder that is gone afterwards."""
    import pytest

    with tempfile.TemporaryDirectory(prefix="faults-") as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(out):
            gc.unfreeze()  # or the run would first look through all objects of the one before
            quiet = ("-q", *(f"-pno:{name}" for name in _UNUSED))
            status = pytest.main(["benchmarks/test_niah.py", *quiet, f"--results-dir={folder}", "--run-name=r", *args])
        results = Path(folder) / "r" / "results.json"
        records = json.loads(results.read_text(encoding="utf-8"))["records"] if results.exists() else []
    return Ran(int(status), out.getvalue(), records)


def trials(args):
    """The trials of a run with these options, as our own harness builds them."""
    pairs = [word.removeprefix("--").partition("=")[::2] for word in args]
    named = {name.replace("-", "_"): value or "true" for name, value in pairs}
    written = {key: [value] if key in ("model", "model_arg") else value for key, value in named.items()}
    engine = Engine(resolve_settings(written, {}, ROOT), default_cache_dir())
    built = [engine.trial(cell) for series in engine.series() for cell in series.cells]
    engine.models.close()
    return built


def naive_score(base_url, built, timeout_s):
    """What most harnesses do, run for real: send, take the text, look for the answer in it, trust the server.

    * the answer counts if it is a substring of the text: RULER (`string_match_all`), OpenCompass's NeedleBench
      (`if keyword in raw_prediction`), InfiniteBench through inspect_evals (`includes()`);
    * the text is `choices[0].message.content`, an exception is an empty answer and so a miss: lm-evaluation-harness
      (`parse_generations`), L-Eval and SWiM (`except: ""`); tool-eval-bench counts failed requests as misses;
    * errors that pass are left to the official client, which tries twice more.

    Nothing is compared with what the server says it saw.
    """
    import openai

    client = openai.OpenAI(base_url=base_url, api_key="none", timeout=timeout_s)
    with client, ThreadPoolExecutor(len(built)) as threads:
        hits = sum(threads.map(lambda trial: _hit(client, trial), built))
    return f"{100 * hits / len(built):.0f} %"


def _hit(client, trial):
    suite = trial.suite
    limits = {"model": "oracle", "max_tokens": suite.answer_budget + suite.thinking_budget, "temperature": 0}
    try:
        if suite.template == "chat":
            rows = [{"role": message.role, "content": message.content} for message in trial.prompt.messages]
            text = client.chat.completions.create(messages=rows, **limits).choices[0].message.content
        else:
            text = client.completions.create(prompt=trial.prompt.text, **limits).choices[0].text
        return trial.asked.answer.lower() in text.lower()
    except Exception:  # noqa: BLE001 - that is the point
        return False
