"""Reasoning and answer are told apart wherever a model puts them."""

import pytest

from needlework.models.model import part_reasoning


@pytest.mark.parametrize(
    ("text", "prompt", "answer", "reasoning"),
    [
        ("Paris.", "", "Paris.", ""),
        ("  Paris.\n", "", "  Paris.\n", ""),
        ("<think>hm 42</think>\nParis.", "", "Paris.", "hm 42"),
        ("<think>hm 42", "", "", "hm 42"),
        ("hm 42</think>Paris.", "", "Paris.", "hm 42"),
        ("hm 42", "...<think>\n", "", "hm 42"),
        ("hm</think>Paris.", "...<think>\n", "Paris.", "hm"),
        ("Paris.", "...<think>\n\n</think>\n\n", "Paris.", ""),
        ("[THINK]hm[/THINK]Paris.", "", "Paris.", "hm"),
        ("<think>a</think>One. <think>b</think>Two.", "", "One. Two.", "a\nb"),
        ("<think></think>Paris.", "", "Paris.", ""),
        ("", "", "", ""),
        ("A document about <think> tags", "text with <think> inside it", "A document about", "tags"),
    ],
)
def test_split(text, prompt, answer, reasoning):
    assert part_reasoning(text, prompt)[:2] == (answer, reasoning)


NAMES = ("think", "thinking", "thought", "reasoning", "seed:think")
MARKS = [
    *((f"<{name}>", f"</{name}>") for name in NAMES),
    ("<Think>", "</THINK>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("Here is my thought process:", "Here is my response:"),
    ("Here's my thought process:", "Here's my response:"),
]


@pytest.mark.parametrize(("opening", "closing"), MARKS)
def test_every_pair_of_marks(opening, closing):
    whole = f"{opening}\nIs it 42?\n{closing}\nParis."
    assert part_reasoning(whole) == ("Paris.", "Is it 42?", False)
    assert part_reasoning(f"{opening}\nIs it 42?") == ("", "Is it 42?", True)


def test_marks_without_their_other_half():
    for _, closing in MARKS[:11]:  # the template has opened the block
        assert part_reasoning(f"Is it 42?\n{closing}\n\nParis.") == ("Paris.", "Is it 42?", False)
    long = part_reasoning("<think>a</think>" * 100_000 + "Paris")  # in linear time
    assert (long.answer, len(long.reasoning)) == ("Paris", 199_999)


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        (
            "<|channel|>commentary to=none<|message|>A plan.<|end|><|channel|>final <|message|>Paris.<|return|>",
            ("Paris.", "A plan.", False),
        ),
        ("<|channel|>final<|message|>Paris.", ("Paris.", "", False)),
        ("<|channel|>analysis", ("", "", True)),
        # Servers drop special tokens.
        ("analysisWe need it. 42?assistantfinalParis.", ("Paris.", "We need it. 42?", False)),
        ("analysisWe need the code.", ("", "We need the code.", True)),
        ("analysis of the text gives 42", ("analysis of the text gives 42", "", False)),
    ],
)
def test_channels(text, parted):
    assert part_reasoning(text) == parted
