"""Asking a model many questions, and judges against people: agreement by its definitions, `needlework judge-audit`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.judging import ask
from needlework.results.judging.ask import ask_all, question_to
from needlework.results.statistics.agreement import agreement, ordinal_alpha, weighted_kappa
from needlework.scoring.judges.judges import read_choice
from tests.published_rows import write_copy
from tests.results.builders import asked, changed, output, refusal, write_rows, write_run


@dataclass
class Judge:
    """Says `[[A]]`, or does what a question's text says."""

    at_once: int = 1
    identity: Mapping[str, Any] = field(default_factory=lambda: {"spec": "stub"})
    option: str = "--judge"
    tell: Callable[[str], object] = print
    closed: Event = field(default_factory=Event)

    def ask(self, system, user):
        if user == "refuse":
            raise InputError("--judge", "stub", "the key is not valid")
        if user.startswith("fail"):
            self.closed.wait(0.01)
            raise RuntimeError("it did not answer")
        if user == "wait until closed":
            assert self.closed.wait(10)
            raise RuntimeError("the run is over")
        return "[[A]]"

    def close(self):
        self.closed.set()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.jsonl"


def rows_after(judge, path, *users):
    """Ask, and return the rows of the file."""
    questions = [question_to(judge, "s", user, {"item": user}) for user in users]
    ask_all(questions, judge, read_choice, path, fields=lambda _, replied: {"verdict": bool(replied.replies)})
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_question_that_failed_is_asked_again_by_the_next_run_and_a_good_one_is_not(path):
    rows = rows_after(Judge(), path, "one", "fail", "two", "one")
    problems = [(row["item"], row["problem"]) for row in rows]
    assert problems == [("one", None), ("fail", "it did not answer"), ("two", None)]
    assert [row["item"] for row in rows_after(Judge(), path, "one", "fail", "two")[3:]] == ["fail"]
    assert len(rows_after(Judge(identity={"spec": "other"}), path, "one")) == 5, "another judge is asked anew"


def test_a_judge_of_no_use_ends_it_and_what_came_stays(path):
    judge = Judge()
    with pytest.raises(InputError, match="the key is not valid"):
        rows_after(judge, path, "one", "refuse", "two")
    assert json.loads(path.read_text().splitlines()[0])["item"] == "one"
    assert judge.closed.is_set()


def test_nothing_but_errors_ends_it_and_names_the_error(path):
    users = [f"fail {at}" for at in range(30)]
    with pytest.raises(InputError, match=r"--judge: 'stub': none of its first 10 questions was answered; it did not"):
        rows_after(Judge(), path, *users)
    count = len(path.read_text().splitlines())
    assert 10 <= count <= 15, "the next had begun"
    assert len(rows_after(Judge(), path, *users[:3])) == count + 3, "errors are asked again"


def test_errors_after_a_reply_do_not_end_it_nor_does_a_reply_of_an_earlier_session(path):
    users = ["one", *(f"fail {at}" for at in range(30))]
    assert len(rows_after(Judge(), path, *users)) == 31
    assert len(rows_after(Judge(), path, *users)) == 61


def test_progress_is_told_now_and_then(path, monkeypatch):
    monkeypatch.setattr(ask, "FIRST_S", 0.05)
    told = []
    judge = Judge()
    judge.tell = lambda line: (told.append(line), judge.close())
    rows_after(judge, path, "one", "fail", "wait until closed")
    assert told == ["judge: 2 of 3 questions done, 1 without a reply (it did not answer)"]


def test_questions_cut_off_by_closing_the_judge_are_not_in_the_file(path):
    with pytest.raises(InputError):
        rows_after(Judge(at_once=2), path, "wait until closed", "refuse")
    assert path.read_text() == ""


def test_damaged_lines_are_asked_again_and_a_file_that_has_only_begun_is_gone_on_with(path):
    rows_after(Judge(), path, "one", "two", "three")
    lines = path.read_text().splitlines()
    damaged = "\n".join([lines[0], lines[1][:-9], '{"key": 5}', "[]", lines[2], '{"key":"half'])
    judge = Judge()
    questions = [question_to(judge, "s", user) for user in ("one", "two", "three")]
    for content, count in ((damaged, 1), ("", 3), ('{"key":"', 3), ('{"ke', 3)):
        path.write_text(content)
        assert ask_all(questions, judge, read_choice, path, fields=lambda *_: {}).count == count


