"""Files of a corpus: what presets ask for, and repeats for each of them."""

import json

import pytest

from needlework.haystack_fixtures.configuration.messages import notes
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora.files import CDME_FILES
from needlework.haystack_fixtures.trials.contexts import SourcePool, of_one_file
from needlework.models.tokenizers.tokenizer import tiktoken_tokenizer


@pytest.fixture
def cdme(tmp_path):
    folder = tmp_path / "CDME"
    folder.mkdir()
    for name in CDME_FILES:
        rows = [{"text": f"{name}的第{number}段。" * 40} for number in range(30)]
        (folder / name).write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return folder


def settings(tmp_path, **said):
    return resolve_settings({"preset": "cdme-8k", "lengths": "1000", "depths": "0,50", **said}, {}, tmp_path)


def test_cdme_presets_read_the_file_that_is_published(tmp_path, cdme):
    found = settings(tmp_path, corpus=f"cdme:{cdme}")
    assert (found.suites[0].file_list, found.suites[0].repeats) == (("zh_finance.jsonl",), 10)
    assert any("text: zh_finance.jsonl of cdme:" in line for line in notes(found))
    assert settings(tmp_path, corpus=str(cdme)).suites[0].file_list == ("zh_finance.jsonl",)


def test_a_presets_file_list_is_about_its_own_corpus(tmp_path, cdme):
    (tmp_path / "mine").mkdir()
    for corpus in ("default", "generated", str(tmp_path / "mine")):
        assert settings(tmp_path, corpus=corpus).suites[0].file_list == ()


def test_repeats_are_for_each_file_and_each_haystack_is_of_one(tmp_path, cdme):
    files = "zh_finance.jsonl,zh_tech.jsonl"
    found = settings(tmp_path, corpus=f"cdme:{cdme}", file_list=files)
    (suite,) = found.suites
    assert (suite.repeats, suite.repeats_per_file) == (20, 10)
    assert "10 trials on each of 2 files" in next(iter(notes(found)))
    sources = SourcePool(found, tiktoken_tokenizer("cl100k_base"), tmp_path / "cache")
    first, second = sources.source(suite, 0), sources.source(suite, 10)
    assert "zh_finance" in first.text
    assert "zh_tech" not in first.text
    assert "zh_tech" in second.text
    assert "zh_finance" not in second.text
    assert of_one_file(suite, 19)[0].file_list == ("zh_tech.jsonl",)
    assert of_one_file(suite, 20) == (of_one_file(suite, 0)[0], 10)


def test_repeats_of_the_command_line_are_of_all_files_together(tmp_path, cdme):
    found = settings(tmp_path, corpus=f"cdme:{cdme}", file_list="zh_finance.jsonl,zh_tech.jsonl", repeats="3")
    assert (found.suites[0].repeats, found.suites[0].repeats_per_file) == (3, 0)
