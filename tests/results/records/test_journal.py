"""The journal and the answers that wait in it: no line is lost, whatever happens to the process."""

import errno
import fcntl
import json
import os
import resource
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.record import PromptFacts
from needlework.models.model import ModelError, Response
from needlework.pipeline.exchange import Exchange, recorded_response
from needlework.results.records.journal import (
    Journal,
    WaitingAnswers,
    drop_waiting,
    line_of,
    read_counting_damage,
    read_journal,
    read_rulings,
    read_waiting,
    stored_answers,
)
from needlework.results.run.record_builder import make_record, ruled_record, unscored_record
from needlework.scoring.recording import RULED, ScoringResult
from needlework.scoring.scores import Score
from tests.results.builders import new_record


def record(n, text=""):
    return new_record(key=f"k{n}", repeat=n, response={"text": text})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *records, fresh=False):
    journal = Journal(path, fresh=fresh)
    for each in records:
        journal.append(line_of(each))
    journal.close()
    return journal


def test_opening_a_journal_changes_nothing_and_fresh_begins_anew(path):
    journal = write(path, record(1))
    os.utime(path, (1_000_000, 1_000_000))
    write(path)
    assert (path.stat().st_mtime, journal.warning, [*path.parent.iterdir()]) == (1_000_000, "", [path])

    write(path, record(2), fresh=True)
    assert read_journal(path) == [record(2)]


@given(cut=st.integers(1, 60), text=st.text(max_size=30))
def test_a_torn_last_line_costs_that_line_alone(tmp_path_factory, cut, text):
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    write(path, record(1, text), record(2, text))
    data = path.read_bytes()
    path.write_bytes(data[: -min(cut, len(data.splitlines()[1]))])

    assert read_journal(path) == [record(1, text)]
    write(path, record(3))
    assert read_journal(path) == [record(1, text), record(3)]


@pytest.mark.parametrize("size", [1, 65_536, 200_000])
def test_a_file_without_a_single_whole_line_is_emptied(path, size):
    path.write_text('{"key": "half' + "f" * size)
    write(path, record(1))

    assert read_journal(path) == [record(1)]


def test_a_damaged_line_costs_that_line_alone_and_is_counted(path):
    assert read_counting_damage(path) == ([], 0)
    write(path, record(1))
    with path.open("ab") as file:
        file.write(b'null\n[1, 2]\n\xff\n\n{"key": "k9", "outcome": "found"}\n' + b"[" * 100_000 + b"\n\0\0\0\n")
        file.write(json.dumps(to_builtins(record(8)) | {"details": []}).encode() + b"\n")
        file.write(line_of(record(2)).encode() + b'\n{"key": "half of a killed run')

    assert read_counting_damage(path) == ([record(1), record(2)], 7), "an empty line and the torn one are no damage"


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_lock_that_is_held_is_refused_and_a_file_system_without_locks_is_a_warning(path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    if number in (errno.EWOULDBLOCK, errno.EACCES):
        with pytest.raises(InputError, match="another run is writing there"):
            Journal(path, fresh=False)
        return
    journal = Journal(path, fresh=False)
    journal.append("{}")
    journal.replace(b"{}\n{}\n")
    journal.append("{}")
    journal.close()

    assert f"the file system has no locks ({os.strerror(number)})" in journal.warning
    assert path.read_text() == "{}\n{}\n{}\n"


NAMES = {"worker": "gw0", "recipe": ""}


def exchange(key="k", text="It is 42.", **changes):
    fields = {"response": Response(text, prompt_tokens=9, latency_s=0.5), "stored_prompt": PromptFacts(tokens=9)}
    suite = SimpleNamespace(language="en")
    return Exchange(Cell("niah", 400, 50.0, "code", 0), suite, "m", key, **(fields | changes))


def write_waiting(folder, *records):
    with closing(WaitingAnswers(folder)) as answers:
        for record in records:
            answers.append(record)


def test_an_answer_is_found_by_its_key(tmp_path):
    write_waiting(tmp_path, unscored_record(exchange(), **NAMES))
    (line,) = read_waiting(tmp_path)
    stored = stored_answers([], [line])["k"]

    assert line.timing.worker == "gw0"
    assert recorded_response(stored.record) == Response("It is 42.", prompt_tokens=9, latency_s=0.5)
    assert (stored.record.prompt, stored.replayed) == (PromptFacts(tokens=9), False)


def test_an_answer_that_a_full_disk_cuts_off_does_not_take_the_next_one_with_it(tmp_path):
    cut, whole = (unscored_record(exchange(key, "It is 42. " * 50), **NAMES) for key in "ab")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(WaitingAnswers(tmp_path)) as answers:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, limit[1]))
        try:
            answers.append(cut)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        answers.append(whole)

    assert [record.key for record in read_waiting(tmp_path)] == ["b"]


