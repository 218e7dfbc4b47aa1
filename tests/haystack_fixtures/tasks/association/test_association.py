"""Needle and question share no word, the tables are large and lead to one answer each."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from itertools import pairwise

import pytest
from hypothesis import given, settings

from needlework.core.errors import InputError
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.haystacks.uniqueness import occurs
from needlework.haystack_fixtures.tasks import semantic as association
from needlework.haystack_fixtures.tasks import statements
from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

DATA = tomllib.loads(
    (resources.files("needlework.haystack_fixtures.tasks") / "data" / "association.toml").read_text(encoding="utf-8")
)
TABLES = [(language, name) for language in DATA for name in DATA[language] if name != "generated"]
SMALL = set(re.findall(r"\w+", "a an the in at of for to is has was been by on with only which person who"))


def rows(language, table):
    return [[term.strip() for term in line.split("=")] for line in DATA[language][table].strip().splitlines()]


def stems(text, language):
    """Content words without their endings; of Chinese every two characters that stand together."""
    if language == "zh":
        return {pair[0] + pair[1] for pair in pairwise(text) if "".join(pair).isalnum()}
    words = set(re.findall(r"\w+", text.lower())) - SMALL
    return {word.removesuffix("s").removesuffix("ing").removesuffix("e") for word in words}


@pytest.mark.parametrize(("language", "table"), TABLES)
def test_a_table_has_25_rows_and_says_nothing_twice(language, table):
    told = rows(language, table)
    assert len(told) >= 25
    assert len({row[0] for row in told}) == len(told)
    assert len({len(row) for row in told}) == 1
    # What is in one city is in one country, and so on.
    for step in range(1, len(told[0]) - 1):
        pairs = {(row[step], row[step + 1]) for row in told}
        assert len(pairs) == len({first for first, _ in pairs})


@pytest.mark.parametrize("corpus", ["noise", "generated"])
@settings(max_examples=10)
@given(seed=seeds, language=languages)
def test_needle_and_question_share_no_word(corpus, seed, language):
    for trial in trials_of("association", seed=str(seed), language=language, corpus=corpus, lengths="512"):
        (needle,) = trial.asked.needles
        question = trial.asked.question.replace("NOT FOUND", "").split("Reply")[0].split("请只")[0]
        said = needle.text.replace(needle.answer, "")
        assert not stems(said, language) & stems(question, language), (said, question)


@settings(max_examples=10)
@given(seed=seeds, language=languages)
def test_the_text_and_the_tables_give_the_answer(seed, language):
    for trial in trials_of("association", seed=str(seed), language=language):
        table, hops = re.match(r"(\w+?)_(\d)hop", trial.cell.needle).groups()
        wanted = trial.asked.question
        people_said = {}
        for name in (trial.asked.answer, *trial.asked.reference["distractors"]):
            (line,) = [line for line in re.findall(r"[^.。\n]+[.。]", context(trial)) if name in line]
            terms = [row for row in rows(language, table) if re.search(rf"{row[0]}(?![a-z])", line)]
            people_said[name] = max(terms, key=lambda row: len(row[0]))[int(hops)]
        asked = {name: value for name, value in people_said.items() if value in wanted or value in ("meat", "有肉")}
        longest = max(map(len, asked.values()))  # 十一月 is not 一月
        assert [name for name, value in asked.items() if len(value) == longest] == [trial.asked.answer]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rows_with_words_of_the_generated_corpus_are_known(language, tmp_path):
    taken = {term.strip() for term in re.split("[;\n]", DATA[language]["generated"].strip())}
    for seed in (0, 1):
        documents = load_corpus("generated", language=language, seed=seed, min_chars=1, cache_dir=tmp_path).documents
        text = "\n".join(documents).lower()
        terms = {term for _, table in TABLES if _ == language for row in rows(language, table) for term in row}
        for term in {re.sub("^(the|an?) ", "", term) for term in terms if term} - taken - {"meat", "有肉", "无肉"}:
            assert not occurs(term.lower(), text), term
        for name in statements._names(language):
            assert not occurs(name.lower(), text), name


def test_a_haystack_with_a_term_of_the_row_is_refused(tmp_path):
    corpus = tmp_path / "text.txt"
    terms = {
        term for _, table in TABLES[: len(DATA["en"]) - 1] for row in rows("en", table) for term in row[1:] if term
    }
    corpus.write_text(f"{'. '.join(sorted(terms))}. Nothing of note happened there. " * 60, encoding="utf-8")
    with pytest.raises(InputError, match="the haystack has this key or answer already"):
        trials_of("association", language="en", corpus=str(corpus))


def test_every_table_is_asked_over_noise():
    labels = {trial.cell.needle for trial in trials_of("association", language="en")}
    assert labels == set(association._FORMS)