def test_answers_are_judged_and_counted_by_question_and_category(tmp_path, capsys):
    rows = [{"question_id": number, "prediction": text} for number, text in ((1, "12"), (3, " "), (99, "?"))]
    rows.append({"id": "q002", "prediction": "May"})
    answers, out = write_rows(tmp_path / "a.jsonl", rows), tmp_path / "out.json"
    words = ("--data", write_copy(tmp_path), "--judge", "mock:judge=1", "--out", out)

    lines = output(capsys, "score", "aa-lcr", answers, *words).splitlines()
    assert lines[0].startswith("AA-LCR 1.1, a.jsonl: 66.7 % (95 % interval ")
    assert lines[0].endswith(", n = 3, 3 of 4 questions")
    assert lines[1:4] == [
        "Company Documents: 0 % (one set of documents: no interval), n = 1",
        "Legal: 100 % (one set of documents: no interval), n = 2",
        "left out, as the data has no such question: 1",
    ]
    (content,) = json.loads(out.read_text(encoding="utf-8"))["answers"]
    assert [item["correct"] for item in content["items"]] == [1.0, 0.0, 1.0]
    assert len((tmp_path / "a.judge.jsonl").read_text(encoding="utf-8").splitlines()) == 2, "a blank one is not asked"


def test_answers_without_questions_of_the_data_are_refused(tmp_path, capsys):
    words = ("--data", write_copy(tmp_path), "--judge", "mock:judge")
    answers = write_rows(tmp_path / "a.jsonl", [{"prediction": "12"}])
    assert "has no question_id of the data" in refusal(capsys, "score", "aa-lcr", answers, *words)


# Four observers, twelve units, marks missing: Krippendorff (2011), part C; the ordinal alpha is 0.815.
_PUBLISHED = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
UNITS = [[int(mark) for mark in column if mark != "."] for column in zip(*map(str.split, _PUBLISHED), strict=True)]
marks = st.integers(1, 5)


def test_krippendorffs_own_example_has_an_interval_and_fewer_than_ten_units_have_none():
    alpha = ordinal_alpha(UNITS, range(12), 5)

    assert alpha.value == pytest.approx(0.815, abs=0.0005)
    assert -1 <= alpha.low <= alpha.value <= alpha.high <= 1
    assert ordinal_alpha(UNITS[:6], range(6), 5).low is None


@given(st.lists(st.lists(marks, max_size=4), max_size=9))
def test_alpha_is_what_its_definition_says(units):
    """Observed over expected disagreement, pair by pair, with the distance of the paper."""
    pairable = [unit for unit in units if len(unit) > 1]
    every = [mark for unit in pairable for mark in unit]

    def distance(one, other):
        low, high = min(one, other), max(one, other)
        return (sum(low <= mark <= high for mark in every) - (every.count(low) + every.count(high)) / 2) ** 2

    n = len(every)
    observed = sum(distance(*pair) / (len(unit) - 1) for unit in pairable for pair in permutations(unit, 2)) / max(n, 1)
    expected = sum(distance(*pair) for pair in permutations(every, 2)) / max(n * (n - 1), 1)
    found = ordinal_alpha(units, range(len(units)), 5).value
    if expected == 0:
        assert found is None
    else:
        assert found == pytest.approx(1 - observed / expected)


@given(st.lists(st.tuples(marks, marks), min_size=1, max_size=9))
def test_weighted_kappa_is_lins_concordance(pairs):
    """With squared weights: 2 cov / (var + var + (mean - mean)²), with n below (Lin 1989; King, Chinchilli 2001)."""
    n = len(pairs)
    one, other = zip(*pairs, strict=True)
    a, b = sum(one) / n, sum(other) / n
    covariance = sum((x - a) * (y - b) for x, y in pairs) / n
    spread = sum((x - a) ** 2 for x in one) / n + sum((y - b) ** 2 for y in other) / n + (a - b) ** 2
    found = weighted_kappa(pairs, range(n), 5).value
    if spread < 1e-9:
        assert found is None
    else:
        assert found == pytest.approx(2 * covariance / spread, abs=1e-9)


