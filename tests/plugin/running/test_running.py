"""Running cells: selection, lengths, plan, what is written and let go of; the end on a screen; what is refused."""

import csv
import io

import pytest

from tests.loopback import loopback

CELLS = 6


def test_a_perfect_model_finds_everything_and_the_files_prove_length_depth_and_needle(project, pictures):
    result = project.run("-v", "--answer-budget=40", "--verify-prompts")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_niah?niah-len400-depth0-code-r0? found 100%*"])
    assert project.json("manifest.json")["planned"] == len(project.journal()) == CELLS
    assert (project.runs / "r" / "heatmap-niah-code-mock_perfect.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in project.file("heatmap-niah-code-mock_perfect.svg")
    assert len(list(csv.DictReader(io.StringIO(project.file("results.csv"))))) == CELLS
    for record in project.records():
        prompt = record["prompt"]
        assert 0 <= record["length"] - 40 - prompt["tokens"] <= 2
        assert record["response"]["prompt_tokens"] == prompt["tokens"]
        (needle,) = prompt["needles"]
        assert needle["requested"] == record["depth"]
        if record["depth"] in (0, 100):
            assert needle["depth"] == record["depth"]
        assert record["expected"][0] in record["answer"]


def test_what_asks_no_cell_writes_nothing(project):
    result = project.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_needles.py::test_niah[[]niah-len400-depth0-code-r0]", "6 tests collected*"])
    project.run("--fixtures")
    project.run("--model-arg=dtyp=1")
    project.pytester.makepyfile(test_other="def test_x(): pass")
    project.pytester.runpytest_inprocess("test_other.py", "-p", "no:cacheprovider").assert_outcomes(passed=1)

    assert not project.runs.exists()


def test_a_plan_tells_what_would_run_and_runs_nothing(project):
    result = project.run("--plan", "--repeats=2", "-n2")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*niah, needle code, mock:perfect: 12 trials in 6 cells",
         "*2 lengths (tokens): *400 600", "*3 depths (percent): 0 50 100",
         "*in all: 12 trials in 6 cells = 12 requests*"]
    )  # fmt: skip
    assert not project.runs.exists()


def test_a_plan_counts_the_second_request_after_a_summary(project):
    result = project.run("--plan", "--controls=compacted", "--lengths=400", "--depths=0", "--answer-budget=50")

    result.stdout.fnmatch_lines(["in all: 2 trials = 3 requests, 750 prompt tokens, at most 150 answer tokens"])


def test_a_plan_of_many_series_has_a_line_for_each_and_the_list_of_presets_too(project):
    project.asks("aggregate", "state_world")
    plan = ("--plan", "--preset=standard", "--lengths=2000")
    short, whole = (len(project.run(*plan, word).outlines) for word in ("-q", "-v"))

    assert whole > 5 * short
    project.run("--preset=list").stdout.fnmatch_lines(["quick *", "evalscope *10 lengths x 10 depths*"])


COUNTING = """
import gc

from needlework.core.prompts import Prompt

ALIVE = []


def pytest_runtest_logfinish():
    ALIVE.append(sum(isinstance(each, Prompt) for each in gc.get_objects()))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"alive {max(ALIVE)} of {len(ALIVE)}")
"""


@pytest.mark.slow
def test_a_run_of_long_prompts_does_not_keep_them(project):
    """Where there is room for no more, requests in flight keep four prompts each."""
    project.has_hooks(f"{COUNTING}\nimport needlework.pipeline.queue as queue\n\nqueue._MOST_UNREAD_TOKENS = 0\n")
    done = project.run("--depths=0:100:12", "--concurrency=2", model="mock:sleep=0.001", process=True)

    done.stdout.fnmatch_lines(["alive [0-9] of 24"])


