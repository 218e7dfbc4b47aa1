"""Names that say nothing do not come back, the docs do not grow, and the glossary's words are those of the code."""

import ast
import re
import tomllib
from collections import Counter

from needlework.results.statistics.panels import OUTCOMES
from tests.source import ROOT, nodes_of, python_files, text_of

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


PAGE = ROOT / "docs" / "glossary.md"


def test_every_outcome_is_explained():
    table = PAGE.read_text(encoding="utf-8").split("| outcome | meaning |")[1].split("\n\n")[0]
    named = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`([a-z]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named >= set(OUTCOMES)
    assert named - set(OUTCOMES) <= {"unclear"}


def test_the_types_of_the_architecture_page_are_classes():
    page = (PAGE.parent / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## The types")[1].split("\n## ")[0]
    names = {name for row in table.splitlines() if row.startswith("| `") for name in re.findall(r"`([A-Z]\w+)`", row)}
    code = "\n".join(map(text_of, python_files()))
    assert [name for name in sorted(names) if not re.search(rf"^class {name}\b", code, re.MULTILINE)] == []
    assert 12 <= len(names) <= 20
