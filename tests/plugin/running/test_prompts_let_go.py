"""A run of long prompts does not keep them: what a cell needed is let go of when it has ended."""

COUNTING = """
pytest_plugins = ("needlework.plugin",)

import gc

from needlework.core.prompts import Prompt

ALIVE = []


def pytest_runtest_logfinish():
    ALIVE.append(sum(isinstance(each, Prompt) for each in gc.get_objects()))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"alive {max(ALIVE)} of {len(ALIVE)}")
"""


def test_one_prompt_at_a_time_is_alive(project):
    project.pytester.makeconftest(COUNTING)
    done = project.run("--depths=0:100:12", "--repeats=2", process=True)

    done.stdout.fnmatch_lines(["alive [012] of 48"])


def test_where_there_is_room_for_no_more_requests_in_flight_keep_four_prompts_each(project):
    no_room = "\nimport needlework.pipeline.queue as queue\n\nqueue._MOST_UNREAD_TOKENS = 0\n"
    project.pytester.makeconftest(COUNTING + no_room)
    done = project.run("--depths=0:100:12", "--repeats=2", "--concurrency=2", model="mock:sleep=0.001", process=True)

    done.stdout.fnmatch_lines(["alive [0-9] of 48"])