def pairs_of(*cells):
    pairs = [(one, other) for one, other, count in cells for _ in range(count)]
    return pairs, list(map(str, range(len(pairs))))


def test_the_textbook_table():
    # 50 proposals, two readers: observed 0.7, by chance 0.5.
    both = agreement(*pairs_of(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15)))

    assert (both.agreement.value, both.kappa.value) == pytest.approx((0.7, 0.4))
    assert (both.labels, both.table) == (("no", "yes"), ((15, 10), (5, 20)))
    # The large-sample error is 0.1262 (Fleiss, Cohen, Everitt 1969): 0.153 to 0.647.
    assert (both.kappa.low, both.kappa.high) == pytest.approx((0.153, 0.647), abs=0.03)


def test_too_little_has_no_kappa_or_no_interval():
    one_label = agreement(*pairs_of(("win", "win", 12)))
    few = agreement(*pairs_of(("win", "win", 3), ("loss", "win", 1), ("loss", "loss", 2)))
    nothing = agreement([], [])

    assert (one_label.agreement.value, one_label.kappa.value) == (1.0, None)
    assert (few.kappa.value, few.kappa.low) == (pytest.approx(2 / 3), None)
    assert (nothing.agreement.value, nothing.kappa.value, nothing.n) == (None, None, 0)


def test_many_verdicts_on_one_item_say_no_more_than_one():
    pairs, items = pairs_of(("win", "win", 20), ("loss", "win", 10), ("loss", "loss", 20))
    once, thrice = agreement(pairs, items), agreement(pairs * 3, items * 3)

    assert thrice.kappa == once.kappa
    assert (thrice.n, thrice.items) == (150, 50)
    assert thrice.agreement.low == pytest.approx(once.agreement.low, abs=0.01)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_never_above_agreement(pairs):
    items = list(map(str, range(len(pairs))))
    one, other = agreement(pairs, items), agreement([(right, left) for left, right in pairs], items)

    assert one.agreement.value is not None
    if one.kappa.value is not None:
        assert other.kappa.value == pytest.approx(one.kappa.value)
        assert -1 <= one.kappa.value <= one.agreement.value + 1e-9


@pytest.fixture
def audit(capsys):
    """The lines of the command."""
    return lambda *words: output(capsys, "judge-audit", *words).splitlines()


def test_verdicts_beside_labels_and_beside_each_other(tmp_path, audit):
    """Labels may stand in rows of their own, below the file that `needlework judge` writes."""
    lines = [{"item": f"a{at}", "verdict": "win"} for at in range(20) for _ in range(2)]
    lines += [{"item": f"b{at}", "human": "win", "verdict": "loss"} for at in range(5)]
    lines += [{"item": f"c{at}", "human": "loss", "verdict": "win"} for at in range(10)]
    lines += [{"item": f"d{at}", "human": "loss", "verdict": say} for at in range(15) for say in ("loss", "win")]
    lines += [{"item": f"a{at}", "human": "win"} for at in range(20)]
    lines += [{"item": "e", "human": 7, "verdict": 7.0}, {"item": "e", "verdict": None}, {"item": "f", "verdict": "7"}]
    out = audit(write_rows(tmp_path / "labels.jsonl", lines))
    assert out[0] == "88 answers to 52 questions; 1 judgements without a verdict"
    assert out[1].startswith("human and judge agree: 65.12 %")  # 40 + 15 + 1 of 86
    assert out[-1].startswith("the judge agrees with itself: 57.14 % of 35 equal answers")  # 20 of 35
    table = [line.split() for line in out[3:-1]]
    assert table[2:] == [["loss", "0", "15", "25"], ["win", "0", "5", "40"]]


def test_a_table_may_be_csv(tmp_path, audit):
    path = write_rows(tmp_path / "marks.csv", ["item,human,verdict,note", "1,7,7,", '2,8,7,"two', 'lines"', "2,8,,"])
    out = audit(path)
    assert out[0].endswith("1 judgements without a verdict")
    assert [line.split() for line in out[-2:]] == [["7", "1", "0"], ["8", "1", "0"]]


