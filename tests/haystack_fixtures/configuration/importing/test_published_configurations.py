"""Configurations in the form of the published ones: what becomes of each setting, and that the result runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.importing.command import main
from needlework.haystack_fixtures.configuration.importing.imported import Imported
from needlework.haystack_fixtures.configuration.importing.written import import_file
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Suite

CDME = """
from opencompass.datasets.cdme.cdme import CDMEDataset

def percents(number, kind):
    if kind == 'linear':
        return [100 / (number - 1) * i for i in range(number)]
    raise ValueError('no such kind')

infer_cfg = dict(inferencer=dict(max_out_len=99))
file_list = ['zh_tech.jsonl']
my_datasets = []
for original in list(range(1000, 4000, 1000)):
    for depth_percent in percents(4, 'linear'):
        my_datasets.append({
            'abbr': f'L{original}D{int(depth_percent)}',
            'type': CDMEDataset,
            'path': './nowhere/CDME',
            'length': original,
            'depth': int(depth_percent),
            'tokenizer_model': 'gpt-4',
            'file_list': file_list,
            'num_repeats_per_file': 3,
            'length_buffer': 150,
            'guide': True,
            'language': 'Chinese',
            'needle': '\\n老陈的茶馆藏在第九条巷子里。\\n',
            'retrieval_question': '老陈的茶馆在哪里？',
            'infer_cfg': infer_cfg,
        })
"""
SEVERAL = CDME.replace("cdme.cdme import", "cdme.cdme_multi import").replace(
    "'needle': '\\n老陈的茶馆藏在第九条巷子里。\\n',",
    "'needles': ['老陈的茶馆藏在第九条巷子里。', '茶馆的灯是绿的。'], "
    " 'diff': 20, 'keyword': '绿', 'answer': '灯是绿的',",
)
NEEDLEBENCH = """
from opencompass.datasets.needlebench_v2.{kind} import NeedleBench{name}Dataset
a_datasets = [
    dict(type=NeedleBench{name}Dataset, length=n, {depths}, tokenizer_model='gpt-4', path='far/away',
         file_list=['PaulGrahamEssays.jsonl'], num_repeats_per_file=2, length_buffer=500, language='English',
         needle_file_name='n.jsonl'{more})
    for n in (2000, 4000) for d in (0, 50)
]
"""
TASK = {
    "model": "some-model",
    "api_url": "http://user:pass@127.0.0.1:9/v1",
    "api_key": "sk-verysecret",
    "datasets": ["needle_haystack"],
    "dataset_args": {
        "needle_haystack": {
            "subset_list": ["english"],
            "extra_params": {
                "retrieval_question": "Where is the tea house?",
                "needles": ["\nThe tea house is in the ninth lane.\n"],
                "context_lengths_min": 1000,
                "context_lengths_max": 3000,
                "context_lengths_num_intervals": 3,
                "document_depth_percent_intervals": 5,
                "show_score": True,
            },
        }
    },
    "generation_config": {"max_tokens": 77, "temperature": 0.5, "stream": True},
    "eval_batch_size": 4,
    "limit": 6,
}


def imported(tmp_path: Path, text: str, name: str = "config.py") -> Imported:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return import_file(file)


def suites(tmp_path: Path, text: str, name: str = "config.py") -> tuple[Suite, ...]:
    """The suites that a run with the imported preset asks."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    preset = tmp_path / "imported.toml"
    assert main([str(tmp_path / name), "--out", str(preset)]) == 0
    return resolve_settings({"preset": str(preset), "model": ["mock:perfect"]}, {}, tmp_path).suites


def fates(found: Imported) -> dict[str, str]:
    return {line.said.partition(" = ")[0]: line.fate for line in found.lines}


def test_opencompass_one_needle(tmp_path):
    (suite,) = suites(tmp_path, CDME)

    assert (suite.task, suite.language, suite.scorer, suite.prompt) == ("niah", "zh", "cdme", "cdme")
    assert suite.lengths == (1000, 2000, 3000)
    assert suite.depths == (0, 33, 66, 100)
    assert (suite.length_means, suite.length_buffer) == ("context", 150)
    assert (suite.repeats, suite.guide, suite.answer_budget) == (3, True, 99)
    assert suite.tokenizer_model is None


