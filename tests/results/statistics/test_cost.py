"""What a run cost: tokens by the server's count, dollars by the model's price."""

import pytest

from needlework.core.errors import InputError
from needlework.core.options import price
from needlework.core.settings import prices_of
from needlework.results.report.suites import cost_sections
from needlework.results.statistics.run_facts import SpendingCap, check_cap, cost_rows, spent
from tests.results.builders import new_record

PRICE = ("1,2", "b=10,20,1")


def answered(model="a", prompt=1_000, answer=100, cached=0, **fields):
    tokens = {"response": {"prompt_tokens": prompt, "completion_tokens": answer}, "timing": {"cached_tokens": cached}}
    return new_record(model=model, **tokens, **fields)


def test_cached_tokens_have_their_own_price_and_each_model_too():
    records = [answered(repeat=at) for at in range(2)]
    records += [answered("b", cached=600), new_record(outcome="error"), new_record(outcome="skipped")]
    first, second = cost_rows(records, PRICE)

    assert (first.model, first.answers, first.prompt_tokens, first.answer_tokens) == ("a", 2, 2_000, 200)
    assert first.dollars == pytest.approx((2_000 * 1 + 200 * 2) / 1e6)
    assert second.dollars == pytest.approx((400 * 10 + 600 * 1 + 100 * 20) / 1e6)
    assert spent(records, PRICE) == (pytest.approx(first.dollars + second.dollars), 3_300)
    assert [row.dollars for row in cost_rows(records)] == [None, None]


def test_a_second_question_is_paid_too():
    tokens = {"prompt_tokens": 1_000, "follow_up_tokens": 300, "completion_tokens": 50}

    assert spent([new_record(response=tokens)], ()) == (0.0, 1_350)


def test_tokens_that_no_server_counts_are_ours_and_answers_without_a_count_are_told():
    record = new_record(response={"completion_tokens": None}, prompt={"tokens": 980})
    (section,) = cost_sections(cost_rows([record]))

    assert section.tables[0].rows == (("mock", "1", "980", "3", "0"),)
    assert section.notes[0] == "1 answers have tokens that nobody counted"


def test_a_cap_says_what_has_reached_it_and_one_in_dollars_needs_prices():
    cap = SpendingCap(5.0, 1_000_000)

    assert cap.words == "ends at 5 dollars or 1,000,000 tokens, all sessions of the run together"
    assert cap.reached(4.99, 10) is None
    assert cap.reached(5.02, 10) == ("--max-cost", "5", "5.02 dollars")
    assert cap.reached(0, 2_000_000) == ("--max-tokens", "1000000", "2,000,000 tokens")
    with pytest.raises(InputError, match="what does openai:x cost"):
        check_cap(cap, ["b=1,2"], ["b", "openai:x"])


@pytest.mark.parametrize("written", ["1", "1,2,3,4", "a,b", "m=1", "-1,2", ""])
def test_a_price_that_is_none_is_refused(written):
    with pytest.raises(InputError, match="dollars per million"):
        price("--price", written)


def test_a_model_without_a_price_of_its_own_has_that_of_all():
    assert prices_of(["0.5, 1.5".replace(" ", "")], "any").dollars(1e6, 1e6, 1e6) == 2.0
    assert prices_of(["b=1,2"], "a") is None
