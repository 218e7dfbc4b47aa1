"""Tokenizers of Hugging Face folders, with their chat templates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
import numpy as np
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models.tokenizers.tokenizer import Encoded

if TYPE_CHECKING:
    import tokenizers


_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True, eq=False)
class FolderTokenizer:
    """A `tokenizer.json` with its chat template; byte-level BPE, SentencePiece, or any other model.

    `inner` must have no post-processor: a byte-level one would move starts behind leading spaces.
    """

    name: str
    inner: tokenizers.Tokenizer
    template: ChatTemplate | None
    fingerprint: str
    bos: tuple[int, ...]

    @property
    def has_chat_template(self) -> bool:
        """Whether the folder has one."""
        return self.template is not None

    def encode(self, text: str) -> Encoded:
        encoding = self.inner.encode(text, add_special_tokens=False)
        ids = np.fromiter(encoding.ids, np.int32)
        starts = np.fromiter((start for start, _ in encoding.offsets), np.int64)
        # A normaliser may reorder characters; where a token begins never goes back.
        return Encoded(text, ids, np.maximum.accumulate(starts) if len(starts) else starts)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.inner.decode([int(each) for each in ids], skip_special_tokens=True))

    def render_chat(self, messages: Sequence[Message]) -> str:
        """See `Tokenizer.render_chat`; `InputError` without a template, or when it refuses the messages."""
        if self.template is None:
            raise InputError("--template", "chat", f"{self.name} has no chat template: run with --template raw")
        return self.template.render(messages)


def folder_tokenizer(folder: Path) -> FolderTokenizer:
    """Load `tokenizer.json` and, where present, the chat template of a model folder. Raises `InputError`."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    try:
        vocabulary = path.read_bytes()
        inner = Tokenizer.from_str(vocabulary.decode("utf-8"))
    except OSError:
        raise InputError("tokenizer", folder, "has no readable tokenizer.json") from None
    except Exception as error:  # noqa: BLE001 (the library raises bare Exception for a bad file)
        raise InputError("tokenizer", path, f"is not a tokenizer file: {error}") from None
    # Files may ask for truncation or padding, which would change what is counted.
    inner.no_truncation()
    inner.no_padding()
    config = _json(folder / "tokenizer_config.json")
    bos = _leading_ids(inner, config)
    inner.post_processor = None
    source = _template_source(folder, config)
    special = _special_tokens(_json(folder / "special_tokens_map.json"), config)
    template = None if source is None else ChatTemplate(source, special, str(folder))
    digest = sha256(vocabulary)
    digest.update(json.dumps([source, special, bos], sort_keys=True).encode("utf-8", "surrogatepass"))
    return FolderTokenizer(folder.name, inner, template, digest.hexdigest(), bos)


def _leading_ids(inner: tokenizers.Tokenizer, config: Mapping[str, Any]) -> tuple[int, ...]:
    """The special tokens before a raw prompt. Those after it (EOS) would end it and are left out."""
    if any(isinstance(config.get(key), bool) for key in ("add_bos_token", "add_eos_token")):
        # transformers then replaces the post-processor, and so do we.
        bos = inner.token_to_id(_content(config.get("bos_token")) or "")
        return (bos,) if config.get("add_bos_token") is True and bos is not None else ()
    probe = inner.encode("a", add_special_tokens=True)
    leading = []
    for token, special in zip(probe.ids, probe.special_tokens_mask, strict=True):
        if not special:
            break
        leading.append(int(token))
    return tuple(leading)


def _template_source(folder: Path, config: Mapping[str, Any]) -> str | None:
    """The default chat template; a file of its own goes before the one in the configuration."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("tokenizer", path, f"cannot be read: {error}") from None
    source = config.get("chat_template")
    if isinstance(source, list):  # several named templates
        source = {str(row.get("name")): row.get("template") for row in source if isinstance(row, dict)}.get("default")
    if source is None:
        source = _json(folder / "chat_template.json").get("chat_template")
    return source if isinstance(source, str) else None


def _special_tokens(*tables: Mapping[str, Any]) -> dict[str, str]:
    """Names and texts of special tokens as templates see them; later tables win."""
    texts = {name: _content(table.get(name)) for table in tables for name in _SPECIAL if table.get(name) is not None}
    return {name: text for name, text in texts.items() if text is not None}


def _content(token: object) -> str | None:
    """A special token is written as text or as a table with a `content`."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("tokenizer", path, f"is not valid JSON: {error}") from None
    return content if isinstance(content, dict) else {}


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
        """The prompt up to the answer's start. Raises `InputError` if the template rejects the messages."""
        try:
            return self._rendered(messages)
        except Exception as error:  # noqa: BLE001 - a template computes: it may divide by zero, index too far, recurse
            remedy = f"the model's chat template refuses these messages ({error})"
            others = [message for message in messages if message.role != "system"]
            with suppress(Exception):
                if len(others) < len(messages) and self._rendered(others):
                    remedy = f"the model's chat template takes no system role ({error}): run with --system-prompt ''"
            raise InputError("--system-prompt", self._owner, remedy) from None

    def _rendered(self, messages: Sequence[Message]) -> str:
        rows = [{"role": message.role, "content": message.content} for message in messages]
        more: dict[str, Any] = {"tools": None, "documents": None, "add_generation_prompt": True}
        return self._template.render(messages=rows, **more, **self._special_tokens)


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
    # Jinja's own filter escapes HTML characters, which a model must not see.
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
