"""Documents as contexts: whole where they fit, else cut to the token, or by L-Eval's steps of words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.builder import verify_prompt
from needlework.haystack_fixtures.haystacks.documents import Document, build_document, compat_span
from tests.haystack_fixtures.haystacks.outer import outer

HEAD, TAIL = "Read this.\n\n", "\n\nQuestion: who wrote it?\nAnswer:"
PARTS = (
    "Nobody wrote it down.",
    " ",
    "\n",
    "The café é",
    "  ",
    "村里没有人记得。",
    "👩‍🚀",
    "x = [1, 2]",
    "\t",
    " ferry",
)
texts = st.lists(st.sampled_from(PARTS), min_size=1, max_size=400).map("".join)


def built(tokenizer, document, budget):
    return build_document(outer(tokenizer, HEAD, TAIL, budget), document, tokenizer.encode(document.text))


def kept(prompt):
    return prompt.text[slice(*prompt.context)]


@given(text=texts, budget=st.integers(60, 900), keep=st.sampled_from(["start", "end"]))
def test_any_document_is_cut_to_the_budget_at_the_end_that_may_go(tokenizer, text, budget, keep):
    prompt = built(tokenizer, Document(text, keep), budget)
    verify_prompt(tokenizer, prompt)
    assert prompt.tokens + prompt.slack == budget
    assert prompt.tokens == len(tokenizer.encode(HEAD + kept(prompt) + TAIL).ids) + len(tokenizer.bos)
    assert prompt.messages[0].content == prompt.text == HEAD + kept(prompt) + TAIL
    assert text.startswith(kept(prompt)) if keep == "start" else text.endswith(kept(prompt))
    if kept(prompt) == text:
        assert not prompt.flags
        assert prompt.truncated == 0
    else:
        assert prompt.flags == ("truncated",)
        assert 0 < prompt.truncated < 1
        assert 0 <= prompt.slack < 16  # less than one character as people see it
        assert len(tokenizer.encode(HEAD + text + TAIL).ids) + len(tokenizer.bos) > budget


def test_all_of_it_goes_over_the_budget_where_nothing_may_be_cut(tokenizer):
    text = "The weather was written down. " * 100
    prompt = built(tokenizer, Document(text, truncation="none"), 200)
    assert kept(prompt) == text
    assert prompt.slack < 0
    assert not prompt.flags


def test_too_little_room_names_the_least_length_and_that_works(tokenizer):
    document = Document("The ferry runs. " * 50)
    with pytest.raises(InputError, match="use at least") as caught:
        built(tokenizer, document, 8)
    least = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert kept(built(tokenizer, document, least))


def upstream(text, most, keep, count):
    """L-Eval's rule in its own terms, on lists of words and whole texts."""
    gone = 0
    while count(text) > most:
        words = text.split(" ")
        text = " ".join(words[: most - gone] if keep == "start" else words[gone - most :])
        gone += 250
    return text


@given(
    words=st.lists(st.sampled_from(["ferry", "", "antidisestablishmentarianism", "a\nb", "村里"]), max_size=900),
    most=st.sampled_from([40, 251, 499, 500, 700]),
    keep=st.sampled_from(["start", "end"]),
)
def test_compat_is_the_published_rule(tokenizers, words, most, keep):
    tokenizer, text = tokenizers["cl100k"], "x " + " ".join(words)
    document = Document(text, keep, "compat")
    span = compat_span(document, tokenizer.encode(text), most=most, encode=tokenizer.encode)
    assert text[slice(*span)] == upstream(text, most, keep, lambda part: len(tokenizer.encode(part).ids))
