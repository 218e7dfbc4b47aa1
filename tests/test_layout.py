"""The layout: which folder may import which, no import circles, and folders that a person can take in."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.source import modules, nodes_of, text_of, tree_of

# From the ground up: a folder imports those that stand before it, and those that it names.
MAY_IMPORT = {
    "core": (),
    "scoring": ("core",),
    "models": ("core",),
    "haystack_fixtures": ("core", "models"),
    "pipeline": ("core", "models", "haystack_fixtures"),
    "results": ("core", "models", "haystack_fixtures", "pipeline", "scoring"),
    "cluster": ("core", "models", "haystack_fixtures", "results", "autoload", "main"),
    "needlework": ("core", "models", "haystack_fixtures", "pipeline", "scoring", "results", "pytest_plugin"),
    "benchmarks": ("haystack_fixtures", "scoring"),
}
MOST_ROOMS = 20
DEEPEST = 3  # a top folder, and two levels below it


def name_of(path):
    """The name that a module is imported by."""
    parts = path.with_suffix("").parts
    parts = parts if parts[0] == "needlework" else ("needlework", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported(path, *, at_import):
    """Our modules and names that a module imports; `at_import`: only what runs when it is imported."""
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if at_import and (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("needlework"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("needlework."))
        waiting += ast.iter_child_nodes(node)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_stands_below_it(folder):
    upwards = [
        f"{path} imports {name}"
        for path in modules(folder)
        if name_of(path) not in ("needlework", "needlework.__main__")  # the console command reaches everything
        for name in imported(path, at_import=False)
        if name.split(".")[1] not in (folder, *MAY_IMPORT[folder])
    ]
    assert not upwards


def test_only_the_plugin_imports_pytest():
    """What lies below it is a library, for notebooks too. `needlework/autoload.py` is the plugin's entry point."""
    importing = [
        str(path)
        for folder in MAY_IMPORT
        if folder != "benchmarks"
        for path in modules(folder)
        if re.search(r"^\s*(import|from) (_?pytest|pluggy|xdist)\b", text_of(path), re.MULTILINE)
    ]
    assert [path for path in importing if not path.startswith("needlework/pytest_plugin/")] == [
        "needlework/autoload.py"
    ]


@cache
def import_graph():
    """Module to the modules that it imports when it is imported itself."""
    paths = {name_of(path): path for folder in MAY_IMPORT for path in modules(folder)}
    return {
        name: {
            target
            for full in imported(path, at_import=True)
            for target in (full, full.rpartition(".")[0])
            if target in paths and target != name
        }
        for name, path in paths.items()
    }


def test_modules_import_each_other_in_one_direction():
    facades = {"needlework", *(f"needlework.{folder}" for folder in MAY_IMPORT)}  # they import when asked for a name
    graph = {name: targets - facades for name, targets in import_graph().items()}

    assert len(tuple(TopologicalSorter(graph).static_order())) >= len(graph)  # a circle raises CycleError


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folders_have_few_rooms_and_are_not_deep(folder):
    rooms: dict[Path, int] = {}
    for path in modules(folder):
        parts = path.parts
        assert len(parts) - 1 <= DEEPEST, f"{path} lies too deep"
        if path.name != "__init__.py":
            rooms[path.parent] = rooms.get(path.parent, 0) + 1
    assert {str(place): count for place, count in rooms.items() if count > MOST_ROOMS} == {}


def test_no_class_name_stands_twice():
    """A name is one thing, with or without an underscore: whoever searches for it finds one class."""
    places: dict[str, list[str]] = {}
    for folder in MAY_IMPORT:
        for path in modules(folder):
            for node in nodes_of(path):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name.lstrip("_"), []).append(f"{name_of(path)}.{node.name}")
    assert {name: classes for name, classes in places.items() if len(classes) > 1} == {}
