"""docs/presets.md lists the parameters that differ here, and its examples are configurations.

`python tests/haystack_fixtures/configuration/test_peer_names_page.py` updates the table.
"""

import re
import tomllib
from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.option_table import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.configuration.resolve import resolve_settings

PAGE = Path(__file__).parents[3] / "docs" / "presets.md"
HEAD = "| their name | here |\n|---|---|\n"
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def table():
    """A row for each parameter of another meaning here."""
    rows = (row for row in NAMES.values() if row.ours and not row.same)
    return HEAD + "".join(f"| {row.peers[0]}: `{row.name}` | `{row.ours}`: {row.about} |\n" for row in rows)


def presets():
    """The TOML examples under the published configurations' headings, by the name of their preset."""
    section = PAGE.read_text("utf-8").partition("## The published configurations")[2].partition("\n## ")[0]
    return {next(iter(tomllib.loads(text))): text for text in re.findall(r"```toml\n(.*?)```", section, re.DOTALL)}


def test_the_page_has_the_table():
    assert table() in PAGE.read_text("utf-8")


@pytest.mark.parametrize("row", [row for row in NAMES.values() if row.ours], ids=lambda row: row.name)
def test_every_parameter_becomes_a_key_of_ours(row):
    assert row.ours in BY_KEY or (row.ours in SUITE_KEYS and row.here)


@pytest.mark.parametrize(("name", "task", "scorer"), [("single", "niah", "cdme")])
def test_opencompass_published_configurations_as_the_page_has_them(tmp_path, name, task, scorer):
    (tmp_path / "x.toml").write_text(presets()[name], "utf-8")
    (suite,) = resolve_settings({"preset": str(tmp_path / "x.toml")}, {}, tmp_path).suites
    (ours,) = resolve_settings({"preset": "cdme-8k"}, {}, tmp_path).suites
    for key in ("lengths", "depths", "repeats", "length_means", "length_buffer", "guide", "diff", "answer_budget"):
        wanted = getattr(ours, key)
        assert getattr(suite, key) == wanted, key
    assert (suite.task, suite.scorer, suite.language) == (task, scorer, "zh")


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text("utf-8")), "utf-8")
