"""JSON in and out of a page: what may stand in it, and how it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError

Change = Callable[[Request, Mapping[str, Any]], Response]
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def told(content: object, status: int = 200) -> Response:
    """JSON in ASCII: half a surrogate pair, which some model sent, has no UTF-8."""
    dump = partial(json.dumps, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    try:
        text = dump(content)
    except ValueError:  # a file may have numbers that JSON has not
        text = dump(_finite(content))
    return Response(text, status, media_type="application/json")


def changing(path: str, change: Change, *, as_sent: bool = False) -> Route:
    """A route that takes a change: a POST of a JSON object. `change` runs in a thread; half a surrogate pair in the
    object is U+FFFD, as SQLite takes no other text, but where it wants all `as_sent`."""

    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
            body = body if as_sent else _storable(body)
        except (ValueError, RecursionError, ClientDisconnect):
            raise InputError("change", "", "is no JSON, or more than a page may send") from None
        if not isinstance(body, dict):
            raise InputError("change", "", "is no JSON object")
        return await run_in_threadpool(change, request, body)

    return Route(path, endpoint, methods=["POST"])


def text_of(body: Mapping[str, Any], name: str, longest: int) -> str:
    """A text of a change, of at most `longest` characters. Raises `InputError`."""
    value = body.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise InputError(name, value, f"give a text of up to {longest:,} characters")
    return value


def number_of(body: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A whole number of a change. Raises `InputError`."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(name, value, f"give a whole number from {least} to {most}")
    return value


def _finite(value: Any) -> Any:
    """With NaN and infinities as texts."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return value
