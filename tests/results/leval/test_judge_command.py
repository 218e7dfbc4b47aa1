"""`needlework judge`: two files of L-Eval predictions compared by a judge on a server of this machine."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from threading import Event, Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import needlework
from needlework.core.errors import InputError
from needlework.results.leval.judge import match, win_rate
from needlework.results.leval.predictions import Answers, Prediction
from tests.loopback import Said, loopback
from tests.results.builders import output, refusal, write_rows


def _answers(questions, path="mine"):
    rows = (Prediction(line, f"question {each}", "gold", f"{path} {line}") for line, each in enumerate(questions, 1))
    return Answers(Path(path), path, tuple(rows), ())


_questions = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@given(_questions, _questions)
def test_every_row_is_in_one_pair_or_alone(ours, rival):
    if not set(ours) & set(rival):
        with pytest.raises(InputError, match="has no question of"):
            match(_answers(ours), _answers(rival))
        return
    found = match(_answers(ours), _answers(rival, "its"))

    mine = [pair.ours.line for pair in found.pairs] + [row.line for row in found.alone]
    its = [pair.rival.line for pair in found.pairs] + [row.line for row in found.rival_alone]
    assert sorted(mine) == list(range(1, len(ours) + 1))
    assert sorted(its) == list(range(1, len(rival) + 1))
    assert all(pair.ours.question == pair.rival.question for pair in found.pairs)
    assert len(found.pairs) == sum(min(ours.count(each), rival.count(each)) for each in set(ours))


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "errors", "rate"),
    [
        (106, 40, 46, 0, 0.671875),  # claude against turbo as published
        (75, 84, 25, 8, 0.4755434783),  # counts of upstream's own code with a stub judge: 96 questions
        (137, 156, 55, 14, 0.4727011494),  # 181 questions
        (0, 0, 0, 2, None),
    ],
)
def test_win_rates_of_published_counts(wins, losses, ties, errors, rate):
    kinds = ["win"] * wins + ["loss"] * losses + ["tie"] * ties + [None] * errors
    pairs = len(kinds) // 2
    found = win_rate([(at % pairs, kind) for at, kind in enumerate(kinds)], pairs)
    assert (found.wins, found.ties, found.losses, found.n) == (wins, ties, losses, 2 * pairs - errors)
    assert found.of_those_there.value == (rate if rate is None else pytest.approx(rate, abs=1e-10))
    assert found.score.value == (None if errors else found.of_those_there.value)
    assert found.most - found.least == pytest.approx(errors / len(kinds))
    if rate is not None:
        assert found.of_those_there.low < rate < found.of_those_there.high
        assert found.least <= rate <= found.most
    missing = win_rate([(at % pairs, kind) for at, kind in enumerate(kinds[:-1])], pairs)
    assert missing.score.value is None


ROOT = Path(__file__).parents[3]


def rows_of(model, answers, **fields):
    return [
        {"query": f"Question {at}?", "gt": f"gold {at}", f"{model}_pred": answer, "evaluation": "LLM"} | fields
        for at, answer in enumerate(answers)
    ]


@pytest.fixture
def write(tmp_path):
    return lambda name, rows: write_rows(tmp_path / f"{name}.pred.jsonl", rows)


@pytest.fixture
def both(write):
    """Twelve questions; our answer is right to the first nine, the rival's to the last six."""
    ours = ["right" if at < 9 else "wrong" for at in range(12)]
    rival = ["right" if at >= 6 else "wrong" for at in range(12)]
    return write("ours", rows_of("ours", ours)), write("rival", rows_of("rival", rival))


def judge(server, *words):
    return needlework.main(["judge", *map(str, words), "--judge", "openai:stub", "--judge-base-url", server.url])


def judged(capsys, server, *words, code=0):
    """What is printed of the verdicts."""
    assert judge(server, *words) == code
    return capsys.readouterr().out


def answers_in(asked):
    first, second = (asked.prompt.split(f"[Answer {name}]\n")[1].split("\n[End")[0] for name in "AB")
    return first, second


def fair(asked):
    """Prefers the right answer, wherever it stands."""
    first, second = answers_in(asked)
    return Said("Reasons. [[C]]" if first == second else "Reasons. [[A]]" if first == "right" else "Reasons. [[B]]")


