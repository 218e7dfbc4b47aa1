"""A model's words are data: whatever it says, files stay whole, terminals unmoved, and nothing in the report runs."""

import csv
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import needlework
from tests.loopback import Said, loopback

MEGABYTE = 1_000_000
RUNS = "<script>window.pwned=1;document.title='pwned'</script><img src=/beacon onerror=\"window.pwned=1\">"
HOSTILE = {
    "script": RUNS,
    "script, closed early": f"</script></pre></td></table>--><!--{RUNS}<svg onload=window.pwned=1>",
    "handlers": "\"'` onmouseover=window.pwned=1 style=position:fixed;inset:0 <a href=javascript:window.pwned=1>x</a>",
    "template": "{{ 7*7 }}{% include '/etc/passwd' %}${window.pwned=1}#{7*7}<%= 7*7 %>",
    "ansi": "\x1b[2J\x1b[31m\x1b[1;1Hgone\x1b[0m\x9b2J\x1bc\x1b(0lqqk",
    "osc": "\x1b]0;owned\x07\x1b]8;;http://127.0.0.1/\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;cHduZWQ=\x07\x1b_Gi=1\x1b\\\x1bP1q\x1b\\",
    "formula": "=cmd|' /C calc'!A0",
    "formulas": '=HYPERLINK("http://127.0.0.1")\n+1+1\n-2+3\n@SUM(1)\t=1\r=2',
    "nul": "a\0b\0\0c",
    "all controls": "".join(map(chr, range(160))),
    "surrogates": "\ud800 \udfff \udc80\ud83d",
    "not characters": "\ufffe\uffff\U0010ffff\ufdd0\ufeff",
    "right to left": "\u202e7654321\u202c \u2067abc\u2069 \u200f\u061c",
    "invisible": "\u200b\u200c\u200d\u2060\u00ad" * 50,
    "xml": "]]> <![CDATA[ <?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>&a;\x01\x0b\ufffe",
    "json": '{"records": [], "schema": 99}\n{"key": "k", "outcome": "found"}\n"}]}',
    "csv": 'a,"b",""c""\n"d\r\ne,f;g\t\'h',
    "markdown": "| a | b |\n|---|---|\n```\n</details><h1>x</h1>[x](javascript:1) ![](http://127.0.0.1/b.png) `|`",
    "newlines": "\n" * 200_000,
    "line ends": "a\r\nb\rc\x0bd\x0ce\x1cf\x85g\u2028h\u2029i" * 50,
    "combining": "Z" + "\u0301\u0338\u20dd" * 30_000,
    "wide": "龍" * 300_000,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 5_000,
    "brackets": "[" * 100_000,
    "ten megabytes": "The code is here. " * (10 * MEGABYTE // 18),
    "regex": "a" * 30_000 + "!",
    "thinking": "<think>" * 5_000 + "</think>" * 4_999,
    "spaces": " " * 200_000 + "x",
}
COLUMNS_LEAST = 20
TURNS = {}  # of the prompts: each gets the next text


def hostile(request):
    """One of the texts for each prompt; the other fields of the answer are no better."""
    if "Ægir" in request.prompt or not request.value:  # a short request that learns how the server counts
        return Said(f"The code is {request.value}.")
    turn = TURNS.setdefault(request.prompt, len(TURNS))
    text = HOSTILE[sorted(HOSTILE)[turn % len(HOSTILE)]]
    right = f"\nThe code is {request.value}." if turn % 2 else ""
    odd = text[:2000]
    return Said(
        text + right,
        finish_reason=odd if turn % 5 == 0 else "stop",
        message={"reasoning_content": odd, "tool_calls": None, "annotations": [odd]},
        fields={"id": odd, "model": odd, "system_fingerprint": odd, "timings": {odd: odd, "cache_n": odd}},
    )


def failing(request):
    """Errors with the same texts in them, in JSON and in HTML."""
    text = HOSTILE[sorted(HOSTILE)[int(request.value or "0") % len(HOSTILE)]][:50_000]
    if len(request.prompt) % 2:
        return Said(raw=text.encode("utf-8", "surrogatepass"), status=400, kind="text/html", headers={"X-Odd": "a"})
    body = {"error": {"message": text, "type": text, "code": text, "param": [text]}}
    return Said(raw=json.dumps(body).encode(), status=422)


@pytest.fixture
def server():
    with loopback(hostile) as running:
        yield running


def ask(project, server, *args):
    return project.run(
        f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base", "--lengths=400", "--depths=0,50,100",
        "--repeats=14", "--retries=0", "--timeout=60", "--junitxml=junit.xml", "-vv", "-rA", "--tb=long",
        "--gate=score >= 0.01 per cell", *args, model="openai:m",
    )  # fmt: skip


def check_terminal(text):
    """Lines of printable text; no escape, no bell, nothing that turns the direction."""
    controls = re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text.replace("\r\n", "\n"))
    assert controls == []


