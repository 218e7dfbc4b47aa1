"""A real process as a server: it starts, is waited for, and ends with whoever started it; options of xllamacpp's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.models.engines.keeper import family
from needlework.models.engines.recipes import Recipe
from needlework.models.engines.serve import ServedRun, Serving, last_lines
from needlework.models.engines.xllamacpp_server import options, put

PYTHON = (sys.executable, "-c")
LISTENS = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def serving(folder, *words, health="/", start_s=30.0):
    recipe = Recipe(command=words, engine="toy", health=health, start_s=start_s)
    return Serving(ServedRun(recipe, {}, "m", "m", None, ""), lambda: folder)


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


def wait(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@LINUX
def test_a_server_is_up_when_it_is_healthy_known_to_workers_and_gone_when_it_is_stopped(tmp_path):
    told = []
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "models").write_text("{}")  # one of the paths that show a server without a recipe to be ready
    server = serving(tmp_path, *LISTENS, "--directory", str(tmp_path), health="")
    server.tell = lambda seconds, line: told.append((seconds, line))
    assert server.handed_on() == ""
    url = server.address()
    pid = pid_of_server(tmp_path)
    worker = Serving(server.served, lambda: tmp_path, server.handed_on())

    assert alive(pid)
    assert (server.ended(), server.address(), worker.address()) == ("", url, url)
    assert "on port" in told[0][1]
    server.stop()
    assert wait(lambda: not alive(pid))
    server.stop()  # once more does no harm
    with pytest.raises(InputError, match="run again without -n"):
        Serving(server.served, lambda: tmp_path, "").address()


@pytest.mark.parametrize(
    ("words", "start_s", "why"),
    [
        (
            (*PYTHON, "print('loading'); print('error: no card has 80 GB'); raise SystemExit(3)"),
            30,
            r"ended with code 3: error: no card has 80 GB; mend that.*log\.txt",
        ),
        ((*PYTHON, "print('bye')"), 30, "the server ended with code 0: bye"),
        ((*PYTHON, "import time; time.sleep(60)"), 0.5, r"not healthy after 0\.5 s"),
        (("/no/such/program",), 30, "no program /no/such/program on PATH"),
    ],
)
def test_a_server_that_never_gets_healthy_is_told_with_its_last_words(tmp_path, words, start_s, why):
    with pytest.raises(InputError, match=why):
        serving(tmp_path, *words, start_s=start_s).address()


@LINUX
def test_a_server_that_ends_midway_is_known_by_its_signal(tmp_path):
    server = serving(tmp_path, *LISTENS)
    server.address()
    os.kill(pid_of_server(tmp_path), signal.SIGKILL)

    assert "ended by signal 9; systems do that when memory is short" in wait(server.ended)
    server.stop()


@LINUX
def test_a_server_with_children_that_ignores_the_polite_signal_ends_with_its_owner(tmp_path):
    """The owner is killed with `kill -9`: nothing of it runs any more."""
    stubborn = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.run({list(LISTENS[:-1])!r} + [sys.argv[1]])\n"
    )
    owner = (
        "import time\nfrom pathlib import Path\n"
        "from tests.models.engines.test_serving import PYTHON, serving\n"
        f"serving(Path({str(tmp_path)!r}), *PYTHON, {stubborn!r}, '{{port}}').address()\n"
        "print('up', flush=True)\ntime.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert process.stdout.readline() == b"up\n"
    everyone = family(pid_of_server(tmp_path))
    assert len(everyone) == 2
    process.kill()
    process.wait()
    process.stdout.close()

    assert wait(lambda: not any(map(alive, everyone)))


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("== an earlier start\nOSError: old\n== now\nERROR: a flag\nbye", "ERROR: a flag"),
        (
            "(EngineCore) torch.OutOfMemoryError: CUDA out of memory.\n" + "GET /v1 500\n" * 1000
            + "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
            "RuntimeError: Engine core initialization failed. See root cause above.\nINFO: Shutting down",
            "(EngineCore) torch.OutOfMemoryError: CUDA out of memory.",
        ),
        ("only a word", "only a word"),
    ],
)  # fmt: skip
def test_the_cause_is_looked_for_before_what_other_processes_say_of_it(tmp_path, log, cause):
    (tmp_path / "log.txt").write_text(log)
    (tmp_path / "ended.json").write_text('{"code": 1}')
    worker = Serving(serving(tmp_path, "x").served, lambda: tmp_path, '"http://u"')

    assert worker.ended().startswith(f"the server ended with code 1: {cause}; mend that")


def test_progress_bars_and_escapes_leave_one_line_that_a_terminal_may_show(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"one\n 10%\r 50%\r100% loaded\n\x1b[31mred\xff\n\n")

    assert last_lines(log, 2) == ["100% loaded", "\\x1b[31mred\N{REPLACEMENT CHARACTER}"]


def parsed(words):
    """Fields of xllamacpp's parameters by llama-server's names of options."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    for name, given in options(words.split()):
        put(params, name, given)
    return params


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("--ctx-size 4096", "n_ctx", 4096),
        ("--flash-attn on", "flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_ENABLED"),
        ("--cache-type-k q8_0", "cache_type_k", "GGML_TYPE_Q8_0"),
        ("--no-context-shift", "ctx_shift", False),
        ("--no-kv-offload", "no_kv_offload", True),
        ("--rope-freq-scale 0.5", "rope_freq_scale", 0.5),
        ("--chat-template llama2", "use_jinja", False),
        ("--chat-template {{messages}}", "use_jinja", True),
    ],
)
def test_an_option_is_set(words, field, value):
    now = getattr(parsed(words), field)
    assert getattr(now, "name", now) == value


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--nope 1", "no option --nope"),
        ("--cache-type-k q9", "there is no type 'q9'"),
        ("--parallel two", "is no int"),
        ("--flash-attn", "needs a value"),
        ("loose", "belongs to no option"),
    ],
)
def test_an_option_that_is_wrong_is_one_line(words, told):
    with pytest.raises(ValueError, match=told):
        parsed(words)
