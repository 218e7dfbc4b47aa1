"""Files, damaged, to every command: those that a user hands in, and results of runs and of other systems."""

import json
import os
import random
from functools import partial
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

import needlework
from needlework.core.prompts import Message, load_shape
from needlework.haystack_fixtures.configuration.presets import load_preset
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora.corpus import load_corpus
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.results.files.csv_files import csv_text
from needlework.results.files.json_files import results_bytes
from needlework.results.files.read_run import load_panels, read_run
from needlework.results.prompt import StoredTrials, stored_run
from needlework.results.records.journal import Journal, line_of, read_journal, stored_answers
from needlework.results.records.samples import whole_run
from needlework.results.rescore import rescored
from needlework.results.run.finish import write_files
from needlework.results.statistics.comparison.comparison import compare as paired
from needlework.results.statistics.run_report import run_report
from tests.fuzz.junk import ODD_WORDS, ROUNDS, SEED, bounded, check_line, complaint, damaged, swapped
from tests.toy_tokenizers import LLAMA_TEMPLATE, write_llama_like

FOLDER = resources.files("needlework")
# As they are shipped, with a key of each kind.
NEEDLES = (FOLDER / "haystack_fixtures/needles/data/pizza.en.toml").read_text("utf-8")
NEEDLES = NEEDLES.replace("accepted", 'distractors = ["Bob has six hens."]\ndistractor_answers = ["six"]\naccepted')
NEEDLES = NEEDLES.replace("[joint]", '[joint]\nkeyword = "figs"\ndiff = 10')
NEEDLE_ROWS = [
    {"needle": "Ada keeps owls.", "question": "What does Ada keep?", "answer": "owls", "language": "English"},
    {"text": "Eve has newts.", "retrieval_question": "What has Eve?", "arg2": "newts"},
]
CONFIG = b"""
preset = "standard"
model = ["mock:perfect", "mock:wrong"]
lengths = [300, 400]
depths = "0:100:3"
answer-budget = 32
gate = ["score >= 0.9"]
timeout = 10.5
fresh = true
"""
PROSE = "The ferry left before dawn. Nobody saw it go, and nobody asked. " * 200


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiktoken:cl100k_base")


def run_of(tokenizer, folder, **options):
    """Build the first and the last prompt of each series, as a run would."""

    def build():
        asked = {"corpus": "pydoc", "lengths": "500", "depths": "0,70", "answer_budget": "16"} | options
        resolved = resolve_settings(asked, {}, folder)
        builder = TrialBuilder(resolved, tokenizer, folder)
        for series in grid(resolved):
            for cell in (series.cells[0], series.cells[-1]):
                trial = builder.build(series.suite, cell)
                builder.key(series.suite, cell, {})
                assert trial.prompt.tokens + 16 <= cell.length
                for placed in trial.prompt.placed:
                    assert trial.prompt.text[placed.start : placed.end]

    return build


def each_damaged(data, count, label):
    chance = random.Random(f"{SEED} {label}")
    return [damaged(data, chance) for _ in range(count * ROUNDS)]


def lines_of(rows):
    """A file of JSON lines."""
    return "\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])).encode()


def test_damaged_needles(tmp_path, tokenizer):
    chance, usable = random.Random(SEED), 0
    files = [("toml", data) for data in each_damaged(NEEDLES.encode(), 60, "toml")]
    files += [("jsonl", data) for data in each_damaged(lines_of(NEEDLE_ROWS), 60, "jsonl")]
    for ending, data in (*files, *(("jsonl", lines_of(swapped(NEEDLE_ROWS, chance))) for _ in range(60 * ROUNDS))):
        path = tmp_path / f"needles.{ending}"
        path.write_bytes(data)
        usable += not complaint(lambda path=path: load_needle_set(str(path), "en"))
        complaint(run_of(tokenizer, tmp_path, needle_set=str(path)))
    assert usable > 9


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=20), st.sampled_from(["chat", "raw"]))
def test_any_text_as_a_needle(tmp_path, tokenizer, needle, question, answer, template):
    path = tmp_path / "needles.jsonl"
    path.write_text(json.dumps({"needle": needle, "question": question, "answer": answer}))
    complaint(run_of(tokenizer, tmp_path, needle_set=str(path), template=template))