def test_what_became_of_each_setting_is_told(tmp_path):
    found = fates(imported(tmp_path, CDME))

    assert found["needle"] == found["retrieval_question"] == found["length"] == "same"
    assert found["path"] == found["tokenizer_model"] == "different"
    assert "abbr" not in found


def test_the_folder_of_the_texts_is_taken_where_it_is_here(tmp_path, monkeypatch):
    (tmp_path / "nowhere" / "CDME").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    (suite,) = imported(tmp_path, CDME).suites

    assert suite["corpus"] == "cdme:./nowhere/CDME"
    assert suite["file_list"] == ["zh_tech.jsonl"]


def test_opencompass_several_needles(tmp_path):
    (suite,) = suites(tmp_path, SEVERAL)

    assert (suite.task, suite.scorer, suite.diff, suite.keyword) == ("multi_needle", "keyword", 20, "绿")


@pytest.mark.parametrize(
    ("kind", "name", "depths", "more", "task"),
    [
        ("origin", "Origin", "depth=d", "", "niah"),
        ("parallel", "Parallel", "depths=[0, 50]", "", "parallel"),
        ("multi", "Multi", "depth=d", ", num_needles=3, diff=10", "needlebench_reasoning"),
    ],
)
def test_needlebench(tmp_path, kind, name, depths, more, task):
    (suite,) = suites(tmp_path, NEEDLEBENCH.format(kind=kind, name=name, depths=depths, more=more))

    assert (suite.task, suite.corpus, suite.prompt) == (task, "essays", "needlebench-v2")
    assert (suite.lengths, suite.depths) == ((2000, 4000), (0, 50))
    assert suite.variants == (("3needle",) if kind == "multi" else ())


def test_lengths_with_other_depths_are_a_suite_of_their_own(tmp_path):
    text = CDME + "my_datasets = my_datasets[:-1]\n"

    assert [(suite["lengths"], len(suite["depths"])) for suite in imported(tmp_path, text).suites] == [
        ([1000, 2000], 4),
        ([3000], 3),
    ]


