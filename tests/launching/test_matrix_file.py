"""The file of a matrix: what all configurations share, what each has of its own, and every mistake in one line."""

import pytest

from needlework.cluster.matrix import command
from needlework.cluster.matrix_file import read_matrix
from needlework.core.errors import InputError


def written(tmp_path, text):
    path = tmp_path / "kv.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_configuration_adds_to_what_all_share_or_replaces_it(tmp_path):
    matrix = read_matrix(
        written(
            tmp_path,
            'model = "a.gguf"\nserve = "llama.cpp"\nserve_arg = ["window=4k"]\nlengths = [500, 1000]\ncanary = true\n'
            '[[configuration]]\nlabel = "KV f16"\n'
            '[[configuration]]\nlabel = "q8"\nserve_arg = ["kv-dtype=q8_0"]\nmodel = "b.gguf"\nlengths = "1k"\n',
        )
    )
    first, second = matrix.configurations

    assert (matrix.name, first.label, first.folder, second.folder) == ("kv", "KV f16", "KV_f16", "q8")
    assert set(first.words) == {
        "--model=a.gguf", "--serve=llama.cpp", "--serve-arg=window=4k", "--lengths=500,1000", "--canary"
    }  # fmt: skip
    assert set(second.words) == {
        "--model=b.gguf", "--serve=llama.cpp", "--serve-arg=window=4k", "--serve-arg=kv-dtype=q8_0", "--lengths=1k",
        "--canary",
    }  # fmt: skip


def test_order_and_labels_are_as_given(tmp_path):
    labels = ["step10000", "step500", "step1000"]
    text = "".join(f'[[configuration]]\nlabel = "{label}"\nmodel = "hf:{label}"\n' for label in labels)

    assert [each.label for each in read_matrix(written(tmp_path, text)).configurations] == labels


def test_the_command_names_the_runs_folder_and_our_benchmarks(tmp_path):
    text = 'name = "series"\nresults_dir = "out"\npytest = ["-n", "2"]\n[[configuration]]\nlabel = "a"\n'
    matrix = read_matrix(written(tmp_path, text))
    words = command(matrix, matrix.configurations[0], tmp_path)

    assert words[-2:] == [f"--results-dir={tmp_path / 'out' / 'series'}", "--run-name=a"]
    assert " ".join(words).endswith(f"--pyargs needlework.benchmarks -n 2 {words[-2]} --run-name=a")


def test_benchmarks_of_the_users_own_are_run_in_place_of_ours(tmp_path):
    matrix = read_matrix(written(tmp_path, 'pytest = ["test_mine.py"]\n[[configuration]]\nlabel = "a"\n'))

    assert "--pyargs" not in command(matrix, matrix.configurations[0], tmp_path)


def test_a_server_of_ones_own_is_a_command(tmp_path):
    text = 'serve = "my-server --port {port}"\nmodel = "openai:own"\n[[configuration]]\nlabel = "a"\n'

    assert "--serve=my-server --port {port}" in read_matrix(written(tmp_path, text)).configurations[0].words


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"has no \[\[configuration\]\]"),
        ("configuration = 3", r"has no \[\[configuration\]\]"),
        ("[[configuration]]\nmodel = 'smollm2'", "label of configuration 1"),
        ("[[configuration]]\nlabel = 'a'\n[[configuration]]\nlabel = 'a'", "is there twice"),
        ("[[configuration]]\nlabel = 'comparison'", "folder of the matrix itself"),
        ("[[configuration]]\nlabel = 'a'\nlenghts = '1k'", "a: 'lenghts': did you mean lengths"),
        ("[[configuration]]\nlabel = 'a'\nrepeats = 0", "repeats.*1 or more"),
        ("[[configuration]]\nlabel = 'a'\nrun_name = 'b'", "run_name.*is not for a matrix"),
        ("[[configuration]]\nlabel = 'a'\nserve = 'vlm'", "did you mean vllm"),
        ("[[configuration]]\nlabel = 'a'\nserve_arg = ['window=4k']", "there is no serve"),
        ("pytest = '-n2'\n[[configuration]]\nlabel = 'a'", "is a list of words"),
        ("name = 'a/b'\n[[configuration]]\nlabel = 'a'", "the name of a folder, without slashes"),
        ("[[configuration]\n", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_place(tmp_path, text, told):
    with pytest.raises(InputError, match=told) as error:
        read_matrix(written(tmp_path, text))
    assert "\n" not in str(error.value)
