"""The Python files of the checkout, each read and parsed once."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def python_files():
    """Paths from the root, untracked files included; those behind the package's links once."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [Path(name) for name in listed if (ROOT / name).is_file()]


@cache
def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree_of(path):
    return ast.parse(text_of(path))


@cache
def nodes_of(path):
    """All nodes of a module, each before those in it."""
    return list(ast.walk(tree_of(path)))


def modules(folder):
    """The modules of a top folder."""
    return [path for path in python_files() if path.parts[0] == folder and len(path.parts) > 1]