def test_judge_rule_and_people_on_answers_of_a_run(tmp_path, audit):
    records = [asked(q, "found", rule="found") for q in range(10)]
    records += [asked(q, "found", rule="wrong") for q in range(10, 15)]
    records += [asked(q, "wrong", rule="wrong") for q in range(15, 20)]
    records.append(asked(20, "error", scorer="judge_documents", error={"kind": "judge", "message": "unreadable"}))
    out = audit(write_run(tmp_path, records))
    assert out[0] == "21 answers to 21 questions; 1 judgements without a verdict"
    assert out[1].startswith("rule and judge agree: 75.00 %")
    assert "Cohen's kappa: 0.500" in out[2]
    assert [line.split() for line in out[-2:]] == [["right", "10", "0"], ["wrong", "5", "5"]]
    labels = write_rows(tmp_path / "l.jsonl", [{"item": asked(q).id, "human": q < 15} for q in range(20)])
    out = audit(tmp_path / "results.json", "--labels", labels)
    assert [line.partition(" (")[0] for line in out if "agree:" in line] == [
        "rule and judge agree: 75.00 %", "human and judge agree: 100.00 %", "human and rule agree: 75.00 %",
    ]  # fmt: skip


def test_marks_of_nine_and_ten_are_right(tmp_path, audit):
    marks = ("found", "found", "found", "partial", "wrong", "empty")
    records = [
        changed(asked(0, mark, task="niah", repeat=number, scorer="judge_evalscope"), question=f"The code of {number}?")
        for number, mark in enumerate(marks)
    ]
    out = audit(write_run(tmp_path, records))
    assert out[0].startswith("5 answers to 5 questions; 0 ")
    assert out[1].startswith("nothing to compare the judge with: give --labels")
    people = [{"item": each.id, "human": number < 2} for number, each in enumerate(records[:5])]
    out = audit(tmp_path, "--labels", write_rows(tmp_path / "labels.jsonl", people))
    assert out[1].startswith("human and judge agree: 80.00 %")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("a.jsonl", [], "is empty"),
        ("a.jsonl", ["not JSON"], "line 1 is not a JSON object"),
        ("a.jsonl", ["[" * 100_000], "line 1 is not a JSON object"),
        ("a.jsonl", [{"human": "win"}], "line 1 has no `item`"),
        ("a.jsonl", [{"item": "a", "verdict": ["win"]}], "line 1: a label is text"),
        ("a.jsonl", [{"item": "a", "human": "x"}, {"item": "a", "human": "y"}], "line 2: a has the human labels x and"),
        ("a.jsonl", [{"item": "a", "human": "win"}], "has neither"),
        ("a.jsonl", [{"item": at, "human": at} for at in range(51)], "51 different labels"),
        ("a.jsonl", [{"item": "a", "judge": "x"}, {"item": "a", "judge": "y"}], "verdicts of several judges, x, y"),
        ("a.csv", ["item,label"], "has no column human and verdict"),
        ("b.csv", ["item,human,verdict", 'a,"b'], "is no CSV"),
        ("none.csv", None, "cannot be read"),
        ("results.json", None, "does not exist"),
        ("results.json", [], "is empty: give a run's folder, or its results.json"),
        ("results.json", ["\x80"], "is binary, not JSON: give a run's folder, or its results.json"),
    ],
)
def test_files_that_cannot_be_audited(tmp_path, capsys, name, lines, message):
    path = tmp_path / name if lines is None else write_rows(tmp_path / name, lines)
    if lines == ["\x80"]:
        path.write_bytes(b"\x80")
    assert message in refusal(capsys, "judge-audit", path)


def test_labels_and_runs_that_do_not_fit(tmp_path, capsys):
    path = write_rows(tmp_path / "l.jsonl", [{"item": "other", "human": "right"}])
    assert "goes with a run" in refusal(capsys, "judge-audit", path, "--labels", path)
    assert "--scorer judge_documents" in refusal(capsys, "judge-audit", write_run(tmp_path, [asked(0)]))
    write_run(tmp_path, [asked(0, rule="found")])
    assert "is no record of" in refusal(capsys, "judge-audit", tmp_path, "--labels", path)
    write_rows(path, [{"item": asked(0).id, "human": "maybe"}])
    assert "`right` or `wrong`" in refusal(capsys, "judge-audit", tmp_path, "--labels", path)
