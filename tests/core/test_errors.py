"""Errors of commands are one line that names what was meant; signals ask for an end once."""

import os
import signal
from importlib import metadata

import pytest

from needlework.core.errors import InputError, OneLineParser, ending_signals, nearest, refuse

OURS = ["needle", "needle_set", "retrieve", "lengths", "question"]
THEIRS = ["retrieval_question", "length", "context_lengths"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("needel", "needle"),
        ("retrieval_questoin", "retrieval_question"),
        ("lengthz", "lengths"),  # ours first, where it is near enough
        ("context_lenghts", "context_lengths"),
        ("sretieve", "retrieve"),  # its letters in another order
        ("frobnicate", ""),
    ],
)
def test_the_name_that_was_meant(word, meant):
    assert nearest(word, OURS, THEIRS) == meant


def parser():
    made = OneLineParser(prog="needlework plot", theirs={"path": "give the file itself"})
    made.add_argument("--dataset-length")
    made.add_argument("--format")
    made.add_argument("--out")
    made.add_argument("files", nargs="*")
    return made


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dataset_length", "x"], "there is no --dataset_length: did you mean --dataset-length?"),
        (["a", "--path=x"], "there is no --path: give the file itself"),
        (["--fromat", "svg"], "there is no --fromat: did you mean --format?"),
        (["--otu", "x"], "there is no --otu: did you mean --out?"),
        (["--frobnicate"], "there is no --frobnicate (see needlework plot --help)"),
    ],
)
def test_an_unknown_option_is_one_line_with_the_one_that_was_meant(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in error
    assert error.count("\n") == 1


def test_an_option_of_a_sub_command_is_told_with_its_own_neighbours(capsys):
    top = OneLineParser(prog="needlework questions")
    top.add_subparsers().add_parser("make").add_argument("--model")
    with pytest.raises(SystemExit):
        top.parse_args(["make", "--modle", "x"])
    assert "needlework questions make: there is no --modle: did you mean --model?" in capsys.readouterr().err
    # A command's name stands once before what it refuses.
    assert refuse("compare", InputError("compare", "a.py", "cannot be read")) == 2
    assert capsys.readouterr().err == "needlework compare: 'a.py': cannot be read\n"


SENDS = pytest.mark.skipif(os.name == "nt", reason="sends signals")


@SENDS
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_does_not_end_what_the_first_asks_for_but_a_late_ctrl_c_does(first, monkeypatch):
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with ending_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(first)
        for second in (signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(second)
        monkeypatch.setattr("needlework.core.errors._AGAIN_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_ctrl_c_ends_the_installed_command_with_a_line(monkeypatch, capsys):
    def interrupted(_argv):
        raise KeyboardInterrupt

    (script,) = metadata.entry_points(group="console_scripts", name="needlework")
    main = script.load()  # what the script that pip installs calls
    monkeypatch.setitem(main.__globals__, "_run", interrupted)

    assert main(["leaderboard"]) == 2
    assert capsys.readouterr().err == "needlework: stopped\n"
