"""Keep secrets out of everything that is shown or written."""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

_SHOWN = "***"
# Servers quote rejected keys, some of them shortened, so that the exact text is not found in the message.
_KEY_LIKE = re.compile(r"\bsk-[\w*.-]{4,}|(?<=[Bb]earer )[^\s\"',]+")
_SHORTEST = 4
# In an answer a word that happens to be a header's value must stay: it may be what was asked for.
_SHORTEST_IN_ANSWERS = 8
_SECRET_NAME = re.compile(r"(?i)(?:^|[_-])(?:api_?key|key|token|secret|password|authorization|credentials?)$")


@dataclass(frozen=True)
class Redactor:
    """Replaces known secrets, in whatever form they are written, by `***`."""

    secrets: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, text: str) -> str:
        """A message without secrets, without the beginning of one at its end (messages are cut), without keys."""
        for secret in self.secrets:
            text = text.replace(secret, _SHOWN)
        return _KEY_LIKE.sub(_SHOWN, self._uncut(text))

    def hide(self, text: str) -> str:
        """An answer without secrets; all else stays as the model said it."""
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_IN_ANSWERS:
                text = text.replace(secret, _SHOWN)
        return text

    def _uncut(self, text: str) -> str:
        bare = text.rstrip("'\". …")
        for secret in self.secrets:
            for length in range(len(secret) - 1, _SHORTEST - 1, -1):
                if bare.endswith(secret[:length]):
                    return f"{bare[:-length]}{_SHOWN}{text[len(bare) :]}"
        return text


def redactor(secrets: Iterable[str | None]) -> Redactor:
    """A redactor for these secrets; very short ones are left alone (they would eat ordinary words)."""
    known = {form for secret in secrets if secret is not None and len(secret) >= _SHORTEST for form in _forms(secret)}
    return Redactor(tuple(sorted(known, key=len, reverse=True)))


def url_secrets(url: str | None) -> tuple[str, ...]:
    """The secret parts of a URL, as written and decoded: user, password, query and each of its values.

    User and password also stand together, as a server gets them.
    """
    if not url:
        return ()
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket that is not closed
        return ()
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    values = [pair.partition("=")[2] for pair in parts.query.split("&")]
    secrets = [parts.username, parts.password, parts.query, *values, user and password and f"{user}:{password}"]
    written = [text for text in secrets if text]
    return tuple(dict.fromkeys([*written, *map(unquote, written), *map(unquote_plus, written)]))


def named_secrets(value: object) -> Iterator[str]:
    """The texts in a JSON object whose names say that they are secret: `{"api_key": "..."}`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and _SECRET_NAME.search(str(name)):
                yield inner
            else:
                yield from named_secrets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from named_secrets(inner)


def option_secrets(model_args: Sequence[str], urls: Iterable[str | None], key_env: str) -> tuple[str, ...]:
    """All secrets in a run's options: headers, fields, addresses, the environment variable's value."""
    secrets = [os.environ.get(key_env, ""), *(secret for url in urls for secret in url_secrets(url))]
    for word in model_args:
        name, _, value = word.partition("=")
        if name.startswith("header."):
            secrets += [value.removeprefix("Bearer "), os.environ.get(value.removeprefix("ENV:"), "")]
        elif name == "proxy":
            secrets += url_secrets(value)
        elif name == "extra_body":
            try:
                secrets += named_secrets(json.loads(value))
            except (ValueError, RecursionError):
                secrets.append(value)
    return tuple(dict.fromkeys(secret.strip() for secret in secrets if secret.strip()))


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as URLs, JSON, HTML, Python and base64 write it."""
    data = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield from (quote(data), quote(data, safe=""), quote_plus(data))
    escaped = json.dumps(secret)[1:-1]
    yield from (escaped, json.dumps(escaped)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (html.escape(secret), html.escape(secret, quote=False), repr(secret)[1:-1])
    if len(data) >= _SHORTEST_IN_ANSWERS:
        for before in range(3):
            # What stands before and after it decides the first and the last characters: they are left out.
            text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
            whole = text[-(-before * 4 // 3) : None if (before + len(data)) % 3 == 0 else -1]
            for inside in (whole, text[4:-4]):
                yield from (inside, inside.replace("+", "-").replace("/", "_"))


def without_credentials(url: str) -> str:
    """The URL as it may be shown: no user, no password, no query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
