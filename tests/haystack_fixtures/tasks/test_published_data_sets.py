"""Users' copies of published data sets: how they are read, and rows asked as published."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.core.options import conditions
from needlework.core.prompts import lay_out, load_shape
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.documents.data_set import DataSetLayout, RowSummary, chosen, iso_date, open_data
from needlework.haystack_fixtures.haystacks.documents import cut_middle
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.tasks.published import aa_lcr
from needlework.haystack_fixtures.tasks.published.data_sets import as_authors_fill, choice_question
from needlework.haystack_fixtures.trials.contexts import fill_in
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.haystack_fixtures.tasks.built import mock_value, run_of
from tests.parity.cases import cases
from tests.published_rows import deepmind_row, graph_row, longbench_row, mrcr_row, write_copy, written

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
    assert [(file["name"], file["rows"]) for file in data.files] == [("a.jsonl", 1), ("b.parquet", 2)]
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
    dates = {"02-27-2026": "2026-02-27", "2025-12-05": "2025-12-05", "4/12/2025": "2025-04-12", 7: ""}
    assert {text: iso_date(text) for text in dates} == dates


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

    def asked(data_where=(), data_limit=0):
        found = chosen(data, data_where, data_limit, lambda entry: entry.row["problem_type"])
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
    assert conditions("--data-where", "n_needles=8, length=short|medium") == ("n_needles=8", "length=short|medium")
    with pytest.raises(InputError, match="write COLUMN=VALUE"):
        conditions("--data-where", "eight")


@pytest.fixture
def run(tmp_path):
    def build(preset, name, rows, **options):
        given = {"preset": preset, "data": written(tmp_path / name, rows)} | options
        builder, cells = run_of(tmp_path, **{key: value for key, value in given.items() if value is not None})
        return {cell.id: builder.build(suite, cell) for suite, cell in cells}

    return build


def test_openai_mrcr_is_sent_as_given_and_knows_its_pieces(run):
    rows = [mrcr_row(0), mrcr_row(1, needles=4)]
    found = run("openai-mrcr", "m.parquet", rows)
    assert list(found) == ["openai_mrcr-len8192-depthall-n2_q0000-r0", "openai_mrcr-len8192-depthall-n4_q0001-r0"]
    for row, trial in zip(rows, found.values(), strict=True):
        sent = [{"role": each.role, "content": each.content} for each in trial.prompt.messages]
        assert sent == json.loads(row["prompt"])
        reference = trial.asked.reference
        assert reference["answers"] == (row["answer"],)
        assert reference["wanted"] == "#2"
        assert reference["same_ask"] == row["n_needles"] == len(reference["distractors"]) + 1
        assert reference["chance"] == 1 / row["n_needles"]
        (place,) = trial.prompt.placed
        assert trial.prompt.text[place.start : place.end] == row["answer"][10:]
        assert mock_value(trial, "perfect") == 1


def test_deepmind_mrcr_is_one_text(run):
    rows = [deepmind_row(0), deepmind_row(1, needles=4)]
    found = run("deepmind-mrcr", "d.csv", rows)
    for row, trial in zip(rows, found.values(), strict=True):
        (message,) = trial.prompt.messages
        assert message.content == row["queries"]
        assert trial.asked.reference["answers"] == (row["answer"],)
        assert trial.asked.reference["same_ask"] == trial.asked.reference["needles"] == (2 if row is rows[0] else 4)
        assert mock_value(trial, "perfect") == 1
    assert [cell.split("-")[3] for cell in found] == ["n2_q0000", "n4_q0001"]


def test_graphwalks_is_sent_as_given(run):
    rows = [graph_row(0), graph_row(1, "bfs"), graph_row(2, edges=700)]
    found = run("graphwalks", "g.jsonl", rows)
    assert [cell.split("-")[1:4:2] for cell in found] == [
        ["len8192", "parents_q0000"],
        ["len8192", "bfs_q0001"],
        ["len16384", "parents_q0002"],
    ]
    for row, trial in zip(rows, found.values(), strict=True):
        (message,) = trial.prompt.messages
        assert message.content == row["prompt"]
        assert trial.asked.reference["parts"] == tuple(row["answer_nodes"])
        assert trial.asked.reference["floor"] == pytest.approx(1 / 3)
        assert mock_value(trial, "perfect") == 1


def test_a_limit_counts_each_kind_and_length(run):
    rows = [graph_row(number, edges=(40, 700)[number > 3]) for number in range(1, 8)]
    found = run("graphwalks", "g.jsonl", rows, data_limit="2")
    assert sorted(cell.split("-")[1] for cell in found) == ["len16384", "len16384", "len8192", "len8192"]
    assert set(run("graphwalks", "g.jsonl", rows, data_limit="1")) < set(found)


def test_an_answer_that_the_budget_cannot_hold_is_skipped_with_its_size(run):
    row = graph_row(1)
    row["answer_nodes"] = [f"{number:010x}" for number in range(50)]
    (trial,) = run("graphwalks", "g.jsonl", [row], answer_budget="64").values()
    assert trial.skipped.startswith("--answer-budget: '64': the answer of graphwalks parents_q0000")


def test_longbench_keeps_question_and_both_ends_of_a_document(run):
    rows = [longbench_row(number, words=100 + 900 * number) for number in range(2)]
    short, long = run("longbench-v2", "l.json", rows, lengths="600", task="longbench_v2").values()
    assert not short.prompt.flags
    assert rows[0]["context"].strip() in short.prompt.text
    assert long.prompt.flags == ("truncated",)
    assert 0.5 < long.prompt.truncated < 1
    assert long.prompt.slack <= 2
    assert "answer the question below.\n\n<text>\nIt begins." in long.prompt.text
    assert "It ends.\n</text>" in long.prompt.text
    assert "(D) an oar" in long.prompt.text
    assert long.asked.reference["chance"] == 0.25
    assert long.asked.reference["length_class"] == "medium"
    assert mock_value(long, "perfect") == 1


def test_longbench_as_the_authors_cut_it(run):
    rows = [longbench_row(1, words=1000)]
    given = {"lengths": "2k", "task": "longbench_v2", "data_cut": "compat", "data_window": "401"}
    (trial,) = run("longbench-v2", "l.json", rows, **given).values()
    (message,) = trial.prompt.messages
    tokenizer = load_tokenizer("o200k_base")
    shape = load_shape("longbench-v2", "en")
    document, asked = as_authors_fill(rows[0]["context"], choice_question(RowSummary(0, 0, rows[0])))
    whole = fill_in(lay_out(shape, asked, system=None, position="end")[0], document).content
    assert message.content == tokenizer.decode(cut_middle(tokenizer.encode(whole).ids.tolist(), 401))
    assert trial.prompt.flags == ("truncated",)


def test_longbench_without_cutting_skips_what_is_too_long_and_closed_book_has_no_document(run):
    rows = [longbench_row(1, words=1000)]
    (trial,) = run("longbench-v2", "l.json", rows, lengths="600", task="longbench_v2", data_cut="none").values()
    assert "needs a length of" in trial.skipped
    (trial,) = run("longbench-v2", "l.json", [longbench_row(2)], task="longbench_v2_closed_book").values()
    assert trial.prompt.messages[0].content.startswith("What is the correct answer to this question: What did keeper")
    assert "It begins." not in trial.prompt.text


@pytest.mark.parametrize(
    ("variant", "shape"),
    [
        ("0shot", "longbench-v2"),
        ("0shot_cot", "longbench-v2-cot"),
        ("0shot_no_context", "longbench-v2-closed-book"),
        ("0shot_rag", "longbench-v2-rag"),
    ],
)
def test_filled_prompts_are_the_authors(variant, shape):
    for case in cases("field/longbench_v2_prompts"):
        item = case["item"]
        question = choice_question(RowSummary(0, 0, {**item, "answer": "A"}))
        document, asked = as_authors_fill(item["context"], question)
        (message,) = lay_out(load_shape(shape, "en"), asked, system=None, position="end")
        text = fill_in(message, "" if "no_context" in variant else document).content
        assert len(text) == case["prompts"][variant]["characters"]
        assert sha256(text.encode()).hexdigest() == case["prompts"][variant]["sha256"]


def test_the_authors_cut_by_tokens_and_fill_in_placeholders_of_documents():
    for case in cases("field/longbench_v2_truncation"):
        ids = [33 + number % 90 for number in range(case["prompt_tokens"])]
        kept = cut_middle(ids, case["max_tokens"])
        assert (len(kept), "".join(map(chr, kept))) == (case["kept"], case["text"])
    question = choice_question(RowSummary(0, 0, longbench_row(0)))
    document, _ = as_authors_fill("He asked $Q$ and chose $C_B$. ", question)
    assert document == "He asked What did keeper 0 carry? and chose a rope."


@pytest.mark.parametrize(
    ("preset", "row", "options", "said"),
    [
        ("graphwalks", graph_row(1), {"controls": "focused"}, "asked as they are"),
        ("graphwalks", graph_row(1), {"data": "gone"}, "is no file"),
        ("graphwalks", graph_row(1) | {"answer_nodes": "a, b"}, {}, "'row 1': has no list of texts answer_nodes"),
        ("openai-mrcr", mrcr_row(0), {"data": None}, "--data hf:openai/mrcr"),
        ("openai-mrcr", mrcr_row(0) | {"prompt": "[1"}, {}, "no JSON list"),
        ("openai-mrcr", mrcr_row(0) | {"prompt": '[{"role": "tool", "content": "x"}]'}, {}, "not all of user"),
        ("openai-mrcr", mrcr_row(0) | {"prompt": '[{"role": "user", "content": "x"}]'}, {}, "is not the user's quest"),
    ],
)
def test_what_cannot_be_asked_is_one_line(run, preset, row, options, said):
    with pytest.raises(InputError, match=said):
        run(preset, "rows.jsonl", [row], **options)


PROMPT = """BEGIN INPUT DOCUMENTS

