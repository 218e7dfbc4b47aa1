"""Tasks on rows of published data sets, on rows of our own in their layouts: prompts as given, references, lengths."""

import json
from hashlib import sha256

import pytest

from needlework.core.errors import InputError
from needlework.core.prompts import lay_out, load_shape
from needlework.haystack_fixtures.documents.data_set import RowSummary
from needlework.haystack_fixtures.haystacks.documents import cut_middle
from needlework.haystack_fixtures.tasks.published.data_sets import as_authors_fill, choice_question
from needlework.haystack_fixtures.trials.contexts import fill_in
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.haystack_fixtures.tasks.built import mock_value, run_of
from tests.parity.cases import cases
from tests.published_rows import deepmind_row, graph_row, longbench_row, mrcr_row, written


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


def test_the_authors_cut_by_tokens():
    for case in cases("field/longbench_v2_truncation"):
        ids = [33 + number % 90 for number in range(case["prompt_tokens"])]
        kept = cut_middle(ids, case["max_tokens"])
        assert (len(kept), "".join(map(chr, kept))) == (case["kept"], case["text"])


def test_a_document_with_a_placeholder_is_filled_as_by_the_authors():
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
