"""L-Eval's tasks on small data of ours in its layout, and on its own where that is there; files in its form."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, family_of
from needlework.haystack_fixtures.tasks.published.leval import find_own_tasks, own_rule
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS, read_task
from needlework.scoring.registry import scorer_named
from tests.haystack_fixtures.tasks.built import context, run_of

ROOT = Path(__file__).parents[3]
REAL = Path(os.environ.get("NEEDLEWORK_LEVAL_DATA", ROOT.parent / "shared" / "data" / "leval"))
TREE = "The pear tree stood behind the mill. " * 60
FERRY = "The ferry ran on Thursdays only. " * 60


def row(document, pairs, evaluation):
    questions, answers = zip(*pairs, strict=True)
    return {"input": document, "instructions": questions, "outputs": answers, "evaluation": evaluation, "source": "x"}


@pytest.fixture
def data(tmp_path):
    """A folder of L-Eval's data: `data(coursera=[rows])`, flat or below a folder."""

    def write(below="", **files):
        folder = tmp_path / below
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in files.items():
            lines = "".join(json.dumps(each) + "\n" for each in rows)
            (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        return str(tmp_path)

    return write


def run(folder, *names, **options):
    given = {"preset": "leval-closed", "leval_data": folder, "lengths": "1200"}
    given |= {"task": ",".join(f"leval_{name}" for name in names)} | options
    return run_of(Path(folder), Path(folder), **{key: value for key, value in given.items() if value is not None})


def trials(folder, *names, **options):
    builder, cells = run(folder, *names, **options)
    return {cell.needle: builder.build(suite, cell) for suite, cell in cells}


CHOICE = [("Where did the tree stand?\nA. mill\nB. church", "A"), ("What was it?\nA. oak\nB. pear", "B")]


@pytest.mark.parametrize("below", ["", "Closed-ended-tasks", "LEval-data/Closed-ended-tasks", "LEval/Exam"])
def test_every_layout_is_found_and_what_is_absent_is_named_in_one_line(data, below):
    folder = data(below, tpo=[row(TREE, CHOICE, "exam")])
    assert list(trials(folder, "tpo")) == ["doc0_q0", "doc0_q1"]
    with pytest.raises(InputError, match=r".*\(leval_co.+\.jsonl \(leval_co.+--task leval_tpo\Z"):
        run(folder, "coursera", "tpo", "codeu")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"controls": "focused"}, "--controls"),
        ({"leval_subset": "llm"}, "--leval-subset"),
        ({"canary": "true"}, "--canary"),
        ({"leval_data": None}, "name your copy of its data with --leval-data DIR"),
    ],
)
def test_what_makes_no_sense_is_refused(data, options, said):
    with pytest.raises(InputError, match=said):
        trials(data(tpo=[row(TREE, CHOICE, "exam")]), "tpo", **options)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "JSON"),
        (json.dumps(row(TREE, CHOICE, "Exam")), "Invalid enum value 'Exam' - at `$.evaluation`; a row has input (the"),
        (json.dumps(row(" ", CHOICE, "exam")), "its document (`input`) is empty"),
        (json.dumps(row(TREE, CHOICE, "exam") | {"outputs": ["A"]}), "has 2 instructions and 1 outputs"),
        (json.dumps(row(TREE, [("Which?", 3)], "exam")), "Expected `str`, got `int` - at `$.outputs[0]`"),
        (json.dumps(row(TREE, [("Which?", " ")], "exam")), "answer 1 of `outputs` is blank"),
        (json.dumps(row(TREE, CHOICE, "f1")), "evaluation is f1, and exam in the rows above"),
        (json.dumps({"input": TREE, "instructions": [], "outputs": []}), "missing required field `evaluation`"),
    ],
)
def test_broken_rows_are_told_with_their_line(data, line, said):
    folder = data(tpo=[row(TREE, CHOICE, "exam")])
    with Path(folder, "tpo.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(InputError, match=rf"tpo\.jsonl:3.*{re.escape(said)}"):
        trials(folder, "tpo")


def test_open_tasks_tell_the_length_of_the_reference_unless_asked_not_to(data):
    folder = data(patent_summ=[row(TREE, [("Sum it up.", "A tree by a mill."), ("In a word?", "Tree")], "rouge")])
    found = trials(folder, "patent_summ", preset="leval-open")
    assert [trial.asked.reference["length_hint"] for trial in found.values()] == [5, 1]
    assert "Write about 5 words." in found["doc0_q0"].prompt.text
    assert "Write about 1 word." in found["doc0_q1"].prompt.text
    plain = trials(folder, "patent_summ", preset="leval-open", leval_length_hint="false")["doc0_q0"]
    assert "Write about" not in plain.prompt.text
    assert "length_hint" not in plain.asked.reference
    # A topic is wrong beside the others.
    pairs = [(f"What is the {nth} topic?", topic) for nth, topic in (("first", "Bees"), ("second", "Ice"))]
    trial = trials(data(topic_retrieval_longchat=[row(TREE, pairs, "exam")]), "topic_retrieval_longchat")["doc0_q0"]
    assert trial.asked.reference["distractors"] == ("Ice",)


STORY = "The moon is made of glass, True or False? Answer this question based on the world described in the document."


def test_the_floor_is_what_the_commonest_reference_gets(data):
    options = [("Who?\n(A) Ann", "(A) Ann"), ("Where?\n(A) sea", "(A) sea"), ("When?\n(B) then", "(B) then")]
    letters = [*CHOICE, ("Which?\nA. ash\nB. elm", "A ")]
    folder = data(quality=[row(TREE, options, "exam")], coursera=[row(TREE, letters, "exam")])
    for name in ("quality", "coursera"):
        (first, *_) = trials(folder, name).values()
        assert first.asked.reference["floor"] == 2 / 3


def test_sci_fi_asks_again_without_the_story(data):
    pairs = [(STORY, "True [fact: False]"), ("Nobody can fly.", "False [fact: True]")]
    builder, cells = run(data(sci_fi=[row(TREE, pairs, "exam")]), "sci_fi")
    first, other = (builder.build(suite, cell) for suite, cell in cells)
    assert first.asked.answer == "True"
    assert first.asked.reference["answers"] == ("True [fact: False]",)
    assert first.asked.reference["floor"] == 1 / 2, "each of the two parts gives half of the score"
    second = builder.follow_up(first, "")
    assert "The moon is made of glass" in second.prompt.text
    assert "pear tree" not in second.prompt.text
    assert "document" not in second.prompt.text
    assert second.asked.answer == "False"
    assert "real world" in builder.follow_up(other, "").prompt.text


def test_a_document_that_is_too_long_is_cut_or_skipped(data):
    folder = data(tpo=[row(TREE * 20, CHOICE, "exam")])
    cut = trials(folder, "tpo")["doc0_q0"]
    assert cut.prompt.flags == ("truncated",)
    assert cut.prompt.slack <= 2
    assert (TREE * 20).startswith(context(cut))
    skipped = trials(folder, "tpo", no_truncate="true")["doc0_q0"]
    assert "--no-truncate" in skipped.skipped
    needed = skipped.skipped.rpartition(" ")[2]
    assert not trials(folder, "tpo", no_truncate="true", lengths=needed)["doc0_q0"].skipped
    code = "".join(f"def f{number}(x): return x + {number}\n" for number in range(400))
    ended = trials(data(codeU=[row(code, [("What gives f3(1)?", "4")], "exam")]), "codeu")["doc0_q0"]
    assert code.endswith(context(ended))
    compat = trials(folder, "tpo", leval_truncation="compat")["doc0_q0"]
    assert (TREE * 20).startswith(f"{context(compat)} ")


def test_the_table_has_every_task_once_with_a_scorer():
    assert len({task.task for task in LEVAL_TASKS.values()}) == len({task.file for task in LEVAL_TASKS.values()}) == 20
    for source in LEVAL_TASKS.values():
        assert TASKS[source.task].family == "leval"
        assert scorer_named(source.scorer).name == source.scorer


@pytest.mark.skipif(not REAL.is_dir(), reason="L-Eval's data is not there")
@pytest.mark.parametrize("source", LEVAL_TASKS.values(), ids=lambda source: source.name)
def test_real_data_has_the_published_questions_and_scorers(source):
    if source.name in ("codeU", "narrative_qa") and not any(REAL.rglob(source.file)):
        pytest.skip("one of the two files that were not to be had")
    file = read_task(str(REAL), source)
    assert len(file.of("scored")) == source.expected
    assert {item.evaluation for item in file.of("scored")} == {source.evaluation}
    assert len(file.of("both")) == len(file.of("llm")) + len(file.of("human"))


def test_the_hubs_data_set_is_read_from_its_cache(data, tmp_path):
    """In a process without a network, as the hub's client reads its settings when it is imported."""
    code = (
        "from pathlib import Path\n"
        "from needlework.core.errors import InputError\n"
        "from needlework.core.settings import Places\n"
        "from needlework.core.settings import BY_KEY\n"
        "from needlework.haystack_fixtures.configuration.stored_settings import safe_value\n"
        "from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS, read_task\n"
        "def items(spec):\n"
        "    try:\n"
        "        return len(read_task(spec, LEVAL_TASKS['tpo']).items)\n"
        "    except InputError as error:\n"
        "        return error\n"
        "def stored(option, name='hf:L4NLP/LEval'):\n"
        "    try:\n"
        "        return safe_value(BY_KEY[option], name, Places(Path()))\n"
        "    except InputError as error:\n"
        "        return error\n"
        "values = items('hf:L4NLP/Absent'), items('hf:L4NLP/LEval'), stored('leval_data'), stored('tokenizer')\n"
        "values += (stored('tokenizer', 'hf:L4NLP/Model'),)\n"
        "print(*values, sep='\\n')\n"
    )
    snapshot = f"hub/datasets--L4NLP--LEval/snapshots/{'0' * 40}"
    data(f"{snapshot}/LEval/Exam", tpo=[row(TREE, [("Where?", "A"), ("Who?", "B")], "exam")])
    stored_model = tmp_path / f"hub/models--L4NLP--Model/snapshots/{'0' * 40}"
    stored_model.mkdir(parents=True)
    for name in ("datasets--L4NLP--LEval", "models--L4NLP--Model"):
        (tmp_path / "hub" / name / "refs").mkdir()
        (tmp_path / "hub" / name / "refs/main").write_text("0" * 40)
    environment = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    absent, items, data_set, absent_model, model = done.stdout.splitlines()
    assert absent.startswith("--leval-data: 'hf:L4NLP/Absent': the hub gave nothing")
    assert items == "2"
    assert data_set == str(tmp_path / snapshot), "a stored run names a data set, and no model of the same name"
    assert absent_model.startswith("--tokenizer: 'hf:L4NLP/LEval': is on no disk here")
    assert model == f"hf:{stored_model}"


YEAR = [row("The mill was built in 1791. ", [("When?", "1791")], "f1")]
LETTER = [row("The mill was built in 1791. ", [("When?", "B")], "exam")]


def asked(**given):
    return [suite.task for suite in resolve_settings(given | {"model": ["mock:perfect"]}, {}, Path()).suites]


@pytest.mark.parametrize(
    ("evaluation", "answers", "rule"),
    [
        ("f1", ["A"], "leval_f1"),
        ("rouge", ["A"], "leval_rouge"),
        ("exam", ["A", "(B) the ship", "C. the sea"], "leval_letter"),
        ("exam", ["A", "ABD"], "leval_letters"),
        ("exam", ["18", "-3.5", "$1,200", "40 %"], "leval_math"),
        ("exam", ["A", "the mill"], "leval_topic"),
        ("exam", ["A ship"], "leval_topic"),
        ("exam", [], "leval_topic"),
    ],
)
def test_rows_say_what_scores_them(evaluation, answers, rule):
    assert own_rule(evaluation, answers) == rule


@given(st.lists(st.sampled_from(["A", "BC", "12", "a word"])), st.randoms())
def test_the_rule_does_not_depend_on_the_order_of_the_rows(answers, chance):
    assert own_rule("exam", answers) == own_rule("exam", chance.sample(answers, len(answers)))


def test_a_folder_or_a_pattern_has_every_file_of_the_form(data, tmp_path):
    folder = data(one=YEAR, two=LETTER, log=[{"a": 1}])
    assert asked(leval_data=folder) == ["leval_one", "leval_two"]
    assert asked(leval_data=f"{folder}/o*.jsonl") == ["leval_one"]
    assert asked(leval_data=folder, task="leval_two") == ["leval_two"]
    (tmp_path / "run.toml").write_text(f"leval_data = '{folder}'")
    assert asked(config=str(tmp_path / "run.toml")) == ["leval_one", "leval_two"]
    data(**{"Harbour Notes.cleaned": YEAR})
    (source,) = find_own_tasks(str(tmp_path / "Harbour Notes.cleaned.jsonl"))
    assert (source.task, source.scorer, source.group) == ("leval_harbour_notes_cleaned", "leval_f1", "open")
    assert family_of(source.task) == "leval"


def test_data_alone_asks_what_it_has_and_published_names_stay_what_they_are(data):
    folder = data(tpo=LETTER, mine=YEAR)
    assert asked(leval_data=folder) == ["leval_tpo", "leval_mine"]
    assert asked(leval_data=folder, preset="leval", task="tpo") == ["leval_tpo"]
    assert asked(leval_data=folder, task="leval_mc") == ["leval_coursera", "leval_quality", "leval_tpo"]
    for preset in ("quick", "families"):
        assert asked(leval_data=folder, preset=preset) == asked(preset=preset)


def test_a_broken_file_in_a_folder_stops_only_those_who_ask_it(data, tmp_path):
    folder = data(tpo=LETTER)
    (tmp_path / "mine.jsonl").write_text(f"{json.dumps(YEAR[0])}\n{{")
    assert asked(leval_data=folder, task="leval_tpo") == ["leval_tpo"]
    with pytest.raises(InputError, match=r"mine\.jsonl:2"):
        find_own_tasks(str(tmp_path / "mine.jsonl"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TPO.jsonl", "its task would be leval_tpo"),
        ("nowhere*.jsonl", "no file is called so"),
        ("", "has no jsonl file"),
    ],
)
def test_what_cannot_be_a_task_is_told(data, tmp_path, name, said):
    if name.startswith("TPO"):
        data(TPO=LETTER)
    with pytest.raises(InputError, match=said):
        asked(leval_data=str(tmp_path / name))
