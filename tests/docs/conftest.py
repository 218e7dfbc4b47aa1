"""The commands that stand on pages, and a checkout with everything that they name, where they can be typed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS
from needlework.models.specs import installed_gguf, prepare
from tests.haystack_fixtures.configuration.test_published_presets import CDME
from tests.published_rows import graph_row, longbench_row, mrcr_row, write_copy, written

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "README.zh.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PROGRAMS = ("pytest", "needlework", "make", "pip")


def blocks(page):
    """Language and text of each fenced block of a page."""
    yield from _FENCE.findall((ROOT / page).read_text(encoding="utf-8"))


def commands(page):
    """The commands of a page: lines that begin with one of our programs, joined where they end with a backslash.

    Their words are as the shell would read them, the comment behind them left out.
    """
    for language, text in blocks(page):
        if language not in ("", "sh", "bash", "console"):
            continue
        for line in text.replace("\\\n", " ").splitlines():
            try:
                words = shlex.split(line.removeprefix("$ "), comments=True)
            except ValueError:
                continue  # output that has a quotation mark
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words and words[0] in _PROGRAMS and (line[0] != " " or line.lstrip().startswith("$")):
                yield [word for word in words if word != "&"]


def files(page):
    """Name and text of the files that a page shows: blocks whose first line names one in a comment."""
    for _, text in blocks(page):
        named = re.match(r"# ([\w-]+\.(?:toml|py|jsonl|json))\b", text)
        if named:
            yield named[1], text


def copy_checkout(folder):
    """What a clone of this checkout would hold, with what is not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if not name.startswith(("tests/", "perf/", "docs/images/")) and (path.is_file() or path.is_symlink()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name, follow_symlinks=False)  # the package has links to folders


# L-Eval's documents of a task: pages name the 15th.
_DOCUMENTS = 16
_CHOICES = "\nA. Monday\nB. Tuesday\nC. Wednesday\nD. Thursday"
_NOTE = {"instructions": ["Who kept the light?"], "outputs": ["Ada Vane"], "evaluation": "f1", "source": "ours"}


def write_published(folder):
    """L-Eval's data, a file of its form, predictions in its form; rows of the other benchmarks."""
    (folder / "LEval").mkdir()
    for source in LEVAL_TASKS.values():
        evaluation = source.evaluation
        rows = [_leval_row(source.name, number, evaluation) for number in range(_DOCUMENTS)]
        written(folder / "LEval" / source.file, rows)
    notes = [{"input": f"Note {number}. Ada Vane kept the light.", **_NOTE} for number in range(3)]
    for name in ("my-notes.jsonl", "my-notes.cleaned.jsonl"):
        written(folder / name, notes)
    for name, said in (("mine", "Ada Vane"), ("turbo-16k", "nobody")):
        written(folder / f"{name}.pred.jsonl", [_prediction(number, f"{name}_pred", said) for number in range(3)])
    both = [_prediction(number, "mine_pred", "Ada Vane", turbo_pred="nobody") for number in range(3)]
    written(folder / "both.pred.jsonl", both)
    for kind, task, evaluation in (("exam", "tpo", "exam"), ("ngram", "multidoc_qa", "f1")):
        place = folder / "Predictions" / f"{kind}_eval" / "my-model"
        place.mkdir(parents=True)
        rows = [_prediction(number, "my-model_pred", "D", gt="D", evaluation=evaluation) for number in range(3)]
        written(place / f"{task}.pred.jsonl", rows)
    written(folder / "graphwalks_128k_and_shorter.parquet", [graph_row(number) for number in range(4)])
    written(folder / "mrcr.parquet", [mrcr_row(number, needles=8, rounds=20) for number in range(4)])
    written(folder / "data.json", [longbench_row(number) for number in range(12)])
    (folder / "AA-LCR").mkdir()
    write_copy(folder / "AA-LCR")
    labelled = {"question": "Who?", "answers": ["Ada Vane"], "response": "Ada Vane", "human": "right"}
    (folder / "labelled.jsonl").write_text(json.dumps(labelled), encoding="utf-8")


