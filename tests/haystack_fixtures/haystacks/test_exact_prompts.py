"""Prompts have their exact length, and needles that stand once at their true depths, with every tokenizer."""

from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.haystack_fixtures.haystacks.builder import build_prompt, occurs, verify_prompt
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import OuterText, even_depths, gap, place_for, spaced_depths
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer
from tests.haystack_fixtures.haystacks.outer import corpus_of, open_source
from tests.strategies import documents, scraps

LIGHTHOUSE = ("lighthouse", "The code of the lighthouse on Gull Rock is 7319.")
TEA = ("tea", "老陈的茶馆藏在第九条巷子里。")


def english(sentences):
    return "".join(
        f"On day {n} keeper {n % 11} mended {'three lanterns' if n % 3 else 'an oar'} and counted {n} boats"
        + ("!" if n % 13 == 0 else "." if n % 5 else ' ("all of them").')
        + ("\n\n" if n % 8 == 7 else " ")
        for n in range(sentences)
    )


def chinese(sentences):
    return "".join(
        f"第{n}天老王{'昨天把伞忘在船上了' if n % 3 else '笑着摇了摇头，又低头写字'}"
        + ("！" if n % 11 == 0 else "。")
        + ("\n" if n % 9 == 8 else "")
        for n in range(sentences)
    )


TEXTS = {
    "english": english(700),
    "chinese": chinese(700),
    "mixed": " ".join(english(20) + chinese(20) for _ in range(12)),
    "emoji": "".join(f"Ship {n} sailed 👩‍👩‍👧❤\ufe0f e\u0301te\u0301 away 🚢. " for n in range(600)),
    "no_stops": " ".join(f"word{n} and thing" for n in range(4000)),
    "no_spaces": "".join(f"{n}天晴朗无云风从海上来" for n in range(1500)),
}


@dataclass(frozen=True)
class Bench:
    """A tokenizer with a source, and the template around a context."""

    tokenizer: Tokenizer
    source: HaystackSource
    chat: bool = True

    def messages(self, context):
        document = f"Read the document.\n<document>\n{context}\n</document>\nWhat is the code?"
        return (Message("system", "Answer briefly."), Message("user", document))

    def build(self, needles, depths, budget, *, reserved=0, unique=(), answers=()):
        if self.chat:
            rendered = self.tokenizer.render_chat(self.messages("\ue000"))
        else:
            rendered = "\n\n".join(message.content for message in self.messages("\ue000"))
        before, after = rendered.split("\ue000")
        bos = () if self.chat else self.tokenizer.bos
        outer = OuterText(before, after, bos, self.messages, budget, self.tokenizer.encode, reserved)
        return build_prompt(outer, self.source, needles, depths, unique=unique, answers=answers)


def bench_of(tokenizer, folder, *texts, seed=0, tokens=5000):
    corpus = corpus_of(*texts)
    return Bench(tokenizer, open_source(corpus, tokenizer, seed=seed, repeat=0, min_tokens=tokens, cache_dir=folder))


