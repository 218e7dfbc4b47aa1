"""Python configurations are read without running them: what is plain becomes a value, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.importing.known import Unknown
from needlework.haystack_fixtures.configuration.importing.python_file import ReadFile, read_python
from needlework.haystack_fixtures.errors import InputError


@pytest.fixture
def read(tmp_path: Path):
    def of(text: str, **beside: str) -> ReadFile:
        for name, other in beside.items():
            (tmp_path / f"{name}.py").write_text(other, encoding="utf-8")
        file = tmp_path / "config.py"
        file.write_text(text, encoding="utf-8")
        return read_python(file)

    return of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("list(range(1000, 4000, 1000))", [1000, 2000, 3000]),
        ("[*range(2), *[5]]", [0, 1, 5]),
        ("dict(a=1, **{'b': [2]})", {"a": 1, "b": [2]}),
        ("{**{'a': 1}, 'b': 'x' 'y'}", {"a": 1, "b": "xy"}),
        ("[int(x) for x in (0, 5.26, 10.5) if x > 1]", [5, 10]),
        ("f'Length{1000}Depth{int(5.9)}'", "Length1000Depth5"),
        ("sum((v for v in [[1], [2, 3]]), [])", [1, 2, 3]),
        ("'en' if 2 > 1 and not False else 'zh'", "en"),
        ("[a + b for a, b in zip([1, 2], [3, 4])]", [4, 6]),
        ("{'a': {'b': [7, 8]}}['a']['b'][-1]", 8),
        ("round(100 / (1 + math.exp(-0.1 * (60 - 50))), 3)", 73.106),
        ("max(3, 4) * 1024 // 2", 2048),
    ],
)
def test_plain_expressions_have_their_values(read, expression, value):
    found = read(f"import math\nx = {expression}\n")

    assert found.values["x"] == value
    assert not found.unread


@settings(max_examples=30, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**9), 10**9)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=8,
    )
)
def test_every_literal_is_itself(tmp_path_factory, value):
    file = tmp_path_factory.getbasetemp() / "literal.py"
    file.write_text(f"x = {value!r}\n", encoding="utf-8", errors="replace")

    assert read_python(file).values["x"] == value or "\\ud" in repr(value)


def test_loops_fill_lists_and_functions_of_the_file_are_followed(read):
    found = read(
        """
from peers.data import SomeDataset

def spaced(count, kind='linear'):
    if kind != 'linear':
        raise ValueError('no')
    step = 100 / (count - 1)
    return [step * i for i in range(count)]

several_datasets = []
others = {'en': [], 'zh': []}
for length in (1000, 2000):
    for depth in spaced(3):
        each = dict(type=SomeDataset, length=length)
        each['depth'] = int(depth)
        globals()['several_datasets'].append(each)
        others['en'] += [length]
datasets = sum([v for k, v in locals().items() if k.endswith('_datasets')], [])
"""
    )

    assert [(each["length"], each["depth"]) for each in found.values["datasets"]] == [
        (length, depth) for length in (1000, 2000) for depth in (0, 50, 100)
    ]
    assert found.values["datasets"][0]["type"] == Unknown("peers.data.SomeDataset")
    assert found.values["others"]["en"] == [1000] * 3 + [2000] * 3
    assert not found.unread


def test_a_file_that_it_is_based_on_is_read_where_it_lies_beside_it(read):
    text = "with read_base():\n    from .base import lengths, other\n    from .nowhere import far\nx = [*lengths]\n"
    found = read(text, base="lengths = [1, 2]\nfrom .config import x\n")

    assert found.values["x"] == [1, 2]
    assert found.values["far"] == Unknown(".nowhere.far")
    assert [line.partition(": ")[2] for line in found.unread] == [
        ".nowhere is not beside it; give that file, or this one in its own folders"
    ]


def test_files_that_are_based_on_each_other_end(read):
    found = read("with read_base():\n    from .base import y\n", base="with read_base():\n    from .config import y\n")

    assert found.values["y"] == Unknown(".base.y") or isinstance(found.values["y"], Unknown)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("while True: pass", "while is not read"),
        ("x = [f.name for f in folder]", "folder is not known here"),
        ("x = (1).__class__", ".__class__ is not read"),
        ("x = ''.__class__.__mro__", ".__class__ is not read"),
        ("x = '{0.__class__}'.format(1)", ".format() is not read"),
        ("x = f'{1:>999999999}'", "the format '>999999999' is not read"),
        ("x = '%999999999d' % 1", "the operator Mod is not read"),
        ("x = 9 ** 9 ** 9", "a number too large for a configuration"),
        ("x = 'a' * 10 ** 9", "a value too long for a configuration"),
        ("x = list(range(10 ** 9))", "a range too long for a configuration"),
        ("x = lambda: 1", "Lambda is not read"),
        ("class A: pass", "classdef is not read"),
        ("with open('/etc/passwd') as f: x = f.read()", "with is not read"),
        ("x = [1][5]", "indexerror in it"),
        ("def f(): return f()\nx = f()", "the call of f is not read"),
    ],
)
def test_what_is_not_read_is_told_with_its_line(read, statement, why):
    found = read(f"before = 1\n{statement}\nafter = 2\n")

    (line,) = found.unread
    assert line.endswith(f": {why}")
    assert found.values["before"] + found.values["after"] == 3


def test_nothing_is_run(read, tmp_path):
    touched = tmp_path / "touched"
    found = read(
        f"""
import os
from pathlib import Path
os.system('touch {touched}')
__import__('os').mkdir('{touched}')
eval("open('{touched}', 'w')")
exec('x = 1')
x = os.environ['HOME']
y = open('{touched}', 'w')
Path('{touched}').write_text('x')
"""
    )

    assert not touched.exists()
    assert found.values["x"] == Unknown("os.environ[...]")


LOOPS = "".join(f"{' ' * n}for b{n} in range(9999):\n" for n in range(6)) + " " * 9 + "x = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "x = [0]\n" + "x += x\n" * 60,
        "x = 'a'\n" + "x = x + x\n" * 60,
        "x = 2\n" + "x = x * x\n" * 60,
        "x = [1]\n" + "x = [x, x]\n" * 200 + "y = x == x\nz = str(x)\nw = {tuple(x): 1}\n",
        LOOPS,
        "x = " + "(" * 90 + "1" + ")" * 90,
        "x = " + "-" * 5000 + "1",
        "x = " + "[" * 5000,
        "x = 1 +",
        "\0",
        "def f(n):\n    return [f(n - 1), f(n - 1)]\nx = f(99)\n",
    ],
)  # fmt: skip
def test_a_file_made_to_do_harm_ends_soon(read, text):
    with suppress(InputError):
        assert isinstance(read(text), ReadFile)
