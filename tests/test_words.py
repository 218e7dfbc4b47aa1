"""Names that say nothing do not come back, and the docs do not grow: the numbers in `tests/words.toml`."""

import ast
import tomllib
from collections import Counter

from tests.source import ROOT, nodes_of, python_files

ALLOWED = tomllib.loads((ROOT / "tests" / "words.toml").read_text(encoding="utf-8"))
VAGUE_NAMES = {
    *("found", "told", "said", "asked", "kept", "own", "way", "place", "who", "ahead"),
    *("elsewhere", "otherwise", "standing", "carried", "given", "wanted", "each"),
}


def bound_names(nodes):
    """Yield the names that a module binds, but for `each` in a comprehension."""
    in_comprehensions = set()
    for node in nodes:
        if isinstance(node, ast.comprehension):
            in_comprehensions |= {id(name) for name in ast.walk(node.target)}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id != "each" or id(node) not in in_comprehensions:
                yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def vague_names():
    """How often each top folder binds one of `VAGUE_NAMES`."""
    counts: Counter[str] = Counter()
    for path in python_files():
        if path.parts[0] not in ("tests", "docs"):
            names = bound_names(nodes_of(path))
            counts[path.parts[0]] += sum(name.strip("_").lower() in VAGUE_NAMES for name in names)
    return {folder: count for folder, count in counts.items() if count}


def words_of(paths):
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def test_vague_names_do_not_come_back():
    allowed = ALLOWED["names"]

    assert {folder: count for folder, count in vague_names().items() if count > allowed.get(folder, 0)} == {}


def test_the_docs_do_not_grow():
    sizes = {"docs": words_of((ROOT / "docs").glob("*.md")), "README.md": words_of([ROOT / "README.md"])}

    assert {name: words for name, words in sizes.items() if words > ALLOWED["words"][name]} == {}
