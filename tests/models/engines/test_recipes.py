"""Recipes of engines: the command line that follows, what is served under which name, what stands for it in keys."""

import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.models.engines.recipes import command, find_recipe, known_engines, parse_args, shown_command
from needlework.models.engines.serve import served_run, with_server

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


def test_the_engines_own_options_pass_through_and_replace_a_default():
    line = said("llama.cpp", "parallel=4", "flash-attn=on", "no-mmap", "kv_dtype=q8_0")

    assert line.count("--parallel") == 1
    assert line[line.index("--parallel") + 1] == "4"
    assert line[line.index("--flash-attn") + 1] == "on"
    assert line[-1] == "--no-mmap"
    assert line[line.index("--cache-type-k") + 1] == line[line.index("--cache-type-v") + 1] == "q8_0"
    lmdeploy = " ".join(said("lmdeploy", "window=200k", "kv-dtype=int8"))
    assert lmdeploy.endswith(" --session-len 200000 --quant-policy 8 --backend turbomind")


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
        ('command = ["a", "{port}"]\nhelth = "/"', "unknown field `helth`"),
        ('command = ["a", "{port}"]\n[say]\nwindows = "c"', "Invalid enum value 'windows'"),
        ("command = [", "not valid TOML"),
    ],
)
def test_a_recipe_that_is_wrong_is_refused_with_one_line(tmp_path, text, told):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as error:
        find_recipe(str(path))
    assert "\n" not in str(error.value)


def test_a_command_line_is_a_recipe_and_no_key_in_it_is_written_down():
    recipe = find_recipe("serve-it --model '{model}' --port {port}")

    assert command(recipe, {}, model="a b", name="", port=7) == ("serve-it", "--model", "a b", "--port", "7")
    with pytest.raises(InputError, match=r"use one of .*sglang.*COMMAND --port"):
        find_recipe("sglan")
    with pytest.raises(InputError, match="split into words"):
        find_recipe("serve 'it --port {port}")
    with pytest.raises(InputError, match="read its key from the environment") as error:
        find_recipe("serve --port {port} --api-key sk-1")
    assert "sk-1" not in str(error.value)
    shown = shown_command(["serve", "--api-key", "sk-1", "--hf-token=sk-2", "--max-num-tokens", "5"])
    assert shown == "serve --api-key ... --hf-token=... --max-num-tokens 5"