def replies_in(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def rates(out):
    """The rows of the table: compat, strict."""
    return [line.split() for line in out.splitlines() if line.startswith(("compat ", "strict "))]


def test_a_fair_judge_counts_every_pair_twice(both, tmp_path, capsys):
    with loopback(fair) as server:
        out = judged(capsys, server, *both, "--out", tmp_path / "out.json")
    assert "ours against rival, 12 pairs, each in both orders" in out
    compat, strict = rates(out)
    # Six wins, three losses, three ties, each in both orders.
    assert compat[1:] == strict[1:]
    assert strict[:9] == ["strict", "12", "6", "6", "0", "24", "of", "24", "62.50"]
    assert "same verdict in both orders: 100.00 % of 12 pairs" in out
    assert "the answer shown first preferred: 50.00 % of 18 verdicts" in out
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["rates"]["strict"]["score"]["value"] == 0.625
    assert content["items"][7]["strict"] == ["tie", "tie"]
    replies = tmp_path / "ours.judge.jsonl"
    assert len(replies_in(replies)) == len(server.requests) == 24
    item = next(row["item"] for row in replies_in(replies) if row["line"] == 1)
    labels = tmp_path / "audit.jsonl"
    labels.write_text(replies.read_text() + json.dumps({"item": item, "human": "win"}))
    assert needlework.main(["judge-audit", str(labels)]) == 0
    out = capsys.readouterr().out
    assert "human and judge agree: 100.00 %" in out
    assert "agrees with itself: 100.00 % of 12 equal answers" in out


def test_a_judge_sees_no_names_and_one_that_likes_the_first_answer_is_seen(write, capsys):
    ours = write("ours", rows_of("secret-model", ["one"], prompt="Document is as follows. The whole document."))
    with loopback(lambda _: Said("[[A]]")) as server:
        assert judge(server, ours, write("rival", rows_of("other-model", ["two"]))) == 0
    for asked in server.requests:
        assert not any(words in asked.prompt for words in ("secret-model", "other-model", "The whole document"))
        assert asked.body["temperature"] == 0
        assert (asked.body.get("max_tokens") or asked.body.get("max_completion_tokens")) == 2048
    out = capsys.readouterr().out
    assert rates(out)[1][8] == "50.00"
    assert "same verdict in both orders: 0.00 % of 1 pairs" in out
    assert "the answer shown first preferred: 100.00 % of 2 verdicts" in out


def test_an_unreadable_reply_is_asked_for_once_more(both, tmp_path):
    seen = set()
    lock = Lock()

    def stumbling(asked):
        with lock:
            is_second = asked.prompt in seen
            seen.add(asked.prompt)
        first, second = answers_in(asked)
        return fair(asked) if is_second or first == second else Said("I choose among [[A]], [[B]] and [[C]].")

    with loopback(stumbling) as server:
        assert judge(server, *both, "--out", tmp_path / "out.json") == 0
    assert len(server.requests) == 42  # 18 of the 24 twice
    found = json.loads((tmp_path / "out.json").read_text())["rates"]
    assert (found["strict"]["wins"], found["strict"]["losses"]) == (12, 6)
    # L-Eval's code reads A wherever it is named, in the only reply that it asks for.
    assert (found["compat"]["wins"], found["compat"]["losses"], found["compat"]["ties"]) == (9, 9, 6)


def test_a_reply_without_a_verdict_is_an_error_and_asked_for_again_by_the_next_run(both, tmp_path, capsys):
    with loopback(lambda asked: Said("Hard to say.") if "Question 3?" in asked.prompt else fair(asked)) as server:
        out = judged(capsys, server, *both, code=1)
        compat, strict = rates(out)
        assert compat[:9] == ["compat", "10", "6", "6", "2", "22", "of", "24", "59.09"]
        assert strict[4:] == ["2", "22", "of", "24", "–", "–"]
        assert "22 of 24 judgements are there; whatever the others say, it is from 54.17 to 62.50" in out
        assert "judgements without a verdict, 2: line 4: the reply cannot be read" in out
        rows = [row for row in replies_in(tmp_path / "ours.judge.jsonl") if row["line"] == 4]
        assert [(row["verdict"], len(row["replies"])) for row in rows] == [(None, 2)] * 2

        server.say = fair
        for code, count in ((0, 2), (0, 0)):  # both orders of the question without a verdict; nothing
            server.requests.clear()
            assert (judge(server, *both), len(server.requests)) == (code, count)
        both[0].write_text(both[0].read_text().replace('"right"', '"quite right"', 1))
        judge(server, *both)
    assert "questions asked now: 2;" in capsys.readouterr().out, "another answer is another question"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_it_with_a_line_and_keeps_the_replies(both, tmp_path, capsys, name):
    count, over = Counter[str](), Event()

    def ending(asked):
        count["all"] += 1
        if count["all"] == 20:
            os.kill(os.getpid(), getattr(signal, name))
            over.wait(10)
        return fair(asked)

    with loopback(ending) as server:
        assert judge(server, *both, "--concurrency", 1) == 2
        over.set()
    assert capsys.readouterr().err == "needlework judge: stopped; the same command goes on where it was\n"
    assert len(replies_in(tmp_path / "ours.judge.jsonl")) >= 10


def test_keys_and_passwords_are_in_no_file_and_no_line(both, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-verysecretkey123")

    def refuse(asked):
        error = {"error": {"message": f"bad key {asked.headers['authorization']}"}}
        return Said(raw=json.dumps(error).encode(), status=401)

    with loopback(refuse) as server:
        url = server.url.replace("http://", "http://user:hidden-password@")
        words = ["judge", *map(str, both), "--judge=openai:stub", f"--judge-base-url={url}", "--api-key-env=JUDGE_KEY"]
        refused = refusal(capsys, *words)
        assert "needlework judge: --judge: 'openai:stub'" in refused
        server.say = lambda asked: Said(f"{asked.headers['authorization']} [[A]]")
        assert needlework.main([*words, "--out", str(tmp_path / "out.json")]) == 0
    everything = "".join(path.read_text() for path in tmp_path.iterdir()) + "".join(capsys.readouterr()) + refused
    assert "verysecret" not in everything
    assert "hidden-password" not in everything


def test_rows_without_a_partner_and_questions_asked_twice_are_named(write, capsys, tmp_path):
    ours = write("ours", [*rows_of("ours", ["right"] * 4), "{", {"query": "No answer?", "gt": "x"}])
    rival = rows_of("rival", ["wrong"] * 5)
    rival[2]["query"] = "Another wording?"
    with loopback(fair) as server:
        out = judged(capsys, server, ours, write("rival", rival), code=1)
        for words in (
            "3 pairs", "ours.pred.jsonl: lines 3\n", "rival.pred.jsonl: lines 3, 5\n",
            "2: line 5: is not a JSON object; line 6: has no text under ours_pred",
        ):  # fmt: skip
            assert words in out
        compat, strict = rates(out)
        assert compat[5:9] == ["6", "of", "6", "100.00"]
        assert strict[5:9] == ["6", "of", "12", "–"]

        mine, its = rows_of("ours", ["right", "wrong", "right"]), rows_of("rival", ["wrong", "right", "wrong"])
        for row in (mine[1], its[1]):
            row |= {"query": mine[0]["query"], "gt": mine[0]["gt"]}
        out = judged(capsys, server, write("ours", mine), write("rival", its), "--out", tmp_path / "out.json")
    assert "asked more than once, 1 questions: 2 pairs, in the order of the rows: lines 1, 2\n" in out
    content = json.loads((tmp_path / "out.json").read_text())
    assert [item["strict"] for item in content["items"]] == [["win"] * 2, ["loss"] * 2, ["win"] * 2]
    assert content["repeated"] == [[[1, 1], [2, 2]]]


def test_two_models_of_one_file(write, tmp_path, capsys):
    both = write("both", [row | {"b_pred": "wrong"} for row in rows_of("a", ["right"] * 2)])
    out = tmp_path / "out.json"
    output(capsys, "judge", both, "--model=a", "--rival-model=b", "--judge=mock:judge", "--out", out)
    content = json.loads(out.read_text())
    assert (content["ours"]["model"], content["rival"]["model"]) == ("a", "b")
    assert content["rates"]["compat"]["expected"] == 4


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("auto_eval.py", "score leval"), ("llm_eval", "judge"),
        ("web_human_eval", "serve"), ("web_annotate_jsonl", "serve"),
    ],
)  # fmt: skip
def test_levals_scripts_are_named_in_docs_and_by_the_command_line(script, command, capsys):
    assert needlework.main([script]) == 2
    assert f"`needlework {command}` here" in capsys.readouterr().err
    lines = (ROOT / "docs" / "leval.md").read_text(encoding="utf-8").splitlines()
    [row] = [line for line in lines if f"/{script.removesuffix('.py')}.py" in line]
    assert f"`needlework {command} " in row


