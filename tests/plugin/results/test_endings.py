"""What a person sees at the end of a run: a screen at most, whatever the terminal; `-v` has everything; latency tables
where pytest-benchmark is asked for them.
"""

SHORT = "-qv"  # neither quiet nor verbose: the tests' project adds -v where nothing is said


def below_progress(result):
    lines = result.stdout.lines
    last = max(at for at, line in enumerate(lines) if "[100%]" in line)
    return lines[last + 1 :]


def test_a_run_ends_with_a_sentence_its_grid_and_its_report(project, pictures):
    result = project.run(SHORT, model="mock:middle")

    lines = below_progress(result)
    assert len(lines) <= 25
    parts = [
        "mock:middle *",
        "mock:middle*niah*code",
        "depth*",
        "*n  *",
        "report: results/runs/r/report.html*",
        "*6 scored*",
    ]
    result.stdout.fnmatch_lines(parts)
    assert not any(line.endswith((".png", ".svg", ".csv")) for line in lines)
    folder = "results/runs/r"
    prompt = f"needlework prompt {folder} niah-len400-depth50-code-r0 prints what the model saw"
    hint = f"next: open {folder}/report.html (a click on a cell shows its answers); {prompt}"
    project.run("-v", model="mock:middle").stdout.fnmatch_lines(
        [f"{folder}/report.html", f"{folder}/summary.json", f"{folder}/cells.csv", f"{folder}/heatmap-*.png", hint]
    )


def test_errors_that_are_alike_are_shown_once_and_counted(project):
    result = project.run(SHORT, "--judge=mock:perfect", "--scorer=judge_documents")
    lines = below_progress(result)

    assert len(lines) <= 25
    assert sum(line.startswith("ERROR") for line in lines) == 1
    assert any(line.startswith("6 of 6: the judge's replies cannot be read: ") for line in lines)
    result.stdout.fnmatch_lines(["*6 error*"])


def test_no_line_is_wider_than_the_terminal(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = project.run(SHORT, "--gate=score >= 0.9", "--lengths=400:1200:9", model="mock:middle")

    ours = [line for line in below_progress(result) if not line.startswith("FAIL")]  # pytest's own, of the gate
    assert not [line for line in ours if len(line) > 40 and "report.html" not in line]
    assert "\x1b" not in result.stdout.str()


def test_another_encoding_takes_every_line(project, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = project.run(SHORT, model="mock:middle", process=True)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["mock:middle | niah | code"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


# -- pytest-benchmark's options and cells ------------------------------------------------------------------------

TWO_CELLS = ("--lengths=400", "--depths=0,50")


def test_benchmark_only_measures_the_cells_and_no_replayed_answers_and_skip_asks_nothing(project, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # pytest-benchmark would take it for its own run's
    assert project.run("--benchmark-skip", *TWO_CELLS).ret == 0
    assert not (project.runs / "r" / "results.json").exists()

    result = project.run("--benchmark-only", *TWO_CELLS)
    assert [record["outcome"] for record in project.records()] == ["found", "found"]
    result.stdout.fnmatch_lines(["Latency by length", "*length*n*latency s*p95*", "*400*2*", "*latency?niah-len400?*"])

    result = project.run("--benchmark-columns=median", *TWO_CELLS)
    result.stdout.fnmatch_lines(["*2 of 2 answers were measured in an earlier session"])
    result.stdout.no_fnmatch_line("*latency?niah-len400?*")