def test_the_page_about_engines_names_each_and_whether_it_was_tried():
    page = (Path(__file__).parents[3] / "docs" / "engines.md").read_text(encoding="utf-8")
    tried = {"xllamacpp", "llama.cpp"}
    assert set(known_engines()) == set(PUBLISHED)
    for engine in known_engines():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{engine}` |")]
        assert ("by the tests" in row) == (engine in tried)
        assert ("not run here" in row) == (engine not in tried)


def asked(tmp_path, model, engine, *args):
    written = {"model": [str(model)], "serve": engine, "serve_arg": list(args)}
    return resolve_settings(written, {}, tmp_path)


def served(tmp_path, model, engine, *args):
    return served_run(asked(tmp_path, model, engine, *args))


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "Small.Q4_1.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_a_gguf_file_is_served_under_its_name_and_counts_with_its_own_tokenizer(tmp_path, gguf):
    found = served(tmp_path, gguf, "llama.cpp", "window=4k")
    settings = with_server(asked(tmp_path, gguf, "llama.cpp"), found)

    assert (found.model, found.name) == (str(gguf), "Small.Q4_1")
    assert settings.model == ("openai:Small.Q4_1",)
    assert settings.tokenizer == f"gguf:{gguf}"
    assert settings.base_url is None
    assert found.facts["server"] == "--serve llama.cpp"
    assert f"llama-server --model {gguf} " in found.facts["command"]
    assert "--port '{port}'" in found.facts["command"]
    assert "--ctx-size 4000" in found.facts["command"]


def test_folders_and_names_of_the_hub_are_served_by_the_other_engines(tmp_path):
    (tmp_path / "step1000").mkdir()
    folder, hub = served(tmp_path, tmp_path / "step1000", "vllm"), served(tmp_path, "Qwen/Qwen3-8B", "sglang")

    assert (folder.name, folder.weights) == ("step1000", f"hf:{tmp_path / 'step1000'}")
    assert (hub.model, hub.name, hub.tokenizer, hub.weights) == ("Qwen/Qwen3-8B", "Qwen3-8B", "hf:Qwen/Qwen3-8B", "")
    assert folder.words(1)[-1] == "--enable-prompt-tokens-details"  # tells more, and changes no answer
    assert folder.identity == replace(folder, recipe=msgspec.structs.replace(folder.recipe, reports=())).identity
    own = served(tmp_path, "openai:own", "serve --port {port}")
    assert (own.name, own.tokenizer, own.weights) == ("own", None, "")
    assert served(tmp_path, "Qwen/Qwen3-8B", "tgi").name == "tgi"
    assert served(tmp_path, "Qwen/Qwen3-8B", "vllm", "name=mine").name == "mine"


def test_the_port_is_no_part_of_what_stands_for_the_server_and_everything_else_is(tmp_path, gguf):
    def identity(engine, *args):
        return served(tmp_path, gguf, engine, *args).identity

    assert identity("llama.cpp") == identity("llama.cpp")
    different = {
        identity("llama.cpp"), identity("xllamacpp"), identity("llama.cpp", "window=4k"),
        identity("llama.cpp", "kv-dtype=q8_0"), identity("llama.cpp", "threads=2"),
        identity("a --port {port} {model}"), identity("a -v --port {port} {model}"),
    }  # fmt: skip
    assert len(different) == 7


def test_what_a_checkpoint_sets_is_told_and_recorded(tmp_path):
    folder = tmp_path / "qwen"
    folder.mkdir()
    (folder / "config.json").write_text('{"dtype": "float32"}')
    (folder / "generation_config.json").write_text('{"repetition_penalty": 1.05, "do_sample": true}')
    found = served(tmp_path, folder, "vllm")

    assert found.facts["checkpoint's dtype"] == "float32"
    assert found.facts["checkpoint's generation_config"] == "repetition_penalty=1.05"
    assert "vllm may apply that" in found.notes[0]
    assert served(tmp_path, "Qwen/Qwen3-8B", "vllm").notes == []


def test_the_embedded_model_is_served_as_a_file_or_as_the_folder_that_it_was_converted_to(tmp_path):
    file, folder = served(tmp_path, "smollm2", "llama.cpp"), served(tmp_path, "smollm2", "vllm")

    assert file.model.endswith(".gguf")
    assert (Path(folder.model) / "config.json").is_file()
    assert {(run.name, run.tokenizer, run.weights) for run in (file, folder)} == {("smollm2", "smollm2", "smollm2")}


@pytest.mark.parametrize(
    ("model", "engine", "told"),
    [
        ("mock:perfect", "vllm", "give --model FOLDER"),
        ("./nothing", "vllm", "is not there.*FOLDER"),
        ("nothing.gguf", "llama.cpp", r"is not there.*FILE\.gguf"),
        ("Qwen/Qwen3-8B", "llama.cpp", r"FILE\.gguf"),
    ],
)
def test_a_model_that_an_engine_cannot_serve_is_refused(tmp_path, model, engine, told):
    with pytest.raises(InputError, match=f"--model.*{told}"):
        served(tmp_path, model, engine)


def test_options_that_contradict_each_other_are_refused(tmp_path, gguf):
    settings = resolve_settings({"serve_arg": ["window=4k"]}, {}, tmp_path)
    with pytest.raises(InputError, match="there is no --serve"):
        served_run(settings)
    written = {"serve": "llama.cpp", "model": [str(gguf)], "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(InputError, match="leave out --base-url"):
        served_run(resolve_settings(written, {}, tmp_path))
    with pytest.MonkeyPatch.context() as patch:  # an address of the environment is for runs without a server of theirs
        patch.setenv("NEEDLEWORK_BASE_URL", "http://127.0.0.1:1/v1")
        settings = resolve_settings(written, {}, tmp_path)
        found = served_run(settings)
        assert found is not None
        assert with_server(settings, found).base_url is None
    with pytest.raises(InputError, match="needlework matrix"):
        served_run(resolve_settings({"serve": "llama.cpp", "model": ["a.gguf", "b.gguf"]}, {}, Path(tmp_path)))
