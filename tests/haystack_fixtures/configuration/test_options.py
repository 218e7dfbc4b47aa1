"""One table of options: fields of the settings and of the families, what a manifest has of them, unknown ones."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.core.settings import FamilyValues, Settings, Suite, family_options
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.configuration.stored_settings import read_settings, settings_tables
from needlework.haystack_fixtures.tasks.published.leval_files import LevalOptions
from needlework.pytest_plugin.options import hints


def test_only_what_is_said_is_kept(tmp_path):
    (suite,) = resolve_settings({"leval_subset": "llm", "retrieve": "4", "vote": "0"}, {}, tmp_path).suites
    assert dict(suite.family) == {"leval_subset": "llm"}
    assert family_options(suite, LevalOptions) == LevalOptions(leval_subset="llm")
    assert {suite.family: 1}[FamilyValues({"leval_subset": "llm"})] == 1


def test_a_manifests_tables_give_it_back(tmp_path):
    options = {
        "retriever": "none,BM25",
        "chunk_size": "64t",
        "no_truncate": "true",
        "leval_data": "a,b",
        "preset": "quick",
        "embedder_base_url": "http://h/v1",
    }
    settings = resolve_settings(options, {}, tmp_path)
    run, suites = json.loads(json.dumps(settings_tables(settings)))
    assert (suites[0]["leval_subset"], run["embedder_base_url"]) == ("scored", "http://h/v1")
    assert read_settings("manifest.json", run, suites) == settings


@pytest.mark.parametrize(
    ("run", "suite"),
    [
        ({"seed": "0"}, {}), ({"seed": -1}, {}), ({"seed": 10**30}, {}), ({"seed": True}, {}), ({"seed": None}, {}),
        ({"model": "mock:perfect"}, {}), ({"model_arg": ["dtype"]}, {}), ({"timeout": float("nan")}, {}),
        ({"cache_policy": "none"}, {}), ({"results_dir": 1}, {}), ({"run_name": "\ud800"}, {}),
        ({}, {"lengths": []}), ({}, {"repeats": 0}), ({}, {"depths": [None]}), ({}, {"chunk_size": {}}),
    ],
)  # fmt: skip
def test_a_manifest_with_a_value_of_no_use_is_refused(run, suite, tmp_path):
    options, suites = json.loads(json.dumps(settings_tables(resolve_settings({"preset": "quick"}, {}, tmp_path))))
    with pytest.raises(InputError):
        read_settings("manifest.json", options | run, [each | suite for each in suites])


@pytest.mark.parametrize("tables", [(None, []), ({}, []), ({}, None), ([], [{}]), ({}, ["x"])])
def test_what_is_no_manifest_is_refused(tables):
    with pytest.raises(InputError, match="not a manifest"):
        read_settings("manifest.json", *tables)


def test_every_field_is_an_option_or_says_what_it_is():
    keys = set(BY_KEY)
    assert set(Settings.__struct_fields__) - keys == {"suites", "judge_prompt_sha256"}
    assert set(Suite.__struct_fields__) - keys == {
        "family", "judge_by_default", "keyword", "repeats_per_file", "spread", "tokenizer_model", "variants", "window",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--needel", "--needel: did you mean --needle?"),
        ("--answer_budget=3", "--answer_budget: write --answer-budget"),
        ("--data_path", "--data_path (long-context-eval): here --documents FOLDER"),
        ("--eval-prompt=x", "--eval-prompt (long-context-eval): here --judge-prompt FILE"),
        ("--api-url", "--api-url (EvalScope): here --base-url"),
        ("--contxt_lengths", "--contxt_lengths: here --lengths (of the text alone: --length-means context)"),
        ("--frobnicate", None),
    ],
)
def test_an_unknown_option_tells_which_was_meant(word, said):
    assert list(hints([word, "x", "-q"])) == ([said] if said else [])


def test_pytests_own_complaint_has_the_hint(pytester):
    pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
    result = pytester.runpytest_inprocess("--needel", "x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --needel*", "*--needel: did you mean --needle?"])
    other = pytester.runpytest_inprocess("--lengths")
    other.stderr.fnmatch_lines(["*expected one argument*", "*needlework run --help lists its options"])
