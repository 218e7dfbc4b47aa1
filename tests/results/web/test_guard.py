"""Whom the pages answer, and what a browser is told with every answer."""

import httpx2
import pytest

from tests.results.web.site import TOKEN, Site, opened, write_predictions

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = write_predictions(tmp_path_factory.mktemp("guard") / "p", {"alpha": ["yes"]})
    with opened(folder) as site:
        yield site


@pytest.fixture
def stranger(site):
    """Another account of this machine: it finds the port, and has no cookie."""
    with httpx2.Client(base_url=site.address, headers={"origin": site.address}, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:80", "127.0.0.1.evil.test", "127.0.0.1@evil.test", "[::1]", ""]
)
def test_a_name_that_is_made_to_point_here_opens_nothing(site, host):
    assert site.client.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "changed",
    [{"origin": "http://evil.test"}, {"origin": "null"}, {"origin": ""}, {"sec-fetch-site": "cross-site"},
     {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"}],
)  # fmt: skip
def test_changes_come_from_our_own_pages_alone(site, changed):
    assert site.client.post("/rating/show", headers={**FORM, **changed}).status_code == 403
    assert site.client.post("/rating/show", headers=FORM).status_code == 303


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_changes_by_another_method(site, method):
    assert site.client.request(method, "/rating/show").status_code == 405


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "%2fetc/passwd", "app.js%00.css", ""])
def test_nothing_but_what_is_static_is_static(site, path):
    assert site.client.get(f"/static/{path}").status_code == 404


def test_every_answer_tells_the_browser_to_run_nothing_of_others(site):
    fault = f"/rating/{'9' * 5000}"  # more digits than Python takes for a number
    for path, status in (("/", 200), ("/static/app.js", 200), ("/nowhere", 404), (fault, 500)):
        answer = site.client.get(path)
        assert answer.status_code == status
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["cache-control"] == "no-store"
    assert "this is a fault of Needlework (ValueError)" in site.page(fault, 500)
    assert "Traceback" not in site.page(fault, 500)


@pytest.mark.parametrize("path", ["/", "/rating/", "/rating/results", "/nowhere", f"/?token={TOKEN}x", "/?token="])
def test_without_the_token_there_is_nothing_to_see(stranger, path):
    answer = stranger.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert "with everything after the" in answer.text
    assert TOKEN not in answer.text
    assert stranger.get(path).text.startswith("open the address with ?token=")
    assert stranger.post("/rating/show", headers=FORM).status_code == 403


def test_the_token_is_taken_out_of_the_address_for_a_cookie(stranger):
    answer = stranger.get(f"/rating/?late=1&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/rating/?late=1")
    assert all(word in answer.headers["set-cookie"].lower() for word in ("httponly", "samesite=strict"))
    assert stranger.get("/rating/").status_code == 200
    assert (
        stranger.get(f"{stranger.base_url}//evil.test/?token={TOKEN}".replace("///", "//")).headers["location"]
        == "/evil.test/"
    )


def test_the_cookie_of_another_port_opens_nothing(stranger):
    for name, value in (("needlework-1", TOKEN), ("needlework-test", f"{TOKEN}x"), ("needlework-test", "ü")):
        assert stranger.get("/rating/", headers={"cookie": f"{name}={value}".encode()}).status_code == 403


def test_a_name_is_asked_for_first_and_leads_back(site):
    new = Site(site.address, "")
    assert "<h1>Your name</h1>" in new.page("/rating/")
    assert new.post("/rating/show", {}, 400).startswith("name:")
    assert new.post("/name", {"name": " ", "back": "/"}, 400).startswith("name:")
    assert new.post("/name", {"name": "Zoë 灯", "back": "//evil.test/"}) == "/evil.test/"
    new.client.cookies.delete("needlework-name", domain="")
    assert 'value="Zoë 灯"' in new.page("/rating/")
