"""Imports go one way, and asking for help or a plan loads no model library."""

import ast
import re
import subprocess
import sys
import tomllib

from tests.source import ROOT, modules, nodes_of, tree_of

FOLDERS = ("core", "models", "haystack_fixtures", "pipeline", "scoring", "results", "cluster")
HEAVY = {
    "torch",
    "transformers",
    "openai",
    "anthropic",
    "google",
    "tiktoken",
    "matplotlib",
    "datasets",
    "gguf",
    "tokenizers",
    "rouge_score",
    "nltk",
    "jieba",
    "pypdf",
    "docx",
    "lxml",
    "bm25s",
    "sentence_transformers",
    "sklearn",
}


def imports(path, *, top_level):
    nodes = tree_of(path).body if top_level else nodes_of(path)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_no_module_loads_a_heavy_library_when_it_is_imported():
    for package in FOLDERS:
        for path in modules(package):
            heavy = {name.split(".")[0] for name in imports(path, top_level=True)} & HEAVY
            assert not heavy, f"{path} imports {heavy} at its top"


def test_the_packages_import_nothing_that_only_developers_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = {key: {re.split(r"[^\w-]", line)[0] for line in lines} for key, lines in extras.items()}
    ours_alone = named.pop("dev").difference(*named.values())
    assert "selenium" in ours_alone
    for package in FOLDERS:
        for path in modules(package):
            found = {name.split(".")[0] for name in imports(path, top_level=False)} & ours_alone
            assert not found, f"{path} imports {found}"


def test_collecting_cells_loads_no_model_library(tmp_path):
    code = (
        "import sys, pytest\n"
        "pytest.main(['benchmarks', '--collect-only', '-q', '-p', 'no:cacheprovider'])\n"
        f"print('LOADED', sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "LOADED []" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


# What a run needs only later: loaded with the first answer, it would hold up those that come with it.
LATER = {
    *(HEAVY - {"tiktoken"}),
    *("aiohttp", "jinja2", "rapidfuzz", "scipy", "sqlite3", "urllib3"),
    *(f"needlework.results.{room}" for room in ("adaptive", "html", "pictures", "questions", "tables", "files")),
    *("needlework.scoring.registry", "needlework.haystack_fixtures.documents.readers"),
    *(f"needlework.models.{room}" for room in ("local.memory", "served.http_client")),
}


def test_the_first_answer_is_kept_without_what_is_needed_later(tmp_path):
    code = (
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
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "LOADED []" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


def test_a_run_by_package_needs_nothing_that_only_tests_need():
    """In a checkout pytest loads tests/conftest.py for `--pyargs` too; `needlework matrix` starts its runs so."""
    code = (
        "import os, sys, pytest\n"
        "sys.modules['hypothesis'] = None  # as after `make benchmark`\n"
        "os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'  # hypothesis' own plugin\n"
        "words = '-p needlework.plugin -p no:cacheprovider --collect-only -q --lengths 500'\n"
        "sys.exit(pytest.main([*words.split(), '--pyargs', 'needlework.benchmarks']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "niah-len500" in done.stdout