def test_input_that_cannot_be_judged(both, write, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ours, rival = both
    before = rival.read_bytes()
    stranger = write("stranger", [row | {"gt": "else"} for row in rows_of("s", ["a"])])
    several = write("several", [row | {"b_pred": "x"} for row in rows_of("a", ["a"])])
    mock = "--judge=mock:perfect"
    for words, told in (
        ((ours, mock), "RIVAL: '': give the rival's file"),
        ((ours, rival, mock, "--concurrency=0"), "--concurrency: '0'"),
        ((ours, rival, "--judge=gtp"), "--judge: 'gtp': use one of"),
        ((ours, rival, "--judge=openai:x", "--judge-base-url=nowhere"), "--judge-base-url: 'nowhere'"),
        ((ours, rival, "--judge=openai:x", "--judge-base-url=https://example.com/v1"), "--api-key-env"),
        ((ours, tmp_path / "none", mock), "RIVAL: "),
        ((tmp_path / "none", rival, mock), "PREDICTIONS: "),
        ((tmp_path, rival, mock), "of a run: needlework leval-export RUN writes them"),
        ((ours, rival, "--judge=openai:x"), "or another server: --judge-base-url URL"),
        ((ours, ours, mock), "would be compared with itself"),
        ((ours, stranger, mock), "has no question of"),
        ((ours, several, mock), "give --rival-model, one of a, b"),
        ((ours, rival, mock, "--rival-model=c"), "--rival-model: 'c'"),
        ((ours, rival, mock, "--replies", rival), "is no file of a model's replies"),
        ((ours, rival, mock, "--replies", tmp_path), "--replies"),
    ):
        assert told in refusal(capsys, "judge", *words)
    assert rival.read_bytes() == before
