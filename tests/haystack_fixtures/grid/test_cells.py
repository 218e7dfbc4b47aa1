"""Cells and their ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.grid import Cell, depth_label, parse_id, slug

cells = st.builds(
    Cell,
    task=st.sampled_from(["niah", "multi_needle", "parallel"]),
    length=st.integers(1, 10_000_000),
    depth=st.one_of(st.none(), st.integers(0, 100).map(float), st.floats(0, 100).map(lambda x: round(x, 3))),
    needle=st.sampled_from(["code", "code_zh", "goat_cheese", "小明"]),
    repeat=st.integers(0, 999),
    model=st.sampled_from(["", "smollm2", "mock_perfect", "openai_gpt-4o"]),
)


def test_the_id_reads_as_documented():
    assert Cell("niah", 4000, 50.0, "code").id == "niah-len4000-depth50-code-r0"
    assert Cell("parallel", 4000, None, "codes", 2, "smollm2").id == "parallel-len4000-depthall-codes-r2-smollm2"


@given(cells)
def test_an_id_says_which_cell_it_is(cell):
    assert parse_id(cell.id) == cell
    assert parse_id(f"benchmarks/test_niah.py::test_needle[{cell.id}]") == cell
    escaped = cell.id.encode("unicode_escape").decode("ascii")  # as pytest writes it where no ini file says otherwise
    assert parse_id(f"benchmarks/test_niah.py::test_needle[{escaped}]") == cell


@pytest.mark.parametrize("text", ["", "test_x[1-2]", "niah-len-depth50-code-r0", "tests/test_a.py::test_b"])
def test_other_ids_are_no_cells(text):
    assert parse_id(text) is None


@given(cells)
def test_cells_of_one_haystack_differ_in_depth_alone(cell):
    other = Cell(cell.task, cell.length, 12.0, cell.needle, cell.repeat, cell.model)
    longer = Cell(cell.task, cell.length + 1, cell.depth, cell.needle, cell.repeat, cell.model)

    assert cell.haystack_id == other.haystack_id
    assert cell.haystack_id != longer.haystack_id


def test_depths_are_written_without_trailing_zeros():
    assert [depth_label(depth) for depth in (0.0, 50.0, 99.104, None)] == ["0", "50", "99.104", "all"]


def test_a_slug_is_safe_in_file_names():
    assert slug("hf:org/Some Model") == "hf_org_Some_Model"
    assert slug("///") == "unnamed"


def test_questions_of_a_document_share_a_haystack():
    ids = [Cell("leval_tpo", 1000, None, needle).haystack_id for needle in ("doc3_q0", "doc3_q17", "doc31_q0")]
    assert ids[0] == ids[1] != ids[2]
