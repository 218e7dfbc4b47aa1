"""Documents as contexts: one that is whole or cut, or whole ones around those that are asked about."""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.builder import verify_prompt
from needlework.haystack_fixtures.haystacks.documents import (
    Document,
    OtherDocuments,
    build_document,
    build_of_documents,
    compat_span,
    document_source,
    separator_for,
)
from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments
from tests.haystack_fixtures.haystacks.outer import corpus_of, outer
from tests.strategies import documents, scraps, sentences

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
odd_texts = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=9), st.integers(1, 60),
)  # fmt: skip


def built(tokenizer, document, budget):
    return build_document(outer(tokenizer, HEAD, TAIL, budget), document, tokenizer.encode(document.text))


def kept(prompt):
    return prompt.text[slice(*prompt.context)]


@pytest.mark.parametrize("keep", ["start", "end"])
@given(text=odd_texts, budget=st.integers(60, 400))
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
        assert not splits_grapheme(text, len(kept(prompt)) if keep == "start" else len(text) - len(kept(prompt)))
        assert len(tokenizer.encode(HEAD + text + TAIL).ids) + len(tokenizer.bos) > budget


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


@pytest.mark.parametrize("keep", ["start", "end"])
@given(
    words=st.lists(st.sampled_from(["ferry", "", "antidisestablishmentarianism", "a\nb", "村里"]), max_size=9),
    times=st.integers(1, 300),
    most=st.sampled_from([40, 251, 499, 500, 700, 0]),  # 0: as many as the text has
)
def test_compat_is_the_published_rule(tokenizers, words, times, most, keep):
    tokenizer, text = tokenizers["cl100k"], "x " + " ".join(words * times)
    most = most or len(tokenizer.encode(text).ids)
    document = Document(text, keep, "compat")
    span = compat_span(document, tokenizer.encode(text), most=most, encode=tokenizer.encode)
    assert text[slice(*span)] == upstream(text, most, keep, lambda part: len(tokenizer.encode(part).ids))


ASKED = ("lighthouse.txt", "The Lighthouse on Gull Rock\n\nIts keeper, Ada Vane, wound the clock on Sundays.")
FERRIES = tuple(
    f"Ferry {n}\n\n"
    + " ".join(f"On day {day} the ferry {n} carried {day * n + 3} people home." for day in range(n, n + 9))
    for n in range(1, 41)
)
BEFORE, AFTER = "Here are documents.\n\n", "Question: Who kept the light?\n\nAnswer:"


class Bench:
    """A tokenizer with other documents."""

    def __init__(self, tokenizer, texts, folder):
        self.tokenizer, self.texts, self.folder = tokenizer, texts, folder
        self.others = OtherDocuments(
            order=tuple(range(len(texts))),
            names=tuple(f"ferry{n}.txt" for n in range(len(texts))),
            separator=separator_for([*texts, ASKED[1]]),
            about="question q0",
        )

    def build(self, budget, *depths, longest=None):
        encoded = EncodedDocuments(corpus_of(*self.texts), self.tokenizer, self.folder)
        outer_text = replace(outer(self.tokenizer, BEFORE, AFTER, budget, 100), bos=())
        source = document_source(encoded, self.others, min_tokens=longest or budget)
        needles = [ASKED] * len(depths)
        return build_of_documents(outer_text, self.others, source, needles, depths, longest=longest or budget)


def check(bench, built, budget):
    """Everything that a prompt of whole documents promises."""
    prompt, shown = built
    assert 0 <= prompt.slack <= max(2, budget // 2000)
    assert prompt.tokens + prompt.slack == budget
    assert bench.tokenizer.encode(prompt.text).ids.tolist() == prompt.ids.tolist()
    verify_prompt(bench.tokenizer, prompt)
    context = prompt.text[slice(*prompt.context)]
    # A rule after every document and nowhere else; nothing but documents and rules.
    assert context == "".join(f"{each.text}{bench.others.separator}" for each in shown)
    assert context.count(bench.others.separator) == len(shown)
    assert prompt.text == f"{BEFORE}{context}{AFTER}"
    others = [each for each in shown if each.name != ASKED[0]]
    numbers = [bench.others.names.index(each.name) for each in others]
    assert numbers == sorted(set(numbers))
    for each, number in zip(others, numbers, strict=True):
        assert each.cut == (each.text != bench.texts[number])
    assert [each for each in others if each.cut] in ([], others[-1:])
    for needle in prompt.placed:
        assert prompt.text[needle.start : needle.end] == ASKED[1]
        assert prompt.text.count(ASKED[1]) == 1


@pytest.fixture
def bench(tokenizer, tmp_path):
    return Bench(tokenizer, FERRIES, tmp_path)


@pytest.mark.parametrize("budget", [700, 1501, 2000])
def test_the_order_is_one_at_every_depth_and_the_ends_are_exact(bench, budget):
    built = [bench.build(budget, depth) for depth in (0, 25, 50, 75, 100)]
    for each in built:
        check(bench, each, budget)
        assert not each[0].flags
    assert len({tuple(each.name for each in shown if each.name != ASKED[0]) for _, shown in built}) == 1
    if bench.tokenizer.name in ("cl100k_base", "o200k_base"):
        assert len({prompt.filler_sha256 for prompt, _ in built}) == 1
    depths = [prompt.placed[0].depth for prompt, _ in built]
    assert (depths[0], depths[-1], depths) == (0, 100, sorted(depths))


@given(texts=documents(of=st.one_of(sentences, scraps)), depth=st.floats(0, 100), budget=st.integers(120, 900))
def test_whatever_the_documents_are(tokenizers, tmp_path, texts, depth, budget):
    stripped = [text.strip() for text in dict.fromkeys(texts)]
    assume(all(stripped) and not any(ASKED[1] in text for text in stripped))
    bench = Bench(tokenizers["cl100k"], stripped, tmp_path)
    try:
        built = bench.build(budget, depth)
    except InputError:  # too few documents for the budget
        assume(False)
    check(bench, built, budget)


def test_too_few_documents_or_too_little_room_is_told_with_the_length_that_works(bench):
    with pytest.raises(InputError, match=r"all documents together fill [0-9]+ tokens with question q0") as caught:
        bench.build(1000, 50, longest=100_000)
    most = int(str(caught.value).split("fill ")[1].split()[0]) - 100
    with pytest.raises(InputError, match="question q0, and a sentence of another need more: use at") as caught:
        bench.build(20, 50)
    least = int(str(caught.value).rsplit(" ", 1)[1]) - 100
    for budget in (least, most):
        check(bench, bench.build(budget, 50), budget)
    with pytest.raises(InputError, match="all documents together"):
        bench.build(most + 1, 50)
    bench.others = replace(bench.others, order=())
    with pytest.raises(InputError, match="has no other documents for question q0: add some"):
        bench.build(500, 50)


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        ((), "-----"),
        (("a\n--\nb",), "-----"),  # too short for a rule
        (("a\n---\nb",), "====="),
        (("Title\n=====\n\n * * *",), "-----"),
        (("\n".join(sign * 3 for sign in "-=*#~+"),), "-----"),
        (("\n".join(sign * 80 for sign in "-=*#~"), "++++++++"), "+++++++++"),
    ],
)
def test_a_rule_is_one_that_no_document_has(texts, rule):
    assert separator_for(texts) == f"\n\n{rule}\n\n"