def check_files(project, cells):
    folder, here = project.runs / "r", Path(project.pytester.path)

    def refuse(word):
        raise ValueError(word)

    content = json.loads((folder / "results.json").read_bytes().decode("utf-8"), parse_constant=refuse)
    assert len(content["records"]) == cells
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    assert len(rows) == cells
    assert {len(row) for row in rows} == {len(header)}
    assert len(header) > COLUMNS_LEAST
    for row in rows:
        for cell in row:
            if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell):
                assert not re.match(r"[=+\-@\t\r\n＝＋－＠]", cell), cell[:80]
            assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", cell)
            assert len(cell) < 32_767
    assert (folder / "report.html").stat().st_size < 3 * MEGABYTE
    cases = [case for case in ET.parse(here / "junit.xml").iter("testcase") if "niah-len" in case.get("name", "")]
    assert len(cases) == cells
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        json.loads(line)
    assert (here / "junit.xml").stat().st_size < 5 * MEGABYTE
    summary = (here / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## ")
    assert not re.search("<(?!details|summary|br)[a-z!/]", summary), "a server's model name may stand there"
    check_terminal(summary)


@pytest.mark.parametrize("say", [hostile, failing], ids=["answers", "errors"])
def test_a_run_survives(say, project, server, monkeypatch, capfd):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.pytester.path / "summary.md"))
    server.say = say
    result = ask(project, server)

    assert result.ret in (0, 1, 10, 11)
    check_terminal(result.stdout.str() + result.stderr.str())
    assert len(result.stdout.str()) < MEGABYTE
    check_files(project, 42)
    outcomes = {record["outcome"] for record in project.records()}
    assert ("found" in outcomes) if say is hostile else outcomes == {"error"}
    capfd.readouterr()
    run = str(project.runs / "r")
    cell = project.records()[0]["id"]
    again = (
        ["rescore", run, "--scorer=keyword"], ["plot", run, f"--out={project.pytester.path}", "--format=svg"],
        ["compare", run, f"{run}/rescored-keyword", f"--out={project.pytester.path}"], ["prompt", run, cell],
    )  # fmt: skip
    for words in again:
        code = needlework.main(words)
        out, err = capfd.readouterr()
        assert code == 0, (words, err)
        check_terminal(out + err)


def test_a_judge_that_says_it_is_an_error(project, server):
    server.say = failing
    judge = ["--judge=openai:judge", f"--judge-base-url={server.url}", "--scorer=judge_llmtest", "--lengths=400"]
    result = project.run(*judge, "-vv", "-rA", model="mock:perfect")

    assert {record["error"]["kind"] for record in project.records()} == {"judge"}
    check_terminal(result.stdout.str() + result.stderr.str())


def test_a_test_that_fails_on_it_shows_it_harmlessly(project, server):
    lines = (
        "exchange = generate(cell)",
        "score = assert_scored(exchange)",
        "assert score >= 2, exchange.answer[:2000]",
    )
    project.test_does(*lines)
    result = ask(project, server, "--showlocals")

    assert result.ret in (1, 11)
    output = result.stdout.str() + result.stderr.str()
    own_words = r"(?s)(E  |FAILED \S+ -) +AssertionError: .*?(?=\n(E +)?assert score )"
    check_terminal(re.sub(own_words, "", output))
    assert len(output) < 5 * MEGABYTE
    ET.parse(project.pytester.path / "junit.xml")
