"""A real process as a server: it starts, it is waited for, and it ends with whoever started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.models.engines import serve
from needlework.models.engines.keeper import alive, family
from needlework.models.engines.serve import Child, ended, free_port, last_lines

LISTENS = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]
FAILS = [sys.executable, "-c", "print('loading'); print('error: no card has 80 GB'); raise SystemExit(3)"]


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def quiet(_seconds, _line):
    pass


def child(folder, words, *, port=0, start_s=30.0):
    return Child("toy", [*words, *([str(port)] if port else [])], port or 1, ("/",), folder, start_s)


def pid_of_server(folder):
    """The keeper's command names the folder; the server is its child."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(b"keeper.py" in word for word in words) and str(folder / "log.txt").encode() in words:
            keeper = int(entry.parent.name)
            return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])
    raise AssertionError("there is no keeper")


def gone(pid, seconds=10.0):
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(pid)


@LINUX
def test_a_server_is_up_when_it_is_healthy_and_gone_when_it_is_stopped(tmp_path):
    port, told = free_port(), []
    server = child(tmp_path, LISTENS, port=port)
    server.start(lambda seconds, line: told.append((seconds, line)))
    pid = pid_of_server(tmp_path)

    assert alive(pid)
    assert ended(tmp_path) == ""
    server.stop()
    assert gone(pid)
    assert told[0][0] >= 0
    assert "on port" in told[0][1]
    server.stop()  # once more does no harm


def test_a_server_is_up_when_it_lists_its_models_and_its_errors_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "_FAULTY_S", 0.0)
    script = (
        "import http.server, sys, time\n"
        "begun = time.monotonic()\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200 if self.path == '/v1/models' and time.monotonic() > begun + 0.6 else 500)\n"
        "        self.end_headers()\n"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n"
    )
    port, told = free_port(), []
    words = [sys.executable, "-c", script, str(port)]
    server = Child("toy", words, port, serve.USUAL_HEALTH, tmp_path, 30)
    server.start(lambda _seconds, line: told.append(line))
    server.stop()
    assert any("it answers HTTP 500 to /health" in line for line in told)


def test_a_server_that_ends_at_the_start_is_told_with_its_last_words(tmp_path):
    with pytest.raises(InputError, match=r"ended with code 3: error: no card has 80 GB; mend that.*log\.txt"):
        child(tmp_path, FAILS).start(quiet)
    assert last_lines(tmp_path / "log.txt", 2) == ["loading", "error: no card has 80 GB"]


def test_a_program_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be started: No such file"):
        child(tmp_path, ["/no/such/program"]).start(quiet)


def test_a_server_that_never_gets_healthy_is_given_up_and_ended(tmp_path):
    with pytest.raises(InputError, match=r"not healthy after 0\.5 s"):
        child(tmp_path, [sys.executable, "-c", "import time; time.sleep(60)"], start_s=0.5).start(quiet)


@LINUX
def test_a_server_that_ends_midway_is_known_by_its_signal(tmp_path):
    server = child(tmp_path, LISTENS, port=free_port())
    server.start(quiet)
    os.kill(pid_of_server(tmp_path), signal.SIGKILL)
    until = time.monotonic() + 10
    while not ended(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)

    assert "ended by signal 9; systems do that when memory is short" in ended(tmp_path)
    server.stop()


@LINUX
def test_a_server_with_children_that_ignores_the_polite_signal_ends_with_its_owner(tmp_path):
    """The owner is killed with `kill -9`: nothing of it runs any more."""
    port = free_port()
    stubborn = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.run({[*LISTENS, str(port)]!r})\n"
    )
    owner = (
        "import sys, time\nfrom pathlib import Path\n"
        "from needlework.models.engines.serve import Child\n"
        f"Child('toy', [sys.executable, '-c', {stubborn!r}], {port}, ('/',), Path({str(tmp_path)!r}), 30)"
        ".start(lambda *_: None)\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    server = pid_of_server(tmp_path)
    everyone = family(server)
    assert len(everyone) == 2
    process.kill()
    process.wait()
    process.stdout.close()

    assert all(gone(pid, 20) for pid in everyone)


def test_progress_bars_and_escapes_leave_one_line_that_a_terminal_may_show(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"one\n 10%\r 50%\r100% loaded\n\x1b[31mred\xff\n\n")

    assert last_lines(log, 2) == ["100% loaded", "\\x1b[31mred\N{REPLACEMENT CHARACTER}"]
