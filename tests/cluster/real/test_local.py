"""200 cells in processes of this machine."""

import signal

from tests.cluster.real.launches import wait_until


def test_killed_shards_and_a_killed_launcher(launches, one_process):
    first = launches.start("local", "--jobs=2")
    launches.wait_for(1, 5)
    launches.kill(1, "needlework.cluster.job")
    launches.wait_for(2, 5)
    launches.kill(2, "needlework.cluster.job")
    launches.wait_for(3, 5)
    first.kill()
    launches.ended_whole(launches.start("local", "--jobs=2"), one_process)
    assert launches.asked_once()


def test_ctrl_c_stops_the_shards_and_the_same_command_goes_on(launches, one_process):
    first = launches.start("local", "--jobs=2")
    launches.wait_for(1, 5)
    shards = [launches.process(shard, "needlework.cluster.job") for shard in (1, 2)]
    first.send_signal(signal.SIGINT)
    code, said = launches.ended(first)
    assert code == 2
    assert "the shards were stopped; the same command goes on" in said
    wait_until(lambda: not any(each.is_running() for each in shards), "shards to end")

    launches.ended_whole(launches.start("local", "--jobs=2"), one_process)


def test_an_option_that_pytest_refuses_is_told_at_once(launches):
    code, said = launches.ended(launches.start("local", words=("--lenghts=5",)))

    assert code == 2
    assert "unrecognized arguments: --lenghts=5" in said
    assert not launches.run.exists()
