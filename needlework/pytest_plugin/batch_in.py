"""`needlework batch-in RUN ANSWERS...`: record, score and judge what a batch service answered.

It runs needlework's own benchmarks with the settings of the run's manifest. The manifest is data, perhaps somebody
else's: its command line is not obeyed, nor what it says of servers and keys.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import needlework
from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.settings import READ, READ_HELP, FamilyValues, Places, Settings, check_tree
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.stored_settings import confined, reads_secret, without_servers
from needlework.pytest_plugin.further_cells import cell_of
from needlework.pytest_plugin.run_state import run_state
from needlework.results.records.manifest import settings_of, start_of
from needlework.results.records.run_folder import MANIFEST, read_batch_cells, read_run_json

_ENDED = (0, 1, 10, 11)  # of pytest: files are written
_INCOMPLETE = 3  # as of a merge


def main(argv: Sequence[str]) -> int:
    """Return pytest's exit code, which is the gates' (docs/ci.md); 2 where the run cannot be read or run, 3 where
    nothing else is wrong than that cells have no answer yet."""
    options = _parser().parse_args(argv)
    try:
        for path in options.answers:
            if not path.is_file():
                raise InputError("ANSWERS", path, "there is no such file")
        run = options.run.resolve()
        settings, cells = batch_settings(run, options), read_batch_cells(run)
    except InputError as error:
        return refuse("batch-in", error)
    code = _run_benchmarks(settings, cells)
    missing = _missing(_manifest(run)) if code in _ENDED else 0
    if not missing:
        return code
    print(f"{missing:,} trials have no answer yet: the command that wrote the requests, with another --batch-out,")
    print("writes those; then give all files of answers again")
    return code or _INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework batch-in", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run that --batch-out wrote requests of")
    parser.add_argument(
        "answers", type=Path, nargs="+", metavar="ANSWERS", help="output and error files of the service, in any order"
    )
    parser.add_argument(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SPEC",
        help="the run's judge, which is asked now; may be repeated",
    )
    parser.add_argument(
        "--judge-base-url", action="append", default=[], metavar="URL", help="address of the judge's server"
    )
    parser.add_argument(
        "--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="environment variable with the judge's key"
    )
    parser.add_argument("--embedder-base-url", metavar="URL", help="address of the embedder's server")
    parser.add_argument(
        "--embedder-api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with the embedder's key"
    )
    return parser


def batch_settings(run: Path, given: argparse.Namespace) -> Settings:
    """The settings of a run that --batch-out wrote requests of, with what is `given` now in place of what its manifest
    says of servers, files and folders. Raises `InputError`."""
    manifest = _manifest(run)
    stored = settings_of(manifest)
    if not (stored.batch_out or stored.batch_in):
        raise InputError("RUN", run, "is no run that --batch-out wrote requests of")
    check_tree(run, run)
    hidden = next((word for word in stored.model_arg if reads_secret(word)), None)
    if hidden is not None:
        remedy = "is not stored with its value: give the pytest command again, with --batch-in in place of --batch-out"
        raise InputError("--model-arg", hidden.partition("=")[0], remedy)
    if stored.judge and not given.judge:
        remedy = "judges this run: name it again, with the address that may have the answers: --judge SPEC"
        raise InputError("--judge", ", ".join(stored.judge), f"{remedy} [--judge-base-url URL] [--api-key-env NAME]")
    places = Places(run, start_of(manifest), tuple(given.read))
    settings = confined(_with_embedder(without_servers(stored), given), places, moved=False)
    return replace(
        settings,
        judge=tuple(given.judge),
        judge_base_url=tuple(given.judge_base_url),
        api_key_env=str(BY_KEY["api_key_env"].parse("--api-key-env", given.api_key_env)),
        results_dir=run.parent,
        run_name=run.name,
        batch_in=tuple(str(path.resolve()) for path in given.answers),
    )


def _with_embedder(settings: Settings, given: argparse.Namespace) -> Settings:
    served = next((spec for suite in settings.suites if (spec := _embedder(suite.family))), None)
    if served is not None and given.embedder_base_url is None:
        remedy = "is asked for vectors: name the address that may have the texts: --embedder-base-url URL"
        raise InputError("--embedder", served, f"{remedy} [--embedder-api-key-env NAME]")
    if served is None:
        return settings
    variable = BY_KEY["embedder_api_key_env"].parse("--embedder-api-key-env", given.embedder_api_key_env)
    now = {"embedder_base_url": given.embedder_base_url, "embedder_api_key_env": variable}
    suites = (replace(suite, family=FamilyValues({**suite.family, **now})) for suite in settings.suites)
    return replace(settings, suites=tuple(suites))


def _embedder(values: FamilyValues) -> str | None:
    embedder = values.get("embedder")
    return embedder if isinstance(embedder, str) and embedder.startswith("openai:") else None


class _BatchRun:
    """A pytest plugin: the session has these settings, and asks these cells alone."""

    def __init__(self, settings: Settings, cells: frozenset[str]) -> None:
        self._settings = settings
        self._cells = cells

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        try:
            run_state(config).replace_settings(self._settings)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        asked = [item for item in items if (cell := cell_of(item)) is not None and cell.id in self._cells]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(asked)])
        items[:] = asked


def _run_benchmarks(settings: Settings, cells: frozenset[str]) -> int:
    """Run the packaged benchmarks. No conftest.py, pytest.ini or cache of any other folder is looked at."""
    package = Path(needlework.__file__).resolve().parent
    with tempfile.TemporaryDirectory() as empty:
        ini = Path(empty, "pytest.ini")
        ini.write_text("[pytest]\n", encoding="utf-8")
        words = [
            *("-c", str(ini), "--rootdir", str(package), "--noconftest", "--import-mode=importlib"),
            *("-p", "no:cacheprovider", "-p", "needlework.plugin", str(package / "benchmarks")),
            *(f"--batch-in={path}" for path in settings.batch_in),
        ]
        return int(pytest.main(words, plugins=[_BatchRun(settings, cells)]))


def _missing(manifest: Mapping[str, Any]) -> int:
    planned, recorded = manifest.get("planned"), manifest.get("recorded")
    return max(0, planned - recorded) if isinstance(planned, int) and isinstance(recorded, int) else 0


def _manifest(run: Path) -> dict[str, Any]:
    try:
        content = read_run_json(run / MANIFEST)
    except OSError as error:
        raise InputError("RUN", run, f"is no folder of a run: {MANIFEST} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise InputError("RUN", run, f"its {MANIFEST} is not JSON") from None
    if not isinstance(content, dict):
        raise InputError("RUN", run, f"its {MANIFEST} is not one of a run")
    return content
