"""Shared fixtures of the harness's own tests."""

import os
import signal
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

# `pytest --pyargs needlework.benchmarks` in a checkout, and with it `needlework matrix` and `needlework.run()`, loads
# this file as well: also where `make benchmark` has installed nothing that only tests need.
if find_spec("hypothesis"):
    from hypothesis import HealthCheck
    from hypothesis import settings as profile

    # How long an example takes says how busy the machine is: no deadlines. The same few examples each time by default;
    # `--hypothesis-profile=thorough` (`make test-slow`) looks for new ones. A test that names its own number keeps it.
    any_profile = profile(
        deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    profile.register_profile("fast", any_profile, max_examples=20, derandomize=True, database=None)
    profile.register_profile("thorough", any_profile, max_examples=100)
    profile.load_profile("fast")

_SLOW_FIXTURES = {"browser", "llama_server", "embedding_server"}

# Most tests take less than 2 seconds of processor time. A busy machine takes half as much again, an old one twice as
# much, never this much more.
_MOST_CPU_S = 15.0

# These tests start hundreds of processes. Where this is set, each of them would compile and rewrite everything again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session", autouse=True)
def _heeded_signals():
    """Signals end this process, and those that it starts: who runs the tests in the background, or under `nohup`, has
    them ignored, and that is inherited.
    """
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    numbers = {getattr(signal, name): handler for name, handler in usual.items() if hasattr(signal, name)}
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, numbers[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Neighbours stay on one worker, so that what a module's tests share is made once; idle workers take some over."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave the slow tests out, unless `-m` chooses among them or one is named (`file.py::test`).

    What opens a browser, or runs a model behind a server, is slow.
    """
    for item in items:
        if not _SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    if config.option.markexpr or any("::" in named for named in config.args):
        return
    here = Path(__file__).parent
    slow = [item for item in items if item.get_closest_marker("slow") and here in item.path.parents]
    items[:] = [item for item in items if item not in slow]
    config.hook.pytest_deselected(items=slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that takes so much processor time, in this process and in those that it waits for, is to be marked."""
    cpu, clock = _cpu_s(), time.monotonic()
    result = yield
    # A process of a fixture may be counted where it is waited for; but no test can use more than all cores.
    used = min(_cpu_s() - cpu, (time.monotonic() - clock) * (os.cpu_count() or 1))
    quick = not item.get_closest_marker("slow") and not item.config.getoption("hypothesis_profile", default=None)
    if quick and used > _MOST_CPU_S:
        pytest.fail(f"took {used:.0f} s of processor time: make it cheaper, or mark it `slow` (CONTRIBUTING.md)")
    return result


@contextmanager
def _llama_cpp(folder, **options):
    """Base URL of a real llama.cpp server with the embedded model's own GGUF file."""
    pytest.importorskip("xllamacpp")
    # Here, as this file is loaded for runs that need none of it.
    from needlework.models.engines.recipes import find_recipe
    from needlework.models.engines.serve import ServedRun, Serving
    from needlework.models.specs import installed_gguf

    args = {"window": "2048", "threads": "1", **options}
    served = ServedRun(find_recipe("xllamacpp"), args, str(installed_gguf()), "smollm2", None, "")
    server = Serving(served, lambda: folder)
    try:
        yield server.address()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory):
    with _llama_cpp(tmp_path_factory.mktemp("llama")) as url:
        yield url


@pytest.fixture(scope="session")
def embedding_server(tmp_path_factory):
    """One that gives vectors: the mean of the last layer's, 576 numbers."""
    with _llama_cpp(tmp_path_factory.mktemp("llama"), **{"embedding": None, "pooling-type": "mean"}) as url:
        yield url


def _cpu_s():
    """Seconds of processor time of this process and of the children that it has waited for."""
    return sum(os.times()[:4])


def pytest_make_parametrize_id(val):
    """The ids of texts of several lines are one line, as lists of tests are (`perf/mutation.py` reads one)."""
    return ascii(val)[1:-1] if isinstance(val, str) and not val.isprintable() else None
