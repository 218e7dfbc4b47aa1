"""Questions on the user's own documents: position, size of the context, absent documents and near misses."""

import json
import re
import tempfile
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.documents.near_copies import DocumentSimilarity
from needlework.haystack_fixtures.tasks.catalogue import TASKS, deepest_first, grid
from needlework.pipeline.engine import Engine
from needlework.pipeline.preparation import prepare
from tests.haystack_fixtures.tasks.built import context, mock_value, run_of

RULE = "\n\n-----\n\n"
KEEPERS = ("Ada Vane", "Bo Holt", "Cyril Moss", "Dora Lind", "Egon Fry", "Frida Kerr", "Gus Penn", "Hetty Rook")
ISLANDS = ("Gull", "Heron", "Osprey", "Plover", "Tern", "Petrel", "Curlew", "Avocet")


def island(n):
    """A document that says who kept which light."""
    lines = [f"{ISLANDS[n]} Rock\n", f"The light on {ISLANDS[n]} Rock was kept by {KEEPERS[n]} for {n + 3} years."]
    lines += [f"In year {year} the island of {ISLANDS[n]} had {year * (n + 2) % 97} visitors." for year in range(1, 16)]
    return " ".join(lines)


def recipe(n):
    """A document about something else."""
    dish = f"{'abcde'[n // 26]}{chr(97 + n % 26)}"
    steps = (f"Stir pot {dish}{'o' * step} until it boils, then let {dish} and its lid rest." for step in range(1, 16))
    return f"Dish {dish}\n\n" + " ".join(steps)


