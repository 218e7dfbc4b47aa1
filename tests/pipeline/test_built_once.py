"""What cells share is made once: counted, since times depend on the machine."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.needles import needle_sets as needle_files
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer

# Windows around seams, at most: three seams of the first draft and a few more for each further try.
CHARS_PER_CELL = 4000


class Counting:
    """A tokenizer that notes what it encodes."""

    def __init__(self):
        self._inner = load_tokenizer("tiktoken:cl100k_base")
        self.encoded = Counter()

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def encode(self, text):
        self.encoded[text] += 1
        return self._inner.encode(text)


def cells_of(folder, **given):
    options = {"lengths": "1k:16k:4", "depths": "0:100:5", "corpus": "pydoc", "model": ["mock:perfect"]}
    settings = resolve_settings(options | given, {}, folder)
    (series,) = grid(settings)
    return settings, series


def built(folder, tokenizer, **given):
    settings, series = cells_of(folder, **given)
    return TrialBuilder(settings, tokenizer, folder), series


def test_a_grid_encodes_its_corpus_once(tmp_path):
    tokenizer = Counting()
    builder, series = built(tmp_path, tokenizer, repeats="3")
    corpus = {text.strip() for text in builder.corpus(series.suite).documents}
    for cell in series.cells:
        builder.build(series.suite, cell)

    assert not [text for text, times in tokenizer.encoded.items() if times > 1 and len(text) > 1000]
    outside = sum(len(text) for text in tokenizer.encoded if text not in corpus)
    assert outside < CHARS_PER_CELL * len(series.cells)
    assert outside + sum(len(text) for text in tokenizer.encoded if text in corpus) < sum(
        cell.length for cell in series.cells
    ), "fewer characters than the prompts have tokens"


def test_a_cell_is_asked_once_for_key_and_prompt(tmp_path):
    asked = []
    watched = replace(TASKS["niah"], ask=lambda *args: asked.append(args[1]) or TASKS["niah"].ask(*args))
    settings, series = cells_of(tmp_path)
    builder = TrialBuilder(settings, load_tokenizer("tiktoken:cl100k_base"), tmp_path, tasks={"niah": watched})
    for cell in series.cells:
        builder.key(series.suite, cell, {})
        builder.build(series.suite, cell)

    assert asked == list(series.cells)


def test_a_needle_file_is_read_again_when_it_has_changed(tmp_path, monkeypatch):
    read = []
    original = needle_files.read_text
    monkeypatch.setattr(needle_files, "read_text", lambda *args: read.append(args[1]) or original(*args))
    file = tmp_path / "mine.toml"
    row = '[[needle]]\nneedle = "The code is {0}."\nquestion = "What is the code?"\nanswer = "{0}"\n'
    file.write_text(row.format("48213"), encoding="utf-8")

    answers = [needle_files.draw_set(str(file), "en", seed=0, repeat=n).needles[0].answer for n in range(5)]
    assert (answers, len(read)) == (["48213"] * 5, 1)

    file.write_text(row.format("9999999"), encoding="utf-8")
    assert needle_files.draw_set(str(file), "en", seed=0, repeat=0).needles[0].answer == "9999999"


def test_threads_build_what_one_thread_builds(tmp_path):
    builder, series = built(tmp_path, load_tokenizer("tiktoken:cl100k_base"), repeats="4", lengths="1k,4k")
    alone, _ = built(tmp_path, load_tokenizer("tiktoken:cl100k_base"), repeats="4", lengths="1k,4k")
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda cell: builder.build(series.suite, cell).prompt, series.cells))

    for cell, prompt in zip(series.cells, together, strict=True):
        expected = alone.build(series.suite, cell).prompt
        assert (prompt.text, prompt.placed, prompt.text_sha256, prompt.filler_sha256) == (
            expected.text,
            expected.placed,
            expected.text_sha256,
            expected.filler_sha256,
        )
