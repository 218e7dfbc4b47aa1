"""A gate that asks about nothing is found before the first request."""

from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.gates.gate import check_scopes, parse_gate

GRID = {"lengths": "400,16k", "depths": "0,50", "model": ["mock:perfect"]}


def check(text, selected=None, **options):
    check_scopes([parse_gate(text)], grid(resolve_settings(GRID | options, {}, Path())), selected)


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ("task=nia", "the run has task niah"),
        ("length>=64k", "the run has length 400, 16k"),
        ("depth=40..49", "the run has depth 0, 50"),
        ("task=niah, length=64k", "the run has task niah; length 400, 16k"),
        ("retriever=bm25", "the run has retriever none"),
        ("model=gpt", "the run has model mock:perfect"),
        ("language=zh", "the run has language en"),
    ],
)
def test_a_scope_that_fits_no_cell_is_refused_with_what_the_run_has(scope, told):
    with pytest.raises(InputError, match="no cell of this run is in its scope") as refused:
        check(f"score >= 0.9 [{scope}]")
    assert str(refused.value).endswith(told)


@pytest.mark.parametrize(
    "scope",
    ["", "[length<=1k]", "[task=niah, depth=40..60]", "[model=mock:perfect, language=en]", "[task=niah@test_own]"],
)
def test_a_scope_that_fits_is_taken(scope):
    check(f"score >= 0.9 {scope}")


def test_cells_that_k_leaves_out_are_in_no_scope():
    selected = {"niah-len400-depth0-code-r0"}

    check("score >= 0.9 [length=400]", selected)
    with pytest.raises(InputError, match=r"the run has length 400$"):
        check("score >= 0.9 [length=16k]", selected)


def test_controls_count_where_they_are_named():
    check("score <= 0.1 [needle=code_absent]", controls="absent", needle_set="codes")
    with pytest.raises(InputError, match=r"the run has needle code$"):
        check("score <= 0.1 [needle=code_absent]", needle_set="codes")
