"""pytest-benchmark's options and cells: what is asked, what is printed, what is compared."""

GRID = ("--lengths=400", "--depths=0,50", "--fresh")


def test_benchmark_only_runs_the_cells_and_prints_the_tables(project, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # pytest-benchmark would take it for its own run's
    result = project.run("--benchmark-only", *GRID, model="mock:sleep=0.01")

    assert [record["outcome"] for record in project.records()] == ["found", "found"]
    result.stdout.fnmatch_lines(["Latency by length", "*length*n*latency s*p95*", "*400*2*", "*latency?niah-len400?*"])


def test_benchmark_skip_asks_nothing_and_disable_prints_nothing(project):
    assert project.run("--benchmark-skip", *GRID, name="skipped").ret == 0
    assert not (project.runs / "skipped" / "results.json").exists()
    result = project.run("--benchmark-disable", *GRID)
    result.stdout.no_fnmatch_line("*Latency*")
    assert len(project.records()) == 2


def test_two_models_are_compared_under_one_name(project):
    project.run("--benchmark-save=one", *GRID, model="mock:sleep=0.01")
    compare = ("--benchmark-compare", "--benchmark-columns=median", *GRID)
    result = project.run(*compare, model="mock:sleep=0.02", name="two")

    result.stdout.fnmatch_lines(["*latency?niah-len400? (NOW)*"])
    result.stdout.fnmatch_lines(["*latency?niah-len400? (0001_one)*"])


def test_replayed_answers_are_told_and_not_measured_again(project):
    project.run("--lengths=400", "--depths=0,50")
    result = project.run("--benchmark-columns=median", "--lengths=400", "--depths=0,50")

    result.stdout.fnmatch_lines(["*2 of 2 answers were measured in an earlier session"])
    result.stdout.no_fnmatch_line("*latency?niah-len400?*")
