import pytest

from needlework.pytest_plugin.options import hints


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--needel", "--needel: did you mean --needle?"),
        ("--lenghts=5", "--lenghts: did you mean --lengths?"),
        ("--answer_budget=3", "--answer_budget: write --answer-budget"),
        (
            "--context_lengths",
            "--context_lengths (OpenCompass, LLMTest): here --lengths (of the text alone: --length-means context)",
        ),
        (
            "--task_path",
            "--task_path (L-Eval, long-context-eval): here --leval-data PATH; of long-context-eval: --questions FILE",
        ),
        ("--data_path", "--data_path (long-context-eval): here --documents FOLDER"),
        (
            "--embedding_model_name",
            "--embedding_model_name (long-context-eval): here --retriever dense --embedder SPEC",
        ),
        ("--eval-prompt=x", "--eval-prompt (long-context-eval): here --judge-prompt FILE"),
        ("--ntk_dyn", '--ntk_dyn (L-Eval): here --model-arg rope_scaling={"rope_type":"dynamic","factor":2}'),
        ("--api-url", "--api-url (EvalScope): here --base-url"),
        (
            "--contxt_lengths",
            "--contxt_lengths: here --lengths (of the text alone: --length-means context)",
        ),
    ],
)
def test_an_unknown_option_tells_which_was_meant(word, said):
    assert list(hints([word, "x"])) == [said]


def test_what_is_like_nothing_of_ours_gets_no_hint():
    assert not list(hints(["--frobnicate", "benchmarks", "-q"]))


def test_pytests_own_complaint_has_the_hint(pytester):
    pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
    result = pytester.runpytest_inprocess("--needel", "x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --needel*", "*--needel: did you mean --needle?"])
    other = pytester.runpytest_inprocess("--lengths")
    other.stderr.fnmatch_lines(["*expected one argument*", "*needlework run --help lists its options"])
