"""What a run saved by computing shared beginnings once."""

from needlework.results.tables.panels import shared_lines


def told(make_record, *cached):
    return [
        make_record(repeat=at, prompt={"tokens": 1_000}, timing={"cached_tokens": each})
        for at, each in enumerate(cached)
    ]


def test_tokens_that_were_not_computed_again_are_told_by_model(make_record):
    records = told(make_record, 0, 900, 900)
    [line] = shared_lines(records)
    assert line == "mock: 3,000 prompt tokens, 1,200 computed and 1,800 shared with other prompts (60 % saved)"


def test_nothing_is_told_where_nothing_was_shared(make_record):
    assert list(shared_lines(told(make_record, 0, None))) == []
