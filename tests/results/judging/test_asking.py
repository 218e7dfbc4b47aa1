"""Asking a judge: what is written down when it fails, is closed, or the process is stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from needlework.core.errors import InputError
from needlework.results.judging import ask
from needlework.results.judging.ask import JudgeQuestion, ReplyFile, gather, key_of
from needlework.scoring.judges.judges import read_choice


@dataclass
class Judge:
    """Says `[[A]]`, or does what a question's text says."""

    at_once: int = 1
    identity: Mapping[str, Any] = field(default_factory=lambda: {"spec": "stub"})
    option: str = "--judge"
    tell: Callable[[str], object] = print
    closed: Event = field(default_factory=Event)

    def ask(self, system: str, user: str) -> str:
        if user == "refuse":
            raise InputError("--judge", "stub", "the key is not valid")
        if user.startswith("fail"):
            self.closed.wait(0.01)
            raise RuntimeError("it did not answer")
        if user == "wait until closed":
            assert self.closed.wait(10)
            raise RuntimeError("the run is over")
        return "[[A]]"

    def shortened(self, text: str, around: str) -> str:
        return text

    def close(self) -> None:
        self.closed.set()


def _gather(judge: Judge, path: Path, *users: str) -> list[dict[str, Any]]:
    file = ReplyFile(path, "--replies")
    try:
        questions = [JudgeQuestion(key_of(judge, "s", user), "s", user, {"item": user}) for user in users]
        gather(questions, judge, read_choice, lambda _, replied: {"verdict": bool(replied.replies)}, file)
    finally:
        file.close()
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    return rows


def test_a_judge_that_fails_is_asked_again_by_the_next_run_and_a_good_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    rows = _gather(Judge(), path, "one", "fail", "two", "one")
    assert [(row["item"], row["problem"]) for row in rows] == [
        ("one", None),
        ("fail", "it did not answer"),
        ("two", None),
    ]
    assert [row["item"] for row in _gather(Judge(), path, "one", "fail", "two")[3:]] == ["fail"]


def test_another_judge_is_asked_everything_anew(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    _gather(Judge(), path, "one")

    assert len(_gather(Judge(identity={"spec": "other"}), path, "one")) == 2


def test_a_judge_of_no_use_ends_it_and_what_came_stays(tmp_path: Path) -> None:
    path, judge = tmp_path / "replies.jsonl", Judge()
    with pytest.raises(InputError, match="the key is not valid"):
        _gather(judge, path, "one", "refuse", "two")

    assert json.loads(path.read_text().splitlines()[0])["item"] == "one"
    assert judge.closed.is_set()


def test_nothing_but_errors_ends_it_and_names_the_error(tmp_path: Path) -> None:
    path, users = tmp_path / "replies.jsonl", [f"fail {at}" for at in range(30)]
    with pytest.raises(InputError, match=r"--judge: 'stub': none of its first 10 questions was answered; it did not"):
        _gather(Judge(), path, *users)

    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert 10 <= len(rows) <= 15, "the next had begun"
    assert len(_gather(Judge(), path, *users[:3])) == len(rows) + 3, "errors are asked again"


def test_errors_after_a_reply_do_not_end_it_nor_does_a_reply_of_an_earlier_session(tmp_path: Path) -> None:
    path, users = tmp_path / "replies.jsonl", ["one", *(f"fail {at}" for at in range(30))]
    assert len(_gather(Judge(), path, *users)) == 31
    assert len(_gather(Judge(), path, *users)) == 61


def test_how_far_it_is_is_told_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "FIRST_S", 0.05)
    told: list[str] = []
    judge = Judge()
    judge.tell = lambda line: (told.append(line), judge.close())
    _gather(judge, tmp_path / "replies.jsonl", "one", "fail", "wait until closed")

    assert told == ["judge: 2 of 3 questions done, 1 without a reply (it did not answer)"]


def test_questions_cut_off_by_closing_the_judge_are_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    with pytest.raises(InputError):
        _gather(Judge(at_once=2), path, "wait until closed", "refuse")

    assert path.read_text() == ""


def test_lines_that_are_spoilt_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    _gather(Judge(), path, "one", "two", "three")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-9], '{"key": 5}', "[]", lines[2], '{"key":"half']))

    assert _asked_of_three(path) == ["two"]


def _asked_of_three(path: Path) -> list[str]:
    """Which of three questions are asked."""
    asked: list[str] = []

    class Listening(Judge):
        def ask(self, system: str, user: str) -> str:
            asked.append(user)
            return super().ask(system, user)

    file = ReplyFile(path, "--replies")
    judge = Listening()
    questions = [JudgeQuestion(key_of(judge, "s", user), "s", user, {}) for user in ("one", "two", "three")]
    gather(questions, judge, read_choice, lambda *_: {}, file)
    file.close()
    return asked


@pytest.mark.parametrize("content", ["", '{"key":"', '{"ke'])
def test_a_file_that_has_only_begun_is_gone_on_with(tmp_path: Path, content: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(content)

    assert len(_gather(Judge(), path, "one")) == 1


@pytest.mark.parametrize("content", ["query,gt\n", '{"query": "x"}', "\n"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match="is no file of a model's replies"):
        ReplyFile(path, "--replies")

    assert path.read_text() == content


def test_two_runs_never_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    file = ReplyFile(path, "--replies")
    with pytest.raises(InputError, match=r"--replies: .*another run is writing there"):
        ReplyFile(path, "--replies")
    file.close()
