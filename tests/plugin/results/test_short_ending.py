"""What a person sees at the end of a run: a screen at most, whatever the terminal; `-v` has everything."""

import pytest

SHORT = "-qv"  # neither quiet nor verbose: the tests' project adds -v where nothing is said


def below_progress(result):
    lines = result.stdout.lines
    last = max(at for at, line in enumerate(lines) if "[100%]" in line)
    return lines[last + 1 :]


def test_a_run_ends_with_a_sentence_its_grid_and_its_report(project):
    result = project.run(SHORT, model="mock:middle")

    lines = below_progress(result)
    assert len(lines) <= 25
    result.stdout.fnmatch_lines(
        [
            "mock:middle *",
            "mock:middle*niah*code",
            "depth*",
            "*n  *",
            "report: results/runs/r/report.html*",
            "*6 scored*",
        ]
    )
    assert not any(line.endswith((".png", ".svg", ".csv")) for line in lines)
    whole = project.run("-v", model="mock:middle")
    whole.stdout.fnmatch_lines(["results/runs/r/summary.json", "results/runs/r/heatmap-*.png"])


def test_errors_that_are_alike_are_shown_once_and_counted(project):
    result = project.run(SHORT, "--judge=mock:perfect", "--scorer=judge_documents")
    lines = below_progress(result)

    assert len(lines) <= 25
    assert sum(line.startswith("ERROR") for line in lines) <= 3
    assert any(line.startswith("6 of 6: the judge's replies cannot be read: ") for line in lines)
    result.stdout.fnmatch_lines(["*6 error*"])


@pytest.mark.parametrize("columns", [40, 60])
def test_no_line_is_wider_than_the_terminal(project, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = project.run(SHORT, "--gate=score >= 0.9", "--lengths=400:1200:9", model="mock:middle", process=True)

    ours = [line for line in below_progress(result) if not line.startswith("FAIL")]  # pytest's own, of the gate
    wide = [line for line in ours if len(line) > columns and "report.html" not in line]
    assert not wide
    assert "\x1b" not in result.stdout.str()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_other_encodings_take_every_line(project, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    result = project.run(SHORT, model="mock:middle", process=True)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["mock:middle | niah | code" if encoding == "ascii" else "mock:middle*niah*code"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