def test_a_limited_run_says_so_and_goes_on_without(project):
    result = project.run("--limit=2", "--controls=absent,focused")

    lengths = [record["length"] for record in project.records() if record["needle"] == "code"]
    assert lengths == [400, 400]
    controls = [record["needle"] for record in project.records() if record["needle"] != "code"]
    assert sorted(controls) == ["code_absent", "code_focused"], "questions are counted, and not their controls"
    line = "--limit 2: the first 2 trials of each task and language, the shortest first: a part of the grid"
    assert str(result.stdout).count(line) == 2  # in the header and at the end
    assert line in project.file("report.html")
    manifest = project.json("manifest.json")
    assert (manifest["options"]["limit"], manifest["planned"]) == (2.0, 4)

    project.run("--controls=absent,focused")
    assert [record["needle"] for record in project.records()].count("code") == 6
    assert line not in project.file("report.html")
    divided = project.run("--limit=1", "-k", "depth100-", "--shard=1/2", name="s")
    assert "of 1 trials" in str(divided.stdout), "a limit is of what was selected"


# Of these tasks, icl needs some hundred tokens for its shortest list; niah fits.
SHORT = ("--task=niah,icl", "--preset=families", "--lengths=150,600", "--language=en", "--depths=50")


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_what_fits_is_run_and_the_rest_is_named_in_terminal_and_files(project, workers):
    project.asks("niah", "icl")
    result = project.run(*SHORT, workers)

    assert result.ret == 0
    cells = {(record["task"], record["length"]) for record in project.records()}
    assert cells == {("niah", 150), ("niah", 600), ("icl", 600)}
    line = "left out, too short: icl at 150"
    assert any(f"{line} (from " in each for each in result.outlines)
    assert any(line in note for note in project.json("results.json")["notes"])
    assert line in project.file("report.html")


def test_a_window_stands_beside_other_lengths_in_plan_records_and_output(project):
    given = ("--lengths=400,window", "--depths=50", "--model-arg=window=900")
    line = "--lengths window: 900 tokens, the window of mock:perfect"
    project.run(*given, "--plan").stdout.fnmatch_lines([line, "*2 lengths (tokens):  400 900"])
    project.run(*given).stdout.fnmatch_lines([line])
    assert {record["length"] for record in project.records()} == {400, 900}
    (suite,) = project.json("manifest.json")["suites"]
    assert (suite["window"], suite["lengths"]) == (True, [400, 900])
    # The same trials as with the number itself: nothing is asked again.
    once = len(project.journal())
    project.run("--lengths=400,900", "--depths=50", "--model-arg=window=900")
    assert len(project.journal()) == once


