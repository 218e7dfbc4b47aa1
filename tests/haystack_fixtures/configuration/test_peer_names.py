"""Published systems' names: what is said to them, and their table in docs/presets.md.

`python tests/haystack_fixtures/configuration/test_peer_names.py` updates the page's table.
"""

import re
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.core.settings import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.configuration.resolve import resolve_settings


@pytest.mark.parametrize(
    ("suite", "run", "said"),
    [
        ("task = 'niah'\nrepeast = 'x'", "", "did you mean repeats"),
        ("task = 'niah'\nmodel = 'x'", "", "above its suites"),
        ("task = 'niah'\nabbr = 'x'", "", "abbr.*: here cells are named"),
        ("task = 'niah'\napi_key = 'x'", "", "here --api-key-env"),
        ("task = 'niah'\ncontext_lengths = [1000]", "", r"here --lengths \(of the text alone: --length-means context"),
        ("task = 'niah'\nretrieval_questoin = 'x'", "", "here --question"),
        ("task = 'niah'", "lengths = '1k'", r"stands in \[\[mine.suite\]\]"),
        ("task = 'niah'", "modell = 'x'", "did you mean model?"),
        ("task = 'niah'", "api_url = 'x'", "here --base-url"),
        ("lengths = 1000", "", "every suite names its task"),
    ],
)
def test_a_wrong_key_is_one_line(tmp_path, suite, run, said):
    (tmp_path / "mine.toml").write_text(f"[mine]\n{run}\n[[mine.suite]]\n{suite}", "utf-8")
    with pytest.raises(InputError, match=said):
        resolve_settings({"preset": str(tmp_path / "mine.toml")}, {}, tmp_path)


PAGE = Path(__file__).parents[3] / "docs" / "presets.md"
HEAD = "| their name | here |\n|---|---|\n"
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def table():
    """A row for each parameter of another meaning here."""
    rows = (row for row in NAMES.values() if row.ours and not row.same)
    return HEAD + "".join(f"| {row.peers[0]}: `{row.name}` | `{row.ours}`: {row.about} |\n" for row in rows)


def test_every_parameter_becomes_a_key_of_ours_and_the_page_has_the_table():
    assert all(row.ours in BY_KEY or (row.ours in SUITE_KEYS and row.here) for row in NAMES.values() if row.ours)
    assert table() in PAGE.read_text("utf-8")


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text("utf-8")), "utf-8")
