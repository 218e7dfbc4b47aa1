"""Draws, files and locks, errors and signals of commands, prompt shapes, places of files."""

import errno
import fcntl
import os
import re
import signal
import time
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core import files
from needlework.core.draws import digits, draws, sample, shuffled, uuid4
from needlework.core.errors import InputError, OneLineParser, ending_signals, nearest, refuse
from needlework.core.files import drop_halves, folder_of_run, locked, read_cached, write_cached, write_whole
from needlework.core.prompts import CONTEXT, guided, lay_out, load_shape, raw_text
from needlework.core.settings import Places
from tests.parity.cases import cases

SEEDS = st.integers(0, 10**9)


def test_the_same_parts_draw_the_same_on_every_machine():
    # Pinned: another Python or machine that draws otherwise would make other prompts of the same seed.
    assert uuid4(draws("pinned", 0)) == "fb263795-01da-46b1-9853-2e4cf7a619cb"
    assert digits(draws("pinned", 1)) == "4153790"
    assert shuffled(draws("pinned", 2), range(8)) == [5, 7, 1, 4, 0, 3, 6, 2]


@given(SEEDS, st.integers(0, 60), st.integers(0, 60))
def test_a_sample_has_different_places(seed, size, count):
    if count > size:
        with pytest.raises(ValueError, match=f"{count} of {size}"):
            sample(draws(seed), range(size), count)
        return
    chosen = sample(draws(seed), range(size), count)
    assert len(set(chosen)) == len(chosen) == count
    assert set(chosen) <= set(range(size))


@given(SEEDS, st.integers(2, 12))
def test_digits_are_a_number_that_reads_otherwise_backwards(seed, count):
    text = digits(draws(seed), count)
    assert re.fullmatch(rf"[1-9]\d{{{count - 1}}}", text)
    assert text != text[::-1]


@given(content=st.binary(), more=st.binary(), cut=st.integers(0), flip=st.integers(0))
def test_content_comes_back_whole_or_not_at_all(tmp_path_factory, content, more, cut, flip):
    file = tmp_path_factory.mktemp("cache") / "new folder" / "file"
    assert read_cached(file) is None
    write_cached(file, more)
    write_cached(file, content)
    assert read_cached(file) == content
    whole = file.read_bytes()
    file.write_bytes(whole[: cut % len(whole)])
    assert read_cached(file) is None
    place = flip % len(whole)
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert read_cached(file) is None


def test_what_cannot_be_kept_costs_nothing_and_leaves_nothing(tmp_path):
    (tmp_path / "target").mkdir()  # a folder cannot be replaced by a file
    write_cached(tmp_path / "target", b"content")
    (tmp_path / "file").write_text("in the way")
    write_cached(tmp_path / "file" / "below", b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "target"]


def test_a_write_that_fails_leaves_the_old_file_and_no_half(tmp_path, monkeypatch):
    write_whole(tmp_path / "report", b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "report", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("report", b"old")]


def test_halves_of_killed_runs_are_dropped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".0123456789abcdef.tmp").write_bytes(b"half")
    write_whole("report", b"whole")
    drop_halves(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_there_are_no_locks_nobody_waits(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(tmp_path / "a.lock"), locked(tmp_path / "a.lock"):
        pass


def test_what_runs_of_earlier_days_left_is_dropped(tmp_path):
    old, young = folder_of_run(tmp_path, "old"), folder_of_run(tmp_path, "young")
    for folder in (old, young):
        write_cached(folder / "window", b"{}")
    day = time.time() - files._RUN_S - 1
    os.utime(old, (day, day))
    assert folder_of_run(tmp_path, "young") == young
    assert list(tmp_path.iterdir()) == [young]


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
    ours = ["needle", "needle_set", "retrieve", "lengths", "question"]
    assert nearest(word, ours, ["retrieval_question", "length", "context_lengths"]) == meant


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dataset_length", "x"], "there is no --dataset_length: did you mean --dataset-length?"),
        (["--path=x"], "there is no --path: give the file itself"),
        (["--fromat", "svg"], "there is no --fromat: did you mean --format?"),
        (["--otu", "x"], "there is no --otu: did you mean --out?"),
        (["--frobnicate"], "there is no --frobnicate (see needlework plot --help)"),
    ],
)
def test_an_unknown_option_is_one_line_with_the_one_that_was_meant(words, said, capsys):
    parser = OneLineParser(prog="needlework plot", theirs={"path": "give the file itself"})
    for option in ("--dataset-length", "--format", "--out"):
        parser.add_argument(option)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words)
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


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
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


