"""The entry point in every pytest run: it loads the plugin where a run asks for our cells.

A run asks for them by naming them: `pytest --pyargs needlework.benchmarks`, or a path inside that folder. Any other run
gets no option, no fixture and no marker of ours, and pays for this module alone; its project opts in with
`pytest_plugins = ("needlework.plugin",)` in `conftest.py`, or with `-p needlework.plugin`.

PYTEST_DONT_REWRITE: it has no assertions, and a project may import it before pytest does.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

BENCHMARKS = "needlework.benchmarks"


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]
) -> Generator[None]:
    """Load the plugin, unless it is there already, before pytest reads the options for good."""
    yield  # conftest.py comes first: where it has an option of the name of one of ours, it is ours that can say so
    words = [*args, *early_config.getini("testpaths")]
    if asks_for_benchmarks(words, early_config.known_args_namespace.pyargs, early_config.invocation_params.dir):
        early_config.pluginmanager.import_plugin("needlework.plugin")
    elif any(Path(word).name == "benchmarks" for word in words):
        # As docs write it for a checkout: pytest shows this where it does not know an option.
        parser.extra_info.setdefault("needlework", "pytest benchmarks is for a checkout; elsewhere: needlework run ...")


def asks_for_benchmarks(words: Sequence[str], pyargs: bool, folder: Path) -> bool:
    """Whether a word names our benchmarks: as a module, with `--pyargs`, or as a path from `folder`."""
    named = [word.partition("::")[0] for word in words if not word.startswith("-")]
    if pyargs and any(f"{name}.".startswith(f"{BENCHMARKS}.") for name in named):
        return True
    ours = (Path(__file__).parent / "benchmarks").resolve()
    return any("benchmarks" in name and (folder / name).resolve().is_relative_to(ours) for name in named)
