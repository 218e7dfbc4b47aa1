"""An honest reader in place of a model: it answers from the prompt that is left to it, and says so when it cannot."""

import re
from dataclasses import dataclass

_ONE = (
    (re.compile(r"What (?:is|was) ([^?\n]{3,200})\?"), "en"),
    (re.compile(r"([^。？！，\n]{3,80}?)(?<!分别)是什么？"), "zh"),
)
# `What are the first mark and the last mark of the text?`, `What are the codes for these places: A; B?`
_SEVERAL = (
    (re.compile(r"What are (?:[^?:\n]{3,80}: )?([^?\n]{3,400}?)(?: of the \w+)?\?"), "en"),
    (re.compile(r"([^。？！，\n]{3,200}?)分别是什么？"), "zh"),
)
_REFUSAL = {
    "en": "I'm sorry, the document does not mention that.",
    "zh": "抱歉，文档中没有提到这一点。",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was asked and what the prompt says of it; `value` is empty where it says nothing."""

    subject: str
    value: str
    language: str = "en"
    several: bool = False

    @property
    def answer(self):
        """One sentence, as a model would say it."""
        if not self.value:
            return _REFUSAL[self.language]
        if self.several:
            return f"{self.value}."
        if self.language == "zh":
            return f"{self.subject}是{self.value}。"
        return f"{self.subject[:1].upper()}{self.subject[1:]} is {self.value}."

    def answering(self, value):
        """The same sentence with another value; what it would say anyway where it found none."""
        return Reading(self.subject, value, self.language, self.several).answer if self.value else self.answer


def read(prompt):
    """Find the last question (`What is X?`, `What are X and Y?`) and the statements that answer it (`X is V.`)."""
    kinds = [(*row, False) for row in _ONE] + [(*row, True) for row in _SEVERAL]
    asked = [(match, language, many) for pattern, language, many in kinds for match in pattern.finditer(prompt)]
    if not asked:
        return Reading("", "")
    last, language, many = max(asked, key=lambda found: found[0].end())
    subject = " ".join(last[1].split())
    if not many:
        return Reading(subject, _stated(subject, prompt, language), language)
    head, joined, tail = subject.rpartition("的") if language == "zh" else ("", "", subject)
    parts = [f"{head}{joined}{part}" for part in re.split(r"; | and |、|和", tail)]
    values = [_stated(part, prompt, language) for part in parts]
    return Reading(subject, ", ".join(value or "unknown" for value in values) if any(values) else "", language, True)


def _stated(subject, prompt, language):
    words = r"\s+".join(re.escape(word) for word in subject.split())
    if language == "zh":
        says = rf"{words}是(.+?)[。\n]"
    else:
        says = rf"{words}(?:\s+of\s+this\s+\w+)?\s+is\s+(.+?)(?:[.!](?:\s|$)|\n|$)"
    stated = re.search(says, prompt, re.IGNORECASE)
    return stated[1].strip() if stated else ""