@pytest.fixture(scope="session")
def bench_for(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benches")

    @cache
    def made(tokenizer, text, seed=0):
        return bench_of(tokenizer, folder, TEXTS[text], seed=seed)

    return made


@pytest.fixture
def bench(bench_for, tokenizers):
    """English with cl100k, for what does not depend on either."""
    return bench_for(tokenizers["cl100k"], "english")


def check(bench, prompt, needles, budget):
    """Everything that a prompt promises."""
    assert prompt.tokens + prompt.slack == budget
    assert 0 <= prompt.slack <= max(2, budget // 2000)
    verify_prompt(bench.tokenizer, prompt, needles)
    assert "\ufffd" not in prompt.text
    context = prompt.text[prompt.context[0] : prompt.context[1]]
    assert prompt.messages == bench.messages(context)
    assert context == context.strip()
    if bench.chat:
        assert bench.tokenizer.render_chat(prompt.messages) == prompt.text
        assert bench.tokenizer.encode(prompt.text).ids.tolist() == prompt.ids.tolist()
    else:
        ids = [*bench.tokenizer.bos, *bench.tokenizer.encode(prompt.text).ids]
        assert ids == prompt.ids.tolist()
    for needle in prompt.placed:
        assert prompt.text.count(prompt.text[needle.start : needle.end]) == 1


@pytest.mark.parametrize("text", list(TEXTS))
def test_every_cell_is_exact_and_true(bench_for, tokenizer, text):
    needles = [TEA if text in ("chinese", "no_spaces") else LIGHTHOUSE]
    for chat, budget in ((True, 700), (False, 1501), (True, 4000)):
        bench = replace(bench_for(tokenizer, text), chat=chat)
        prompts = [bench.build(needles, [depth], budget) for depth in (0, 3, 50, 66.6, 100)]
        for prompt in prompts:
            check(bench, prompt, needles, budget)
        placed = [prompt.placed[0] for prompt in prompts]
        assert [needle.requested for needle in placed] == [0, 3, 50, 66.6, 100]
        assert [needle.depth for needle in placed] == sorted(needle.depth for needle in placed)
        assert (placed[0].depth, placed[-1].depth) == (0, 100)
        assert not any(prompt.flags for prompt in prompts)


def test_a_budget_too_small_names_the_smallest_that_fits(bench_for, tokenizer):
    for chat in (True, False):
        bench = replace(bench_for(tokenizer, "english"), chat=chat)
        with pytest.raises(InputError, match="at least") as caught:
            bench.build([LIGHTHOUSE], [50], 20, reserved=100)
        smallest = int(str(caught.value).rsplit(" ", 1)[1]) - 100
        check(bench, bench.build([LIGHTHOUSE], [50], smallest), [LIGHTHOUSE], smallest)
        with pytest.raises(InputError, match=f"at least {smallest}"):
            bench.build([LIGHTHOUSE], [50], smallest - 1)


def test_a_needle_or_answer_in_the_filler_is_an_error(bench):
    sentence = bench.source.text[: int(bench.source.ends[0])]
    with pytest.raises(InputError, match="already"):
        bench.build([("copy", sentence)], [50], 900)
    with pytest.raises(InputError, match="already"):
        bench.build([LIGHTHOUSE], [50], 900, unique=("lanterns",))
    bench.build([LIGHTHOUSE], [50], 900, unique=("lantern", "7319"))
    with pytest.raises(InputError, match="more than once"):
        bench.build([LIGHTHOUSE, LIGHTHOUSE], [20, 50], 900)
    # An answer of its needle alone is no answer elsewhere, one of the filler is.
    for answers, flags in ((("7319",), ()), (("7319", "lanterns"), ("answer_elsewhere",))):
        assert bench.build([LIGHTHOUSE, TEA], [90, 10], 900, answers=answers).flags == flags


def test_a_forged_prompt_does_not_verify(bench):
    prompt = bench.build([LIGHTHOUSE], [50], 900)
    verify_prompt(bench.tokenizer, prompt, [LIGHTHOUSE])
    moved = structs.replace(prompt.placed[0], start=prompt.placed[0].start + 1)
    swapped = prompt.ids.copy()
    swapped[[5, 6]] = swapped[[6, 5]]
    for forged in (
        replace(prompt, placed=(moved,)),
        replace(prompt, make_ids=lambda: swapped),
        replace(prompt, tokens=prompt.tokens - 1, make_ids=lambda: prompt.ids[:-1]),
        replace(prompt, make_text=lambda: prompt.text + " "),
        replace(prompt, make_messages=lambda _text: (Message("user", "Something else"),)),
    ):
        with pytest.raises(InputError):
            verify_prompt(bench.tokenizer, forged, [LIGHTHOUSE])


@given(data=st.data())
def test_any_corpus_needle_and_depth(tokenizer, tmp_path, data):
    texts = data.draw(documents(of=scraps))
    # `check` takes the replacement character for half a character: not where the corpus has it.
    if not any(text.strip() for text in texts) or "\ufffd" in "".join(texts):
        return
    bench = replace(bench_of(tokenizer, tmp_path, *texts, tokens=900), chat=data.draw(st.booleans()))
    needles = data.draw(
        st.lists(st.sampled_from([LIGHTHOUSE, TEA, ("odd", "Zoë's 🚢 is e\u0301teinte.")]), unique=True)
    )
    depths = [data.draw(st.floats(0, 100)) for _ in needles]
    budget = data.draw(st.integers(500, 900))
    try:
        prompt = bench.build(needles, depths, budget)
    except InputError as error:
        if "at least" not in str(error):  # its first sentence may be longer than the budget
            raise
        return
    check(bench, prompt, needles, budget)


@pytest.mark.parametrize("text", ["<u>Read: {} Why?</u>", "<u>READ: {} Why?</u>", "{} Why?", "Read: {}"])
def test_messages_are_whole_however_the_template_shows_them(bench, text):
    def outer(context):
        return (Message("system", "Be brief."), Message("user", f"Read: {context} Why?"))

    before, after = text.split("{}")
    outer_text = OuterText(before, after, (), outer, 900, bench.tokenizer.encode)
    prompt = build_prompt(outer_text, bench.source, [LIGHTHOUSE], [50])
    assert prompt.messages == outer(prompt.text[slice(*prompt.context)])


def test_even_depths_share_what_lies_below_the_first_and_spaced_ones_stop_at_the_end():
    assert [even_depths(0, 4), even_depths(50, 2), even_depths(100, 3)] == [[0, 25, 50, 75], [50, 75], [100] * 3]
    # 5 needles with diff 10: OpenCompass's code doubles the shift; its documentation does not.
    assert spaced_depths(0, 10, 5) == [0, 10, 20, 30, 40]
    assert spaced_depths(90, 10, 4) == [90, 100, 100, 100]


@pytest.mark.parametrize(
    ("depth", "char"),
    [(0, 0), (6, 0), (6.25, 0), (6.3, 5), (37, 5), (37.5, 5), (38, 25), (81, 25), (81.25, 25), (82, 40), (100, 40)],
)
def test_a_needle_goes_to_the_nearest_sentence_end_and_to_the_earlier_of_two_as_near(depth, char):
    """40 tokens of a character each, sentence ends behind the 5th and the 25th: 15 (37.5 %) is as far from both."""
    ends = np.array([5, 25, 60])
    source = HaystackSource("x" * 80, cast(Encoded, None), ends, ends, corpus_chars=80)
    assert place_for(source, depth, Cut(end=40, tail=(0, 0), closer="", tokens=40)) == char


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("went home.", "The needle", " "),
        ("went home.", "小明", " "),
        ("走了。", "小明", ""),
        ("走了。”", "小明", ""),
        ("走了。", "“小明", ""),
        ("走了。", "The needle", " "),
        *[("home.", "\nNext", ""), ("home. ", "Next", ""), ("", "Next", "")],
        ("สวัสดี", "ครับ", " "),
        ("집에 갔다.", "그는", " "),
        ("👩", "The", " "),
    ],
)
def test_gaps_follow_the_script(left, right, wanted):
    assert gap(left, right) == wanted


@pytest.mark.parametrize(
    ("term", "text", "wanted"),
    [
        ("42", "there were 42 ships", True),
        ("42", "there were 142 ships and 421 boats", False),
        ("fig", "figs and configs", False),
        ("fig", "figs and a fig.", True),
        ("上海", "他去了上海。", True),
        ("", "anything", False),
    ],
)
def test_terms_stand_by_themselves(term, text, wanted):
    assert occurs(term, text) is wanted
