"""Files that a user hands in, damaged: needles, corpora, presets, prompt shapes, configurations.

Every file is taken all the way: a needle that loads must also be found in a prompt of the length that was asked for.
"""

import json
import os
import random
import socket
from functools import partial
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.prompts import Message, load_shape
from needlework.haystack_fixtures.configuration.presets import load_preset
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.fuzz.junk import ODD_WORDS, ROUNDS, SEED, complaint, damaged, swapped
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


@pytest.mark.parametrize("ending", ["toml", "jsonl"])
def test_damaged_needles(ending, tmp_path, tokenizer):
    rows = "\n".join(map(json.dumps, NEEDLE_ROWS))
    path, chance = tmp_path / f"needles.{ending}", random.Random(SEED)
    files = each_damaged((NEEDLES if ending == "toml" else rows).encode(), 60, ending)
    usable = 0
    for data in files:
        path.write_bytes(data)
        usable += not complaint(lambda: load_needle_set(str(path), "en"))
        complaint(run_of(tokenizer, tmp_path, needle_set=str(path)))
    assert usable > 4
    for _ in files if ending == "jsonl" else ():
        rows_of_other_types = swapped(NEEDLE_ROWS, chance)
        lines = rows_of_other_types if isinstance(rows_of_other_types, list) else [rows_of_other_types]
        path.write_text("\n".join(map(json.dumps, lines)))
        complaint(run_of(tokenizer, tmp_path, needle_set=str(path)))


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
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.toml"))
        for name in ("pipe", "loop", "folder", "zero", "s", "absent"):
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
