"""The user's copy of a data set is read row by row, whatever kind of file it is, and told exactly."""

from hashlib import sha256
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.data_set import (
    DataOptions,
    DataSetLayout,
    chosen,
    conditions,
    iso_date,
    open_data,
)
from tests.published_rows import deepmind_row, graph_row, longbench_row, written

GRAPHS = DataSetLayout("graphs", ("prompt", "problem_type"), "prompt", "prompt_chars", corrected="2026-02-27")
BOOKS = DataSetLayout("books", ("_id", "context"), "context")


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path, kind):
    rows = [graph_row(number, edges=5 * number + 4) for number in range(5)]
    path = Path(written(tmp_path / f"g.{kind}", rows))
    data = open_data(str(path), GRAPHS)
    assert [data.text(number) for number in (4, 0, 3, 1, 2)] == [rows[number]["prompt"] for number in (4, 0, 3, 1, 2)]
    assert [entry.row["answer_nodes"] for entry in data.entries] == [row["answer_nodes"] for row in rows]
    assert [entry.chars for entry in data.entries] == [len(row["prompt"]) for row in rows]
    assert data.sha256 == sha256(path.read_bytes()).hexdigest()
    assert all("prompt" not in entry.row for entry in data.entries)
    # Characters are counted where no column has them.
    books = [longbench_row(number, words=number + 1) for number in range(5)]
    counted = open_data(written(tmp_path / f"b.{kind}", books), BOOKS)
    assert [entry.chars for entry in counted.entries] == [len(row["context"]) for row in books]


def test_csv_keeps_line_ends_and_quotes_of_its_texts(tmp_path):
    rows = [deepmind_row(number) for number in range(3)]
    rows[1]["queries"] = 'He said "yes",\nthen\r\nleft. ' + rows[1]["queries"]
    data = open_data(written(tmp_path / "d.csv", rows), DataSetLayout("v2", ("queries", "answer"), "queries"))
    assert [data.text(number) for number in range(3)] == [row["queries"] for row in rows]


def test_a_folder_is_all_of_its_files_that_have_such_rows(tmp_path):
    written(tmp_path / "a.jsonl", [graph_row(0)])
    written(tmp_path / "b.parquet", [graph_row(1), graph_row(2)])
    written(tmp_path / "other.json", [longbench_row(0)])
    data = open_data(str(tmp_path), GRAPHS)
    assert [(file.name, file.rows) for file in data.files] == [("a.jsonl", 1), ("b.parquet", 2)]
    assert data.facts["rows"] == 3
    assert data.text(2) == graph_row(2)["prompt"]


def test_rows_from_before_a_correction_are_told(tmp_path):
    early = open_data(written(tmp_path / "a.jsonl", [graph_row(0, added="04-12-2025")]), GRAPHS)
    assert "before the correction of 2026-02-27" in early.outdated
    assert early.facts["outdated"] == early.outdated
    later = [graph_row(0, added="04-12-2025"), graph_row(1)]
    assert open_data(written(tmp_path / "b.jsonl", later), GRAPHS).outdated == ""
    undated = graph_row(0)
    del undated["date_added"]
    assert "no date_added" in open_data(written(tmp_path / "c.jsonl", [undated]), GRAPHS).outdated


def test_dates():
    dates = {"02-27-2026": "2026-02-27", "2025-12-05": "2025-12-05", "4/12/2025": "2025-04-12", 7: ""}
    assert {told: iso_date(told) for told in dates} == dates


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "", "has no rows of graphs"),
        ("a.jsonl", '{"prompt": "x"}\n', "has no problem_type"),
        ("a.jsonl", '{"prompt": 1, "problem_type": "bfs"}\n', "its prompt is no text"),
        ("a.jsonl", "{oh\n", "cannot be read"),
        ("a.jsonl", "7\n", "it is no object"),
        ("a.parquet", "PAR?", "is no parquet file"),
        ("a.txt", "x", "give a file"),
        ("gone", None, "is no file and no folder"),
        ("", None, "has no file"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        open_data(str(tmp_path / name), GRAPHS)


def test_rows_are_chosen_by_their_columns_and_a_smaller_limit_is_a_part(tmp_path):
    rows = [graph_row(number, "bfs" if number % 2 else "parents") for number in range(12)]
    data = open_data(written(tmp_path / "a.jsonl", rows), GRAPHS)

    def asked(**own):
        found = chosen(data, DataOptions(**own), lambda entry: entry.row["problem_type"])
        return [entry.number for entry in found]

    assert asked(data_where=("problem_type=bfs",)) == asked(data_where=("problem_type = BFS",)) == [1, 3, 5, 7, 9, 11]
    assert asked(data_where=("problem_type=bfs|parents", "date_added=02-27-2026")) == list(range(12))
    few, more = asked(data_limit=2), asked(data_limit=4)
    assert len(few) == 4
    assert set(few) < set(more)
    with pytest.raises(InputError, match="none of 12 rows is like that: problem_type is bfs, parents"):
        asked(data_where=("problem_type=dfs",))
    with pytest.raises(InputError, match="no such column"):
        asked(data_where=("kind=bfs",))


def test_conditions_are_columns_with_values():
    assert conditions("--data-where", "n_needles=8, length=short|medium") == ("n_needles=8", "length=short|medium")
    with pytest.raises(InputError, match="write COLUMN=VALUE"):
        conditions("--data-where", "eight")
