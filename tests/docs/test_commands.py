"""Every command of every page is typed: as it stands where a mock or a file answers, else as far as `--plan`."""

import json
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from tests.docs.conftest import PAGES, ROOT, commands

RUNS = "results/runs"
# Words that stand for something of the reader's.
_MEANT = {
    "...": "mock:perfect",
    "RUN...": f"{RUNS}/nightly",
    "RUN": f"{RUNS}/nightly",
    "RUN_A": f"{RUNS}/main",
    "RUN_B": f"{RUNS}/change",
    "hf:/shared/my-model": "hf:./my-model",
    "/shared/my-model": "./my-model",
    "./qwen.gguf": "./model.Q8_0.gguf",
    "DIR": "docs",
    "SPEC": "mock:perfect",
    "URL": "http://127.0.0.1:8000/v1",
    "$URL": "http://127.0.0.1:8000/v1",
}
# What a command says that has come as far as it can here: it is asked of a mock, or there is no network.
_FAR_ENOUGH = (
    "has written no question that can be used",
    "the hub gave nothing",
    "Name or service not known",
    "the counter gives no count",
    "all documents together fill",  # the reader's folder may be larger than ours
    "left out, too short",
    "has no question that may be asked",  # a mock has checked them
    "'parrot:grey': use one of",  # tests/plugin/running/test_extend_page.py installs it
)
# Predictions, which no test here makes: that the file is missing is as far as their command can come.
_ELSEWHERE = ("logs/", "out/")
# A gate that fails or cannot decide is no wrong command.
_PYTEST_CODES = (0, 1, 10, 11)
_CODES = (0, 1, 3, 10, 11)
PAGES_WITH_COMMANDS = [page for page in PAGES if any(commands(page)) and page != "README.zh.md"]  # README.md's


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_commands_of_a_page_can_be_typed(page, machine):
    wrong = {shlex.join(words): _wrong(words, machine) for words in commands(page)}
    told = [f"{text}\n    -> {why}" for text, why in wrong.items() if why]
    assert not told, "\n".join(told)


def test_the_chinese_readme_has_the_same_commands():
    assert list(commands("README.zh.md")) == list(commands("README.md"))


def test_pages_have_commands():
    found = [command for page in PAGES for command in commands(page)]
    assert len(found) > 100
    assert {words[0] for words in found} == {"pytest", "needlework", "make", "pip"}


def _wrong(words, machine):
    if "own-documents" in words and "..." in words:
        words[words.index("...")] = "--documents=~/manuals"
    words = [_MEANT.get(word, word) for word in words]
    words = [word.replace("~", machine.env["HOME"]) for word in words]
    match words:
        case ["make", target, *_]:
            there = re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            return None if there else f"the Makefile has no {target}"
        case ["pip", *rest]:
            return _unknown_package(rest)
        case ["pytest", path, *_] if path.startswith("tests/"):
            return None if (ROOT / path).exists() else "no such file"
        case ["pytest", *_]:
            return _typed(_within_reach(words, machine), _PYTEST_CODES, machine)
        case ["needlework", "run", *more]:
            words = _within_reach(["pytest", "--pyargs", "needlework.benchmarks", *more], machine)
            return _typed(words, _PYTEST_CODES, machine)
        case ["needlework", "serve", *_]:
            return _served(words, machine)
        case _:
            return _typed(_within_reach(words, machine), _CODES, machine)


def _within_reach(words, machine):
    """The same command, up to where it would need a server, a cluster or a real model's time."""
    if words[0] == "needlework":
        match words[1]:
            case "matrix" if "--plan" not in words:
                return [*words, "--plan"]
            case "launch" if "--dry-run" not in words:
                return [*words[:3], "--dry-run", *words[3:]]
            case "judge-audit":
                return [f"{RUNS}/judged" if word == _MEANT["RUN"] else word for word in words]
            case "questions" | "judge":
                words = [re.sub(r"^openai:.*", "mock:judge", word) if "judge" in words else word for word in words]
                return [re.sub(r"^openai:.*", "mock:perfect", word) for word in words]
        return words
    mocked = any(word.startswith("mock:") for word in words)
    if "--plan" in words or "--batch-out" in words or "--batch-in" in words or (mocked and "--adaptive" not in words):
        return words
    return [*words, "--plan"]


def _typed(words, codes, machine):
    if "--batch-in" in words:
        _answer_batch(machine.folder)
    if "--batch-out" in words:
        (machine.folder / "requests.jsonl").unlink(missing_ok=True)
    expanded = [each for word in words for each in _expanded(word, machine.folder)]
    done = machine.run(*expanded)
    said = done.stdout + done.stderr
    if done.returncode in codes and "Traceback" not in said and "INTERNALERROR" not in said:
        return None
    elsewhere = any(word.startswith(_ELSEWHERE) and f"{word}': is no file and no folder" in said for word in words)
    if elsewhere or any(each in said for each in _FAR_ENOUGH):
        return None
    return f"exit code {done.returncode}: {said[-600:]}"


def _expanded(word, folder):
    if "*" not in word or " " in word:
        return [word]
    return sorted(str(path.relative_to(folder)) for path in folder.glob(word)) or [word]


def _answer_batch(folder):
    """What a batch service would return for the requests that the command above it has written."""
    answers = []
    for line in (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I do not know."}}
        body = {"object": "chat.completion", "model": request["body"]["model"], "choices": [choice]}
        answers.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}})
    (folder / "output.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    (folder / "errors.jsonl").write_text("", encoding="utf-8")


def _served(words, machine):
    """A server prints its address, and ends when it is told to."""
    named = [word for word in words[2:] if not word.startswith("-") and "/" in word]
    if not all((machine.folder / word).exists() for word in named):
        return None  # files that only a user of L-Eval has; tests/results/web serves such ones
    free = [word for word in words if word not in ("--port", "8765")] + ["--port", "0"]  # tests run side by side
    program = [sys.executable, "-u", "-m", *free]
    with subprocess.Popen(
        program, cwd=machine.folder, env=machine.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        said = []
        for line in server.stdout:
            said.append(line)
            if "http://127.0.0.1" in line:
                server.terminate()
                return None
    return "".join(said)[-600:]


def _unknown_package(words):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for word in words:
        extras = re.match(r"needlework\[([\w,]+)\]", word)
        for extra in extras[1].split(",") if extras else ():
            if extra not in project["optional-dependencies"]:
                return f"no extra {extra}"
    return None
