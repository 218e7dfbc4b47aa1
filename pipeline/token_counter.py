"""`--tokenizer server`: lengths by the server's own counter, for models whose tokenizer is not public.

A prompt of an exact length takes thousands of counts, a request each. So a handful of requests count sample texts once,
and a known tokenizer is scaled to them (`ScaledTokenizer`); as many count other texts, and say how far it is off.
Without a counter the `usage` of short answers counts.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

from needlework.core.errors import InputError
from needlework.core.files import cache_key, learnt_once
from needlework.core.prompts import Message, rendered_prompt
from needlework.haystack_fixtures.corpora.corpus import load_corpus
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions, is_loopback
from needlework.models.served.model import ServedModel, check_served, load_served
from needlework.models.served.transport import HttpTransport
from needlework.models.specs import is_served, parse_spec
from needlework.models.tokenizers.tokenizer import (
    HIGHEST,
    KINDS,
    LOWEST,
    ScaledTokenizer,
    Tokenizer,
    fitted,
    tiktoken_tokenizer,
)

STAND_IN = "o200k_base"
_VERSION = 1
_CHARS = {"en": 12_000, "zh": 4_000}  # of each sample: about 3,000 tokens
_CHECKS = 3  # further texts of each language
_LEAST = 0.001  # share; no smaller error is stated
_TRIES = 4
_NOTHING = "."  # counts a message by itself
_OPTION = "--tokenizer"

Count = Callable[[str], int | None]


def served_tokenizer(spec: str, model_args: Mapping[str, str], connection: ServerOptions, cache_dir: Path) -> Tokenizer:
    """The stand-in, scaled to what this server counts; learnt once, and stored. Raises `InputError`."""
    parsed = parse_spec(spec)
    if not is_served(spec):
        raise InputError(_OPTION, "server", f"{spec} is behind no server that could count: leave it out")
    if connection.batch:
        raise InputError(_OPTION, "server", "a batch service counts nothing beforehand: name the model's own tokenizer")
    check_served(parsed.kind, model_args, connection)
    counter = tiktoken_tokenizer(STAND_IN)
    with closing(load_served(parsed.kind, parsed.name, model_args, counter, connection, cache_dir)) as model:
        facts = _stored_or_learnt(model, connection, cache_dir)
    return _scaled(f"{parsed.kind}:{parsed.name}", facts)


def stored_tokenizer(spec: str, calibration: object) -> ScaledTokenizer:
    """The stand-in, scaled as a run's manifest tells: no server is asked. Raises `InputError`."""
    try:
        facts = cast("Mapping[str, Any]", calibration)
        if facts["stand_in"] != STAND_IN or facts["version"] != _VERSION:
            raise ValueError("of another version")
        scale = {kind: float(facts["scale"][kind]) for kind in KINDS}
        error = float(facts["error"])
        if not all(LOWEST <= factor <= HIGHEST for factor in scale.values()) or not 0 <= error <= 1:
            raise ValueError("out of range")
        return _scaled(spec, {"scale": scale, "error": error, "by": str(facts["by"])})
    except (KeyError, TypeError, ValueError):
        remedy = "the run kept no counts of its server's tokenizer that are of use here: name another, --tokenizer SPEC"
        raise InputError(_OPTION, "server", remedy) from None


def _scaled(spec: str, facts: Mapping[str, Any]) -> ScaledTokenizer:
    label = f"server:{spec} (by {facts['by']}, {STAND_IN} scaled, off by {facts['error']:.1%})"
    calibration = {**facts, "stand_in": STAND_IN, "version": _VERSION}
    return ScaledTokenizer(label, tiktoken_tokenizer(STAND_IN), facts["scale"], facts["error"], calibration)


def _stored_or_learnt(model: ServedModel, connection: ServerOptions, cache_dir: Path) -> dict[str, Any]:
    """The scale for this model and provider, stored or learnt. Local servers may change by tomorrow."""
    is_local = connection.base_url is not None and is_loopback(connection.base_url)
    folder = model.shared if is_local else cache_dir / "counted"
    if folder is None:
        return _calibrate(model, cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    key = cache_key(*(str(model.identity[fact]) for fact in ("spec", "server")), STAND_IN, str(_VERSION))
    return learnt_once(folder / key, lambda: (_calibrate(model, cache_dir), True))


def _calibrate(model: ServedModel, cache_dir: Path) -> dict[str, Any]:
    by, count = "its counter", cast("HttpTransport", model.transport).count_text
    if _retry(count, _NOTHING) is None:
        by, count = "usage", partial(_count_by_usage, model)
    around = (_retry(count, _NOTHING) or 1) - 1  # tokens of a message around its text

    def tokens(text: str) -> int:
        return max(1, (_retry(count, text) or 0) - around)

    inner = tiktoken_tokenizer(STAND_IN)
    scale: dict[str, float] = {}
    samples = {language: _sample(language, cache_dir) for language in _CHARS}
    # Numbers of one to seven digits, as needles and tables have them.
    digits = " ".join(str(7919 * number * number % 10 ** (1 + number % 7)) for number in range(1, 600))
    for kind, text in (("words", samples["en"][0]), ("digits", digits), ("scripts", samples["zh"][0])):
        scale[kind] = fitted(inner, text, tokens(text), kind, scale)
    trial = ScaledTokenizer("", inner, scale, 0.0)
    others = [text for _, others in samples.values() for text in others]
    error = max(abs(len(trial.encode(text).ids) / tokens(text) - 1) for text in others)
    return {"scale": scale, "error": max(round(error, 4), _LEAST), "by": by}


def _sample(language: str, cache_dir: Path) -> tuple[str, list[str]]:
    """A text of a language to fit, and some from other places to see how far the fit is off."""
    chars = _CHARS[language]
    try:
        corpus = load_corpus("default", language=language, seed=0, min_chars=4 * chars, cache_dir=cache_dir)
    except InputError:  # its package is not installed
        corpus = load_corpus("generated", language=language, seed=0, min_chars=4 * chars, cache_dir=cache_dir)
    text = "\n\n".join(corpus.documents)[: 50 * chars]
    step = len(text) // (_CHECKS + 1)
    return text[:chars], [text[step * number :][: chars // _CHECKS] for number in range(1, _CHECKS + 1)]


def _retry(count: Count, text: str) -> int | None:
    """The count by a counter, with a few retries. Raises `InputError`."""
    for left in range(_TRIES, -1, -1):
        try:
            return count(text)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - each client has errors of its own
            why = f"{type(error).__name__}: {error}"
            if left:
                time.sleep(2.0 ** (_TRIES - left) / 4)
    remedy = "try again, or name the model's own tokenizer"
    raise InputError(_OPTION, "server", f"the counter gives no count ({why}); {remedy}")


def _count_by_usage(model: ServedModel, text: str) -> int:
    """The count by `usage` of a request with this text, whose answer may have a few tokens."""
    prompt = rendered_prompt((Message("user", text),), text, model.tokenizer.encode(text).ids)
    response = model.respond(Request(prompt, "chat", 16))
    if response.prompt_tokens is not None:
        return response.prompt_tokens
    why = response.error.message if response.error else "the answer has no usage"
    raise InputError(_OPTION, "server", f"the server counts no tokens ({why}); name the model's own tokenizer")