SHAPES = [("plain", "en"), ("plain", "zh"), ("llmtest", "en"), ("evalscope", "en"), ("evalscope", "zh"),
          ("cdme", "en"), ("cdme", "zh"), ("needlebench-v2", "en"), ("needlebench-v2", "zh")]  # fmt: skip


@pytest.mark.parametrize(("name", "language"), SHAPES)
@pytest.mark.parametrize(("position", "times"), [("start", 1), ("end", 1), ("both", 2)])
def test_the_question_stands_where_it_is_asked_for(name, language, position, times):
    messages = lay_out(load_shape(name, language), "Where is it?", system=None, position=position)
    text = raw_text(messages, "")
    before, context, after = text.partition(CONTEXT)
    assert context
    assert text.count("Where is it?") == times
    assert ("Where is it?" in before) == (position != "end")
    assert ("Where is it?" in after) == (position != "start")
    assert "{question}" not in text


def test_guide_goes_where_opencompass_puts_it():
    for case in cases("niah/oc_guide_question"):
        if case["function"] != "_modify_retrieval_question":
            continue  # the base variant cuts a fixed number of characters off; raw_end does that job here
        language = {"English": "en", "Chinese": "zh"}.get(case["language"], case["language"])
        if case.get("raises") == "ValueError":
            with pytest.raises(ValueError, match="not supported"):
                guided(case["question"], language, joint=False)
        elif "result" in case:
            assert guided(case["question"], language, joint=case["module"] == "v1_multi") == case["result"]
    assert guided("Where?", "en", joint=False).startswith("Where? Before answering")  # without an answer's format


def test_the_system_prompt_of_a_shape_can_be_replaced_and_left_out():
    llmtest = load_shape("llmtest", "en")
    firsts = [lay_out(llmtest, "Q?", system=system, position="end")[0] for system in (None, "Be brief.", "")]
    assert [message.role for message in firsts] == ["system", "system", "user"]
    assert firsts[1].content == "Be brief."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[en]\n", "needs"),
        ("[en]\n[[en.message]]\nrole='user'\ncontent='{context}'\n", "{question} exactly once"),
        ("[en]\n[[en.message]]\nrole='user'\ncontent='{question} {context}'\n", "before {question}"),
        ("[en]\n[[en.message]]\nrole='robot'\ncontent='{context} {question}'\n", "role"),
        ("[zh]\n", r"no \[en\] table; it has zh"),
        ("=", "not valid TOML"),
    ],
)
def test_a_wrong_shape_file_is_one_line(tmp_path, text, said):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_shape(str(file), "en")


def test_an_unknown_shape_lists_the_known():
    with pytest.raises(InputError, match=r"evalscope, leval-code, .*llmtest"):
        load_shape("fancy", "en")


def test_a_file_in_a_run_is_found_in_a_copy_of_the_run(tmp_path):
    copied = tmp_path / "copy" / "r" / "asked.toml"
    copied.parent.mkdir(parents=True)
    copied.write_text("")
    places = Places(copied.parent, tmp_path)

    assert places.path("--prompt", "runs/r/asked.toml") == copied

    original = tmp_path / "runs" / "r" / "asked.toml"
    original.parent.mkdir(parents=True)
    original.write_text("")
    for name in ("runs/r/asked.toml", "runs/s/asked.toml"):  # still there; of another run
        with pytest.raises(InputError, match="lies outside the run's folder"):
            places.path("--prompt", name)
