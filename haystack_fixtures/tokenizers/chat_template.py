"""Chat templates (Jinja), rendered as transformers renders them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.prompts.prompt import Message


class ChatTemplate:
    """A compiled template with the special tokens that it may name (`bos_token`, `eos_token`, ...)."""

    def __init__(self, source: str, special_tokens: Mapping[str, str], owner: str) -> None:
        """`owner` is named in errors. Raises `InputError` for a template that does not compile."""
        self.source = source
        self._special_tokens = dict(special_tokens)
        self._owner = owner
        try:
            self._template = _environment().from_string(source)
        except Exception as error:  # noqa: BLE001 - Python compiles what Jinja made of it: SyntaxError, RecursionError
            raise InputError("chat template", owner, f"is not a valid Jinja template: {error}") from None

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt up to where the answer begins. Raises `InputError` when the template rejects the messages."""
        rows = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._template.render(
                messages=rows, tools=None, documents=None, add_generation_prompt=True, **self._special_tokens
            )
        except Exception as error:  # noqa: BLE001 - a template computes: it may divide by zero, index too far, recurse
            remedy = f"the model's chat template refuses these messages ({error})"
            if any(message.role == "system" for message in messages) and self._accepts_without_system(rows):
                remedy = f"the model's chat template takes no system role ({error}): run with --system-prompt ''"
            raise InputError("--system-prompt", self._owner, remedy) from None

    def _accepts_without_system(self, rows: Sequence[Mapping[str, str]]) -> bool:
        others = [row for row in rows if row["role"] != "system"]
        try:
            self._template.render(messages=others, add_generation_prompt=True, **self._special_tokens)
        except Exception:  # noqa: BLE001 - as above
            return False
        return True


class _Generation(Extension):
    """`{% generation %}` marks what the assistant said, for training; here it only has to parse."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Jinja's own filter escapes HTML characters, which a model must not see."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
