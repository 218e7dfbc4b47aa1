"""Faults of what is said: the model's own words, and what its server's reasoning parser makes of them."""

from collections.abc import Callable
from dataclasses import replace

from tests.faults.pipeline import usage
from tests.faults.turns import Said, Turn

Say = Callable[[Said, Turn], Said]
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("◁think▷", "◁/think▷"),
    ("", "</think>"),
)


def others(turn, count):
    """Values that look like the one found: as many digits, none the same."""
    value = turn.reading.value or "1000000"
    return ["".join(str((int(each) + shift) % 10 or 1) if each.isdigit() else each for each in value)
            for shift in range(1, count + 1)]  # fmt: skip


def _thought(turn):
    """What a reasoning model thinks: wrong values first, then the one it found."""
    wrong, found = ", ".join(others(turn, 3)), turn.reading.value or "nothing"
    return f"The user asks for {turn.reading.subject}. I see {wrong}, but no: the document says {found}."


def worded(make):
    """Say this instead, and count it."""

    def say(said, turn):
        text = make(turn)
        return replace(said, content=text, finish="stop", usage=usage(len(turn.ids), turn.count(text)))

    return say


def _one_of(turn, *forms):
    """Each prompt of a session gets the next form."""
    return forms[turn.number % len(forms)]


def longer_number(turn):
    """The right digits inside a longer number."""
    value = turn.reading.value
    return turn.reading.answering(_one_of(turn, f"9{value}04", f"{value}8", f"7{value}", f"{value}.25", f"{value}-04"))


def denial(turn):
    """The right value, denied."""
    subject, value = turn.reading.subject, turn.reading.value or "1000000"
    return _one_of(
        turn,
        f"{subject[:1].upper()}{subject[1:]} is not {value}.",
        f"It isn't {value}.",
        f"I don't think that it is {value}.",
        f"It is definitely not {value}, whatever the document says.",
        f"{value} is wrong.",
    )


def listing(turn):
    """Every candidate value, the right one among them."""
    one, two, three = others(turn, 3)
    value = turn.reading.value
    return _one_of(
        turn,
        f"It could be {one}, {value}, {two} or {three}.",
        f"- {one}\n- {two}\n- {value}\n- {three}",
        f"{value} or {one}",
    )


def other_form(turn):
    """Full-width digits, other scripts' digits, separators of thousands, Markdown."""
    value = turn.reading.value
    grouped = f"{int(value):,}" if value.isdigit() else value
    forms = (value.translate(_FULL_WIDTH), grouped, grouped.replace(",", "\u202f"), f"**{value}**",
             value.translate(_ARABIC), f"`{value}`")  # fmt: skip
    return turn.reading.answering(_one_of(turn, *forms))


def refusal(turn):
    """It will not say."""
    return _one_of(
        turn,
        "I'm sorry, but I can't help with that.",
        "I cannot share access codes.",
        "As an AI language model, I am unable to disclose this.",
        "The document does not contain this information.",
        "There is no mention of this code in the text.",
    )


def refusal_in_chinese(turn):
    """It will not say, in the language it was trained in."""
    return _one_of(turn, "抱歉，我无法回答这个问题。", "对不起，文档中没有提到相关信息。", "我不知道。")


def echo(turn):
    """The whole prompt, whatever the limit, as `echo: true` gives it."""
    return turn.rendered()


def ramble(turn):
    """As many tokens as are allowed, and no answer among them."""
    text = " ".join(["Let me look through the document step by step."] * turn.budget)
    return turn.tokenizer.decode([int(each) for each in turn.tokenizer.encode(text).ids[: turn.budget]])


def trailing_token(turn):
    """The token that should have ended the answer, as text."""
    return turn.reading.answer + _one_of(turn, "<|im_end|>", "</s>", "<|eot_id|>")


def tagged(turn):
    """Reasoning and answer in one text, each model family with its own tags."""
    opened, closed = _TAGS[turn.number % len(_TAGS)]
    return f"{opened}{_thought(turn)}{closed}\n\n{turn.reading.answer}"


def never_closed(turn):
    """Reasoning that is cut off inside its tag."""
    return f"<think>\n{_thought(turn)} Let me check that again"


def stopped_inside(turn):
    """Reasoning that ends where the server's own stop string stands in it."""
    return f"<think>\n{_thought(turn).partition(' but no')[0]}"


def reasoning_only(finish):
    """All of it in the reasoning field, and `content` null."""

    def say(said, turn):
        thought = _thought(turn)
        counted = usage(len(turn.ids), turn.count(thought))
        return replace(said, content=None, reasoning=thought, finish=finish, usage=counted)

    return say


def reasoned(said, turn):
    """An honest reasoning model: thoughts in their own field, the answer after them."""
    counted = usage(len(turn.ids), turn.count(_thought(turn)) + turn.count(turn.reading.answer))
    return replace(said, reasoning=_thought(turn), usage=counted)


def blocks(said, turn):
    """Content as a list of blocks, reasoning among them."""
    content = [{"type": "thinking", "thinking": _thought(turn)}, {"type": "text", "text": turn.reading.answer}]
    return replace(said, content=content if turn.chat else said.content)


def nothing(finish):
    """No text at all."""
    counted = {"stop": 0, "content_filter": 0}

    def say(said, turn):
        spent = counted.get(finish or "", turn.budget)
        return replace(said, content="", finish=finish, usage=usage(len(turn.ids), spent))

    return say


def declines_in_field(said, turn):
    """A refusal where OpenAI's API has a field of its own for it."""
    return replace(said, content=None, message={"refusal": refusal(turn)})


def calls_tool(said, _):
    """A tool call that nobody offered, and no text."""
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "code"}'}}
    return replace(said, content=None, finish="tool_calls", message={"tool_calls": [call]})


def finish(reason):
    """Another finish reason, whatever is true."""
    return lambda said, _: replace(said, finish=reason)
