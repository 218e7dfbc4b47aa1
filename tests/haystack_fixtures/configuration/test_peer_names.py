"""Published systems' names: in preset files, in values that depend on the system, and in docs/presets.md.

`python tests/haystack_fixtures/configuration/test_peer_names.py` updates the page's table.
"""

import re
import tomllib
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.core.settings import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS, translate
from needlework.haystack_fixtures.configuration.resolve import resolve_settings

NEEDLE = "needle = 'It is 7.'\nretrieval_question = 'What is it?'\n"


def settings(tmp_path, suite, run=""):
    (tmp_path / "mine.toml").write_text(f"[mine]\n{run}\n[[mine.suite]]\n{suite}", "utf-8")
    return resolve_settings({"preset": str(tmp_path / "mine.toml")}, {}, tmp_path)


def test_a_suite_with_the_published_names(tmp_path):
    found = settings(
        tmp_path,
        f"{NEEDLE}context_lengths = [1000, 2000]\ndocument_depth_percent_intervals = 3\n"
        "document_depth_percent_interval_type = 'sigmoid'\nlanguage = 'Chinese'\nlength_buffer = 200\nguide = true\n"
        "diff = 25\nmax_out_len = 512\nshow_score = true\ntokenizer_path = '/t'\n",
        "model = ['mock:perfect']\napi_url = 'http://x/v1'",
    )
    (suite,) = found.suites
    assert (suite.task, suite.lengths, suite.depths, suite.language) == ("niah", (1000, 2000), (0, 50, 99), "zh")
    assert (suite.length_buffer, suite.guide, suite.diff, suite.answer_budget) == (200, True, 25, 512)
    assert (found.heatmap_numbers, found.tokenizer) == (True, "/t")
    assert (found.model, found.base_url) == (("mock:perfect",), "http://x/v1")


@pytest.mark.parametrize(
    ("suite", "run", "said"),
    [
        ("task = 'niah'\nretrieval_questoin = 'x'", "", "did you mean retrieval_question"),
        ("task = 'niah'\nmodel = 'x'", "", "above its suites"),
        ("task = 'niah'\nabbr = 'x'", "", "abbr.*here: cells are named"),
        ("task = 'niah'\napi_key = 'x'", "", "here: --api-key-env"),
        ("task = 'niah'\nlengths = 1000\ncontext_lengths = [1000]", "", "two names for one thing"),
        ("task = 'niah'", "lengths = '1k'", r"stands in \[\[mine.suite\]\]"),
        ("task = 'niah'", "modell = 'x'", "did you mean model?"),
        ("lengths = 1000", "", "every suite names its task"),
    ],
)
def test_a_wrong_key_is_one_line(tmp_path, suite, run, said):
    with pytest.raises(InputError, match=said):
        settings(tmp_path, suite, run)


LENGTHS = [f"context_lengths_{part}" for part in ("min", "max", "num_intervals")]


def ours(table, **named):
    return translate("mine.toml", table, **named)[0]


def test_llmtest_spacing_is_its_own_where_its_ends_are_given():
    table = {"document_depth_percent_interval_type": "sigmoid", "document_depth_percent_intervals": 35}
    assert ours(table)["depth_spacing"] == "opencompass-sigmoid"
    assert ours(table | {"document_depth_percent_min": 0})["depth_spacing"] == "sigmoid"
    assert ours(table | {"document_depth_percent_min": 0}, peer=OPENCOMPASS)["depth_spacing"] == "opencompass-sigmoid"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"lengths": "1k", "context_lengths": [1000]}, "lengths, context_lengths.*two names for one thing"),
        ({LENGTHS[0]: 1000}, "give context_lengths_max and context_lengths_num_intervals too, or lengths"),
        ({"context_lengths": [1000]} | dict.fromkeys(LENGTHS, 2), "two names for one thing"),
        ({"document_depth_percent_interval_type": "cubic"}, "use linear or sigmoid"),
        ({"depth_spacing": "log", "document_depth_percent_interval_type": "linear"}, "two names for one thing"),
    ],
)
def test_what_is_said_twice_or_by_half_is_refused(table, said):
    with pytest.raises(InputError, match=said):
        translate("mine.toml", table)


def test_a_systems_own_table_has_its_precedence():
    assert ours({"context_lengths": [500]} | dict.fromkeys(LENGTHS, 2), peer=EVALSCOPE)["lengths"] == [500]
    both = {"needle": "a", "needles": ["b", "c"]}
    assert ours(both | {"multi_needle": False}) == {"needle": "a"}
    assert ours(both | {"multi_needle": True}) == {"task": "multi_needle", "needles": ["b", "c"]}


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


def test_every_parameter_becomes_a_key_of_ours_and_the_page_has_the_table():
    assert all(row.ours in BY_KEY or (row.ours in SUITE_KEYS and row.here) for row in NAMES.values() if row.ours)
    assert table() in PAGE.read_text("utf-8")


def test_opencompass_published_configuration_as_the_page_has_it(tmp_path):
    (tmp_path / "x.toml").write_text(presets()["single"], "utf-8")
    (suite,) = resolve_settings({"preset": str(tmp_path / "x.toml")}, {}, tmp_path).suites
    (ours,) = resolve_settings({"preset": "cdme-8k"}, {}, tmp_path).suites
    for key in ("lengths", "depths", "repeats", "length_means", "length_buffer", "guide", "diff", "answer_budget"):
        assert getattr(suite, key) == getattr(ours, key), key
    assert (suite.task, suite.scorer, suite.language) == ("niah", "cdme", "zh")


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text("utf-8")), "utf-8")
