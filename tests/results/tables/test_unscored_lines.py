"""Lines about trials without a score, and about tokens that were computed once."""

from needlework.core.record import record_of
from needlework.results.tables.summary import shared_lines, unscored_lines


def record(outcome, why="", *invalid):
    details = {"invalid": list(invalid)} if invalid else {}
    return record_of(
        {"model": "m", "task": "niah", "needle": "code", "length": 1000, "depth": 50.0, "repeat": 0}
        | {"outcome": outcome, "score": 1.0 if outcome == "found" else None, "why": why, "details": details}
    )


def test_one_line_for_each_reason():
    records = [
        record("found"),
        record("skipped", "length 900 is over the window"),
        record("invalid", "token_mismatch: counted 8", "token_mismatch"),
        record("invalid", "server_truncated: counted 4", "server_truncated"),
        record("invalid", "server_truncated: counted 5", "server_truncated"),
        record("error", "boom"),
    ]
    assert unscored_lines(records) == [
        "invalid: 2 trials: server_truncated: counted 4",
        "invalid: 1 trial: token_mismatch: counted 8",
        "skipped: 1 trial: length 900 is over the window",
    ]


def test_a_servers_words_are_data_and_scored_trials_have_no_line():
    scored = [record("found"), record("censored", "cut off")]
    (line,) = unscored_lines([*scored, record("invalid", "x: \x1b[31mred\x1b[0m\nline " + "a" * 1000, "x")])
    assert "\x1b" not in line
    assert len(line) < 330


def test_tokens_that_were_not_computed_again_are_counted_by_model(make_record):
    def records(*cached):
        fields = [{"prompt": {"tokens": 1_000}, "timing": {"cached_tokens": tokens}} for tokens in cached]
        return [make_record(repeat=at, **each) for at, each in enumerate(fields)]

    assert list(shared_lines(records(0, 900, 900))) == [
        "mock: 3,000 prompt tokens, 1,200 computed and 1,800 shared with other prompts (60 % saved)"
    ]
    assert list(shared_lines(records(0, None))) == []
