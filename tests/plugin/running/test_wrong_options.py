"""What a run cannot do is one line, exit code 4 and no results: in every stage that can refuse it, with workers too."""

import pytest

NO_CORPUS = ("--corpus=nowhere",)
LOCAL = ("--model=smollm2", "-n2")
BARS = ("--adaptive", "--adaptive-bar=relative", "--lengths=400")
WRONG = [
    # While options become settings.
    (("--lengths=4x",), "--lengths: '4x': give whole tokens"),
    (("--lengths=windows",), "--lengths: 'windows': give whole tokens"),
    (("--preset=nope",), "--preset: 'nope'"),
    (("--run-name=a/b",), "--run-name: 'a/b'"),
    (("--config=nowhere.toml",), "--config"),
    (("--task=doc_position",), "--preset own-documents has it"),
    (("--shard=0/2",), "--shard: '0/2': write I/N, "),
    (("--shard=3/2",), "--shard: '3/2': write I/N, "),
    (("--shard=half",), "--shard: 'half': write I/N, "),
    (("--shard=1/2", "--shard=2/2"), "--shard: '1/2, 2/2': is given 2 times; give one"),
    (("--shard=1/2", "--gate=score > 0.5", "--top-up=9"), "--top-up: '9': asks for what a whole run "),
    (("--top-up=5",), "--top-up: '5'"),
    (("--baseline=x",), "--baseline: 'x'"),
    (("--top-up=-1",), "--top-up: '-1': give a whole number"),
    (("--power=drop=0.1",), "--power: 'drop=0.1': is told before a run: give --plan too"),
    (("--plan", "--power=fall=0.1"), "write drop=0.05"),
    (("--adaptive=some",), "--adaptive: 'some': use one of quick, normal, careful"),
    (("--adaptive", "--shard=1/2"), "--adaptive: 'normal': does not go with --shard"),
    (("--adaptive", "--gate=score >= 0.9"), "--adaptive: 'normal': does not go with --gate"),
    (("--adaptive", "--limit=1"), "--adaptive: 'normal': does not go with --limit"),
    (("--adaptive", "--stability=2"), "--adaptive: 'normal': does not go with --stability"),
    (("--adaptive", "--adaptive-bar=most"), "--adaptive-bar: 'most': give a score in percent"),
    (("--load=1,4", "--model=smollm2"), "--load: '1,4': smollm2 is no served model"),
    (("--load=1,a",), "--load: '1,a': give numbers of requests in flight"),
    # While the run is prepared.
    (NO_CORPUS, "'nowhere'"),
    (("--needle-set=nowhere",), "--needle-set: 'nowhere'"),
    (("--model=nowhere",), "--model: 'nowhere'"),
    (("--model=mock:dance",), "dance"),
    (("--model-arg=dtyp=1",), "dtyp"),
    (("--prompt=nowhere",), "--prompt: 'nowhere'"),
    (("--lengths=60,400",), "--lengths: '60': too short for niah at 60 (from --lengths "),
    (("--lengths=60",), "use at least "),
    (("--max-cost=1",), "--max-cost: '1': what does mock:perfect cost?"),
    (("--lengths=4k,window",), "the window of mock:perfect is not known: say it, --model-arg window=32768"),
    (("--gate=score",), "--gate: 'score': write"),
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
    (
        ("--gpus-per-worker=2", *LOCAL),
        "--gpus-per-worker: '2': spreads a model over its cards by",
    ),
    (("--gpus-per-worker=9", "--model-arg=device_map=auto", *LOCAL), "--gpus-per-worker: '9': this machine shows "),
    # By the workers, and told once.
    ((*NO_CORPUS, "-n1"), "'nowhere'"),
    (("--needle-set=nowhere", "-n1"), "--needle-set: 'nowhere'"),
    (("--model=nowhere", "-n1"), "--model: 'nowhere'"),
]


@pytest.mark.parametrize(("args", "line"), WRONG)
def test_one_line_and_nothing_is_written(project, monkeypatch, args, line):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = project.run(*args)

    everything = result.stdout.str() + result.stderr.str()
    assert result.ret == 4
    assert line in everything
    assert result.stderr.str().count(line) <= 1, "once, and not for each file with cells"
    assert not any(word in everything for word in ("ERROR collecting", "Traceback", "INTERNALERROR"))
    assert not list(project.runs.glob("*/results.json"))
