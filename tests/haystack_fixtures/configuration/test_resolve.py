"""Command line, TOML, ini and presets come together; one table of options; what a manifest has of them."""

import json
import re

import pytest

from needlework.core.errors import InputError
from needlework.core.settings import BY_KEY, Settings, Suite
from needlework.haystack_fixtures.configuration.messages import notes
from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.configuration.stored_settings import read_settings, settings_tables
from needlework.haystack_fixtures.corpora.corpus import CDME_FILES
from needlework.haystack_fixtures.trials.contexts import SourcePool, narrow_to_file
from needlework.models.tokenizers.tokenizer import tiktoken_tokenizer
from needlework.pytest_plugin.options import hints


def settings(tmp_path, ini=None, **command_line):
    return resolve_settings(command_line, ini or {}, tmp_path)


QUICK = {
    "lengths": (512, 1000, 2000, 3000, 4000), "depths": (0.0, 25.0, 50.0, 75.0, 100.0), "repeats": 1,
    "template": "chat", "question_position": "end", "length_buffer": 0, "thinking_budget": 0,
}  # fmt: skip


def test_every_option_has_its_default(snapshot):
    assert {option.name: option.default for option in BY_KEY.values()} == snapshot


def test_a_run_without_options_has_the_documented_defaults(tmp_path):
    found = settings(tmp_path)
    assert (found.preset, found.model, found.concurrency, found.max_errors) == ("quick", ("smollm2",), 8, 5.0)
    assert {name: getattr(found.suites[0], name) for name in QUICK} == QUICK
    assert found.results_dir == tmp_path / "results" / "runs"


def test_command_line_over_toml_over_ini(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('lengths = [1000, "2k"]\nanswer-budget = 16\nmodel = ["mock:perfect", "mock:wrong"]\n')
    found = settings(
        tmp_path, ini={"lengths": "9k", "answer_budget": "99", "repeats": "3"}, config=str(config), answer_budget="8"
    )
    suite = found.suites[0]
    assert (suite.lengths, suite.answer_budget, suite.repeats) == ((1000, 2000), 8, 3)
    assert found.model == ("mock:perfect", "mock:wrong")
    assert [settings(tmp_path, load=load).concurrency for load in ("3", "1,3")] == [3, 8]
    # A preset counts where it is named.
    ini = {"lengths": "9k"}
    assert settings(tmp_path, ini=ini).suites[0].lengths == (9000,)
    assert settings(tmp_path, ini=ini, preset="quick").suites[0].lengths == QUICK["lengths"]
    assert settings(tmp_path, ini=ini | {"preset": "quick"}).suites[0].lengths == (9000,)


def test_a_task_that_the_default_preset_lacks_comes_from_the_preset_that_has_all(tmp_path):
    assert settings(tmp_path).preset == settings(tmp_path, task="niah").preset == "quick"
    found = settings(tmp_path, task="key_value,niah")
    assert (found.preset, {suite.task for suite in found.suites}) == ("families", {"key_value", "niah"})


BERTHS = {"task": "berths", "lengths": "1k", "depths": "50"}


def test_a_users_tasks_are_asked_where_no_preset_is_named(tmp_path):
    def tasks(command_line, ini):
        settings = resolve_settings(command_line, ini, tmp_path, user_suites=[BERTHS])
        return [suite.task for suite in settings.suites]

    assert tasks({}, {})[-1] == "berths"
    assert "berths" not in tasks({"preset": "quick"}, {})
    assert "berths" not in tasks({}, {"preset": "quick"})


@pytest.mark.parametrize(
    ("given", "field", "values"),
    [
        ({"preset": "evalscope", "depths": "50"}, "depths", [(50,), (50,)]),
        ({"language": "en,zh"}, "language", ["en", "zh"]),
        ({"preset": "standard", "task": "multi_needle", "language": "en"}, "task", ["multi_needle"]),
        ({"task": "key_value", "language": "en"}, "controls", [("absent", "focused")]),
        ({"task": "key_value", "language": "en", "controls": "none"}, "controls", [()]),
        ({}, "system_prompt", [None]),
        ({"system_prompt": ""}, "system_prompt", [""]),
    ],
)
def test_the_command_line_narrows_and_changes_suites(tmp_path, given, field, values):
    assert [getattr(suite, field) for suite in settings(tmp_path, **given).suites] == values


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"preset": "evalscop"}, "did you mean evalscope"),
        ({"preset": "foo"}, "or a name of --preset list: quick, "),  # more of them than the line has room for
        ({"preset": "missing.toml"}, "cannot be read"),
        ({"preset": "llmtest", "language": "zh"}, "llmtest has no suite in"),
        ({"preset": "quick", "task": "multi_needle"}, "--preset standard has it; preset quick has niah"),
        ({"lengths": "4x"}, "--lengths"),
        ({"depths": "200"}, "--depths"),
        ({"repeats": "0"}, "--repeats"),
        ({"seed": "-1"}, "--seed"),
        ({"limit": "1.5"}, "give a number of trials, such as 10, or a share"),
        ({"answer_budget": "0"}, "--answer-budget: '0': is no room"),
        ({"controls": "missing"}, "use none, or some of absent, focused"),
        ({"task": "keyvalue"}, "did you mean key_value? preset families has niah, "),
        ({"language": "fr"}, "--language"),
        ({"template": "xml"}, "use one of chat, raw"),
        ({"length_spacing": "cubic"}, "linear, log, doubling"),
        ({"timeout": "0"}, "--timeout"),
        ({"timeout": "nan"}, "--timeout"),
        ({"max_errors": "101"}, "--max-errors"),
        ({"model": [""]}, "--model"),
        ({"config": "nowhere.toml"}, "cannot be read"),
        ({"preset": "own-documents", "vote": "2"}, "--vote: '2': of two answers neither is more like the others: give"),
        ({"preset": "own-documents", "vote": "-1"}, "--vote: '-1': give a whole number, 0 or more"),
        ({"preset": "quick", "vote": "3"}, "use --preset own-documents"),
    ],
)
def test_a_wrong_value_is_one_line_with_option_and_remedy(tmp_path, given, said):
    with pytest.raises(InputError, match=re.escape(said)):
        resolve_settings(given, {}, tmp_path)


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("config", "lengthz = '1k'", "did you mean lengths"),
        ("config", "= 3", "not valid TOML"),
        ("config", "lengths = {a = 1}", "give a string"),
        ("config", "repeats = 'x'", "--repeats"),
        ("preset", "[mine]\n", "one or more"),
        ("preset", "[mine]\n[[mine.suite]]\nlengths='1k'\n", "names its task"),
        ("preset", "[mine]\n[[mine.suite]]\ntask='niah'\nlenghts='1k'\n", "did you mean lengths"),
        ("preset", "[mine]\n[[mine.suite]]\ntask='niah'\n", "--lengths"),
        ("preset", "[a]\n[[a.suite]]\ntask='niah'\n[b]\n[[b.suite]]\ntask='niah'\n", "2 presets"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, option, text, said):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        settings(tmp_path, **{option: str(tmp_path / "mine.toml")})


