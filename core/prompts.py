"""Prompts: needles, messages, prompt templates, turns of a conversation."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib import resources
from itertools import groupby
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert, structs
from msgspec import field as structs_field
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.files import parse_toml, read_text
from needlework.core.record import NeedleFacts

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str = field(repr=False)


@dataclass(frozen=True)
class Prompt:
    """A built prompt. A server is sent its messages, a model here takes its ids: each is made on first use."""

    tokens: int  # length of the rendered prompt
    make_text: Callable[[], str] = field(repr=False)
    make_messages: Callable[[str], tuple[Message, ...]] = field(repr=False)  # of the text
    make_ids: Callable[[], NDArray[np.int32]] = field(repr=False)
    text_sha256: str
    context: tuple[int, int] = (0, 0)  # characters of the document in `text`
    context_tokens: int = 0
    placed: tuple[NeedleFacts, ...] = ()
    slack: int = 0  # tokens by which it is shorter than its budget
    corpus_passes: float = 0.0  # 1.0: all of the corpus once, 2.5: text repeats, 0: no text of a corpus
    filler_sha256: str = ""  # of the context without needles
    flags: tuple[str, ...] = ()
    truncated: float = 0.0  # share of a document's tokens that was left out, 0..1
    error: float = 0.0  # share by which counts may be off, 0 where the model's own tokenizer counts
    conversation: bool = False  # the context is turns, each a message

    @cached_property
    def text(self) -> str:
        """The whole rendered request."""
        return self.make_text()

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages of a chat."""
        return self.make_messages(self.text)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """The text's canonical tokens."""
        return self.make_ids()


def text_sha256(text: str) -> str:
    """Hash of a text, half surrogate pairs too."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def rendered_prompt(
    messages: tuple[Message, ...], text: str, ids: Sequence[int] | NDArray[np.int32], **facts: Any
) -> Prompt:
    """The prompt of a text at hand. Without further facts: of a question without a context."""
    array = np.asarray(ids, np.int32)
    return Prompt(len(array), lambda: text, lambda _text: messages, lambda: array, text_sha256(text), **facts)


_SPEAKERS = {
    "en": {"user": "User: ", "assistant": "Assistant: "},
    "zh": {"user": "用户：", "assistant": "助手："},
}


def parted(messages: Sequence[Message], shape: str) -> tuple[tuple[Message, ...], str, tuple[Message, ...]]:
    """The messages of a shape before and after its turns; between them the start of the first turn.

    Raises `InputError` for a shape whose context is not turns: it needs a message that ends with `{context}`, and one
    behind it.
    """
    at = next(number for number, message in enumerate(messages) if CONTEXT in message.content)
    opening, _, behind = messages[at].content.partition(CONTEXT)
    if behind or at + 1 == len(messages):
        remedy = (
            "has no room for a conversation: use conversation, or a shape of yours with a message that ends with "
            "{context} and another for {question}; and --question-position end or both"
        )
        raise InputError(OPTION, shape, remedy)
    return tuple(messages[:at]), opening, tuple(messages[at + 1 :])


def merge_roles(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with neighbours of one role joined, a blank line between them."""
    grouped = groupby(messages, key=lambda message: message.role)
    return tuple(Message(role, "\n\n".join(message.content for message in same)) for role, same in grouped)


def plain_turns(messages: Sequence[Message], language: str) -> str:
    """A conversation for base models: `User: ...`, a blank line, `Assistant: ...`, without the answer."""
    speakers = _SPEAKERS[language]
    spoken = [f"{speakers.get(message.role, '')}{message.content}" for message in messages]
    return "\n\n".join([*spoken, speakers["assistant"].rstrip()])


OPTION = "--prompt"
CONTEXT = "{context}"
Position = Literal["start", "end", "both"]
_GUIDE = {
    "en": "Before answering, please consider what in the document is most relevant to this question.",
    "zh": "在回答之前，请思考文档中与此问题最相关的内容是什么。",
}
_FORMAT_MARK = {"en": "Please answer in the format", "zh": "请按照"}


class PromptShape(Struct, frozen=True):
    """A prompt template of one language, as its table in the file."""

    messages: tuple[Message, ...] = structs_field(name="message")
    system: str = ""
    question: str = "{question}"  # its wording after the context
    both: str = ""  # its announcement before the context; empty: as `question`
    raw_end: str = ""  # closes a raw (template-free) prompt, so that a base model goes on with the answer
    name: str = ""
    sha256: str = ""


def load_shape(name: str, language: str) -> PromptShape:
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
    try:
        shape = convert(table[language], PromptShape)
    except ValidationError as error:
        needs = "needs [[LANGUAGE.message]] tables with a role (system, user, assistant) and a content"
        raise InputError(OPTION, name, f"{needs} ({error})") from None
    contents = "".join(message.content for message in shape.messages)
    for mark in (CONTEXT, "{question}"):
        if contents.count(mark) != 1:
            raise InputError(OPTION, name, f"its messages must hold {mark} exactly once")
    if contents.index(CONTEXT) > contents.index("{question}"):
        raise InputError(OPTION, name, "put {context} before {question}; --question-position moves the question")
    digest = text_sha256(repr(sorted(table[language].items())))
    return structs.replace(shape, name=name, both=shape.both or shape.question, sha256=digest)


def lay_out(
    shape: PromptShape, question: str, *, system: str | None, position: Position, introduction: str = ""
) -> tuple[Message, ...]:
    """The messages, with `{context}` in place of the context; before it the introduction."""
    worded = shape.question.replace("{question}", question)
    before = {"start": worded, "both": shape.both.replace("{question}", question), "end": ""}[position]
    before = introduction + (f"{before}\n\n" if before else "")
    after = "" if position == "start" else worded
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
    system_text = shape.system if system is None else system
    return (Message("system", system_text), *messages) if system_text else tuple(messages)


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


@dataclass(frozen=True, slots=True)
class Needle:
    """A statement for the haystack, with its question and reference answer."""

    name: str
    text: str
    question: str = ""
    answer: str = ""  # `key` and `answer` must occur nowhere else in the context
    keyword: str = ""  # searched by keyword scorers; the answer when empty
    key: str = ""
    accepted: tuple[str, ...] = ()  # other spellings of the right answer
    distractors: tuple[str, ...] = ()  # whole statements that go into the haystack too
    distractor_answers: tuple[str, ...] = ()  # their (wrong) values
    reply: str = ""  # a right answer in the form that the question asks for, given by mocks
    ask: str = ""  # in a conversation, what the user says before the statement, which is the assistant's reply


@dataclass(frozen=True, slots=True)
class JointQuestion:
    """One question over all needles of a set (multi-needle tasks)."""

    question: Annotated[str, Meta(min_length=1)]
    answer: Annotated[str, Meta(min_length=1)]
    keyword: str = ""
    # percent of the haystack between needles; `None`: evenly over what lies below the first
    diff: Annotated[float, Meta(ge=0, le=100)] | None = None


@dataclass(frozen=True, slots=True)
class NeedleSet:
    """A named collection of needles in one language."""

    name: str
    language: str
    source: str
    needles: tuple[Needle, ...]
    joint: JointQuestion | None = None
    sha256: str = ""
