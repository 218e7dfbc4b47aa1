"""The file of a matrix: shared options, each configuration's own, and every mistake in one line."""

import pytest

from needlework.cluster.matrix import command, read_matrix
from needlework.core.errors import InputError

ONE = '[[configuration]]\nlabel = "a"\n'


@pytest.fixture
def read(tmp_path):
    def matrix(text):
        path = tmp_path / "kv.toml"
        path.write_text(text, encoding="utf-8")
        return read_matrix(path)

    return matrix


def test_a_configuration_adds_to_the_shared_options_or_replaces_them(read):
    matrix = read(
        'model = "a.gguf"\nserve = "llama.cpp"\nserve_arg = ["window=4k"]\nlengths = [500, 1000]\ncanary = true\n'
        '[[configuration]]\nlabel = "KV f16"\n'
        '[[configuration]]\nlabel = "q8"\nserve_arg = ["kv-dtype=q8_0"]\nmodel = "b.gguf"\nlengths = "1k"\n'
    )
    shared = {"--serve=llama.cpp", "--serve-arg=window=4k", "--canary"}
    own = [{"--model=a.gguf", "--lengths=500,1000"}, {"--model=b.gguf", "--serve-arg=kv-dtype=q8_0", "--lengths=1k"}]

    assert matrix.name == "kv"
    assert [(each.label, each.folder) for each in matrix.configurations] == [("KV f16", "KV_f16"), ("q8", "q8")]
    assert [set(each.words) for each in matrix.configurations] == [shared | words for words in own]


def test_the_command_names_the_runs_folder_and_benchmarks(read, tmp_path):
    serve = 'serve = "my-server --port {port}"\nmodel = "openai:own"\n'
    ours = read(f'name = "series"\nresults_dir = "out"\npytest = ["-n", "2"]\n{serve}{ONE}')
    theirs = read(f'pytest = ["test_mine.py"]\n{ONE}')
    words = command(ours, ours.configurations[0], tmp_path)

    assert "--pyargs needlework.benchmarks -n 2 " in " ".join(words)
    assert words[-2:] == [f"--results-dir={tmp_path / 'out' / 'series'}", "--run-name=a"]
    assert "--serve=my-server --port {port}" in words
    assert "--pyargs" not in command(theirs, theirs.configurations[0], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no \[\[configuration\]\]"),
        ("configuration = 3", r"has no \[\[configuration\]\]"),
        ("[[configuration]]\nmodel = 'smollm2'", "label of configuration 1"),
        (ONE + ONE, "is there twice"),
        ("[[configuration]]\nlabel = 'comparison'", "folder of the matrix itself"),
        (f"{ONE}lenghts = '1k'", "a: 'lenghts': did you mean lengths"),
        (f"{ONE}repeats = 0", "repeats.*1 or more"),
        (f"{ONE}run_name = 'b'", "run_name.*is not for a matrix"),
        (f"{ONE}serve = 'vlm'", "did you mean vllm"),
        (f"{ONE}serve_arg = ['window=4k']", "there is no serve"),
        (f"pytest = '-n2'\n{ONE}", "is a list of words"),
        (f"name = 'a/b'\n{ONE}", "the name of a folder, without slashes"),
        ("[[configuration]\n", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(read, text, message):
    with pytest.raises(InputError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)
