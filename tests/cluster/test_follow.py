"""Following shards to their end: starts, restarts, messages; and the process that runs one shard."""

import io
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.cluster import job, launch
from needlework.cluster.job import STOPPED, Ending, Plan, write_ending
from needlework.cluster.launch import StatusLine, follow


class FakeEngine:
    """Starts nothing: `endings` has pytest's code of each start of a shard; `None`: it dies without an ending."""

    settle_s = 0.0

    def __init__(self, plan, endings, cancelled=()):
        self.plan, self.endings, self.cancelled = plan, {n: list(codes) for n, codes in endings.items()}, cancelled
        self.active, self.started = {}, []

    def start(self, shards):
        self.started += shards
        self.active |= dict.fromkeys(shards, "waiting (Resources)")
        return f"started {list(shards)}"

    def poll(self):
        now = dict(self.active)
        for number, state in now.items():
            if state != "running":
                self.active[number] = "running"
                continue
            del self.active[number]
            code = self.endings[number].pop(0)
            if code is not None:
                end(self.plan, number, code)
        return now

    def death_of(self, shard):
        return "NODE_FAIL", shard in self.cancelled


def end(plan, number, code):
    write_ending(plan.launch_folder, f"{number}-of-{plan.shards}", Ending(code))


def make_plan(folder, shards, retries=2):
    return Plan(folder / "run", shards, ("--model", "mock:perfect"), folder, retries)


def run_follow(engine):
    messages, shown = [], []
    follow(engine.plan, engine, messages.append, shown.append, 0.0)
    return messages, shown


@pytest.mark.parametrize(
    ("endings", "retries", "cancelled", "started", "message"),
    [
        ({1: [0], 2: [None, None, 0]}, 2, (), [1, 2, 2, 2], "shard 2 ended without a word (NODE_FAIL), tried again"),
        ({1: [None] * 9}, 1, (), [1, 1], "shard 1 ended without a word (NODE_FAIL), given up"),
        ({1: [None], 2: [0]}, 2, {1}, [1, 2], "shard 1 ended without a word (NODE_FAIL), given up"),
        ({1: [4]}, 2, (), [1], "shard 1 failed: pytest ended with 4"),
        ({1: [4], 2: [0], 3: [4]}, 2, (), [1, 2, 3], "shards 1, 3 failed: pytest ended with 4"),
    ],
    ids=["dies and is started again", "always dies", "cancelled by hand", "wrong use", "same failure, one line"],
)
def test_a_shard_is_started_again_only_if_it_died(tmp_path, endings, retries, cancelled, started, message):
    engine = FakeEngine(make_plan(tmp_path, len(endings), retries), endings, cancelled)
    messages, shown = run_follow(engine)

    assert engine.started == started
    assert any(line.startswith(message) for line in messages)
    assert shown[0] == f"0 of {len(endings)} shards ended, 0 running, {len(endings)} waiting (Resources)"


def test_a_later_launcher_starts_the_shards_that_are_not_done(tmp_path):
    plan = make_plan(tmp_path, 4)
    end(plan, 1, 0)  # done
    end(plan, 2, 1)  # done, with errors: they are asked again
    end(plan, 3, 4)  # wrong options, mended since
    engine = FakeEngine(plan, {2: [0], 3: [0], 4: [0]})
    engine.active = {4: "running"}
    messages, _ = run_follow(engine)

    assert engine.started == [2, 3]
    assert messages[0] == "1 of 4 shards are done, 1 are queued or running, 2 are started"


def test_a_scheduler_that_does_not_answer_is_polled_again(tmp_path, monkeypatch):
    engine = FakeEngine(make_plan(tmp_path, 1), {1: [0]})
    answers, poll = iter([None, None]), engine.poll
    monkeypatch.setattr(engine, "poll", lambda: next(answers, poll) and poll())
    _, shown = run_follow(engine)

    assert shown[:2] == ["the scheduler does not answer"] * 2
    assert engine.started == [1]


def test_an_ending_that_is_visible_late_is_waited_for(tmp_path, monkeypatch):
    engine = FakeEngine(make_plan(tmp_path, 1), {1: [None]})
    engine.settle_s = 10.0
    clock, pauses = iter(range(1000)), iter(range(1000))
    monkeypatch.setattr(launch.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(launch.time, "sleep", lambda _: end(engine.plan, 1, 0) if next(pauses) == 5 else None)
    run_follow(engine)

    assert engine.started == [1]


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 3, 4]), max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_following_ends_and_starts_no_shard_too_often(tmp_path_factory, endings, retries):
    plan = make_plan(tmp_path_factory.mktemp("run"), len(endings), retries)
    engine = FakeEngine(plan, {n: [*codes, *[None] * 9] for n, codes in enumerate(endings, 1)})
    run_follow(engine)

    assert all(1 <= engine.started.count(number) <= retries + 1 for number in plan.numbers)


