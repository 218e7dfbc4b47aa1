"""What stands in a recipe, what may be said to an engine, and the command line that follows."""

import tomllib
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.models.engines.recipes import (
    command,
    find_recipe,
    known_engines,
    parse_args,
    shown_command,
)

PUBLISHED = tomllib.loads((Path(__file__).parent / "published_options.toml").read_text(encoding="utf-8"))


def said(engine, *args):
    recipe = find_recipe(engine)
    return list(command(recipe, parse_args(args), model="MODEL", name="NAME", port=1234))


def value(recipe, word):
    how = recipe.say[word]
    if word == "window":
        return "200k"
    return next(iter(how)) if isinstance(how, dict) else "4"


@pytest.mark.parametrize("engine", sorted(PUBLISHED))
def test_a_recipe_uses_only_published_options_and_listens_on_this_machine_alone(engine):
    recipe, published = find_recipe(engine), set(PUBLISHED[engine]["options"])
    lines = [said(engine, *(f"{word}={value(recipe, word)}" for word in recipe.say))]
    for word, how in recipe.say.items():
        lines += [said(engine, f"{word}={each}") for each in how] if isinstance(how, dict) else []

    assert {word for line in lines for word in line if word.startswith("-") and word != "-m"} <= published
    assert recipe.health == PUBLISHED[engine]["health"]
    assert {"127.0.0.1", "1234", "MODEL"} <= set(lines[0])
    assert "0.0.0.0" not in lines[0]


def test_every_engine_has_published_options():
    assert set(known_engines()) == set(PUBLISHED)
    assert {"vllm", "sglang", "lmdeploy", "lightllm", "tgi", "trtllm", "llama.cpp"} <= set(known_engines())


def test_lmdeploy_with_200k_tokens_quantised_kv_and_eight_cards():
    line = said("lmdeploy", "window=200k", "kv-dtype=int8", "tensor-parallel=8", "cache-max-entry-count=0.6")

    assert line[:4] == ["lmdeploy", "serve", "api_server", "MODEL"]
    for option, number in (("session-len", "200000"), ("quant-policy", "8"), ("tp", "8"), ("backend", "turbomind")):
        assert line[line.index(f"--{option}") + 1] == number
    assert line[-2:] == ["--cache-max-entry-count", "0.6"]


def test_the_engines_own_options_pass_through_and_replace_a_default():
    line = said("llama.cpp", "parallel=4", "flash-attn=on", "no-mmap", "kv_dtype=q8_0")

    assert line.count("--parallel") == 1
    assert line[line.index("--parallel") + 1] == "4"
    assert line[line.index("--flash-attn") + 1] == "on"
    assert line[-1] == "--no-mmap"
    assert line[line.index("--cache-type-k") + 1] == line[line.index("--cache-type-v") + 1] == "q8_0"


@pytest.mark.parametrize(
    ("engine", "arg", "told"),
    [
        ("vllm", "window=many", "such as 4000, 4k or 1m"),
        ("vllm", "window=", "write window=VALUE"),
        ("lmdeploy", "kv-dtype=int9", "lmdeploy takes auto, int8, int4, fp8"),
        ("trtllm", "kv-dtype=fp8", "it knows window, tensor-parallel, chat-template"),
        ("vllm", "api-key=sk-1", "needs no key"),
        ("vllm", "=3", "NAME=VALUE"),
    ],
)
def test_what_cannot_be_said_is_one_line_with_the_remedy(engine, arg, told):
    with pytest.raises(InputError, match=f"--serve-arg.*{told}") as error:
        said(engine, arg)
    assert "sk-1" not in str(error.value)


def test_a_recipe_of_ones_own_is_a_toml_file_of_the_same_form(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('command = ["mine", "{model}", "-p{port}"]\nhealth = "/up"\n[say]\nwindow = "-c"\n')
    recipe = find_recipe(str(path))

    assert (recipe.engine, recipe.health) == ("mine", "/up")
    assert command(recipe, parse_args(["window=8k"]), model="M", name="N", port=5) == ("mine", "M", "-p5", "-c", "8000")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "missing required field `command`"),
        ('command = ["a"]', "has {port}"),
        ('command = ["a", "{port}"]\nhelth = "/"', "did you mean health"),
        ('command = ["a", "{port}"]\n[say]\nwindows = "c"', "Invalid enum value 'windows'"),
        ('command = ["a", "{port}"]\n[say]\nwindow = 3', "Expected `.*, got `int`"),
        ('command = ["a", "{port}"]\nserves = "tape"', "Invalid enum value 'tape'"),
        ('command = ["a", "{port}"]\nstart_s = 0', "> 0.0"),
        ("command = [", "not valid TOML"),
    ],
)
def test_a_recipe_that_is_wrong_is_refused_with_one_line(tmp_path, text, told):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as error:
        find_recipe(str(path))
    assert "\n" not in str(error.value)


def test_an_unknown_engine_is_told_the_ones_there_are():
    with pytest.raises(InputError, match=r"did you mean sglang.*lmdeploy.*COMMAND --port"):
        find_recipe("sglan")


def test_a_command_line_is_a_recipe():
    recipe = find_recipe("serve-it --model '{model}' --port {port}")

    assert command(recipe, {}, model="a b", name="", port=7) == ("serve-it", "--model", "a b", "--port", "7")
    with pytest.raises(InputError, match="split into words"):
        find_recipe("serve 'it --port {port}")
    with pytest.raises(InputError, match="read its key from the environment") as error:
        find_recipe("serve --port {port} --api-key sk-1")
    assert "sk-1" not in str(error.value)


def test_a_key_in_a_command_of_ones_own_is_not_written_down():
    shown = shown_command(["serve", "--api-key", "sk-1", "--hf-token=sk-2", "--max-num-tokens", "5"])

    assert shown == "serve --api-key ... --hf-token=... --max-num-tokens 5"


def test_the_page_about_engines_names_each_and_whether_it_was_tried():
    page = (Path(__file__).parents[3] / "docs" / "engines.md").read_text(encoding="utf-8")
    tried = {"xllamacpp", "llama.cpp"}
    for engine in known_engines():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{engine}` |")]
        assert ("by the tests" in row) == (engine in tried)
        assert ("not run here" in row) == (engine not in tried)