def test_a_clean_end_drops_answers_and_of_earlier_sessions_only_those_in_the_journal(tmp_path):
    write_waiting(tmp_path, *(unscored_record(exchange(key), **NAMES) for key in "ab"))
    earlier = frozenset(tmp_path.iterdir())
    (tmp_path / "answers-1.jsonl").write_text("of this session")

    drop_waiting(tmp_path, earlier=earlier, answered={"a"})
    assert frozenset(tmp_path.iterdir()) == earlier
    drop_waiting(tmp_path, earlier=earlier, answered={"a", "b", "c"})
    assert list(tmp_path.iterdir()) == []


def ruled(verdict="wrong", value=0.0, **details):
    score = Score(value, verdict, "It is 42.", "judge: so", {RULED: "by whom", **details})
    return ScoringResult(score, "judge_evalscope", 1)


@pytest.mark.parametrize(
    ("fields", "scored"),
    [
        ({}, ruled("found", 1.0, mark=10.0)),
        ({}, ruled()),
        ({"response": Response("No.", "", "content_filter")}, ruled()),
    ],
    ids=["right", "wrong", "filtered"],
)
def test_a_ruling_is_stored_as_its_record(fields, scored, tmp_path):
    told = exchange(**fields)
    write_waiting(tmp_path, unscored_record(told, **NAMES), ruled_record(told, scored, **NAMES))
    stored = stored_answers([], read_waiting(tmp_path), read_rulings(tmp_path))["k"]

    assert stored.scored == make_record(told, scored, nodeid="", **NAMES)
    assert not stored.replayed


@pytest.mark.parametrize(
    ("fields", "scored"),
    [
        ({"response": Response(error=ModelError("timeout", "none"))}, None),
        ({"invalid": ("server_truncated",)}, None),
        ({"skipped": "too long"}, None),
        ({}, replace(ruled(), score=Score(0.0, "wrong"))),
        ({}, ScoringResult(None, "judge_evalscope", 1, "judge", "the judge gave no reply")),
        ({"response": Response("Well,", "", "length")}, ruled()),
        ({"invalid": ("server_truncated",)}, ruled()),
    ],
    ids=["failed", "cut by the server", "not sent", "by a rule", "no reply", "cut off", "invalid"],
)
def test_a_failure_and_a_record_without_a_judges_score_are_not_written(fields, scored):
    told = exchange(**fields)
    assert (ruled_record(told, scored, **NAMES) if scored else unscored_record(told, **NAMES)) is None


@pytest.mark.parametrize("change", [{"score": 2}, {"outcome": "unclear"}, {"details": []}, {"scorer_version": "1"}])
def test_a_ruling_that_was_edited_is_passed_over(change, tmp_path):
    record = ruled_record(exchange(), ruled(), **NAMES)
    write_waiting(tmp_path, record)
    (file,) = tmp_path.iterdir()
    with file.open("a") as lines:
        lines.write(f"{json.dumps(to_builtins(record) | {'key': 'other'} | change)}\n")

    assert set(read_rulings(tmp_path)) == {"k"}
    assert read_waiting(tmp_path) == []
