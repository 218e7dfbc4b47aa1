"""Whom the pages answer, and what a browser is told with every answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.results.web.rating_site import HEADERS, Site, predictions
from tests.results.web.signed_in import HOST, LOGIN, TOKEN, signed_in

JSON = {**HEADERS, "content-type": "application/json"}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    predictions(tmp_path, {"alpha": ["yes"]})
    app = Site(tmp_path, state=tmp_path / "state").client.app
    return signed_in(app, raise_server_exceptions=False)


@pytest.mark.parametrize("host", ["evil.test", f"evil.test:{HOST[-4:]}", f"{HOST}@evil.test", f"[::1]:{HOST[-4:]}", ""])
def test_a_name_that_is_made_to_point_here_is_no_way_in(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"sec-fetch-site": "cross-site"},
        {"x-needlework-token": "of an earlier start"},
        {"x-needlework-token": ""},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/plain"},
    ],
)
def test_changes_come_from_our_own_pages_alone(client: TestClient, changed: Mapping[str, str]) -> None:
    assert client.post("/rating/begin", content='{"name": "Ann"}', headers={**JSON, **changed}).status_code == 403
    assert client.post("/rating/begin", content='{"name": "Ann"}', headers=JSON).json() == {"annotator": 1}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_changes_by_another_method(client: TestClient, method: str) -> None:
    answer = client.request(method, "/rating/begin", content='{"name": "Ann"}', headers=JSON)
    assert answer.status_code == 405
    assert "annotator" not in answer.text


@pytest.mark.parametrize(
    "path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "%2fetc/passwd", "app.js%00.css", "%00", ""]
)
def test_nothing_but_what_is_static_is_static(client: TestClient, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


def test_every_answer_tells_the_browser_to_run_nothing_of_others(client: TestClient) -> None:
    fault = f"/rating/of/{'9' * 5000}/"  # more digits than Python takes for a number
    for path, status in (("/", 200), ("/static/app.js", 200), ("/nowhere", 404), (fault, 500)):
        answer = client.get(path)
        assert answer.status_code == status
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["cache-control"] == "no-store"


def test_a_fault_of_ours_is_one_line_without_where_it_happened(client: TestClient) -> None:
    answer = client.get(f"/rating/of/{'9' * 5000}/", headers={"accept": "text/html"})
    assert "this is a fault of Needlework (ValueError)" in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("depth", [400, 600, 900, 5000])
def test_what_is_nested_too_deep_is_refused(client: TestClient, depth: int) -> None:
    body = f'{{"name": {"[" * depth}{"]" * depth}}}'
    assert client.post("/rating/begin", content=body, headers=JSON).status_code == 400


def test_more_than_a_page_may_send_is_refused(client: TestClient) -> None:
    answer = client.post("/rating/begin", content='{"name": "' + "x" * (17 << 20) + '"}', headers=JSON)
    assert answer.status_code == 400


@pytest.fixture
def stranger(client: TestClient) -> TestClient:
    """Another account of this machine: it finds the port, and has no cookie."""
    return TestClient(client.app, base_url=f"http://{HOST}", follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/rating/", "/rating/results", "/nowhere", f"/?token={TOKEN}x", "/?token="])
def test_without_the_token_there_is_nothing_to_see(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert "with everything after the" in answer.text
    assert TOKEN not in answer.text
    assert 'name="token"' not in answer.text
    assert stranger.get(path).json()["error"].startswith("log in first")
    assert stranger.post("/rating/begin", content='{"name": "Ann"}', headers=JSON).status_code == 403


def test_the_token_is_taken_out_of_the_address_for_a_cookie(stranger: TestClient) -> None:
    answer = stranger.get(f"/rating/?late=1&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/rating/?late=1")
    assert answer.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert TOKEN not in answer.headers["set-cookie"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert stranger.get("/rating/").status_code == 200
    assert stranger.get(f"http://{HOST}//evil.test/?token={TOKEN}").headers["location"] == "/evil.test/"


def test_a_script_names_the_token_in_a_header(stranger: TestClient) -> None:
    assert stranger.get("/rating/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", "Bearer é".encode()):
        assert stranger.get("/rating/", headers={"authorization": wrong}).status_code == 403


def test_the_cookie_of_another_port_opens_nothing(stranger: TestClient) -> None:
    for name, value in ((LOGIN.cookie, TOKEN), ("needlework-1", LOGIN.proof), (LOGIN.cookie, "ü")):
        cookie = f"{name}={value}".encode()
        assert stranger.get("/rating/", headers={"cookie": cookie}).status_code == 403
