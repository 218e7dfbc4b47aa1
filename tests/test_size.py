"""Folders stay within their budgets of `tests/sizes.toml`; vague names and docs within those of `tests/words.toml`."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache

import pytest

from tests.source import ROOT, nodes_of, python_files, text_of

BUDGETS = tomllib.loads((ROOT / "tests" / "sizes.toml").read_text(encoding="utf-8"))


def has_code(text):
    """Whether a module has more than a docstring."""
    return bool(re.sub(r'\A""".*?"""', "", text, flags=re.DOTALL).strip())


@cache
def sizes():
    """Lines, modules with code and non-blank characters of each top folder; of files beside them as `top`."""
    measured = {}
    for path in python_files():
        text = text_of(path)
        folder = path.parts[0] if len(path.parts) > 1 else "top"
        size = measured.setdefault(folder, {"lines": 0, "modules": 0, "characters": 0})
        size["lines"] += text.count("\n")
        size["modules"] += has_code(text)
        size["characters"] += len("".join(text.split()))
    return measured


@pytest.mark.parametrize("folder", sorted(BUDGETS))
def test_a_folder_stays_within_its_budget(folder):
    size = sizes().get(folder, {"lines": 0, "modules": 0, "characters": 0})

    assert {name: size[name] for name in size if size[name] > BUDGETS[folder][name]} == {}, (
        f"{folder}/ outgrew its budget {BUDGETS[folder]}: make something smaller, or say in the commit why not"
    )


def test_every_folder_has_a_budget():
    assert sorted(sizes()) == sorted(BUDGETS)


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
