from __future__ import annotations

import pytest

from needlework.haystack_fixtures.command_line import OneLineParser


def parser() -> OneLineParser:
    made = OneLineParser(prog="needlework plot", theirs={"path": "give the file itself"})
    made.add_argument("--dataset-length")
    made.add_argument("files", nargs="*")
    return made


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dataset_length", "x"], "there is no --dataset_length: did you mean --dataset-length?"),
        (["a", "--path=x"], "there is no --path: give the file itself"),
        (["--frobnicate"], "there is no --frobnicate (see needlework plot --help)"),
    ],
)
def test_an_unknown_option_is_one_line_with_the_one_that_was_meant(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in error
    assert error.count("\n") == 1


def test_an_option_of_a_sub_command_is_told_with_its_own_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    top = OneLineParser(prog="needlework questions")
    top.add_subparsers().add_parser("make").add_argument("--model")
    with pytest.raises(SystemExit):
        top.parse_args(["make", "--modle", "x"])
    assert "needlework questions make: there is no --modle: did you mean --model?" in capsys.readouterr().err
