"""Folders stay within their budgets of `tests/sizes.toml`."""

import re
import tomllib
from functools import cache

import pytest

from tests.source import ROOT, python_files, text_of

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
