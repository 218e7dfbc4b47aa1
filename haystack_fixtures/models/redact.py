"""Keep secrets out of everything that is shown or written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

_SHOWN = "***"
# Servers quote rejected keys, some of them shortened, so that the exact text is not found in the message.
_KEY_LIKE = re.compile(r"\bsk-[\w*.-]{4,}|(?<=[Bb]earer )[^\s\"',]+")
_SHORTEST = 4


@dataclass(frozen=True)
class Redactor:
    """Replaces known secrets, and whatever looks like a key, by `***`."""

    secrets: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, text: str) -> str:
        """The text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, _SHOWN)
        return _KEY_LIKE.sub(_SHOWN, text)


def redactor(secrets: Iterable[str | None]) -> Redactor:
    """A redactor for these secrets; very short ones are left alone (they would eat ordinary words)."""
    known = {secret for secret in secrets if secret is not None and len(secret) >= _SHORTEST}
    return Redactor(tuple(sorted(known, key=len, reverse=True)))


def url_secrets(url: str | None) -> tuple[str, ...]:
    """The parts of a URL that must not be shown, as written and decoded."""
    if not url:
        return ()
    parts = urlsplit(url)
    found = [text for text in (parts.password, parts.query) if text]
    return tuple(dict.fromkeys(found + [unquote(text) for text in found]))
