"""Following shards to their end: which are started, started again, given up, and what is printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.cluster import follow as follow_module
from needlework.cluster.follow import StatusLine, follow
from needlework.cluster.plan import Ending, Plan, write_ending


class FakeEngine:
    """Starts nothing: `endings` has pytest's code of each start of a shard; `None`: it dies without an ending."""

    settle_s = 0.0

    def __init__(self, plan, endings, cancelled=()):
        self.plan, self.endings, self.cancelled = plan, {n: list(codes) for n, codes in endings.items()}, cancelled
        self.active, self.started = {}, []

    def start(self, shards):
        self.started += shards
        self.active |= dict.fromkeys(shards, "waiting")
        return f"started {list(shards)}"

    def poll(self):
        now = dict(self.active)
        for number, state in now.items():
            if state == "waiting":
                self.active[number] = "running"
                continue
            del self.active[number]
            code = self.endings[number].pop(0)
            if code is not None:
                end(self.plan, number, code)
        return now

    def death_of(self, shard):
        return "NODE_FAIL", shard in self.cancelled

    def leave(self):
        return ""


def end(plan, number, code):
    write_ending(plan.launch_folder, f"{number}-of-{plan.shards}", Ending(code, plan.digest, 1, "host"))


def make_plan(folder, shards, retries=2, words=("--model", "mock:perfect")):
    return Plan(folder / "run", shards, words, folder, retries)


def run_follow(plan, endings, **options):
    engine, messages = FakeEngine(plan, endings, **options), []
    follow(plan, engine, messages.append, lambda _: None, 0.0)
    return engine.started, messages


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
    shards, messages = run_follow(make_plan(tmp_path, len(endings), retries), endings, cancelled=cancelled)

    assert shards == started
    assert any(line.startswith(message) for line in messages)


def test_a_later_launcher_starts_the_shards_that_are_not_done(tmp_path):
    plan = make_plan(tmp_path, 4)
    end(plan, 1, 0)  # done
    end(plan, 2, 1)  # done, with errors: they are asked again
    end(plan, 3, 4)  # wrong options, mended since
    engine, messages = FakeEngine(plan, {2: [0], 3: [0], 4: [0]}), []
    engine.active = {4: "running"}
    follow(plan, engine, messages.append, lambda _: None, 0.0)

    assert engine.started == [2, 3]
    assert messages[0] == "1 of 4 shards are done, 1 are queued or running, 2 are started"


def test_a_shard_with_other_words_is_started(tmp_path):
    end(make_plan(tmp_path, 1, words=("--model", "mock:middle")), 1, 0)

    assert run_follow(make_plan(tmp_path, 1), {1: [0]})[0] == [1]


def test_a_scheduler_that_does_not_answer_is_polled_again(tmp_path, monkeypatch):
    plan = make_plan(tmp_path, 1)
    engine, shown = FakeEngine(plan, {1: [0]}), []
    poll = engine.poll
    monkeypatch.setattr(engine, "poll", lambda: poll() if shown[1:] else None)
    follow(plan, engine, lambda _: None, shown.append, 0.0)

    assert shown[:2] == ["the scheduler does not answer"] * 2
    assert engine.started == [1]


def test_an_ending_that_is_visible_late_is_waited_for(tmp_path, monkeypatch):
    plan = make_plan(tmp_path, 1)
    engine = FakeEngine(plan, {1: [None]})
    engine.settle_s = 10.0
    clock, pauses = iter(range(1000)), iter(range(1000))
    monkeypatch.setattr(follow_module.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(follow_module.time, "sleep", lambda _: end(plan, 1, 0) if next(pauses) == 5 else None)
    follow(plan, engine, lambda _: None, lambda _: None, 0.0)

    assert engine.started == [1]


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 3, 4]), max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_following_ends_and_starts_no_shard_too_often(tmp_path_factory, endings, retries):
    plan = make_plan(tmp_path_factory.mktemp("run"), len(endings), retries)
    started, _ = run_follow(plan, {n: [*codes, *[None] * 9] for n, codes in enumerate(endings, 1)})

    assert all(1 <= started.count(number) <= retries + 1 for number in plan.numbers)


def test_a_failure_is_reported_with_pytests_error_and_its_log(tmp_path):
    plan = make_plan(tmp_path, 2)
    plan.launch_folder.mkdir(parents=True)
    plan.log(1).write_text("collected\nERROR: --model x: no such model\n\nneedlework: pytest ended with 4\n")
    _, messages = run_follow(plan, {1: [4], 2: [0]})

    assert messages[-1] == f"shard 1 failed: ERROR: --model x: no such model; its log: {plan.log(1)}"


def test_a_log_gets_a_changed_status_every_half_minute(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(follow_module.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    line = StatusLine(out)
    for step, status in enumerate(["a", "a", "b", "b", "b", "c", "c"]):
        now[0] = 100.0 + 10 * step
        line.update(status)

    assert out.getvalue() == "a\nb\nc\n"


def test_a_terminal_has_one_line_that_is_overwritten():
    out = io.StringIO()
    out.isatty = lambda: True
    line = StatusLine(out)
    line.update("a")
    line.update("b" * 500)
    line.message("something happened")
    first, second, third = out.getvalue().removeprefix("\r\x1b[K").split("\r\x1b[K")

    assert (first, third) == ("a", "something happened\n")
    assert len(second) < 500