@pytest.fixture
def folder(tmp_path):
    """Eight islands, one of them twice, and thirty dishes."""
    documents = tmp_path / "documents"
    (documents / "more").mkdir(parents=True)
    for n in range(8):
        (documents / f"island{n}.txt").write_text(island(n), encoding="utf-8")
    (documents / "island0 (copy).txt").write_text(island(0), encoding="utf-8")
    (documents / "all of island1.txt").write_text(f"{recipe(90)}\n\n{island(1)}\n\nThe end.", encoding="utf-8")
    for n in range(30):
        (documents / "more" / f"dish{n}.txt").write_text(recipe(n), encoding="utf-8")
    rows = {}
    for n in range(3):
        question = f"Who kept the light on {ISLANDS[n]} Rock?"
        rows[str(n)] = {"question": question, "answer": KEEPERS[n], "answer_doc": f"island{n}.txt"}
    rows["2"]["supporting_docs"] = ["island5.txt"]
    (tmp_path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path


def change_rows(folder, change):
    """Write the question file again as the function leaves its rows."""
    path = folder / "questions.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(rows) or rows), encoding="utf-8")


def run(folder, task, **options):
    return run_of(folder, **options_of(folder) | {"task": task, "lengths": "3k"} | options)


def options_of(folder):
    files = {"documents": str(folder / "documents"), "questions": str(folder / "questions.json")}
    return {"preset": "own-documents", "model": ["mock:perfect"]} | files


def trials(folder, task, **options):
    """Every trial, by its cell's id without the task, checked for what holds of each."""
    builder, cells = run(folder, task, **options)
    found = {}
    for suite, cell in cells:
        trial = found[cell.id.partition("-")[2]] = builder.build(suite, cell)
        budget = cell.length - suite.kept_free
        if "_" not in cell.needle or task == "doc_absent":
            assert 0 <= trial.prompt.slack <= max(2, budget // 2000)
            assert context(trial).count(RULE) == len(trial.asked.reference["documents"])
        assert trial.prompt.tokens + trial.prompt.slack == budget
        assert context(trial).endswith(RULE)
        assert trial.asked.question in trial.prompt.text
        assert mock_value(trial, "perfect") == 1
        assert mock_value(trial, "wrong") == 0
    return found


def others(trial):
    """The documents around those that are asked about."""
    asked = {needle.name for needle in trial.asked.needles}
    return tuple(name for name in trial.asked.reference["documents"] if name not in asked)


def test_the_answer_moves_and_nothing_else_does(folder):
    found = trials(folder, "doc_position")
    for n in range(3):
        assert len({others(trial) for trial in found.values() if trial.cell.needle == f"q{n}"}) == 1
    assert others(found["len3000-depth0-q0-r0"])[:5] == others(found["len3000-depth100-q2-r0"])[:5]
    for trial in found.values():
        reference, (needle, *beside) = trial.asked.reference, trial.prompt.placed
        assert needle.name == reference["document"]
        assert trial.prompt.text[needle.start : needle.end] in {island(n) for n in range(3)}
        assert abs(needle.depth - needle.requested) < 6
        assert needle.depth == needle.requested or trial.cell.depth not in (0, 100)
        assert reference["arm"] == "present"
        assert reference["cut_document"] == others(trial)[-1]
        # What supports the answer stands beside it.
        wanted = [("island5.txt", needle.end + len(RULE))] if trial.cell.needle == "q2" else []
        assert [(each.name, each.start) for each in beside] == wanted


def test_copies_of_the_answer_are_never_beside_it(folder):
    copies, seen = {"q0": "island0 (copy).txt", "q1": "all of island1.txt"}, set()
    for trial in trials(folder, "doc_position", lengths="9700").values():
        names = set(trial.asked.reference["documents"])
        assert copies.get(trial.cell.needle) not in names
        seen |= names
        # Where all documents are needed, those of the other questions are there too, and come last.
        last = {"island0.txt", "island0 (copy).txt", "island1.txt", "all of island1.txt", "island2.txt", "island5.txt"}
        assert others(trial)[-1] in last
    assert set(copies.values()) < seen


def test_each_question_has_one_depth_at_all_sizes_and_repeats_use_them_all(folder):
    _, cells = run(folder, "doc_size", retriever="none", controls="none", repeats="5")
    depths = {}
    for _, cell in cells:
        depths.setdefault((cell.needle, cell.repeat), []).append(cell.depth)
    assert {(len(each), len(set(each))) for each in depths.values()} == {(4, 1)}
    for label in ("q0", "q1", "q2"):
        assert {depths[label, repeat][0] for repeat in range(5)} == {0, 25, 50, 75, 100}
    assert len({depths[label, 0][0] for label in ("q0", "q1", "q2")}) == 3
    # Prompts that begin alike are asked one after the other.
    _, cells = run(folder, "doc_position", depths="0,100", controls="none")
    ordered = [(cell.depth, cell.needle) for cell in deepest_first([cell for _, cell in cells])]
    assert ordered == [(depth, f"q{n}") for depth in (100, 0) for n in range(3)]


@pytest.mark.parametrize("change", ["", " It rained."], ids=["copied", "nearly copied"])
def test_of_a_near_miss_no_copy_stands_beside_it(folder, change):
    for n in range(3, 8):  # whichever is the nearest
        (folder / f"again{n}.txt").write_text(island(n) + change, encoding="utf-8")
    found = trials(folder, "doc_absent", lengths="4000")
    for label in ("q0", "q1", "q2"):
        near = found[f"len4000-depthall-{label}_near-r0"]
        placed = near.asked.reference["near_document"]
        number = placed.removeprefix("island").removeprefix("again").removesuffix(".txt")
        alike = {f"island{number}.txt", f"again{number}.txt"} - {placed}
        assert not alike & set(near.asked.reference["documents"])


def test_without_the_answer_others_fill_its_place(folder):
    found, position = trials(folder, "doc_absent"), trials(folder, "doc_position", depths="50")
    for n in range(3):
        gone, near = found[f"len3000-depthall-q{n}_absent-r0"], found[f"len3000-depthall-q{n}_near-r0"]
        whole = position[f"len3000-depth50-q{n}-r0"]
        for trial in (gone, near):
            assert KEEPERS[n] not in context(trial)
            assert f"island{n}.txt" not in trial.asked.reference["documents"]
            assert trial.asked.question == whole.asked.question
        assert others(gone)[: len(others(whole)) - 1] == others(whole)[:-1]
        (needle,) = near.prompt.placed
        assert needle.name.startswith("island")
        assert abs(needle.depth - 50) < 6


def test_in_chinese(folder):
    found = trials(folder, "doc_position", language="zh", depths="50", controls="absent")
    for trial in found.values():
        assert "请只根据上面的文档" in trial.prompt.text
        assert trial.prompt.text.count("没有提到") == 2  # if it is not mentioned, say "not mentioned"
    assert found["len3000-depthall-q0_zh_absent-r0"].asked.reference["answers"] == ("没有提到",)


def test_labels_are_safe_and_say_no_arm_that_they_are_not(folder):
    odd = {"a-b [1]": "0", "a b 1": "1", "x_absent": "2", "了": "0"}
    change_rows(folder, lambda rows: {name: rows[key] for name, key in odd.items()})
    _, cells = run(folder, "doc_position", depths="50", controls="absent")
    labels = list(dict.fromkeys(cell.needle for _, cell in cells))
    assert labels[::2] == ["qa_b_1", "qa_b_1_again", "qx_absent_", "q了"]
    assert labels[1::2] == [f"{label}_absent" for label in labels[::2]]
    assert len(trials(folder, "doc_position", depths="50", controls="absent")) == 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"documents": "nowhere"}, "--documents: 'nowhere'"),
        ({"questions": "nowhere.json"}, "--questions: 'nowhere.json'"),
        ({"lengths": "400"}, "--lengths: '400': template, question q0 about 'island0.txt', and a sentence of another"),
        ({"lengths": "90k"}, "--lengths: '90000': all documents together fill"),
        ({"canary": "true"}, "--canary: 'true': doc_position asks about documents"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_line(folder, options, words):
    with pytest.raises(InputError, match=words):
        trials(folder, "doc_position", **options)
    change_rows(folder, lambda rows: rows["1"].update(answer_doc="lost.txt"))
    with pytest.raises(InputError, match=r"question 1 names 'lost.txt'"):
        run(folder, "doc_position")


@pytest.mark.slow
def test_the_length_that_a_small_folder_is_told_then_works_for_all_questions_depths_and_orders(folder):
    given = {"tokenizer": "o200k_base", "retriever": "none", "lengths": "90k"}
    settings = resolve_settings(options_of(folder) | given, {}, folder)
    engine = Engine(settings, Path(tempfile.gettempdir()), workers=1, tasks=TASKS)
    with pytest.raises(InputError, match="the fewest of all questions") as caught:
        prepare(engine, [cell for series in grid(settings) for cell in series.cells])
    told = re.search(r"use at most (\d+), or add some", str(caught.value))
    assert told
    for task, depths in (("doc_position", "0,35,100"), ("doc_absent", "50")):
        trials(folder, task, lengths=told[1], depths=depths, repeats="2", controls="none")
    with pytest.raises(InputError, match="all documents together fill"):
        trials(folder, "doc_absent", lengths=str(int(told[1]) + 200))


def test_the_nearest_document_shares_rare_words():
    texts = ["the red fox sleeps", "the cat sleeps", "a red fox runs", "the dog barks", "狐狸在睡觉", "狐狸在奔跑", ""]
    likeness = DocumentSimilarity(texts)
    assert likeness.nearest(0)[:2] == [2, 1]
    assert likeness.nearest(4)[0] == 5
    assert likeness.nearest(6) == [0, 1, 2, 3, 4, 5]
    assert DocumentSimilarity(["one"]).nearest(0) == []


def test_a_near_miss_does_not_have_the_answer(folder):
    first = trials(folder, "doc_absent")["len3000-depthall-q0_near-r0"].asked.reference["near_document"]
    path = folder / "documents" / first
    path.write_text(f"{path.read_text(encoding='utf-8')} Ada Vane came once.", encoding="utf-8")
    found = trials(folder, "doc_absent")["len3000-depthall-q0_near-r0"]
    assert found.asked.reference["near_document"] not in (first, "island0 (copy).txt")


def test_an_answer_that_stands_elsewhere_too_is_flagged(folder):
    for n in range(30):
        path = folder / "documents" / "more" / f"dish{n}.txt"
        path.write_text(f"Ada Vane cooked this. {recipe(n)}", encoding="utf-8")
    for task in ("doc_position", "doc_absent"):
        for trial in trials(folder, task, depths="50").values():
            elsewhere = trial.asked.reference["document"] == "island0.txt"
            assert trial.prompt.flags == ("answer_elsewhere",) * elsewhere
