"""Workers of pytest-xdist: the values that they get, and the cells to come."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, NoReturn

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that a test item stands for."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("cell") if callspec is not None else None
    return cell if isinstance(cell, Cell) else None


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def given_to_worker(config: pytest.Config, name: str) -> str | None:
    """The value that the controller gave this worker; empty without one, `None` in other processes."""
    return str(config.workerinput.get(name, "")) if hasattr(config, "workerinput") else None


def has_workers(config: pytest.Config) -> bool:
    """Whether this process is the controller of workers."""
    return not is_worker(config) and getattr(config.option, "dist", "no") != "no" and bool(config.option.tx)


def worker_name(config: pytest.Config) -> str:
    """`gw0`, `gw1`, ...; `main` without xdist."""
    return given_to_worker(config, "workerid") or "main"


def worker_count(config: pytest.Config) -> int:
    """The number of processes that share the run."""
    return int(given_to_worker(config, "workercount") or 1)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report a mistake as pytest does a wrong option: in one line."""
    try:
        yield
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def only_looks(config: pytest.Config) -> bool:
    """Whether pytest shows tests or fixtures, and runs nothing."""
    option = config.option
    return bool(option.collectonly or option.showfixtures or option.show_fixtures_per_test)


def refuse(session: pytest.Session, error: InputError) -> NoReturn:
    """End the run with one line for a user's mistake; from a worker its controller shows it."""
    if is_worker(session.config):
        session.shouldstop = str(error)  # what xdist tells the controller; without it, that takes the end for a crash
        pytest.exit(str(error), returncode=4)
    raise pytest.UsageError(str(error)) from None


def workers_asked(config: pytest.Config) -> bool:
    """Whether `-n` asks for workers; true before xdist has made anything of it."""
    return bool(getattr(config.option, "numprocesses", None)) and not is_worker(config)


def use_one_process(config: pytest.Config) -> None:
    """Run everything in this process, whatever `-n` says; to be called before xdist reads its options."""
    config.option.numprocesses = None
    config.option.tx = []
    config.option.dist = "no"


def tests_of_worker(config: pytest.Config) -> Any:
    """xdist's plugin with this worker's tests, for `upcoming`; `None` without workers."""
    plugins = config.pluginmanager.get_plugins() if is_worker(config) else ()
    return next((plugin for plugin in plugins if hasattr(plugin, "torun")), None)


def call_when_left(config: pytest.Config, end: Callable[[], object]) -> None:
    """Call `end` in a thread of this worker when its controller has ended, however that came.

    pytest-xdist waits for the running test, for 5 s until it is interrupted, and for 10 s until it is killed.
    """
    interactor = tests_of_worker(config)
    if interactor is not None:
        channel = interactor.channel.gateway.newchannel()  # of its own: it closes with the connection
        channel.setcallback(lambda _gone: end(), endmarker=None)


def upcoming(interactor: Any) -> list[Cell]:
    """The cells that a worker, found by `tests_of_worker`, has been given and has not finished, in order."""
    with interactor.torun.lock() as queue:
        indexes = [interactor.item_index, interactor.nextitem_index, *queue]
    items = (interactor.session.items[index] for index in indexes if isinstance(index, int))
    return [cell for item in items if (cell := cell_of(item)) is not None]


def cells_for_workers(config: pytest.Config) -> bool:
    """Whether this process will have workers that run cells."""
    return has_workers(config) and not config.option.collectonly and cells_to_come(config)


def cells_to_come(config: pytest.Config) -> bool:
    """Whether the test files use the mark `cells`, as far as their source shows it."""
    paths = [config.invocation_params.dir / _path_named(arg.partition("::")[0], config) for arg in config.args]
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))
    return any(_uses_mark(file.read_bytes()) for file in files if file.suffix == ".py")


def _uses_mark(source: bytes) -> bool:
    """Whether the code of a test file, not its strings or comments, has `mark.cells`."""
    if b"mark.cells" not in source:
        return False
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):
        return True  # pytest says what is wrong with it
    return any(
        isinstance(node, ast.Attribute) and node.attr == "cells" and ast.unparse(node.value).endswith("mark")
        for node in nodes
    )


def _path_named(name: str, config: pytest.Config) -> str:
    """The path of what is given to pytest: with `--pyargs` it may be a module's name."""
    spec = None
    if config.option.pyargs:
        with suppress(ImportError, AttributeError, ValueError):  # no such module, or no module's name
            spec = find_spec(name)
    location = spec and (next(iter(spec.submodule_search_locations or ()), spec.origin))
    return location or name
