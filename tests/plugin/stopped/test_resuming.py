"""A run that is started again goes on: what is asked, its dates, and the facts that its answers were given under."""

import json
import shutil
from pathlib import Path

import pytest

from needlework.results.files.read_run import read_run
from needlework.results.records.journal import read_rulings, read_waiting, stored_answers
from tests.loopback import loopback, mixed

LONG_AGO = "2001-02-03T04:05:06+00:00"
BEGUN = Path(__file__).parent / "last_version"  # the files of a killed run of the last version
CELLS = ("--lengths=400,600", "--depths=0,50,100", "--controls=absent,focused", "--repeats=2")


def test_a_named_run_goes_on_where_it_stopped_and_tries_errors_again(project):
    project.run("-k", "depth50")
    assert len(project.journal()) == 2
    project.run()
    assert len(project.journal()) == len(project.records()) == 6, "the two answered cells are not asked again"

    path = project.runs / "r" / "journal.jsonl"
    path.write_text(path.read_text().replace('"outcome":"found"', '"outcome":"error"', 2))
    project.run()
    assert len(project.journal()) == 8


@pytest.mark.parametrize(
    ("options", "lines", "field", "value"),
    [
        (("--fresh", "-k", "depth50"), 2, "depth", 50),
        (("--seed=7", "-k", "depth50"), 8, "seed", 7),  # the files hold one recipe, the journal all
        (("--scorer=exact_match",), 6, "scorer", "exact_match"),  # of the stored answers
    ],
)
def test_other_options_do_not_mix_in(project, options, lines, field, value):
    project.run()
    project.run(*options)

    assert len(project.journal()) == lines
    assert {record[field] for record in project.records()} == {value}


def test_a_damaged_journal_is_told_once_with_its_lines(project):
    project.run()
    path = project.runs / "r" / "journal.jsonl"
    first, second, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first[:99] + "\n", second.replace('"', "?"), *rest]) + '{"key": "half of a killed run')

    output = project.run().stdout.str()
    line = "2 lines of journal.jsonl could not be read (damaged): trials that stood only there are asked again"
    assert output.count(line) == 1
    assert "4 of 6 answers are from this run's journal" in output
    assert line in project.json("summary.json")["notes"]
    assert "could not be read" not in project.run("--fresh").stdout.str()


def test_a_name_that_has_a_run_of_another_model_is_told_before_anything_is_asked(project):
    line = "needlework: r has a run of mock:perfect: this one replaces its files"
    assert line not in project.run().stdout.str()
    assert line in project.run("--lengths=400", model="mock:wrong").stdout.str()


# -- dates and facts ----------------------------------------------------------------------------------------------


def manifest(project):
    return project.json("manifest.json")


@pytest.fixture
def old(project):
    """The run `r` of 400 tokens, as if it had been made long ago."""
    project.run("--lengths=400")
    path = project.runs / "r" / "manifest.json"
    path.write_text(json.dumps({**manifest(project), "started": LONG_AGO, "ended": LONG_AGO}))
    return project


def test_a_session_that_asks_nothing_changes_no_date(old):
    old.run("--lengths=400")

    assert (manifest(old)["started"], manifest(old)["ended"]) == (LONG_AGO, LONG_AGO)
    assert manifest(old)["session_started"] > LONG_AGO
    assert old.json("results.json")["run"]["started"] == LONG_AGO

    old.run("--lengths=400,600", "--model-arg=window=500")  # another model: all is asked, but what is over its window
    path = old.runs / "r" / "manifest.json"
    path.write_text(json.dumps({**manifest(old), "ended": LONG_AGO}))
    old.run("--lengths=400,600", "--model-arg=window=500")
    assert {record["outcome"] for record in old.records()} == {"found", "skipped"}
    assert manifest(old)["ended"] == LONG_AGO


def test_a_run_that_goes_on_keeps_when_it_began(old):
    old.run("--lengths=600")

    assert manifest(old)["started"] == LONG_AGO
    assert manifest(old)["ended"] > LONG_AGO


