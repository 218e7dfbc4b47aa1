"""Preset files of one's own, also with the published systems' names."""

import pytest

from needlework.core.errors import InputError
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
    )
    (suite,) = found.suites
    assert (suite.task, suite.lengths, suite.depths, suite.language) == ("niah", (1000, 2000), (0, 50, 99), "zh")
    assert (suite.length_buffer, suite.guide, suite.diff, suite.answer_budget) == (200, True, 25, 512)
    assert (found.heatmap_numbers, found.tokenizer) == (True, "/t")


def test_options_of_the_run_stand_in_the_presets_own_table(tmp_path):
    found = settings(
        tmp_path, f"{NEEDLE}lengths = 1000\ndepths = 0", "model = ['mock:perfect']\napi_url = 'http://x/v1'"
    )
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
