"""A login for the tests: what the app is made with, and a client that was let in."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient
from starlette.types import ASGIApp

from needlework.results.web.guard import Login

HOST = "127.0.0.1:8765"
TOKEN = "token-of-the-tests"
LOGIN = Login(TOKEN, "needlework-8765")


def signed_in(app: ASGIApp, **options: Any) -> TestClient:
    """A client that has the cookie."""
    return TestClient(app, base_url=f"http://{HOST}", cookies={LOGIN.cookie: LOGIN.proof}, **options)