def test_damaged_shapes_presets_and_configurations(tmp_path, tokenizer):
    path = tmp_path / "options.toml"
    for data in each_damaged((FOLDER / "core/shapes/evalscope.toml").read_bytes(), 40, "shape"):
        path.write_bytes(data)
        complaint(lambda: load_shape(str(path), "en"))
        complaint(run_of(tokenizer, tmp_path, prompt=str(path), template="raw"))
    preset = (FOLDER / "haystack_fixtures/presets/evalscope.toml").read_bytes()
    for whole, option in ((preset, "preset"), (CONFIG, "config")):
        for data in each_damaged(whole, 40, option):
            path.write_bytes(data)
            complaint(lambda option=option: grid(resolve_settings({option: str(path)}, {}, tmp_path)))


CORPORA: dict[str, bytes] = {
    "empty": b"",
    "only white space": b" \n\t\r\n\xe2\x80\x83" * 1000,
    "NUL": b"Words.\0Words.",
    "binary": bytes(range(256)) * 400,
    "zip": b"PK\x03\x04" + bytes(range(256)) * 40,
    "latin-1": "Dömé wörds.".encode("latin-1") * 100,
    "UTF-16": PROSE.encode("utf-16"),
    "one word": b"word",
    "one line": ("word " * 300_000).encode(),
    "no spaces": b"x" * 500_000,
    "no sentence ends": b"and then we went on and on " * 20_000,
    "only ends": b"." * 200_000,
    "only newlines and a word": b"\n" * 200_000 + b"word",
    "controls": "".join(map(chr, range(1, 32))).encode() * 2000,
    "combining": ("a" + "\u0301" * 5000 + ". ").encode() * 20,
    "right to left": "\u202eThis is a test. \u2067One more.\u2069 ".encode() * 500,
    "special tokens": b"<|endoftext|><|im_start|> <s></s> [INST] " * 2000,
    "needle words": b"The access code for the old mill is 1234567. " * 500,
    "emoji": "👩‍👩‍👧 ".encode() * 5000,
    "holes": "\ue000context\ue001 {context} {question} ".encode() * 500,
}


@pytest.mark.parametrize("name", CORPORA)
def test_odd_corpora(name, tmp_path, tokenizer):
    path = tmp_path / "odd.txt"
    path.write_bytes(CORPORA[name])
    complaint(run_of(tokenizer, tmp_path, corpus=str(path), lengths="300,900", template="raw"))
    complaint(run_of(tokenizer, tmp_path, corpus=str(path), lengths="300,900", language="zh"))


@given(st.text(min_size=1, max_size=300), st.integers(1, 30))
def test_any_text_as_a_corpus(tmp_path, tokenizer, text, times):
    path = tmp_path / "text.txt"
    path.write_bytes((text * times).encode("utf-8", "surrogatepass"))
    complaint(run_of(tokenizer, tmp_path, corpus=str(path), lengths="200"))


def corpus_of(spec, cache_dir):
    return partial(load_corpus, str(spec), language="en", seed=0, min_chars=1000, cache_dir=cache_dir)


def test_names_of_corpora_and_tokenizers(tmp_path):
    for word in ODD_WORDS:
        # Whatever text this machine holds; the home of nobody may be all of it.
        if word not in ("/", ".", "..", "~", "~nobody") and not word.startswith("hf:"):
            complaint(corpus_of(word, tmp_path))
        complaint(corpus_of(f"cdme:{word}", tmp_path))
        complaint(partial(load_tokenizer, word))
        complaint(partial(load_tokenizer, f"tiktoken:{word}"))