def test_a_server_is_asked_for_its_windows_and_the_smallest_holds_for_all_models(project):
    with loopback() as server:
        server.told["/v1/models"] = {"data": [{"id": "m", "max_model_len": 700}, {"id": "large", "max_model_len": 900}]}
        given = ("--lengths=window", "--depths=50", f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base")
        project.run(*given, "--model=openai:large", model="openai:m")
    lengths = {(record["model"], record["length"]) for record in project.records()}
    assert lengths == {("openai:m", 700), ("openai:large", 700)}


# -- the end: a screen at most, whatever the terminal; `-v` has everything ----------------------------------------

USUAL = "-qv"  # neither quiet nor verbose: the tests' project adds -v where nothing is said


def below_progress(result):
    lines = result.stdout.lines
    last = max(at for at, line in enumerate(lines) if "[100%]" in line)
    return lines[last + 1 :]


def test_a_run_ends_with_a_sentence_its_grid_and_its_report(project, pictures):
    result = project.run(USUAL, model="mock:middle")

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
    result = project.run(USUAL, "--judge=mock:perfect", "--scorer=judge_documents")
    lines = below_progress(result)

    assert len(lines) <= 25
    assert sum(line.startswith("ERROR") for line in lines) == 1
    assert any(line.startswith("6 of 6: the judge's replies cannot be read: ") for line in lines)
    result.stdout.fnmatch_lines(["*6 error*"])


def test_no_line_is_wider_than_the_terminal(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = project.run(USUAL, "--gate=score >= 0.9", "--lengths=400:1200:9", model="mock:middle")

    ours = [line for line in below_progress(result) if not line.startswith("FAIL")]  # pytest's own, of the gate
    assert not [line for line in ours if len(line) > 40 and "report.html" not in line]
    assert "\x1b" not in result.stdout.str()


def test_another_encoding_takes_every_line(project, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = project.run(USUAL, model="mock:middle", process=True)

    assert result.ret == 0
    result.stdout.re_match_lines([r".* 707707 +\[100%\]", r"mock:middle \| niah \| code"])
    assert not any(word in result.stdout.str() + result.stderr.str() for word in ("Traceback", "\\u25"))


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


# -- what a run cannot do: one line, exit code 4 and no results, with workers too ----------------------------------

NO_CORPUS = ("--corpus=nowhere",)
LOCAL = ("--model=smollm2", "-n2")
BARS = ("--adaptive", "--adaptive-bar=relative", "--lengths=400")
WRONG = [
    # While options become settings.
    (("--lengths=windows",), "--lengths: 'windows': give whole tokens"),
    (("--run-name=a/b",), "--run-name: 'a/b'"),
    (("--task=doc_position",), "--preset own-documents has it"),
    (("--preset=own-documents",), "--documents: '': doc_position asks about documents of yours"),
    (("--shard=0/2",), "--shard: '0/2': write I/N, "),
    (("--shard=3/2",), "--shard: '3/2': write I/N, "),
    (("--shard=half",), "--shard: 'half': write I/N, "),
    (("--shard=1/2", "--shard=2/2"), "--shard: '1/2, 2/2': is given 2 times; give one"),
    (("--shard=1/2", "--gate=score > 0.5", "--top-up=9"), "--top-up: '9': asks for what a whole run "),
    (("--top-up=5",), "--top-up: '5'"),
    (("--baseline=x",), "--baseline: 'x': is compared by a gate alone"),
    (("--top-up=-1",), "--top-up: '-1': give a whole number"),
    (("--power=drop=0.1",), "--power: 'drop=0.1': says before a run what it would show: give --plan too"),
    (("--plan", "--power=fall=0.1"), "write drop=0.05"),
    (("--adaptive=some",), "--adaptive: 'some': use one of quick, normal, careful"),
    (("--adaptive", "--shard=1/2"), "--adaptive: 'normal': does not go with --shard"),
    (("--adaptive", "--gate=score >= 0.9"), "--adaptive: 'normal': does not go with --gate"),
    (("--adaptive", "--limit=1"), "--adaptive: 'normal': does not go with --limit"),
    (("--adaptive", "--stability=2"), "--adaptive: 'normal': does not go with --stability"),
    (("--adaptive", "--adaptive-bar=most"), "--adaptive-bar: 'most': give a score in percent"),
    (("--load=1,4", "--model=smollm2"), "--load: '1,4': smollm2 is no served model"),
    (("--load=1,a",), "--load: '1,a': give numbers of requests in flight"),
    (("--load=1,4", "--shard=1/2"), "--load: '1,4': does not go with --shard"),
    # While the run is prepared.
    (NO_CORPUS, "'nowhere'"),
    (("--needle-set=nowhere",), "--needle-set: 'nowhere'"),
    (("--model=nowhere",), "--model: 'nowhere'"),
    (("--model=mock:dance",), "dance"),
    (("--model-arg=dtyp=1",), "dtyp"),
    (("--prompt=nowhere",), "--prompt: 'nowhere'"),
    (("--lengths=60,400",), "--lengths: '60': too short for niah at 60 (from --lengths "),
    (("--lengths=",), "--lengths: '': give a value that is not empty"),
    (("--depths=",), "--depths: '': give a value that is not empty"),
    (("--max-cost=1",), "--max-cost: '1': what does mock:perfect cost?"),
    (("--lengths=4k,window",), "the window of mock:perfect is not known: say it, --model-arg window=32768"),
    (("--gate=score >= 1",), "no number of trials shows"),
    (("--gate=drop <= 0.1",), "give --baseline RUN"),
    (("--scorer=nowhere",), "--scorer: 'nowhere'"),
    (("--scorer=judge_evalscope",), "give --judge SPEC"),
    (("--scorer=judge_evalscope", "--judge=nosuch"), "--judge: 'nosuch'"),
    (("--scorer=judge_evalscope", "--judge=openai:gpt"), "--judge"),
    (("--scorer=judge_evalscope", "--judge=mock:no-such-behaviour"), "no-such-behaviour"),
    (("--judge=mock:perfect", "--judge-prompt=nowhere"), "No such file"),
    (("--judge=mock:perfect", "--judge-prompt=conftest.py"), "no {answer}"),
    (("--results-dir=/dev/null/x",), "--results-dir"),
    # Where cells are chosen.
    (BARS, "--adaptive-bar: 'relative': needs a length"),
    (("--adaptive", "--adaptive-tokens=1k"), "a first look at niah takes 4,800"),
    (("--adaptive", "-k", "len400"), "--adaptive: 'niah code': -k and node ids select some of its cells"),
    # Before the workers start.
    (("--gpus-per-worker=2", *LOCAL), "--gpus-per-worker: '2': spreads a model over its cards by"),
    (("--gpus-per-worker=9", "--model-arg=device_map=auto", *LOCAL), "--gpus-per-worker: '9': this machine shows "),
    # By the workers, and told once.
    ((*NO_CORPUS, "-n1"), "'nowhere'"),
    (("--needle-set=nowhere", "-n1"), "--needle-set: 'nowhere'"),
    (("--model=nowhere", "-n1"), "--model: 'nowhere'"),
]


# Of a batch.
WRONG_BATCHES = [
    (("--stability=2", "--batch-out=q"), "--stability: '2': no batch service asks again"),
    (("--top-up=2", "--gate=score >= 0.1", "--batch-out=q"), "--top-up: '2': a batch is written at once"),
    (("--adaptive=quick", "--batch-out=q"), "--adaptive: 'quick': does not go with --batch-out"),
    (("--controls=compacted", "--batch-out=q"), "--controls: 'compacted': its second question waits for"),
    (("--shard=1/2", "--batch-out=q"), "--shard: '1/2': --batch-limits parts a batch"),
    (("--batch-in=a", "--batch-out=q"), "--batch-in: 'a': first write requests, then read answers"),
    (("--batch-in=a",), "--batch-in: 'a': cannot be read (No such file or directory)"),
    (("--batch-out=q", "--model-arg=header.X=v"), "--model-arg: 'header.X': no header goes into a batch file"),
    (('--model-arg=extra_body={"api_key": "v"}', "--batch-out=q"), "--model-arg: 'extra_body': has a field whose"),
    (("--batch-out=q", "--batch-limits=0,1"), "--batch-limits: '0,1': give the most requests"),
    (("--batch-out=q", "--batch-limits=1,2,3"), "--batch-limits: '1,2,3': give the most requests"),
]


@pytest.mark.parametrize(
    ("model", "args", "line"),
    [
        *(("mock:perfect", *wrong) for wrong in WRONG),
        *(("openai:gpt-4", ("--template=raw", *args), line) for args, line in WRONG_BATCHES),
    ],
)
def test_one_line_and_nothing_is_written(project, monkeypatch, model, args, line):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = project.run(*args, model=model)

    everything = result.stdout.str() + result.stderr.str()
    assert result.ret == 4
    assert line in everything
    assert result.stderr.str().count(line) <= 1, "once, and not for each file with cells"
    assert not any(word in everything for word in ("ERROR collecting", "Traceback", "INTERNALERROR"))
    assert not list(project.runs.glob("*/results.json"))
    assert not (project.pytester.path / "q").exists()