PYTHON = f"from evalscope import TaskConfig, run_task\ncfg = TaskConfig(**{TASK!r})\nrun_task(task_cfg=cfg)\n"
COMMAND = """# as documented
evalscope eval \\
    --model some-model --api-url http://127.0.0.1:9/v1 --api-key sk-verysecret \\
    --datasets needle_haystack \\
    --dataset-args '%s' \\
    --generation-config max_tokens=77,temperature=0.5 \\
    --eval-batch-size 4 \\
    --limit 6  # not for formal evaluation
"""
WRITTEN = {
    "task.py": PYTHON,
    "dict.py": f"task = {TASK!r}\n",
    "task.json": json.dumps(TASK),
    "task.yaml": json.dumps(TASK),  # JSON is YAML
    "task.sh": COMMAND % json.dumps(TASK["dataset_args"]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_evalscope_in_each_of_its_forms(tmp_path, capsys, name):
    if name.endswith(".yaml"):
        pytest.importorskip("yaml")
    (suite,) = suites(tmp_path, WRITTEN[name], name)
    told = capsys.readouterr().out

    assert (suite.task, suite.language, suite.prompt, suite.corpus) == ("niah", "en", "evalscope", "essays")
    assert (suite.lengths, suite.depths) == ((1000, 2000, 3000), (0, 25, 50, 75, 100))
    assert (suite.length_means, suite.length_buffer, suite.answer_budget) == ("context", 150, 77)
    assert "--model openai:some-model --base-url http://127.0.0.1:9/v1" in told
    assert told.rstrip().endswith("--tokenizer FOLDER")
    assert "--limit 6" in told
    assert "--model-arg temperature=0.5" in told
    assert "--concurrency 4" in told


def test_no_secret_is_told_or_written(tmp_path, capsys):
    for name, text in WRITTEN.items():
        suites(tmp_path, text, name)
        told = capsys.readouterr().out + (tmp_path / "imported.toml").read_text(encoding="utf-8")
        assert "verysecret" not in told
        assert "user:pass" not in told


def test_the_judge_of_evalscope(tmp_path):
    models = [{"model_id": "m1", "api_url": "http://127.0.0.1:8/v1", "api_key": "sk-other"}, {"model_id": "m2"}]
    judged = TASK | {"judge": {"models": models, "strategy": "llm_recall", "aggregation": "majority_vote"}}
    words = " ".join(imported(tmp_path, json.dumps(judged), "task.json").options)

    assert "--scorer judge_evalscope --judge-strategy llm_recall --judge openai:m1" in words
    assert "--judge openai:m2" in words


def test_needles_that_a_set_of_ours_has_bring_its_short_answers(tmp_path):
    needle = "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day."
    extra = {"retrieval_question": "What is the best thing to do in San Francisco?", "needles": [f"\n{needle}\n"]}
    task = TASK | {"dataset_args": {"needle_haystack": {"extra_params": extra}}}

    english, chinese = imported(tmp_path, json.dumps(task), "task.json").suites
    assert english["needle_set"] == chinese["needle_set"] == "san_francisco"
    assert "needle" not in english


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("empty.py", " \n", "is empty"),
        ("empty.json", "{}", "has no data sets"),
        ("list.json", "[1, 2]", "has no data sets"),
        ("broken.json", "{", "is no JSON"),
        ("deep.json", "[" * 100_000, "is no JSON"),
        ("broken.py", "x = = 1", "is no Python configuration: line 1"),
        ("other.py", "x = 1\n", "has no data sets of OpenCompass and no task of EvalScope"),
        ("class.py", "class Datasets:\n    pass\n", "has no data sets .*line 1: classdef is not read"),
        ("gsm8k.json", '{"datasets": ["gsm8k"]}', "asks gsm8k, and only needle_haystack is read"),
        ("args.json", '{"dataset_args": {"needle_haystack": 3}}', "are tables"),
        ("half.json", '{"dataset_args": {"needle_haystack": {"extra_params": {"context_lengths_min": "a"}}}}', None),
        ("quote.sh", "evalscope eval --model 'a\n", "is no command for a shell"),
        ("latin.py", "x = '\xff'", "is not UTF-8"),
        ("mmlu.py", "datasets = [dict(type='opencompass.MMLUDataset')]", "asks nothing that is asked here"),
        ("length.py", CDME.replace("'length': original", "'length': unheard_of"), "has no data sets .*unheard_of"),
    ],
)
def test_what_cannot_be_imported_is_one_line(tmp_path, capsys, name, text, why):
    file = tmp_path / name
    file.write_text(text, encoding="latin-1" if name == "latin.py" else "utf-8")
    code = main([str(file)])
    told = capsys.readouterr().err

    if why is not None:
        assert code == 2
        assert told.count("\n") == 1
        with pytest.raises(InputError, match=why):
            import_file(file)


def test_yaml_that_refers_to_itself_is_refused(tmp_path):
    pytest.importorskip("yaml")
    with pytest.raises(InputError, match=r"has aliases"):
        imported(tmp_path, "a: &a [1]\nb: [*a, *a]\ndatasets: [needle_haystack]\n", "bomb.yaml")
    with pytest.raises(InputError, match="is no YAML"):
        imported(tmp_path, "!!python/object/apply:os.system ['true']\n", "run.yaml")
    with pytest.raises(InputError, match="is no YAML"):
        imported(tmp_path, "a: [1\n", "broken.yaml")


def test_without_a_place_the_preset_goes_to_standard_output_alone(tmp_path, capsys):
    (tmp_path / "config.py").write_text(CDME, encoding="utf-8")

    assert main([str(tmp_path / "config.py")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("[config]\n")
    assert "run it: pytest benchmarks --preset FILE.toml --model SPEC" in err


def test_files_that_are_not_there(tmp_path, capsys):
    (tmp_path / "config.py").write_text(CDME, encoding="utf-8")

    assert main([str(tmp_path / "nix.py")]) == 2
    assert main([str(tmp_path / "config.py"), "--out", str(tmp_path / "no" / "folder.toml")]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
