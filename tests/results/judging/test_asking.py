"""Asking a model many questions: what is written down when it fails, is closed, or the process is stopped."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import pytest

from needlework.core.errors import InputError
from needlework.results.judging import ask
from needlework.results.judging.ask import ask_all, question_to
from needlework.results.score import main
from needlework.scoring.judges.judges import read_choice
from tests.aa_lcr_data import write_copy


@dataclass
class Judge:
    """Says `[[A]]`, or does what a question's text says."""

    at_once: int = 1
    identity: Mapping[str, Any] = field(default_factory=lambda: {"spec": "stub"})
    option: str = "--judge"
    tell: Callable[[str], object] = print
    closed: Event = field(default_factory=Event)

    def ask(self, system, user):
        if user == "refuse":
            raise InputError("--judge", "stub", "the key is not valid")
        if user.startswith("fail"):
            self.closed.wait(0.01)
            raise RuntimeError("it did not answer")
        if user == "wait until closed":
            assert self.closed.wait(10)
            raise RuntimeError("the run is over")
        return "[[A]]"

    def shortened(self, text, around):
        return text

    def close(self):
        self.closed.set()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.jsonl"


def rows_after(judge, path, *users):
    """Ask, and return the rows of the file."""
    questions = [question_to(judge, "s", user, {"item": user}) for user in users]
    ask_all(questions, judge, read_choice, path, fields=lambda _, replied: {"verdict": bool(replied.replies)})
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_question_that_failed_is_asked_again_by_the_next_run_and_a_good_one_is_not(path):
    rows = rows_after(Judge(), path, "one", "fail", "two", "one")
    problems = [(row["item"], row["problem"]) for row in rows]
    assert problems == [("one", None), ("fail", "it did not answer"), ("two", None)]
    assert [row["item"] for row in rows_after(Judge(), path, "one", "fail", "two")[3:]] == ["fail"]
    assert len(rows_after(Judge(identity={"spec": "other"}), path, "one")) == 5, "another judge is asked anew"


def test_a_judge_of_no_use_ends_it_and_what_came_stays(path):
    judge = Judge()
    with pytest.raises(InputError, match="the key is not valid"):
        rows_after(judge, path, "one", "refuse", "two")
    assert json.loads(path.read_text().splitlines()[0])["item"] == "one"
    assert judge.closed.is_set()


def test_nothing_but_errors_ends_it_and_names_the_error(path):
    users = [f"fail {at}" for at in range(30)]
    with pytest.raises(InputError, match=r"--judge: 'stub': none of its first 10 questions was answered; it did not"):
        rows_after(Judge(), path, *users)
    count = len(path.read_text().splitlines())
    assert 10 <= count <= 15, "the next had begun"
    assert len(rows_after(Judge(), path, *users[:3])) == count + 3, "errors are asked again"


def test_errors_after_a_reply_do_not_end_it_nor_does_a_reply_of_an_earlier_session(path):
    users = ["one", *(f"fail {at}" for at in range(30))]
    assert len(rows_after(Judge(), path, *users)) == 31
    assert len(rows_after(Judge(), path, *users)) == 61


def test_progress_is_told_now_and_then(path, monkeypatch):
    monkeypatch.setattr(ask, "FIRST_S", 0.05)
    told = []
    judge = Judge()
    judge.tell = lambda line: (told.append(line), judge.close())
    rows_after(judge, path, "one", "fail", "wait until closed")
    assert told == ["judge: 2 of 3 questions done, 1 without a reply (it did not answer)"]


def test_questions_cut_off_by_closing_the_judge_are_not_in_the_file(path):
    with pytest.raises(InputError):
        rows_after(Judge(at_once=2), path, "wait until closed", "refuse")
    assert path.read_text() == ""


def test_damaged_lines_are_asked_again(path):
    rows_after(Judge(), path, "one", "two", "three")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-9], '{"key": 5}', "[]", lines[2], '{"key":"half']))
    judge = Judge()
    questions = [question_to(judge, "s", user) for user in ("one", "two", "three")]
    assert ask_all(questions, judge, read_choice, path, fields=lambda *_: {}).count == 1


@pytest.mark.parametrize("content", ["", '{"key":"', '{"ke'])
def test_a_file_that_has_only_begun_is_gone_on_with(path, content):
    path.write_text(content)
    assert len(rows_after(Judge(), path, "one")) == 1


@pytest.mark.parametrize("content", ["query,gt\n", '{"query": "x"}', "\n"])
def test_a_file_of_something_else_is_left_alone(path, content):
    path.write_text(content)
    with pytest.raises(InputError, match="is no file of a model's replies"):
        rows_after(Judge(), path, "one")
    assert path.read_text() == content


def test_two_runs_never_write_one_file(path):
    judge = Judge()
    first = Thread(target=rows_after, args=(judge, path, "one", "wait until closed"))
    first.start()
    while not path.exists() or not path.read_text():
        assert first.is_alive()
    with pytest.raises(InputError, match=r"--replies: .*another run is writing there"):
        rows_after(Judge(), path, "two")
    judge.close()
    first.join()


def test_answers_are_judged_and_counted_by_question_and_category(tmp_path, capsys):
    rows = [{"question_id": number, "prediction": text} for number, text in ((1, "12"), (3, " "), (99, "?"))]
    rows.append({"id": "q002", "prediction": "May"})
    answers, out = tmp_path / "a.jsonl", tmp_path / "out.json"
    answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    words = ["aa-lcr", str(answers), "--data", write_copy(tmp_path), "--judge", "mock:judge=1", "--out", str(out)]

    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("AA-LCR 1.1, a.jsonl: 66.7 % (95 % interval ")
    assert lines[0].endswith(", n = 3, 3 of 4 questions")
    assert lines[1:4] == [
        "Company Documents: 0 % (one set of documents: no interval), n = 1",
        "Legal: 100 % (one set of documents: no interval), n = 2",
        "left out, as the data has no such question: 1",
    ]
    (content,) = json.loads(out.read_text(encoding="utf-8"))["answers"]
    assert [item["correct"] for item in content["items"]] == [1.0, 0.0, 1.0]
    assert len((tmp_path / "a.judge.jsonl").read_text(encoding="utf-8").splitlines()) == 2, "a blank one is not asked"


def test_answers_without_questions_of_the_data_are_refused(tmp_path, capsys):
    answers = tmp_path / "a.jsonl"
    answers.write_text('{"prediction": "12"}\n', encoding="utf-8")

    assert main(["aa-lcr", str(answers), "--data", write_copy(tmp_path), "--judge", "mock:judge"]) == 2
    assert "has no question_id of the data" in capsys.readouterr().err
