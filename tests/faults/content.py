"""Faults of what a model reads and says: lost or changed prompts, answers, reasoning, token counts, caches."""

import threading
from dataclasses import replace
from typing import Any

from tests.faults.turns import Said, usage


def both_ends(window):
    """Keep both ends and lose the middle."""
    return lambda ids, _: ids if len(ids) <= window else ids[: window // 2] + ids[window // 2 - window :]


def half_of(window, keep):
    """Past the window keep the first few tokens and fill half of the window from the end (llama.cpp's old shift)."""
    half = window // 2
    return lambda ids, _: ids if len(ids) <= window else ids[:keep] + ids[keep - half :]


def sheds(lost, above):
    """Above a size lose a few tokens from the middle: too few to show in a percentage."""

    def see(ids, _):
        middle = len(ids) // 2
        return ids if len(ids) <= above else ids[:middle] + ids[middle + lost :]

    return see


def bos_in_chunks(size):
    """Tokenize in chunks and begin each like a text of its own: more tokens for longer prompts."""
    return lambda ids, _: tuple(each for at in range(0, len(ids), size) for each in (ids[0], *ids[at : at + size]))


def drops_system(messages):
    """Lose system messages."""
    return tuple(message for message in messages if message.role != "system")


def system_to_user(messages):
    """Put the system message before the user's, in one message."""
    told = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = drops_system(messages)
    return (replace(rest[0], content=f"{told}\n\n{rest[0].content}"), *rest[1:]) if told and rest else messages


def joins_lines(messages):
    """Make one space of every run of white space, as gateways do that clean their input."""
    return tuple(replace(message, content=" ".join(message.content.split())) for message in messages)


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


def goes_on(said, turn):
    """The answer, and then more and more of it, whatever the limit; counted as if it had been short."""
    return replace(said, content=f"{turn.reading.answer}{' And so on.' * 4000}")


def coloured(said, turn):
    """The answer in the colours of a terminal."""
    value = turn.reading.value or "sorry"
    return replace(said, content=turn.reading.answer.replace(value, f"\x1b[31m{value}\x1b[0m"))


def counted(make):
    """Another account of the same answer; `make` gets the true counts of prompt and completion."""

    def say(said, turn):
        spent = said.usage["completion_tokens"] if said.usage else 0
        return replace(said, usage=make(len(turn.ids), spent, turn))

    return say


def uncached(prompt, completion, turn):
    """Only what was computed anew; what a prefix cache held is told beside it."""
    with turn.session.lock:
        shared = max((_common(turn.ids, old) for old in turn.session.prompts), default=0) // 16 * 16
        turn.session.prompts.append(turn.ids)
    shared = min(shared, prompt - 1)
    return usage(prompt - shared, completion) | {"prompt_tokens_details": {"cached_tokens": shared}}


def _common(left, right):
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def cache_apart(prompt, completion, _turn):
    """What was written into a cache is told beside the rest, and not counted with it."""
    return usage(7, completion) | {"cache_creation_input_tokens": prompt - 7, "cache_read_input_tokens": 0}


def replays(said, turn):
    """The answer to the request before."""
    with turn.session.lock:
        before: Said = turn.session.memory.get("before", said)
        turn.session.memory["before"] = said
    return replace(said, content=before.content)


def replays_alike(size):
    """The first answer to any prompt that begins with the same characters, as caches give that look at no more."""

    def say(said, turn):
        with turn.session.lock:
            known: Said = turn.session.memory.setdefault(f"begins {turn.rendered()[:size]}", said)
        return replace(said, content=known.content)

    return say


def swaps(said, turn):
    """Two requests in flight at once get each other's answers."""
    mine: dict[str, Any] = {"said": said, "met": threading.Event(), "theirs": None}
    with turn.session.lock:
        partner = turn.session.memory.pop("waiting", None)
        if partner is None:
            turn.session.memory["waiting"] = mine
        else:
            partner["theirs"], mine["theirs"] = said, partner["said"]
            partner["met"].set()
    if partner is None and not mine["met"].wait(0.5):
        with turn.session.lock:
            if turn.session.memory.get("waiting") is mine:
                del turn.session.memory["waiting"]
        mine["met"].wait(0.05)
    theirs: Said | None = mine["theirs"]
    return said if theirs is None else replace(said, content=theirs.content)


def flips(said, turn):
    """Every second call with the same prompt gets another value, at temperature 0."""
    if turn.attempt % 2 or not turn.reading.value:
        return said
    return replace(said, content=turn.reading.answering(others(turn, 1)[0]))
