"""Who asks twice for an end means the same, and SIGTERM asks for it as Ctrl-C does."""

import os
import signal
from importlib import metadata

import pytest

from needlework.core.errors import ending_signals

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals")


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_end_what_the_first_asks_for(first, second):
    with ending_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(first)
        signal.raise_signal(second)


def test_ctrl_c_ends_even_that_when_it_takes_long(monkeypatch):
    with ending_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr("needlework.core.errors._AGAIN_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_signals_are_given_back():
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with ending_signals():
        pass
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_ctrl_c_ends_the_installed_command_with_a_line(monkeypatch, capsys):
    def interrupted(_argv):
        raise KeyboardInterrupt

    (script,) = metadata.entry_points(group="console_scripts", name="needlework")
    main = script.load()  # what the script that pip installs calls
    monkeypatch.setitem(main.__globals__, "_run", interrupted)

    assert main(["leaderboard"]) == 2
    assert capsys.readouterr().err == "needlework: stopped\n"