def test_a_failure_is_reported_with_pytests_error_and_its_log(tmp_path):
    plan = make_plan(tmp_path, 2)
    plan.launch_folder.mkdir(parents=True)
    plan.log(1).write_text("collected\nERROR: --model x: no such model\n\nneedlework: pytest ended with 4\n")
    messages, _ = run_follow(FakeEngine(plan, {1: [4], 2: [0]}))

    assert messages[-1] == f"shard 1 failed: ERROR: --model x: no such model; its log: {plan.log(1)}"


def test_a_log_gets_a_changed_status_every_half_minute_and_a_terminal_one_line(monkeypatch):
    now, out, terminal = [100.0], io.StringIO(), io.StringIO()
    monkeypatch.setattr(launch.time, "monotonic", lambda: now[0])
    terminal.isatty = lambda: True
    log, line = StatusLine(out), StatusLine(terminal)
    for step, status in enumerate(["a", "a", "b", "b", "b", "c", "c"]):
        now[0] = 100.0 + 10 * step
        log.update(status)
    for status in ("a", "b" * 500):
        line.update(status)
    line.message("something happened")
    first, second, third = terminal.getvalue().removeprefix("\r\x1b[K").split("\r\x1b[K")

    assert out.getvalue() == "a\nb\nc\n"
    assert (first, third) == ("a", "something happened\n")
    assert len(second) < 500


PATIENCE_S = 180
WAIT = f"print('up', flush=True); time.sleep({2 * PATIENCE_S})"
# As pytest does it: at Ctrl-C it writes its files, and ends with 2.
WITH_FILES = f"""
try:
    {WAIT}
except KeyboardInterrupt:
    (run / 'shards/1-of-2').mkdir(parents=True)
    (run / 'shards/1-of-2/journal.jsonl').write_text('{{}}')
    return 2
"""


@pytest.fixture
def start(tmp_path):
    """Starts a shard of the run `folder` with a function in place of `pytest.main`, which has `run`: that folder."""
    folder, running = tmp_path / "run", []

    def started(code):
        head = f"import os, signal, time\nfrom pathlib import Path\nrun = Path({str(folder)!r})\ndef main(words):\n"
        (tmp_path / "pytest.py").write_text(head + textwrap.indent(code, "    "))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        command = [sys.executable, "-m", job.__name__, str(folder), "1/2", "--model", "m"]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return running[-1]

    started.ending = lambda: make_plan(tmp_path, 2).ending(1)
    yield started
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "ended", "ending"),
    [
        ("return 1", 0, Ending(1)),  # some cells ended in errors, the shard is done
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, None),  # its engine starts it again
        ("return 3", 3, None),  # an internal error: the same
        ("return 4", 4, Ending(4)),
    ],
    ids=["errors", "killed", "internal error", "wrong option"],
)
def test_how_pytest_ended_is_written_unless_it_died(start, code, ended, ending):
    assert start(code).wait(PATIENCE_S) == ended
    assert start.ending() == ending


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "number", "ended", "why"),
    [
        (WITH_FILES, signal.SIGTERM, STOPPED, None),
        (WITH_FILES, signal.SIGUSR1, STOPPED, None),
        (WAIT, signal.SIGUSR1, 2, "give it more --time"),  # too short for one cell
    ],
)
def test_a_signal_stops_it_and_it_leaves_no_ending_but_where_the_time_is_too_short(start, code, number, ended, why):
    process = start(code)
    assert "up\n" in process.stdout
    process.send_signal(number)

    assert process.wait(PATIENCE_S) == ended
    assert "stopped (SIG" in process.stdout.read() or why
    ending = start.ending()
    assert why in ending.why if why else ending is None


@pytest.mark.slow
def test_it_stops_when_its_parent_is_gone(monkeypatch):
    parents, signals = iter([7, 7, 1]), []
    monkeypatch.setattr(job, "_POLL_S", 0.0)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "kill", lambda _pid, number: signals.append(number))
    job._stop_without_parent(7)

    assert signals == [signal.SIGTERM]
