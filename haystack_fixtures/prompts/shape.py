"""Prompt shapes: the messages around a context, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import Any, Literal, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.prompts.prompt import Message, Role
from needlework.haystack_fixtures.settings.user_files import parse_toml, read_text

OPTION = "--prompt"
CONTEXT = "{context}"
Position = Literal["start", "end", "both"]
_GUIDE = {
    "en": "Before answering, please consider what in the document is most relevant to this question.",
    "zh": "在回答之前，请思考文档中与此问题最相关的内容是什么。",
}
_FORMAT_MARK = {"en": "Please answer in the format", "zh": "请按照"}


@dataclass(frozen=True, slots=True)
class Shape:
    """A prompt shape in one language. All messages together hold `{context}` once and `{question}` once.

    `question` wraps the question where it stands after the context, `both` where it is announced before it.
    `raw_end` closes a raw (template-free) prompt, so that a base model goes on with the answer.
    """

    name: str
    messages: tuple[Message, ...]
    system: str
    question: str
    both: str
    raw_end: str
    sha256: str


def load_shape(name: str, language: str) -> Shape:
    """A shape by name, or from the user's TOML file. Raises `InputError`."""
    if name.endswith(".toml"):
        text = read_text(OPTION, name)
    else:
        folder = resources.files(__package__) / "shapes"
        names = sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))
        if name not in names:
            raise InputError(OPTION, name, f"use one of {', '.join(names)}, or a .toml file")
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    table = parse_toml(OPTION, name, text)
    if not isinstance(table.get(language), dict):
        known = [key for key, value in table.items() if isinstance(value, dict)]
        raise InputError(OPTION, name, f"has no [{language}] table; it has {', '.join(known) or 'none'}")
    return _shape(name, table[language])


def _shape(name: str, table: dict[str, Any]) -> Shape:
    rows = table.get("message")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and row.get("role") in ("system", "user", "assistant")
        and isinstance(row.get("content"), str)
        for row in rows
    ):
        raise InputError(
            OPTION, name, "needs [[LANGUAGE.message]] tables with a role (system, user, assistant) and a content"
        )
    contents = "".join(row["content"] for row in rows)
    for mark in (CONTEXT, "{question}"):
        if contents.count(mark) != 1:
            raise InputError(OPTION, name, f"its messages must hold {mark} exactly once")
    if contents.index(CONTEXT) > contents.index("{question}"):
        raise InputError(OPTION, name, "put {context} before {question}; --question-position moves the question")
    question = str(table.get("question", "{question}"))
    return Shape(
        name=name,
        messages=tuple(Message(cast(Role, row["role"]), row["content"]) for row in rows),
        system=str(table.get("system", "")),
        question=question,
        both=str(table.get("both", question)),
        raw_end=str(table.get("raw_end", "")),
        sha256=sha256(repr(sorted(table.items())).encode("utf-8", "surrogatepass")).hexdigest(),
    )


def lay_out(
    shape: Shape, question: str, *, system: str | None, position: Position, introduction: str = ""
) -> tuple[Message, ...]:
    """The messages with everything but the context, which still reads `{context}`; before it the introduction."""
    asked = shape.question.replace("{question}", question)
    before = {"start": asked, "both": shape.both.replace("{question}", question), "end": ""}[position]
    before = introduction + (f"{before}\n\n" if before else "")
    after = "" if position == "start" else asked
    messages = []
    for message in shape.messages:
        content = message.content
        if CONTEXT in content and before:
            # What is told first goes before the line that opens the document, so that tags stay around the context.
            head, tail = content.split(CONTEXT)
            opening = re.search(r"<[^<>\n]+>\n$", head)
            at = opening.start() if opening else len(head)
            content = f"{head[:at]}{before}{head[at:]}{CONTEXT}{tail}"
        content = content.replace("{question}", after).rstrip()
        if content:
            messages.append(Message(message.role, content))
    told = shape.system if system is None else system
    return (Message("system", told), *messages) if told else tuple(messages)


def guided(question: str, language: str, *, joint: bool) -> str:
    """OpenCompass's `guide`: ask the model to look for the relevant place first.

    Before the wanted answer format where the question names one (one needle), else at the end. Published code fails
    on a question without a format; here the sentence then goes to the end too.
    """
    if language not in _GUIDE:
        raise ValueError(f"Language {language!r} is not supported.")
    head, mark, tail = question.partition(_FORMAT_MARK[language])
    if joint or not mark:
        gap = " " if language == "en" and not joint else ""
        return f"{question}{gap}{_GUIDE[language]}"
    gap = " " if language == "en" else ""
    return f"{head}{_GUIDE[language]}{gap}{mark}{tail}"


def raw_text(messages: tuple[Message, ...], end: str) -> str:
    """The messages without a chat template: contents with blank lines between, then `end`."""
    return "\n\n".join([*(message.content for message in messages), end]).rstrip()
