"""Published systems' names and configurations: `--preset FILE` as they publish them, and docs/presets.md.

`python tests/haystack_fixtures/configuration/test_published_presets.py` updates the page's table.
"""

import json
import re
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.settings import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS, translate
from needlework.haystack_fixtures.configuration.presets import load_preset
from needlework.haystack_fixtures.configuration.resolve import resolve_settings

CDME = """
from opencompass.datasets.cdme.cdme import CDMEDataset
from opencompass.openicl.icl_inferencer import GenInferencer
import math

def generate_depth_percents(intervals, interval_type):
    if interval_type == 'linear':
        return [100 / (intervals - 1) * i for i in range(intervals)]
    raise ValueError('Unsupported interval type')

cdme_infer_cfg = dict(inferencer=dict(type=GenInferencer, max_out_len=99))
context_lengths = list(range(1000, 4000, 1000))
document_depth_percent_intervals = 4
document_depth_percent_interval_type = "linear"
base_path = './data/CDME'
file_list = ['zh_finance.jsonl']
cdme_datasets = []

for original_context_length in context_lengths:
    for depth_percent in generate_depth_percents(
            document_depth_percent_intervals, document_depth_percent_interval_type):
        dataset_dict = {
            'abbr': f'CDME_Length{original_context_length}Depth{int(depth_percent)}',
            'type': CDMEDataset,
            'path': base_path,
            'length': original_context_length,
            'depth': int(depth_percent),
            'tokenizer_model': 'gpt-4',
            'file_list': file_list,
            'num_repeats_per_file': 3,
            'length_buffer': 150,
            'guide': True,
            'language': 'Chinese',
            'needle': '\\n老陈的茶馆藏在第九条巷子里。\\n',
            'retrieval_question': '老陈的茶馆在哪里？',
            'infer_cfg': cdme_infer_cfg,
        }
        cdme_datasets.append(dataset_dict)
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
FORMS = {
    "call.py": f"from evalscope import TaskConfig, run_task\nrun_task(task_cfg=TaskConfig(**{TASK!r}))\n",
    "main.py": f"cfg = {TASK!r}\nif __name__ == '__main__':\n    run_task(cfg)\n",
    "task.json": json.dumps(TASK),
    "task.yaml": json.dumps(TASK),  # JSON is YAML
}


@pytest.fixture
def load(tmp_path):
    def load_text(text, name="config.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return load_preset(str(tmp_path / name))

    return load_text


@pytest.fixture
def resolve(tmp_path):
    def resolve_text(text, name="config.py", option="preset"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return resolve_settings({option: str(tmp_path / name), "model": ["mock:perfect"]}, {}, tmp_path)

    return resolve_text


def test_opencompass_with_one_needle(resolve):
    (suite,) = resolve(CDME).suites
    assert (suite.task, suite.language, suite.scorer, suite.prompt) == ("niah", "zh", "cdme", "cdme")
    assert (suite.lengths, suite.depths) == ((1000, 2000, 3000), (0, 33, 66, 100))
    assert (suite.length_means, suite.length_buffer) == ("context", 150)
    assert (suite.repeats, suite.guide, suite.answer_budget) == (3, True, 99)


def test_opencompass_with_several_needles(resolve):
    text = CDME.replace("cdme.cdme import", "cdme.cdme_multi import").replace("'needle': '", "'needles': ['")
    text = text.replace(
        "。\\n',\n            'retrieval", "。\\n', '茶馆卖花茶。'],\n            'diff': 25, 'retrieval"
    )
    (suite,) = resolve(text).suites
    assert (suite.task, suite.scorer, suite.diff, suite.lengths) == ("multi_needle", "keyword", 25, (1000, 2000, 3000))


def test_the_folder_of_the_texts_is_taken_where_it_exists(load, tmp_path, monkeypatch):
    (tmp_path / "data" / "CDME").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert load(CDME).suites[0]["corpus"] == "cdme:./data/CDME"
    assert load(CDME).suites[0]["file_list"] == "zh_finance.jsonl"


@pytest.mark.parametrize("name", FORMS)
def test_evalscope_in_each_of_its_forms(load, resolve, name):
    run = resolve(FORMS[name], name)
    (suite,) = run.suites
    assert (suite.task, suite.language, suite.prompt, suite.corpus) == ("niah", "en", "evalscope", "essays")
    assert (suite.lengths, suite.depths) == ((1000, 2000, 3000), (0, 25, 50, 75, 100))
    assert (suite.length_means, suite.length_buffer, suite.answer_budget) == ("context", 150, 77)
    assert (run.limit, run.concurrency, run.heatmap_numbers) == (6, 4, True)
    notes = "\n".join(load(FORMS[name], name).notes)
    assert "api_url = http://127.0.0.1:9/v1: here --base-url" in notes
    assert "temperature = 0.5: here --model-arg temperature=VALUE" in notes
    assert "verysecret" not in notes


def test_evalscope_without_needles_asks_its_own_in_both_languages(load):
    arguments = {"extra_params": {"context_lengths_max": 64000, "document_depth_percent_intervals": None}}
    task = {"datasets": ["needle_haystack"], "dataset_args": {"needle_haystack": arguments}}
    english, chinese = load(json.dumps(task), "task.json").suites
    assert english["needle_set"] == chinese["needle_set"] == "san_francisco"
    assert (english["language"], chinese["language"]) == ("en", "zh")
    assert (english["lengths"], english["depths"]) == ("1000:64000:10", "0:100:10")


FLAT = {
    "published": {
        "context_lengths": [1000, 2000],
        "document_depth_percents": [0, 50],
        "needle": "The tea house is in the ninth lane.",
        "retrieval_question": "Where is the tea house?",
        "num_concurrent_requests": 3,
    },
    "ours": {"lengths": [1000, 2000], "depths": [0, 50], "concurrency": 3},
}


@pytest.mark.parametrize("option", ["preset", "config"])
@pytest.mark.parametrize("form", ["yaml", "toml", "json"])
@pytest.mark.parametrize("names", FLAT)
def test_a_flat_file_works_by_both_options(resolve, option, form, names):
    table = FLAT[names] | {"gate": ["all>=80"]}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    run = resolve(lines if form == "toml" else json.dumps(table), f"flat.{form}", option)
    assert (run.concurrency, run.gate) == (3, ("all>=80",))
    assert (run.suites[0].task, run.suites[0].lengths, run.suites[0].depths) == ("niah", (1000, 2000), (0, 50))


@pytest.mark.parametrize(("name", "text"), [("task.json", json.dumps(TASK)), ("config.py", CDME)])
def test_a_configuration_of_a_harness_works_by_config_too(resolve, name, text):
    assert resolve(text, name, "preset") == resolve(text, name, "config")


def test_a_preset_of_ours_may_be_yaml(load):
    text = "mine:\n  about: our check\n  suite:\n    - {task: niah, lengths: [1000], depths: [0, 50]}\n"
    assert load(text, "mine.yaml").suites == ({"task": "niah", "lengths": "1000", "depths": "0,50"},)


UNREAD = """
while True: pass
x = unknown(1)
x = ''.__class__.__mro__
x = 9 ** 9 ** 9
x = lambda: 1
x['a'] = 1
class A: pass
with open('/etc/passwd') as f: x = f.read()
"""


@pytest.mark.parametrize("value", ["choose()", "x", "1 > 0", "depth_percent // 1"])
def test_a_value_that_is_not_read_is_named_with_its_line_and_the_rest_is_taken(load, value):
    text = UNREAD + CDME.replace("'guide': True", f"'guide': {value}")
    line = next(n for n, each in enumerate(text.split("\n"), 1) if "'guide'" in each)
    preset = load(text)
    assert f"config.py:{line}: guide is not read" in preset.notes
    assert "guide" not in preset.suites[0]
    assert {"guide": "true"} | preset.suites[0] == load(CDME).suites[0]


def test_a_name_that_is_changed_later_counts_only_where_it_is_known(load):
    first, second = load(f"{CDME}{CDME.replace('range(1000, 4000', 'range(1000, 3000')}").suites
    assert (first["lengths"], second["lengths"]) == ("1000,2000,3000", "1000,2000")
    (suite,) = load(CDME.replace("cdme_datasets = []", "file_list += ['a']")).suites
    assert "file_list" not in suite
    assert any("depth is not read" in note for note in load(CDME.replace('"linear"', '"cubic"')).notes)


def test_nothing_is_run(load, tmp_path):
    marker = tmp_path / "touched"
    load(
        f"import os\nfrom pathlib import Path\nos.system('touch {marker}')\n__import__('os').mkdir('{marker}')\n"
        f"eval(\"open('{marker}', 'w')\")\ny = open('{marker}', 'w')\nPath('{marker}').write_text('x')\n{CDME}"
    )
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("empty.py", " \n", "no data set of CDME"),
        ("empty.json", "{}", "has no preset"),
        ("keys.yaml", "1: 2", "is no table"),
        ("broken.json", "{", "is no JSON"),
        ("deep.json", "[" * 40_000, "is no JSON"),
        ("deep.yaml", "[" * 40_000, "is no YAML"),
        ("aliases.yaml", "a: &a [1]\nb: [*a, *a]\n", "has aliases"),
        ("run.yaml", "!!python/object/apply:os.system ['true']\n", "is no YAML"),
        ("broken.py", "x = = 1", "is no Python configuration: .*line 1"),
        ("minus.py", "x = " + "-" * 5000 + "1", "is no Python configuration"),
        ("nul.py", "\0", "is no Python configuration"),
        ("large.py", "x = 1\n" * 100_000, "has more than"),
        ("base.py", "with read_base():\n    from .a import b\n", "give the file that does"),
        ("gsm8k.json", '{"datasets": ["gsm8k"]}', "other than needle_haystack"),
        ("mmlu.py", "datasets = [dict(type='opencompass.MMLUDataset')]", "no data set of CDME"),
        ("shared.py", "x = [1]\n" + "x = [x, x]\n" * 200, "no data set of CDME"),
        ("depths.py", "x = generate_depth_percents(1000000000, 'linear')", "0:100:1000000000"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(load, name, text, why):
    with pytest.raises(InputError, match=why):
        load(text, name)


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**7),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "\x7f\n", "Chinese", "1:2"]),
    st.lists(st.sampled_from(["x", 1, 2.5, None, [1]]), max_size=3),
    st.dictionaries(st.sampled_from(["models", "strategy", "model_id"]), st.sampled_from(["b", 3, []]), max_size=2),
)
named = st.dictionaries(st.sampled_from([*NAMES, "judge", "generation_config", "abbr", "new"]), odd, max_size=5)


@given(task=named, arguments=odd | named, extra=odd | named)
def test_odd_values_of_evalscope(tmp_path_factory, task, arguments, extra):
    if isinstance(arguments, dict):
        arguments = arguments | {"extra_params": extra}
    file = tmp_path_factory.getbasetemp() / "task.json"
    of_task = {"datasets": ["needle_haystack"]} | task | {"dataset_args": {"needle_haystack": arguments}}
    file.write_text(json.dumps(of_task), encoding="utf-8")
    with suppress(InputError):
        assert load_preset(str(file)).suites


NEEDLE = "needle = 'It is 7.'\nretrieval_question = 'What is it?'\n"


def settings(tmp_path, suite, run=""):
    (tmp_path / "mine.toml").write_text(f"[mine]\n{run}\n[[mine.suite]]\n{suite}", "utf-8")
    return resolve_settings({"preset": str(tmp_path / "mine.toml")}, {}, tmp_path)


def test_a_suite_with_the_published_names(tmp_path):
    found = settings(
        tmp_path,
        f"{NEEDLE}context_lengths = [1000, 2000]\ndocument_depth_percent_intervals = 3\n"
        "document_depth_percent_interval_type = 'sigmoid'\nlanguage = 'Chinese'\nlength_buffer = 200\nguide = true\n"
        "diff = 25\nmax_out_len = 512\nshow_score = true\ntokenizer_path = '/t'\n",
        "model = ['mock:perfect']\napi_url = 'http://x/v1'",
    )
    (suite,) = found.suites
    assert (suite.task, suite.lengths, suite.depths, suite.language) == ("niah", (1000, 2000), (0, 50, 99), "zh")
    assert (suite.length_buffer, suite.guide, suite.diff, suite.answer_budget) == (200, True, 25, 512)
    assert (found.heatmap_numbers, found.tokenizer) == (True, "/t")
    assert (found.model, found.base_url) == (("mock:perfect",), "http://x/v1")


@pytest.mark.parametrize(
    ("suite", "run", "said"),
    [
        ("task = 'niah'\nretrieval_questoin = 'x'", "", "did you mean retrieval_question"),
        ("task = 'niah'\nmodel = 'x'", "", "above its suites"),
        ("task = 'niah'\nabbr = 'x'", "", "abbr.*here: cells are named"),
        ("task = 'niah'\napi_key = 'x'", "", "here: --api-key-env"),
        ("task = 'niah'\nlengths = 1000\ncontext_lengths = [1000]", "", "two names for one thing"),
        ("task = 'niah'", "lengths = '1k'", r"stands in \[\[mine.suite\]\]"),
        ("task = 'niah'", "modell = 'x'", "did you mean model?"),
        ("lengths = 1000", "", "every suite names its task"),
    ],
)
def test_a_wrong_key_is_one_line(tmp_path, suite, run, said):
    with pytest.raises(InputError, match=said):
        settings(tmp_path, suite, run)


LENGTHS = [f"context_lengths_{part}" for part in ("min", "max", "num_intervals")]


def ours(table, **named):
    return translate("mine.toml", table, **named)[0]


def test_llmtest_spacing_is_its_own_where_its_ends_are_given():
    table = {"document_depth_percent_interval_type": "sigmoid", "document_depth_percent_intervals": 35}
    assert ours(table)["depth_spacing"] == "opencompass-sigmoid"
    assert ours(table | {"document_depth_percent_min": 0})["depth_spacing"] == "sigmoid"
    assert ours(table | {"document_depth_percent_min": 0}, peer=OPENCOMPASS)["depth_spacing"] == "opencompass-sigmoid"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"lengths": "1k", "context_lengths": [1000]}, "lengths, context_lengths.*two names for one thing"),
        ({LENGTHS[0]: 1000}, "give context_lengths_max and context_lengths_num_intervals too, or lengths"),
        ({"context_lengths": [1000]} | dict.fromkeys(LENGTHS, 2), "two names for one thing"),
        ({"document_depth_percent_interval_type": "cubic"}, "use linear or sigmoid"),
        ({"depth_spacing": "log", "document_depth_percent_interval_type": "linear"}, "two names for one thing"),
    ],
)
def test_what_is_said_twice_or_by_half_is_refused(table, said):
    with pytest.raises(InputError, match=said):
        translate("mine.toml", table)


def test_a_systems_own_table_has_its_precedence():
    assert ours({"context_lengths": [500]} | dict.fromkeys(LENGTHS, 2), peer=EVALSCOPE)["lengths"] == [500]
    both = {"needle": "a", "needles": ["b", "c"]}
    assert ours(both | {"multi_needle": False}) == {"needle": "a"}
    assert ours(both | {"multi_needle": True}) == {"task": "multi_needle", "needles": ["b", "c"]}


PAGE = Path(__file__).parents[3] / "docs" / "presets.md"
HEAD = "| their name | here |\n|---|---|\n"
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def table():
    """A row for each parameter of another meaning here."""
    rows = (row for row in NAMES.values() if row.ours and not row.same)
    return HEAD + "".join(f"| {row.peers[0]}: `{row.name}` | `{row.ours}`: {row.about} |\n" for row in rows)


def presets():
    """The TOML examples under the published configurations' headings, by the name of their preset."""
    section = PAGE.read_text("utf-8").partition("## The published configurations")[2].partition("\n## ")[0]
    return {next(iter(tomllib.loads(text))): text for text in re.findall(r"```toml\n(.*?)```", section, re.DOTALL)}


def test_every_parameter_becomes_a_key_of_ours_and_the_page_has_the_table():
    assert all(row.ours in BY_KEY or (row.ours in SUITE_KEYS and row.here) for row in NAMES.values() if row.ours)
    assert table() in PAGE.read_text("utf-8")


def test_opencompass_published_configuration_as_the_page_has_it(tmp_path):
    (tmp_path / "x.toml").write_text(presets()["single"], "utf-8")
    (suite,) = resolve_settings({"preset": str(tmp_path / "x.toml")}, {}, tmp_path).suites
    (ours,) = resolve_settings({"preset": "cdme-8k"}, {}, tmp_path).suites
    for key in ("lengths", "depths", "repeats", "length_means", "length_buffer", "guide", "diff", "answer_budget"):
        assert getattr(suite, key) == getattr(ours, key), key
    assert (suite.task, suite.scorer, suite.language) == ("niah", "cdme", "zh")


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text("utf-8")), "utf-8")
