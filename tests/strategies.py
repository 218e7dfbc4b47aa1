"""Hypothesis strategies for text and documents."""

from hypothesis import strategies as st

ENGLISH = (
    "The ferry left before dawn.",
    'She said, "It is late."',
    "Dr. Hale counted 3.5 litres, i.e. too many!",
    "Was it the U.S. mail?",
    "Nothing else happened that day (as far as we know).",
)
CHINESE = ("他走了。", "“你好！”她说。", "那天晚上下了很大的雨，谁也没有出门。", "真的吗？", "说来话长……")
OTHER = ("यह एक वाक्य है।", "هل وصل القطار؟", "สวัสดีครับ วันนี้อากาศดี", "Това е изречение.")
# What tokenizers and graphemes trip over.
ODD = (
    "👩‍👩‍👧",
    "e\u0301",
    "❤\ufe0f",
    "\u200d",
    "\ufeff",
    "    ",
    "\n\n",
    "\t",
    "\r\n",
    "12345678",
    "----",
    "<s>",
    "▁",
    "a" * 40,
)

sentences = st.sampled_from(ENGLISH + CHINESE + OTHER)
scraps = st.one_of(sentences, st.sampled_from(ODD), st.text(max_size=12))


@st.composite
def texts(draw, max_scraps=40):
    """Text of real sentences and odd scraps, with or without white space between them."""
    return "".join(
        scrap + gap
        for scrap, gap in draw(st.lists(st.tuples(scraps, st.sampled_from([" ", "", "\n"])), max_size=max_scraps))
    )


@st.composite
def documents(draw, *, of=sentences):
    """A small corpus: a few documents of a few paragraphs each."""
    paragraph = st.lists(of, min_size=3, max_size=12).map(" ".join)
    document = st.lists(paragraph, min_size=1, max_size=6).map("\n\n".join)
    return tuple(draw(st.lists(document, min_size=1, max_size=6)))
