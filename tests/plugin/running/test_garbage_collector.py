"""The garbage collector rests while cells are collected, and at no other time."""

import gc

CONFTEST = """
pytest_plugins = ("needlework.plugin",)

import gc

ENABLED = []


def pytest_runtest_logfinish():
    ENABLED.append(gc.isenabled())


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"enabled {set(ENABLED)}, frozen {gc.get_freeze_count() > 0}")
"""


def test_what_is_collected_is_frozen_and_the_collector_runs_while_cells_run(project):
    project.pytester.makeconftest(CONFTEST)
    done = project.run("--depths=50")

    done.stdout.fnmatch_lines(["enabled {True}, frozen True"])
    assert gc.isenabled()
