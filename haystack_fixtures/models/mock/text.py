"""What mock models say, in the language of the question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from hashlib import sha256

_WRONG = {
    "en": ("a bowl of lentil soup", "Lisbon", "the old water mill", "a violin lesson", "Thursday"),
    "zh": ("一碗热汤面", "里斯本", "旧水磨坊", "一节小提琴课", "星期四"),
}
_RAMBLE = {
    "en": "Let me look at the passage once more, since it speaks of several things, one after another. ",
    "zh": "让我再看一遍这段文字，因为它依次谈到了好几件事情。",
}
_REFUSAL = {"en": "I'm sorry, but I can't help with that request.", "zh": "抱歉，我无法回答这个问题。"}
_NOTHING_ASKED = {"en": "OK.", "zh": "好的。"}
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")
_LONG_CHARS = 120  # no value of a needle has as many; a poem to give back has
_CJK = re.compile(r"[\u3400-\u9fff]")


def language_of(text: str) -> str:
    """`zh` where there are Chinese characters, else `en`."""
    return "zh" if _CJK.search(text) else "en"


def answer_sentence(answers: Sequence[str], language: str) -> str:
    """All answers in one sentence; an answer that is one itself, a list in brackets or a long text stays as it is."""
    found = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    if not found:
        return _NOTHING_ASKED[language]
    if len(found) == 1 and (found[0].endswith((*_SENTENCE_ENDS, "]")) or len(found[0]) > _LONG_CHARS):
        return found[0]
    bare = [answer.rstrip("".join(_SENTENCE_ENDS)) for answer in found]
    if language == "zh":
        return f"答案是{'、'.join(bare)}。"
    if len(bare) == 1:
        return f"The answer is {bare[0]}."
    return f"The answers are {', '.join(bare[:-1])} and {bare[-1]}."


def wrong_answer(answer: str, taken: Collection[str], language: str) -> str:
    """A plausible answer that is neither right nor one of `taken`: other digits, or other words."""
    if any(char.isdigit() for char in answer):
        for shift in range(1, 10):
            changed = re.sub(r"[0-9]", lambda digit, by=shift: str((int(digit[0]) + by) % 10), answer)  # type: ignore[misc]
            if changed != answer and changed not in taken:
                return changed
    words = _WRONG[language]
    first = int(sha256(answer.encode()).hexdigest()[:8], 16) % len(words)
    ordered = words[first:] + words[:first]
    return next((word for word in ordered if word not in answer and word not in taken), ordered[0])


def refusal(language: str) -> str:
    """A polite no."""
    return _REFUSAL[language]


def ramble(language: str, sentences: int) -> str:
    """Words without an answer."""
    return _RAMBLE[language] * sentences