def test_things_that_are_no_files(tmp_path):
    for ending in (".toml", ".txt"):
        os.mkfifo(tmp_path / f"pipe{ending}")
        (tmp_path / f"loop{ending}").symlink_to(tmp_path / f"loop{ending}")
        (tmp_path / f"zero{ending}").symlink_to("/dev/zero")
    for name in ("folder.toml", "folder.jsonl", "around"):
        (tmp_path / name).mkdir()
    (tmp_path / "around" / "again").symlink_to(tmp_path / "around")
    for name in ("pipe", "loop", "folder", "zero", "absent"):
        path = f"{tmp_path / name}.toml"
        for read in (
            partial(load_needle_set, path, "en"),
            partial(load_shape, path, "en"),
            partial(load_preset, path),
            partial(resolve_settings, {"config": path}, {}, tmp_path),
        ):
            assert complaint(read), path
    for name in ("pipe.txt", "loop.txt", "zero.txt", "folder.jsonl", "around", "."):
        assert complaint(corpus_of(tmp_path / name, tmp_path)), name


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
def test_damaged_tokenizer_folders(name, tmp_path):
    folder = write_llama_like(tmp_path / "model", normaliser=False)
    whole = (folder / name).read_bytes() if (folder / name).exists() else LLAMA_TEMPLATE.encode()
    messages = [Message("system", "Be brief."), Message("user", "Hello?")]

    def use():
        tokenizer = load_tokenizer(str(folder))
        tokenizer.encode("The ferry left.")
        if tokenizer.has_chat_template:
            tokenizer.render_chat(messages)

    chance = random.Random(SEED)
    for data in each_damaged(whole, 40, name):
        (folder / name).write_bytes(data)
        complaint(use)
        if name.endswith("config.json"):
            (folder / name).write_text(json.dumps(swapped(json.loads(whole), chance)))
            complaint(use)
    for odd in ("1 / 0", "messages[9].content", "messages + 1", "().__class__", "{}[[]]"):
        (folder / "chat_template.jinja").write_text(f"{{{{ {odd} }}}}")
        complaint(use)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run of two tasks: its folder."""
    runs = tmp_path_factory.mktemp("runs")
    grid = {"task": "niah,multi_needle", "language": "en", "lengths": "500,700", "depths": "0,60", "corpus": "pydoc"}
    needlework.run(**grid, controls="none", model="mock:rate=0.6", results_dir=runs, run_name="r")
    return runs / "r"


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    if "command" not in request.fixturenames:
        monkeypatch.setattr("needlework.results.run.finish.write_charts", lambda *_, **__: [])


@pytest.fixture
def chance(request):
    return random.Random(f"{SEED} {request.node.name}")


def every_report(path, whole):
    """All that is ever made of a results.json, without the drawing."""
    records = read_run(path).records
    write_files(path.parent, run_report(records))
    csv_text([rescored(record, "match") for record in records])
    if records:
        paired(whole, records)
        paired(records, whole)


def resume_from(path):
    """What a run that goes on does with a journal, apart from asking."""
    journal = Journal(path, fresh=False)
    try:
        records = read_journal(path)
        stored_answers(records, [])
        everything = whole_run(records, records, records[0].details.recipe if records else "")
        csv_text(everything)
        results_bytes(run_report(everything))
        if records:
            journal.append(line_of(records[0]))
    finally:
        journal.close()
    again = read_journal(path)
    assert len(again) == len(records) + bool(records)


def test_damaged_results(run, tmp_path, chance):
    path, data = tmp_path / "results.json", (run / "results.json").read_bytes()
    whole, few = read_run(run).records, {"schema": 1, "records": json.loads(data)["records"][:3]}
    usable = 0
    for _ in range(8 * ROUNDS):
        for content in (damaged(data, chance), json.dumps(swapped(few, chance)).encode()):
            path.write_bytes(content)
            usable += not complaint(partial(every_report, path, whole))
            complaint(partial(load_panels, path))
    assert usable > 2 * ROUNDS, "most changes are refused; what is not must work"


def test_damaged_journals(run, tmp_path, chance):
    path, data = tmp_path / "journal.jsonl", (run / "journal.jsonl").read_bytes()
    first, *others = data.decode().splitlines()
    for _ in range(25 * ROUNDS):
        record = json.dumps(swapped(json.loads(first), chance))
        for content in (damaged(data, chance), "\n".join([record, *others, ""]).encode()):
            path.write_bytes(content)
            assert complaint(partial(resume_from, path)) == "", "a spoilt line costs its trial, never the run"
            complaint(partial(load_panels, path))


LLMTEST = {
    "model": "gpt-4", "context_length": 1000, "depth_percent": 50, "version": 1, "needle": "n", "model_response": "r",
    "score": 10,
}  # fmt: skip
PUBLISHED = [
    {"token_limit": 1000, "depth_percent": 0.0, "score": 7},
    {"token_limit": 2000, "depth_percent": 50, "score": 1},
]
SAMPLES = {"score": 50.0, "details": {"0": {"score": 100}, "1": {"score": 0}}}
SUMMARY = (
    "dataset,version,metric,mode,model-a,model-b\n"
    "Length1000Depth0_origin_en_4k,aa,score,gen,100.00,-\nLength1000_parallel_en_4k,aa,Depth10,gen,3.5,99\n"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", LLMTEST),
        ("x.json", PUBLISHED),
        ("Length1000Depth0_origin_en_4k.json", SAMPLES),
        ("summary.csv", SUMMARY),
    ],
    ids=["cell", "published", "samples", "table"],
)
def test_other_systems_files(name, content, tmp_path, chance):
    path = tmp_path / "model" / name
    path.parent.mkdir()
    for _ in range(30 * ROUNDS):
        path.write_bytes(damaged((content if name.endswith("csv") else json.dumps(content)).encode(), chance))
        complaint(partial(load_panels, path))
        complaint(partial(load_panels, path.parent))
        path.write_text(json.dumps(swapped(content, chance)))
        complaint(partial(load_panels, path))


def test_damaged_manifests(run, chance):
    manifest = json.loads((run / "manifest.json").read_bytes())
    cells = [record.id for record in read_run(run).records]
    made = 0
    for _ in range(30 * ROUNDS):
        spoilt = swapped({"options": manifest["options"], "suites": manifest["suites"]}, chance)
        made += not complaint(lambda spoilt=spoilt: StoredTrials(stored_run(spoilt, run)).build(chance.choice(cells)))
    assert made > ROUNDS


@pytest.fixture
def command(capfd):
    """Run a sub-command as the shell would: its exit code, after a look at what it said."""

    def call(*words):
        with bounded(60):
            try:
                code = needlework.main(list(words))
            except SystemExit as error:
                code = int(error.code or 0)
        out, err = capfd.readouterr()
        assert code in (0, 1, 2), (words, err)
        assert "Traceback" not in out + err
        if code == 2:
            check_line(err.removesuffix("\n"))
        return code

    return call


def test_commands_take_odd_words(run, tmp_path, command):
    for word in ODD_WORDS:
        if "\0" in word or word in ("/", "~", ".", "..", "") or word.startswith("-"):
            continue
        assert command("prompt", str(run), word) == 2
        assert command("prompt", word, "niah-len500-depth0-code-r0") == 2
        assert command("rescore", str(run), f"--scorer={word}") == 2
        assert command("rescore", word, "--scorer=match") == 2
        assert command("compare", word, str(run)) == 2
        assert command("plot", word) == 2
        assert command("plot", str(run), f"--format={word}") == 2


def test_commands_take_damaged_runs(run, tmp_path, command, chance):
    names = ("results.json", "manifest.json")
    for name in names * 3 * ROUNDS:
        for each in names:
            (tmp_path / each).write_bytes((run / each).read_bytes())
        (tmp_path / name).write_bytes(damaged((run / name).read_bytes(), chance))
        command("prompt", str(tmp_path), "niah-len500-depth0-code-r0")
        if name == "results.json":
            command("rescore", str(tmp_path), "--scorer=keyword")
            command("compare", str(tmp_path), str(run), "--format=svg", "--out", str(tmp_path))
            command("plot", str(tmp_path), "--format=svg", "--out", str(tmp_path))
