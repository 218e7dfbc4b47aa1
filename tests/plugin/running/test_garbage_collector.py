"""What lives to the end of a run is looked at once, and what came after the run is looked at as before."""

import gc

TOLD = """
pytest_plugins = ("needlework.plugin",)

import gc

SEEN = []


def pytest_runtest_logfinish():
    SEEN.append(gc.get_threshold()[0])


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"looks after {set(SEEN)}")
"""


def test_the_collector_looks_less_often_while_cells_run_and_as_before_when_they_have(project):
    before = gc.get_threshold()
    project.pytester.makeconftest(TOLD)
    done = project.run("--depths=50")

    done.stdout.fnmatch_lines(["looks after {50000}"])
    assert gc.get_threshold() == before