@pytest.fixture
def corpus(project):
    """A folder of texts in the project, and what asks for it."""
    folder = project.pytester.path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("The river runs past a mill. " * 900)
    return folder


def grow(corpus):
    (corpus / "b.txt").write_text("Another tale was told at the inn. " * 900)


def test_a_changed_corpus_is_another_run_and_its_old_answers_are_told(project, corpus):
    ask = ("--lengths=400", "--corpus=texts")
    assert "also holds" not in project.run(*ask).stdout.str()
    path = project.runs / "r" / "manifest.json"
    path.write_text(json.dumps({**manifest(project), "started": LONG_AGO}))
    grow(corpus)
    result = project.run(*ask)

    prefix = "r also holds 3 answers to other prompts of these cells"
    result.stdout.fnmatch_lines([f"{prefix}: they stay *"])
    assert manifest(project)["started"] > LONG_AGO
    assert manifest(project)["changed_facts"] == []  # all answers are of the texts that there are now
    assert len(project.records()) == 3
    assert prefix in project.run(*ask).stdout.str()


def test_a_run_of_two_versions_of_a_corpus_says_so_from_then_on(project, corpus):
    project.run("--lengths=400", "--corpus=texts")
    grow(corpus)
    prefix = "answers of earlier sessions were given under other facts (before / now): corpora texts/en: "

    assert prefix in project.run("--lengths=600", "--corpus=texts").stdout.str()
    assert prefix in project.run("--lengths=600", "--corpus=texts").stdout.str()  # nothing was asked
    assert any(note.startswith(prefix) for note in project.json("summary.json")["notes"])
    assert len(manifest(project)["changed_facts"]) == 1


def test_facts_of_a_server_are_kept_when_nothing_is_asked(project):
    with loopback(mixed) as server:
        ask = ("--lengths=400", "--template=raw", f"--base-url={server.url}")
        project.run(*ask, model="openai:gpt-4")
        facts = manifest(project)["models"]["openai:gpt-4"]
        project.run(*ask, model="openai:gpt-4")

    assert any(name.startswith("calibration") for name in facts)
    assert manifest(project)["models"]["openai:gpt-4"] == facts


# -- a run of the last version ------------------------------------------------------------------------------------


def test_its_records_are_read_as_a_run_and_its_answers_are_not_asked_again(project):
    begun = read_run(BEGUN)
    assert [record.outcome for record in begun.records] == ["found"] * 5
    assert begun.planned == 18

    shutil.copytree(BEGUN, project.runs / "r")
    project.pytester.runpytest_inprocess(*CELLS, "--model=mock:sleep=0.4", "--run-name=r", "--concurrency=4")
    records = project.records()

    assert len(records) == 18
    assert sum(record["timing"]["worker"] == "main" for record in records) == 18
    answered = {line.key for line in (*begun.records, *read_waiting(BEGUN))}
    assert len(answered) == 12
    latencies = {line.key: line.timing.latency_s for line in read_waiting(BEGUN)}
    for record in records:
        if record["key"] in answered:
            assert record["timing"]["latency_s"] == latencies[record["key"]], "asked again"


def test_a_judges_ruling_that_waited_is_found(tmp_path):
    lines = (BEGUN / "answers-1.jsonl").read_text().splitlines()
    key = lines[0].split('"')[3]
    score = (
        '{"name":"judge","version":1,"value":0.5,"verdict":"partial","answer":"a","why":"","details":{"ruling":"c"}}'
    )
    (tmp_path / "answers-2.jsonl").write_text(f'{lines[0]}\n{{"key":"{key}","outcome":"ruled","score":{score}}}\n')
    stored = stored_answers([], read_waiting(tmp_path), read_rulings(tmp_path))[key]

    assert not stored.replayed
    assert (stored.scored.scorer, stored.scored.scorer_version) == ("judge", 1)
    assert (stored.scored.score, stored.scored.outcome, stored.scored.read_as) == (0.5, "partial", "a")
    assert stored.scored.details.score == {"ruling": "c"}