def test_the_recipe_leaves_the_grid_out(tmp_path):
    one = settings(tmp_path, depths="0", lengths="1k").suites[0]
    other = settings(tmp_path, depths="100", lengths="2k", repeats="5").suites[0]
    changed = settings(tmp_path, answer_budget="5").suites[0]
    assert recipe_fields(one) == recipe_fields(other) != recipe_fields(changed)


def test_a_vote_takes_as_many_orders_of_the_documents(tmp_path):
    voting = settings(tmp_path, preset="own-documents", vote="5")
    more = settings(tmp_path, preset="own-documents", vote="3", repeats="6")
    assert {(suite.vote, suite.repeats) for suite in voting.suites} == {(5, 5)}
    assert {suite.repeats for suite in more.suites} == {6}


@pytest.fixture
def cdme(tmp_path):
    folder = tmp_path / "CDME"
    folder.mkdir()
    for name in CDME_FILES:
        rows = [{"text": f"{name}的第{number}段。" * 40} for number in range(30)]
        (folder / name).write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return folder


def of_cdme(tmp_path, **said):
    return resolve_settings({"preset": "cdme-8k", "lengths": "1000", "depths": "0,50", **said}, {}, tmp_path)


def test_cdme_presets_read_the_file_that_is_published(tmp_path, cdme):
    found = of_cdme(tmp_path, corpus=f"cdme:{cdme}")
    assert (found.suites[0].file_list, found.suites[0].repeats) == (("zh_finance.jsonl",), 10)
    assert any("text: zh_finance.jsonl of cdme:" in line for line in notes(found))
    assert of_cdme(tmp_path, corpus=str(cdme)).suites[0].file_list == ("zh_finance.jsonl",)
    for other in ("default", "generated", str(tmp_path)):
        assert of_cdme(tmp_path, corpus=other).suites[0].file_list == ()


