"""Who may see the pages: whoever has the token of the address that was printed, as with Jupyter.

Other people may have accounts on the same machine, and 127.0.0.1 is theirs too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from hmac import new as keyed
from secrets import token_urlsafe

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from needlework.haystack_fixtures.errors import InputError

VARIABLE = "NEEDLEWORK_TOKEN"
PARAMETER = "token"
_GIVEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


@dataclass(frozen=True, slots=True)
class Login:
    """`token`: what opens the pages. `cookie`: the name of the cookie that is given for it.

    A browser sends cookies to all ports of a host: the name has to tell one server from another. What is in the cookie
    is made of the token, and is not the token.
    """

    token: str = field(repr=False)
    cookie: str

    def opened_by(self, token: str) -> bool:
        """Whether this is the token; in the same time for every wrong one."""
        return compare_digest(token.encode(), self.token.encode())

    def knows(self, headers: Headers) -> bool:
        """Whether a request has the cookie, or names the token as scripts do (`Authorization: Bearer TOKEN`)."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.opened_by(token.strip()):
            return True
        shown = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return compare_digest(shown.encode(), self.proof.encode())

    @property
    def proof(self) -> str:
        """What is in the cookie."""
        return keyed(self.token.encode(), b"needlework serve", sha256).hexdigest()

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie: scripts do not see it, and no other site's request carries it."""
        return f"{self.cookie}={self.proof}; Path=/; HttpOnly; SameSite=Strict"


def login_for(port: int, environment: Mapping[str, str]) -> tuple[Login, bool]:
    """The login of a server, and whether its token was given: that one is not printed. Raises `InputError`."""
    given = environment.get(VARIABLE, "")
    if given and not _GIVEN.fullmatch(given):
        raise InputError(VARIABLE, "***", "give at least 16 of A-Z, a-z, 0-9, - and _, or unset it")
    return Login(given or token_urlsafe(24), f"needlework-{port}"), bool(given)
