"""OpenAI MRCR, MRCR v2, GraphWalks, LongBench v2, AA-LCR. Needs a copy of the data (`--data PATH`)."""

import pytest


@pytest.mark.cells("openai_mrcr")
def test_openai_mrcr(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("deepmind_mrcr")
def test_deepmind_mrcr(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("graphwalks")
def test_graphwalks(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("longbench_v2")
def test_longbench_v2(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("aa_lcr")
def test_aa_lcr(cell, generate, assert_scored):
    assert_scored(generate(cell))