def _leval_row(name, number, evaluation):
    evaluation = "LLM" if number == 1 and evaluation != "exam" else evaluation
    text = f"{name} {number}. The ferry ran on Thursdays only, and Ada Vane kept the light. " * 40
    closed = evaluation == "exam"
    answer = "True [fact: False]" if name == "sci_fi" else "D" if closed else "The ferry ran on Thursdays only."
    question = f"When did ferry {number} run?{_CHOICES if closed else ''}"
    return {"input": text, "instructions": [question], "outputs": [answer], "evaluation": evaluation, "source": "ours"}


def _prediction(number, key, said, **others):
    row = {"query": f"Question {number}: who kept the light?", "gt": "Ada Vane", "evaluation": "LLM"}
    return row | {key: said} | others


# Names that pages give to what a user has.
_CHECKPOINTS = ("my-model", "qwen3-8b", "base", "weights", "FOLDER")
_GGUFS = ("model.Q8_0.gguf", "Qwen3-8B.Q4_K_M.gguf")
_RUNS = ("main", "change", "new", "model-a", "model-b", "step1000", "step2000", "step3000", "short", "long", "a", "b")
_OTHERS = ("qwen", "llama", "mistral", "gpt", "claude")
_JUDGED = ("--task", "doc_position", "--lengths", "4k", "--depths", "50", "--scorer", "judge_documents")
_OF_LEVAL = {
    "closed": ("--preset", "leval-closed", "--leval-data", "LEval", "--limit", "2"),
    "open": ("--preset", "leval-open", "--leval-data", "LEval", "--limit", "2"),
    "llm": ("--preset", "leval-open", "--leval-data", "LEval", "--leval-subset", "llm"),
    "notes": ("--leval-data", "my-notes.cleaned.jsonl"),
}
_OWLS = {"name": "owls", "needle": "艾达在船屋里养了三只猫头鹰。", "question": "艾达养了几只猫头鹰?", "answer": "三"}
_QUESTIONS = {"0": {"question": "What is a needle?", "answer": "a statement", "answer_doc": "glossary.md"}}
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where commands are typed: the checkout's `folder`, and the environment."""

    folder: Path
    env: dict[str, str]

    def run(self, *words, timeout=300):
        program = [sys.executable, "-m", *words]
        return subprocess.run(
            program, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    folder = home / "needlework"
    folder.mkdir()
    copy_checkout(folder)
    for name in _CHECKPOINTS:
        (folder / name).symlink_to(prepare(default_cache_dir()))
    for name in _GGUFS:
        (folder / name).symlink_to(installed_gguf())
    for page in PAGES:
        for name, text in files(page):
            if name != "conftest.py":
                (folder / name).write_text(text, encoding="utf-8")
    for name in ("manuals", "documents"):
        (home / name).symlink_to(folder / "docs")
    (folder / "mine.toml").write_text((folder / "owls.toml").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "configurations.toml").write_text(
        (folder / "kv-cache.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (folder / "how-to-articles").symlink_to(folder / "docs")
    _write_rows(folder / "rows.jsonl", *({"body": (folder / page).read_text(encoding="utf-8")} for page in PAGES))
    _write_rows(folder / "owls.jsonl", _OWLS)
    for name in ("how-to.json", "manuals.questions.checked.json"):
        _write_rows(folder / name, _QUESTIONS)
    (folder / "cdme8k.py").write_text(CDME, encoding="utf-8")
    write_published(folder)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        **dict.fromkeys(_KEYS, "no-key"),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(default_cache_dir().parent),
        "PYTHONPATH": str(folder),
    }
    made = Machine(folder, env)
    grid = ("--lengths", "1k,4k", "--depths", "0,50", "--repeats", "2")
    runs = {"nightly": ("mock:perfect", grid)}
    runs |= dict.fromkeys((*_RUNS, *_OTHERS), ("mock:rate=0.8", grid))
    runs |= {name: ("mock:rate=0.8", options) for name, options in _OF_LEVAL.items()}
    judged = ("--preset", "own-documents", "--documents", "docs", "--questions", "how-to.json", *_JUDGED)
    runs["judged"] = ("mock:perfect", (*judged, "--judge", "mock:judge"))
    for name, (model, options) in runs.items():
        done = made.run("pytest", "benchmarks", "-q", "--model", model, "--run-name", name, *options)
        assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads((folder / "results/runs/judged/results.json").read_text(encoding="utf-8"))["records"]
    (folder / "mine.csv").write_text(f"item,human,verdict\n{records[0]['id']},right,\n", encoding="utf-8")
    return made


def _write_rows(path, *rows):
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
