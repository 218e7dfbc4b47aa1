"""What one family alone has: values that are not the default, and one place for each default."""

from __future__ import annotations

import json

import pytest

from needlework.core.settings import FamilyValues, family_options
from needlework.haystack_fixtures.configuration.resolve import (
    family_from_tables,
    resolve_settings,
    run_table,
    suite_table,
)
from needlework.haystack_fixtures.retrieval.options import OPTIONS as RETRIEVAL
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.tasks.document_material import OPTIONS as DOCUMENTS
from needlework.haystack_fixtures.tasks.document_material import DocumentOptions
from needlework.haystack_fixtures.tasks.published.leval_files import OPTIONS as LEVAL
from needlework.haystack_fixtures.tasks.published.leval_files import LevalOptions


@pytest.mark.parametrize(
    ("kind", "options"), [(LevalOptions, LEVAL), (DocumentOptions, DOCUMENTS), (RetrievalOptions, RETRIEVAL)]
)
def test_a_familys_values_have_the_defaults_of_its_options(kind, options):
    usual = kind()
    assert {option.key: option.usual for option in options} == {
        option.key: getattr(usual, option.key) for option in options
    }


def test_only_what_is_said_is_kept(tmp_path):
    (suite,) = resolve_settings({"leval_subset": "llm", "retrieve": "4", "vote": "0"}, {}, tmp_path).suites
    assert dict(suite.family) == {"leval_subset": "llm"}
    assert family_options(suite, LevalOptions) == LevalOptions(leval_subset="llm")
    assert hash(suite) == hash(suite)
    assert {suite.family: 1}[FamilyValues({"leval_subset": "llm"})] == 1


def test_a_manifests_tables_give_it_back(tmp_path):
    given = {
        "retriever": "none,bm25",
        "chunk_size": "64t",
        "no_truncate": "true",
        "leval_data": "a,b",
        "preset": "quick",
    }
    (suite,) = resolve_settings(given | {"embedder_base_url": "http://h/v1"}, {}, tmp_path).suites
    assert suite_table(suite)["leval_subset"] == "scored"
    tables = json.loads(json.dumps([run_table([suite]), suite_table(suite)]))
    assert family_from_tables(*tables) == suite.family