BEGIN DOCUMENT 1:
It was passed in May.
END DOCUMENT 1

BEGIN DOCUMENT 2:
The act has 12 sections.
END DOCUMENT 2

END INPUT DOCUMENTS

Answer the following question using the input documents provided above.

START QUESTION

How many sections has the act?

END QUESTION"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_question_has_its_documents_in_their_order_whatever_their_names_became(tmp_path, packed):
    builder, cells = run_of(tmp_path, preset="aa-lcr", data=write_copy(tmp_path, packed=packed), judge=["mock:judge"])
    first, *others = [builder.build(suite, cell) for suite, cell in cells if cell.repeat == 0]

    assert first.prompt.messages[-1].content == PROMPT
    assert [trial.cell.needle for trial in (first, *others)] == ["q001", "q002", "q003"]
    samples = [trial.asked.reference["sample"] for trial in (first, *others)]
    assert samples[0] == samples[1] != samples[2], "questions on one set of documents are one sample"
    assert len(cells) == 9, "three repeats"
    suite = cells[0][0]
    assert TASKS["aa_lcr"].notes(suite, False) == [
        "1 questions are left out, as the copy lacks a text of theirs (q004: losttxt)"
    ]


def test_answers_of_one_version_are_refused_with_the_judge_of_the_other(tmp_path, monkeypatch):
    data = write_copy(tmp_path)

    def cells(preset):
        return grid(resolve_settings({"preset": preset, "data": data, "judge": ["mock:judge"]}, {}, tmp_path))

    with pytest.raises(InputError, match=r"the answers of version 1\.1, .*: --preset aa-lcr"):
        cells("aa-lcr-1-0")
    monkeypatch.setattr(aa_lcr, "answers_version", lambda _data: "1.0")
    with pytest.raises(InputError, match=r"the answers of version 1\.0, .*: --preset aa-lcr-1-0"):
        cells("aa-lcr")
    assert len(cells("aa-lcr-1-0")) == 3


def test_a_copy_without_texts_is_refused(tmp_path):
    write_copy(tmp_path)
    alone = tmp_path / "alone"
    alone.mkdir()
    (tmp_path / "AA-LCR_Dataset.csv").rename(alone / "AA-LCR_Dataset.csv")

    with pytest.raises(InputError, match="has none of the documents' texts"):
        run_of(tmp_path, preset="aa-lcr", data=str(alone), judge=["mock:judge"])