def test_repeats_are_for_each_file_and_each_haystack_is_of_one(tmp_path, cdme):
    files = "zh_finance.jsonl,zh_tech.jsonl"
    found = of_cdme(tmp_path, corpus=f"cdme:{cdme}", file_list=files)
    (suite,) = found.suites
    assert (suite.repeats, suite.repeats_per_file) == (20, 10)
    assert "10 trials on each of 2 files" in next(iter(notes(found)))
    sources = SourcePool(found, tiktoken_tokenizer("cl100k_base"), tmp_path / "cache")
    texts = [sources.source(suite, repeat).text for repeat in (0, 10)]
    assert [("zh_finance" in text, "zh_tech" in text) for text in texts] == [(True, False), (False, True)]
    assert narrow_to_file(suite, 19)[0].file_list == ("zh_tech.jsonl",)
    assert narrow_to_file(suite, 20) == (narrow_to_file(suite, 0)[0], 10)
    together = of_cdme(tmp_path, corpus=f"cdme:{cdme}", file_list=files, repeats="3").suites[0]
    assert (together.repeats, together.repeats_per_file) == (3, 0)


def test_a_manifests_tables_give_it_back(tmp_path):
    options = {"retriever": "none,BM25", "chunk_size": "64", "no_truncate": "true", "leval_data": "a,b"}
    settings = resolve_settings(options | {"preset": "quick", "embedder_base_url": "http://h/v1"}, {}, tmp_path)
    run, suites = json.loads(json.dumps(settings_tables(settings)))
    assert (suites[0]["leval_subset"], run["embedder_base_url"]) == ("scored", "http://h/v1")
    assert read_settings("manifest.json", run, suites) == settings


@pytest.mark.parametrize(
    ("run", "suite"),
    [
        ({"seed": "0"}, {}), ({"seed": -1}, {}), ({"seed": 10**30}, {}), ({"seed": True}, {}), ({"seed": None}, {}),
        ({"model": "mock:perfect"}, {}), ({"model_arg": ["dtype"]}, {}), ({"timeout": float("nan")}, {}),
        ({"cache_policy": "none"}, {}), ({"results_dir": 1}, {}), ({"run_name": "\ud800"}, {}),
        ({}, {"lengths": []}), ({}, {"repeats": 0}), ({}, {"depths": [None]}), ({}, {"chunk_size": {}}),
    ],
)  # fmt: skip
def test_a_manifest_with_a_value_of_no_use_is_refused(run, suite, tmp_path):
    options, suites = json.loads(json.dumps(settings_tables(resolve_settings({"preset": "quick"}, {}, tmp_path))))
    with pytest.raises(InputError):
        read_settings("manifest.json", options | run, [each | suite for each in suites])


@pytest.mark.parametrize("tables", [(None, []), ({}, []), ({}, None), ([], [{}]), ({}, ["x"])])
def test_what_is_no_manifest_is_refused(tables):
    with pytest.raises(InputError, match="not a manifest"):
        read_settings("manifest.json", *tables)


def test_every_field_is_an_option_or_says_what_it_is():
    keys = set(BY_KEY)
    assert set(Settings.__struct_fields__) - keys == {"suites", "judge_prompt_sha256"}
    assert set(Suite.__struct_fields__) - keys == {
        "judge_by_default", "keyword", "repeats_per_file", "spread", "tokenizer_model", "variants", "window",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--needel", "--needel: did you mean --needle?"),
        ("--answer_budget=3", "--answer_budget: write --answer-budget"),
        ("--data_path", "--data_path (long-context-eval): here --documents FOLDER"),
        ("--eval-prompt=x", "--eval-prompt (long-context-eval): here --judge-prompt FILE"),
        ("--api-url", "--api-url (EvalScope): here --base-url"),
        ("--contxt_lengths", "--contxt_lengths: here --lengths (of the text alone: --length-means context)"),
        ("--frobnicate", None),
    ],
)
def test_an_unknown_option_tells_which_was_meant(word, said):
    assert list(hints([word, "x", "-q"])) == ([said] if said else [])


def test_pytests_own_complaint_has_the_hint(pytester):
    pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
    result = pytester.runpytest_inprocess("--needel", "x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --needel*", "*--needel: did you mean --needle?"])
    other = pytester.runpytest_inprocess("--lengths")
    other.stderr.fnmatch_lines(["*expected one argument*", "*needlework run --help lists its options"])
