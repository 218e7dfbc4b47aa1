"""A run that goes on is the run that began then: its date, and the facts that its answers were given under."""

import json

import pytest

from tests.loopback import loopback, mixed

LONG_AGO = "2001-02-03T04:05:06+00:00"


def manifest(project):
    return json.loads(project.file("manifest.json"))


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
    assert json.loads(old.file("results.json"))["run"]["started"] == LONG_AGO

    old.run("--lengths=400,600", "--model-arg=window=500")  # another model: all is asked, but what is over its window
    path = old.runs / "r" / "manifest.json"
    path.write_text(json.dumps({**manifest(old), "ended": LONG_AGO}))
    old.run("--lengths=400,600", "--model-arg=window=500")
    assert {record["outcome"] for record in old.records()} == {"found", "skipped"}
    assert manifest(old)["ended"] == LONG_AGO


@pytest.mark.parametrize("more", [("--lengths=600",), ("--lengths=400,600",), ("--lengths=400", "--repeats=2")])
def test_a_run_that_goes_on_keeps_when_it_began(old, more):
    old.run(*more)

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

    said = "r also holds 3 answers to other prompts of these cells"
    parts = "(before / now: corpora texts/en: characters 25200 / 55800, documents 1 / 2, sha256 *)"
    result.stdout.fnmatch_lines([f"{said} {parts}: they stay *"])
    assert manifest(project)["started"] > LONG_AGO
    assert manifest(project)["changed_facts"] == []  # all answers are of the texts that there are now
    assert len(project.records()) == 3
    assert said in project.run(*ask).stdout.str()


def test_a_run_of_two_versions_of_a_corpus_says_so_from_then_on(project, corpus):
    project.run("--lengths=400", "--corpus=texts")
    grow(corpus)
    said = "answers of earlier sessions were given under other facts (before / now): corpora texts/en: "

    assert said in project.run("--lengths=600", "--corpus=texts").stdout.str()
    assert said in project.run("--lengths=600", "--corpus=texts").stdout.str()  # nothing was asked
    assert any(note.startswith(said) for note in json.loads(project.file("summary.json"))["notes"])
    assert len(manifest(project)["changed_facts"]) == 1


def test_facts_of_a_server_are_kept_when_nothing_is_asked(project):
    with loopback(mixed) as server:
        ask = ("--lengths=400", "--template=raw", f"--base-url={server.url}")
        project.run(*ask, model="openai:gpt-4")
        told = manifest(project)["models"]["openai:gpt-4"]
        project.run(*ask, model="openai:gpt-4")

    assert any(name.startswith("calibration") for name in told)
    assert manifest(project)["models"]["openai:gpt-4"] == told


def test_a_server_that_was_given_another_window_is_told(project, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)  # two runs, and not two workers that learn together
    with loopback(mixed) as server:
        ask = ("--template=raw", f"--base-url={server.url}", "--server-id=prod")
        for length, window in ((400, 32_000), (600, 8_000)):
            server.told["/v1/models"] = {"data": [{"id": "gpt-4", "max_model_len": window}]}
            told = project.run(f"--lengths={length}", *ask, model="openai:gpt-4").stdout.str()

    said = "answers of earlier sessions were given under other facts (before / now): models openai:gpt-4: "
    assert f"{said}server max_model_len 32000 / 8000, window 32000 / 8000" in told
    assert manifest(project)["models"]["openai:gpt-4"]["window"] == 8_000
