"""A language model as a judge, or as a writer of questions: one question, one reply."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from needlework.core.errors import InputError
from needlework.core.files import default_cache_dir
from needlework.core.options import key_value
from needlework.core.prompts import Message, rendered_prompt
from needlework.models.model import Model, Request
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import allows_threads, check_model, is_served, load_model, resolve_tokenizer

REPLY_BUDGET = 512
_OPTION = "--judge"
_FILLED = 0.95  # of the window: a server may count more tokens than we do
_MODELS_OPTION = re.compile(r"--(model|base-url)(?![\w-])")


def open_judge(
    spec: str,
    connection: ServerOptions,
    tokenizer: str | None,
    cache_dir: Path,
    model_args: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """Load the judge. Its tokenizer only counts: cl100k for a served judge of unknown tokenizer."""
    named = tokenizer or ("tiktoken:cl100k_base" if is_served(spec) else None)
    counter = resolve_tokenizer(spec, model_args, named, cache_dir)
    return load_model(
        spec, model_args=model_args, tokenizer=counter, connection=connection, cache_dir=cache_dir, threads=None
    )


def ask(
    judge: Model, system: str, user: str, *, reply_budget: int = REPLY_BUDGET, option: str = _OPTION, spec: str = ""
) -> str:
    """The judge's reply. Raises `RuntimeError` if there is none: no reply is an error, never a score.

    With a `spec` `InputError` where there will never be one.
    """
    messages = (*((Message("system", system),) if system else ()), Message("user", user))
    text = "\n\n".join(message.content for message in messages) + "\n"
    if judge.tokenizer.has_chat_template:
        text = judge.tokenizer.render_chat(messages)
    prompt = rendered_prompt(messages, text, judge.tokenizer.encode(text).ids)
    response = judge.respond(Request(prompt, "chat", answer_budget=reply_budget))
    if (error := response.error) is None:
        return response.text
    message = _named(f"{error.kind}: {error.message}", option)
    if error.fatal and spec:
        raise InputError(option, spec, message)
    raise RuntimeError(f"the {option.removeprefix('--')} did not answer: {message}")


@dataclass(frozen=True)
class CommandJudge:
    """A judge, or another model, for a command of its own. `tell`: shows a status line."""

    spec: str
    identity: Mapping[str, str | int | float | None]  # what can change its replies
    at_once: int  # threads that may ask it
    reply_budget: int  # tokens of a reply
    model: Model
    tell: Callable[[str], object]
    option: str = _OPTION  # the option that named it

    def ask(self, system: str, user: str) -> str:
        """The judge's reply. Raises `RuntimeError` if there is none, `InputError` if there will never be."""
        return ask(self.model, system, user, reply_budget=self.reply_budget, option=self.option, spec=self.spec)

    def shortened(self, text: str, around: str) -> str:
        """The beginning of a text that fits the window together with the words around it and a reply.

        All of it where the window is not known. Raises `InputError` where the words around leave no room.
        """
        window = self.model.window
        if window is None or len(f"{text}{around}".encode()) + self.reply_budget < _FILLED * window:
            return text  # a token is a byte or more
        encode = self.model.tokenizer.encode
        room = int(_FILLED * (window - self.reply_budget)) - encode(around).count
        if room < 1:
            raise InputError(self.option, self.spec, f"its window of {window} tokens has no room for a document")
        encoded = encode(text)
        return text if encoded.count <= room else text[: int(encoded.starts[room])]

    def close(self) -> None:
        """Let go of the model; questions in other threads end at once."""
        self.model.close()


def check_judge(spec: str, connection: ServerOptions) -> None:
    """Refuse a judge that could never be opened. Raises `InputError` in the words of `--judge`."""
    try:
        check_model(spec, {}, connection, None)
    except InputError as error:
        error.args = (_named(str(error), _OPTION),)
        raise


def judge_for_command(
    spec: str,
    *,
    base_url: str | None,
    api_key_env: str,
    concurrency: int,
    reply_budget: int,
    model_args: Sequence[str],
    option: str,
) -> CommandJudge:
    """Open the judge or model of an `option`. `model_args`: `KEY=VALUE`. Status lines go to standard error.

    Raises `InputError`; a server is not asked before its first question.
    """
    tell = partial(print, file=sys.stderr, flush=True)
    connection = ServerOptions(base_url=base_url, api_key_env=api_key_env, concurrency=concurrency, tell=tell)
    try:
        args = dict(key_value("--model-arg", word).partition("=")[::2] for word in model_args)
        model = open_judge(spec, connection, None, default_cache_dir(), args)
    except InputError as error:
        error.args = (_named(str(error), option),)
        raise
    # Which kernels are faster, each process finds out by trying; its replies are the same.
    identity = {name: of for name, of in model.identity.items() if name != "kernels"} | {"reply_budget": reply_budget}
    at_once = concurrency if allows_threads(spec) else 1
    return CommandJudge(spec, identity, at_once, reply_budget, model, tell, option)


def _named(line: str, option: str) -> str:
    """The line with the names of this option in place of the model's."""
    line = line.replace(" (see --timeout)", "")
    if option == "--model":
        return line
    return _MODELS_OPTION.sub(lambda match: option if match[1] == "model" else f"{option}-base-url", line)
