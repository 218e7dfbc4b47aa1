"""Following shards to the end: what is started, what is started again, what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.cluster import progress as following
from needlework.cluster.progress import follow
from needlework.cluster.shards import Ending, Plan, launched_shards, write_ending
from needlework.core.errors import InputError


class Scheduler:
    """Starts nothing: a shard's `fates` say, for each start, how it ends. `None`: it dies without a word."""

    settle_s = 0.0

    def __init__(self, plan, fates, cancelled=()):
        self.plan, self.fates, self.cancelled = plan, {n: list(each) for n, each in fates.items()}, cancelled
        self.alive, self.started = {}, []

    def start(self, shards):
        self.started += shards
        self.alive |= dict.fromkeys(shards, "waiting")
        return f"started {list(shards)}"

    def look(self):
        now = dict(self.alive)
        for number, state in now.items():
            if state == "waiting":
                self.alive[number] = "running"
                continue
            del self.alive[number]
            code = self.fates[number].pop(0)
            if code is not None:
                end(self.plan, number, code)
        return now

    def why(self, shard):
        return "NODE_FAIL", shard in self.cancelled

    def waits_for(self):
        return ""

    def leave(self):
        return ""


def end(plan, number, code):
    write_ending(plan.notes, f"{number}-of-{plan.shards}", Ending(code, plan.digest, 1, "host"))


def plan_of(folder, shards, retries=2, words=("--model", "mock:perfect")):
    return Plan(folder / "run", shards, words, folder, retries)


def followed(plan, fates, **more):
    scheduler, said = Scheduler(plan, fates, **more), []
    follow(plan, scheduler, said.append, lambda _: None, 0.0)
    return scheduler.started, said


def test_a_shard_that_dies_is_started_again(tmp_path):
    started, said = followed(plan_of(tmp_path, 2), {1: [0], 2: [None, None, 0]})

    assert started == [1, 2, 2, 2]
    assert said[1] == "shard 2 ended without a word (NODE_FAIL), tried again"


def test_a_shard_that_always_dies_is_given_up(tmp_path):
    started, said = followed(plan_of(tmp_path, 1, retries=1), {1: [None] * 9})

    assert started == [1, 1]
    assert "given up" in said[-1]


def test_one_that_was_cancelled_by_hand_is_not_started_again(tmp_path):
    assert followed(plan_of(tmp_path, 2), {1: [None], 2: [0]}, cancelled={1})[0] == [1, 2]


def test_wrong_use_is_not_tried_again(tmp_path):
    assert followed(plan_of(tmp_path, 1), {1: [4]})[0] == [1]


def test_a_launcher_that_comes_later_starts_what_is_not_done(tmp_path):
    plan = plan_of(tmp_path, 4)
    end(plan, 1, 0)  # done
    end(plan, 2, 1)  # done, with errors: they are asked again
    end(plan, 3, 4)  # wrong options, mended since
    scheduler = Scheduler(plan, {2: [0], 3: [0], 4: [0]})
    scheduler.alive = {4: "running"}
    said = []
    follow(plan, scheduler, said.append, lambda _: None, 0.0)

    assert scheduler.started == [2, 3]
    assert said[0] == "1 of 4 shards are done, 1 are on their way, 2 are started"


def test_other_words_are_another_shard(tmp_path):
    end(plan_of(tmp_path, 1, words=("--model", "mock:middle")), 1, 0)

    assert followed(plan_of(tmp_path, 1), {1: [0]})[0] == [1]


def test_a_scheduler_that_does_not_answer_is_asked_again(tmp_path, monkeypatch):
    plan = plan_of(tmp_path, 1)
    scheduler, shown = Scheduler(plan, {1: [0]}), []
    answers = iter([None, None])
    look = scheduler.look
    monkeypatch.setattr(scheduler, "look", lambda: next(answers) if not shown[1:] else look())
    follow(plan, scheduler, lambda _: None, shown.append, 0.0)

    assert shown[:2] == ["the scheduler does not answer"] * 2
    assert scheduler.started == [1]


def test_an_ending_that_comes_to_be_seen_late_is_waited_for(tmp_path, monkeypatch):
    plan = plan_of(tmp_path, 1)
    scheduler = Scheduler(plan, {1: [None]})
    scheduler.settle_s = 10.0
    clock = iter(range(1000))
    monkeypatch.setattr(following.time, "monotonic", lambda: float(next(clock)))
    looks = iter(range(1000))
    monkeypatch.setattr(following.time, "sleep", lambda _: end(plan, 1, 0) if next(looks) == 5 else None)
    follow(plan, scheduler, lambda _: None, lambda _: None, 0.0)

    assert scheduler.started == [1]


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 3, 4]), max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_it_always_ends_and_starts_no_shard_too_often(tmp_path_factory, fates, retries):
    plan = plan_of(tmp_path_factory.mktemp("run"), len(fates), retries)
    started, _ = followed(plan, {n: [*each, *[None] * 9] for n, each in enumerate(fates, 1)})

    assert all(1 <= started.count(number) <= retries + 1 for number in plan.numbers)


def test_a_run_keeps_its_number_of_shards(tmp_path):
    with plan_of(tmp_path, 4).opened():
        pass

    assert launched_shards(tmp_path / "run") == 4
    with pytest.raises(InputError, match="this run has 4"), plan_of(tmp_path, 5).opened():
        pass
    assert plan_of(tmp_path, 4, words=("--model", "mock:middle")).was_launched_otherwise()
    assert not plan_of(tmp_path, 4).was_launched_otherwise()


def test_one_launcher_at_a_time(tmp_path):
    plan = plan_of(tmp_path, 4)

    with plan.opened(), pytest.raises(InputError, match="another run is writing there"), plan.opened():
        pass
    with plan.opened():
        pass


def test_what_failed_is_told_with_its_error_and_its_log(tmp_path):
    plan = plan_of(tmp_path, 2)
    plan.notes.mkdir(parents=True)
    plan.log(1).write_text(
        "collected\nERROR: --model x: no such model\n\nneedlework: shard 1-of-2: pytest ended with 4\n"
    )
    _, said = followed(plan, {1: [4], 2: [0]})

    assert said[-1] == f"shard 1 failed: ERROR: --model x: no such model; its log: {plan.log(1)}"


def test_what_failed_in_the_same_way_is_one_line(tmp_path):
    plan = plan_of(tmp_path, 3)
    _, said = followed(plan, {1: [4], 2: [0], 3: [4]})

    assert said[-1] == f"shards 1, 3 failed: pytest ended with 4; its log: {plan.log(1)}"
