"""What is told, decided and made once before the first cell: budget, window, memory, judges, texts."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import left_out
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.local.memory import Described, describe
from needlework.models.tokenizers.tokenizer import TiktokenTokenizer, load_tokenizer
from needlework.pipeline.engine import Engine
from needlework.pipeline.plan import size_lines
from needlework.pipeline.preparation import prepare


def prepare_run(folder, budget):
    given = {"task": "mrcr", "language": "zh", "lengths": "4k", "repeats": "4", "answer_budget": budget}
    settings = resolve_settings(given | {"model": ["mock:perfect"], "tokenizer": "cl100k_base"}, {}, folder)
    engine = Engine(settings, folder, workers=1, tasks=TASKS)
    prepare(engine, [cell for series in grid(settings) for cell in series.cells])


def test_the_budget_that_is_told_fits_every_answer_of_the_run(tmp_path):
    with pytest.raises(InputError, match=r"--answer-budget: '200': the answer of mrcr n\d_zh\w* and its end") as caught:
        prepare_run(tmp_path, "200")
    told = re.search(r"use at least (\d+)", str(caught.value))
    assert told
    prepare_run(tmp_path, told[1])
    with pytest.raises(InputError, match=f"use at least {told[1]}"):
        prepare_run(tmp_path, str(int(told[1]) - 1))


def misfits_of(folder, **given):
    settings = resolve_settings(given | {"model": ["mock:perfect"], "tokenizer": "cl100k_base"}, {}, folder)
    engine = Engine(settings, folder, workers=1, tasks=TASKS)
    cells = [cell for series in grid(settings) for cell in series.cells]
    misfits = prepare(engine, cells)
    short = {(misfit.of, misfit.length) for misfit in misfits}
    for cell in cells:
        if (f"{cell.task} {cell.needle}", cell.length) not in short:
            engine.builder(cell).build(engine.series_of(cell).suite, cell)
    return misfits


def test_the_length_that_is_told_for_documents_fits_all_questions_and_what_is_left_out_is_named(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for n in range(40):
        more = f"In year {n} the mill of town {n} sold flour. " * (30 if n == 0 else 12)
        (folder / f"town{n}.txt").write_text(f"Town {n} was founded by Niamh {n}. {more}")
    rows = {
        str(n): {"question": f"Who founded {n}?", "answer": f"Niamh {n}", "answer_doc": f"town{n}.txt"} for n in (0, 1)
    }
    (tmp_path / "questions.json").write_text(json.dumps(rows))
    given = {"preset": "own-documents", "task": "doc_size", "documents": str(folder), "retriever": "none"}
    given |= {"questions": str(tmp_path / "questions.json"), "controls": "focused"}
    told = left_out(misfits_of(tmp_path, lengths="1200", **given))
    assert "q0_focused about 'town0.txt'" in told
    least = re.search(r"doc_size at 300\b.* \(from --lengths (\d+)\)", told)[1]
    assert misfits_of(tmp_path, lengths=least, **given) == ()


# Llama-3.1-8B as its card tells it: 131,072 bytes of keys and values a token in 16 bit, 14.96 GiB of weights.
LLAMA = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "max_position_embeddings": 131_072,
}


def test_a_model_is_described_by_the_configuration_beside_it_or_its_tokenizer(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(16_060_000_000)  # a hole: no disk is used
    whole = Described(window=131_072, token_bytes=131_072, weights_bytes=16_060_000_000)
    scaled = {"rope_scaling": '{"rope_type": "yarn", "factor": 2.0}'}
    local = f"hf:{tmp_path}"
    assert describe(local, {}, None, tmp_path) == whole
    assert describe(local, scaled, None, tmp_path).window == 262_144
    assert describe(local, {"window": "4096"}, None, tmp_path).window == 4096
    # A server may have been given less memory than the model was trained for: its window is not known.
    assert describe("openai:x", {}, str(tmp_path), tmp_path) == Described(None, 131_072, 16_060_000_000)
    assert describe("openai:x", {"window": "9000"}, "tiktoken:cl100k_base", tmp_path) == Described(window=9000)


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"hidden_size": 0}'])
def test_a_configuration_that_says_nothing_is_none(tmp_path, config):
    (tmp_path / "config.json").write_text(config)
    assert describe("openai:x", {}, str(tmp_path), tmp_path) == Described()


@pytest.mark.parametrize(
    ("model", "lengths", "card_gib", "lines"),
    [
        (
            Described(window=8192),
            [4000, 8192, 16_000, 16_000, 32_000],
            None,
            ["3 of 5 trials are over its window of 8,192 tokens and would be skipped: length 16000 32000"],
        ),
        (Described(window=8192), [4000, 8192], None, []),
        (  # an 8B model at a million tokens, by hand: 122.07 GiB and 14.96 GiB over cards of 72 usable
            Described(token_bytes=131_072, weights_bytes=16_060_000_000),
            [1_000_000, 4000],
            80,
            [
                "keys and values of 1,000,000 tokens: 122.07 GiB in 16 bit, 61.04 GiB in 8 bit; weights 14.96 GiB",
                "cards of 80 GiB for one request: 2 in 16 bit, 2 in 8 bit",
            ],
        ),
        (
            Described(),
            [4000],
            80,
            ["no memory can be told: give --tokenizer FOLDER, with the model's config.json in it"],
        ),
    ],
)
def test_window_memory_and_cards(model, lengths, card_gib, lines):
    assert list(size_lines(model, lengths, card_gib)) == lines


SERVED = ["openai:a", "anthropic:b"]


@pytest.mark.parametrize(
    ("judges", "concurrency", "workers", "most"),
    [
        (SERVED, 8, 1, 8),
        (SERVED, 8, 3, 2),
        (SERVED, 2, 4, 1),
        (["mock:judge"], 8, 1, 8),
        (["smollm2"], 8, 1, 1),
        (["openai:a", "smollm2"], 8, 1, 1),
        ([], 8, 1, 0),
    ],
)
def test_as_many_as_concurrency_says_for_all_workers_and_one_where_a_judge_is_computed_here(
    judges, concurrency, workers, most
):
    given = {"model": ["mock:perfect"], "judge": judges, "concurrency": [str(concurrency)]}
    assert Engine(resolve_settings(given, {}, Path()), Path(), workers=workers).judged_at_once == most


def test_a_local_model_is_closed_before_another_is_loaded(tmp_path, monkeypatch):
    open_models = []

    def load(spec, **_):
        assert not open_models, "two local models at once share one device's memory"
        open_models.append(spec)
        return SimpleNamespace(close=lambda: open_models.remove(spec))

    monkeypatch.setattr("needlework.pipeline.engine.load_model", load)
    given = {"model": ["smollm2", "gguf:other.gguf"], "task": "niah", "lengths": "400"}
    engine = Engine(resolve_settings(given, {}, tmp_path), tmp_path)
    tokenizer = load_tokenizer("tiktoken:cl100k_base")

    first = engine.open_model("smollm2", tokenizer)
    assert engine.open_model("smollm2", tokenizer) is first
    engine.open_model("gguf:other.gguf", tokenizer)
    assert open_models == ["gguf:other.gguf"]


def test_a_grid_encodes_its_corpus_once(tmp_path, monkeypatch):
    encoded, encode = Counter(), TiktokenTokenizer.encode
    monkeypatch.setattr(TiktokenTokenizer, "encode", lambda self, text: encoded.update([text]) or encode(self, text))
    options = {"lengths": "1k:16k:4", "depths": "0:100:5", "corpus": "pydoc", "repeats": "3"}
    settings = resolve_settings(options | {"model": ["mock:perfect"]}, {}, tmp_path)
    builder = TrialBuilder(settings, load_tokenizer("tiktoken:cl100k_base"), tmp_path)
    (series,) = grid(settings)
    corpus = {text.strip() for text in builder.corpus(series.suite).documents}
    for cell in series.cells:
        builder.build(series.suite, cell)

    assert not [text for text, times in encoded.items() if times > 1 and len(text) > 1000]
    outside = sum(len(text) for text in encoded if text not in corpus)
    # Windows around seams, at most: three seams of the first draft and a few more for each further try.
    assert outside < 4000 * len(series.cells)
    assert outside + sum(len(text) for text in encoded if text in corpus) < sum(cell.length for cell in series.cells), (
        "fewer characters than the prompts have tokens"
    )
