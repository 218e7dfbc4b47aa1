"""Folders that cannot take the results: one clear line, exit code 4, a whole journal, and later the run goes on."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.plugin.conftest import GRID, comparable, output_of, start, wait_until

CELLS = 18
MORE = ("--repeats=3", "-s")


def limited(project, largest_file):
    """Run in a process that may write so many bytes into any file, as a full disk has it: exit code, what was said."""
    program = (
        "import resource, sys, pytest; resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (int(sys.argv[1]),));"
        "sys.exit(pytest.main(sys.argv[2:]))"
    )
    more = ("-pno:cacheprovider", "-pno:hypothesispytest", "--model=mock:perfect", "--run-name=r")
    # Half of a compiled module would stay where everybody takes it from, and be no error.
    done = subprocess.run(
        [sys.executable, "-c", program, str(largest_file), *GRID, *MORE, *more],
        cwd=project.pytester.path, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def ask(project, *args):
    done = project.run(*MORE, *args)
    return int(done.ret), done.stdout.str() + done.stderr.str()


def refused(done, *words):
    code, output = done
    assert code == 4, output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    (line, *_) = [line for line in output.splitlines() if all(word in line for word in words)]
    assert len(line) < 600


def ids_of(project):
    return [record["id"] for record in project.journal()]


def goes_on(project, ids):
    """Run again with room: what was kept is not asked again, and everything is there."""
    code, output = ask(project)
    assert code == 0, output
    assert ids_of(project)[: len(ids)] == ids
    assert len(set(ids_of(project))) == len(ids_of(project)) == len(project.records()) == CELLS
    assert list((project.runs / "r").glob(".*")) == []


@pytest.mark.parametrize(
    ("largest", "line"),
    [(500, ("--results-dir", "free space")), (9_000, ("journal", "free space")), (40_000, ("results", "free space"))],
    ids=["at the start", "in the middle", "at the end"],
)
def test_a_disk_that_is_full(largest, line, project):
    refused(limited(project, largest), *line)
    ids = ids_of(project)

    assert (len(ids) == CELLS) == (largest == 40_000)
    goes_on(project, ids)


def test_prompts_that_cannot_be_written(project):
    (project.runs / "r").mkdir(parents=True)
    (project.runs / "r" / "prompts").write_text("not a folder")
    refused(ask(project, "--save-prompts"), "--save-prompts", "cannot be written")
    ids = ids_of(project)

    assert len(ids) == 1
    goes_on(project, ids)


@contextmanager
def mounted(*words, at):
    tool = shutil.which("mount")
    if tool is None or subprocess.run([tool, *words, str(at)], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def test_a_folder_that_is_read_only(project):
    project.run(*MORE)
    ids = ids_of(project)
    with mounted("--bind", str(project.runs), at=project.runs):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(project.runs)], check=True)
        refused(ask(project), "--results-dir", "Read-only file system")
        refused(ask(project, "--fresh"), "--results-dir", "Read-only file system")
        refused(ask(project, "-n2", "--run-name=new"), "--results-dir", "Read-only file system")
    goes_on(project, ids)


CANNOT = ("--results-dir", "cannot be written")


def linked(path, target):
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "runs", "words"),
    [
        (lambda folder: (folder / "runs").write_text("not a folder"), "runs", CANNOT),
        (lambda folder: None, "d" * 300, CANNOT),
        (lambda folder: (folder / "r" / "journal.jsonl").mkdir(parents=True), "", CANNOT),
        (lambda folder: (folder / "r" / "manifest.json" / "x").mkdir(parents=True), "", CANNOT),
        (lambda folder: linked(folder / "r" / "journal.jsonl", "/nowhere/x"), "", ("journal.jsonl", "is a link")),
    ],
    ids=["a file", "a long name", "a folder as journal", "a folder as manifest", "a journal that leads nowhere"],
)
def test_an_odd_folder(make, runs, words, project, tmp_path):
    make(tmp_path)
    refused(ask(project, f"--results-dir={tmp_path / runs}"), *words)


@pytest.mark.slow
def test_two_runs_into_one_folder(project):
    """The first is not over before the others were refused: its tests but those at the start wait for a file to go."""
    project.test_does(
        "assert_scored(generate(cell))",
        "while cell.depth and pathlib.Path('held').exists():",
        "    time.sleep(0.01)",
        imports="pathlib, time",
    )
    held = project.pytester.path / "held"
    held.touch()
    first = start(project.pytester.path, *GRID, *MORE, "--model=mock:perfect", "--run-name=r")
    try:
        wait_until(lambda: ids_of(project), first)
        before = len(ids_of(project))
        refused(ask(project), "another run is writing there")
        refused(ask(project, "--fresh", "-n2"), "another run is writing there")
        assert len(ids_of(project)) >= before
    finally:
        held.unlink()
    output_of(first)
    assert first.returncode == 0
    assert len(set(ids_of(project))) == len(ids_of(project)) == CELLS


@pytest.mark.parametrize(
    "change",
    [lambda content: content[:-700] + b"\0" * 5000, lambda content: b""],
    ids=["torn, with NULs behind", "all empty"],
)
def test_a_folder_after_a_power_cut(change, project):
    project.run()
    whole = project.json("results.json")
    for name in ("journal.jsonl", "results.json"):
        path = project.runs / "r" / name
        path.write_bytes(change(path.read_bytes()))
    (project.runs / "r" / "manifest.json").unlink()
    code, output = ask(project, "--repeats=1")

    assert code == 0, output
    assert comparable(project.json("results.json")) == comparable(whole)
    assert project.json("manifest.json")["ended"]
