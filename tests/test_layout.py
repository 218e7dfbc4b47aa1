"""The layout: which folder may import which, no import circles, nothing heavy at start, folders one can take in."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter

import pytest

from needlework.haystack_fixtures.tasks.catalogue import TASKS, tasks_marked
from tests.source import ROOT, modules, nodes_of, text_of, tree_of

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


@cache
def imported(path, *, at_import):
    """Modules and names that a module imports; `at_import`: only what runs when it is imported."""
    names: list[str] = []
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if at_import and (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        # No import stands in an expression.
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
    return names


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_stands_below_it(folder):
    upwards = [
        f"{path} imports {name}"
        for path in modules(folder)
        if name_of(path) not in ("needlework", "needlework.__main__")  # the console command reaches everything
        for name in imported(path, at_import=False)
        if name.startswith("needlework.") and name.split(".")[1] not in (folder, *MAY_IMPORT[folder])
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


@pytest.mark.parametrize("folder", [folder for folder in MAY_IMPORT if folder != "benchmarks"])
def test_folders_have_few_rooms_and_are_not_deep(folder):
    """`benchmarks/` has one short file for each family of tasks."""
    paths = modules(folder)
    assert [path for path in paths if len(path.parts) - 1 > DEEPEST] == []
    rooms = Counter(path.parent for path in paths if path.name != "__init__.py")
    assert {str(place): count for place, count in rooms.items() if count > MOST_ROOMS} == {}


def test_no_class_name_stands_twice():
    """A name is one thing, with or without an underscore: whoever searches for it finds one class."""
    places: dict[str, list[str]] = {}
    for path in (path for folder in MAY_IMPORT for path in modules(folder)):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{name_of(path)}.{node.name}")
    assert {name: classes for name, classes in places.items() if len(classes) > 1} == {}


FOLDERS = ("core", "models", "haystack_fixtures", "pipeline", "scoring", "results", "cluster")
HEAVY = {
    *("torch", "transformers", "openai", "tiktoken", "matplotlib", "gguf", "tokenizers", "rouge_score"),
    *("nltk", "jieba", "pypdf", "docx", "lxml", "bm25s", "sentence_transformers", "sklearn"),
}


def imports(*, at_import):
    """Each module below the plugin with the libraries that it imports."""
    for path in (path for package in FOLDERS for path in modules(package)):
        yield path, {name.split(".")[0] for name in imported(path, at_import=at_import)}


def test_no_module_loads_a_heavy_library_when_it_is_imported():
    assert [(path, heavy) for path, names in imports(at_import=True) if (heavy := names & HEAVY)] == []


def test_the_packages_import_nothing_that_only_developers_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = {key: {re.split(r"[^\w-]", line)[0] for line in lines} for key, lines in extras.items()}
    ours_alone = named.pop("dev").difference(*named.values())
    assert "selenium" in ours_alone
    assert [(path, wrong) for path, names in imports(at_import=False) if (wrong := names & ours_alone)] == []


def done_by(code):
    """What a process of its own prints that ends well."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_collecting_cells_loads_no_model_library_nor_what_only_tests_need():
    """In a checkout pytest loads tests/conftest.py for `--pyargs` too; `needlework matrix` starts its runs so."""
    output = done_by(
        "import os, sys, pytest\n"
        "sys.modules['hypothesis'] = None  # as after `make benchmark`\n"
        "os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'  # hypothesis' own plugin\n"
        "words = '-p needlework.plugin -p no:cacheprovider --collect-only -q --lengths 500'\n"
        "code = pytest.main([*words.split(), '--pyargs', 'needlework.benchmarks'])\n"
        f"print('LOADED', sorted({HEAVY!r} & set(sys.modules)))\n"
        "sys.exit(code)\n"
    )
    assert "niah-len500" in output
    assert "LOADED []" in output


# What a run needs only later: loaded with the first answer, it would hold up those that come with it.
LATER = {
    *(HEAVY - {"tiktoken"}),
    *("aiohttp", "jinja2", "rapidfuzz", "scipy", "sqlite3", "urllib3"),
    *(f"needlework.results.{room}" for room in ("adaptive", "html", "pictures", "questions", "tables", "files")),
    *("needlework.scoring.registry", "needlework.haystack_fixtures.documents.readers"),
    *(f"needlework.models.{room}" for room in ("local.memory", "served.http_client")),
}


def test_the_first_answer_is_kept_without_what_is_needed_later(tmp_path):
    output = done_by(
        f"import os, sys, pytest\nLATER = {LATER!r}\n"
        "from needlework.pytest_plugin.run_state import RunState\n"
        "store = RunState.store_answer\n"
        "def store_and_exit(self, exchange):\n"
        "    store(self, exchange)\n"
        "    os.write(1, f'LOADED {sorted(LATER & set(sys.modules))}\\n'.encode())  # threads are several\n"
        "    os._exit(0)\n"
        "RunState.store_answer = store_and_exit\n"
        "words = '-s -p no:cacheprovider -p no:anyio --corpus pydoc --model mock:sleep=0.01'.split()\n"
        f"pytest.main(['benchmarks', *words, '--results-dir', {str(tmp_path)!r}])\n"
    )
    assert "LOADED []" in output


def test_each_task_is_asked_by_one_benchmark():
    """A mark names a task, or the family of several: twice asked, a cell would be in two panels."""
    marks = [mark for path in modules("benchmarks") for mark in re.findall(r'mark\.cells\("(\w+)"\)', text_of(path))]
    asked = Counter(task.name for mark in marks for task in tasks_marked(mark, TASKS))

    assert asked == Counter(TASKS.keys())
