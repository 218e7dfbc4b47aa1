"""What was asked the same is ranked together; what was not, apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.record import Record
from needlework.results.statistics.leaderboard.boards import Candidate, boards_of
from needlework.results.statistics.leaderboard.entries import entries_of
from needlework.results.statistics.panels import asked_of
from needlework.results.tables.leaderboard import board_head, board_notes, board_row, board_title, effective_words

Make = Callable[..., Record]


@pytest.fixture
def candidate(make_record: Make) -> Callable[..., Candidate]:
    """A model with 2 lengths x 12 repeats of each task; `outcome` says what became of each (length, repeat)."""

    def build(
        name: str,
        outcome: Callable[[int, int], str],
        *,
        tasks: tuple[str, ...] = ("niah",),
        setting: str = "",
        why: str = "",
        asked: Mapping[str, object] | None = None,
        **fields: Any,
    ) -> Candidate:
        records = [
            make_record(model=name, task=task, length=length, repeat=repeat, outcome=outcome(length, repeat), **fields)
            for task in tasks
            for length in (1000, 4000)
            for repeat in range(12)
        ]
        entries = {entry.task: entry for entry in entries_of(asked_of(reversed(records)))}
        addressed = dict.fromkeys(entries, asked or {})
        return Candidate(name, f"run-{name}", "", entries, dict.fromkeys(entries, setting), why, addressed)

    return build


def test_a_board_of_one_sample_says_so(make_record: Make) -> None:
    entries = {
        entry.task: entry for entry in entries_of(asked_of([make_record(depth=depth) for depth in (0.0, 100.0)]))
    }
    (board,) = boards_of([Candidate("one", "run-one", "", entries, dict.fromkeys(entries, ""), "")])
    assert board_title(board).startswith("niah: 2 trials of 1 sample, 1k tokens")


def test_who_was_asked_in_another_way_is_marked_and_told_with_what_differs(candidate: Callable[..., Candidate]) -> None:
    usual: dict[str, object] = {"template": "chat", "system_prompt": None}
    tasks = ("chain", "niah")
    boards = boards_of(
        [
            candidate("a", lambda *_: "found", tasks=tasks, asked=usual),
            candidate("b", lambda *_: "found", tasks=tasks, asked=usual | {"system_prompt": "Be terse."}),
            candidate("c", lambda *_: "wrong", tasks=tasks, asked=usual),
        ]
    )
    assert len(boards) == 3
    for board in boards:
        assert [board_row(board, row)[1] for row in board.rows] == ["a", "b *", "c"]
        assert board_notes(board)[-1].endswith('which may be what differs: b (system prompt "Be terse.", others none)')
    same = boards_of([candidate(name, lambda *_: "found", asked=usual) for name in "ab"])
    assert "*" not in "".join(board_notes(same[0]))


def test_the_better_model_stands_first_and_equal_ones_are_tied(candidate: Callable[..., Candidate]) -> None:
    (board,) = boards_of(
        [
            candidate("poor", lambda *_: "wrong"),
            candidate("good", lambda *_: "found"),
            candidate("fair", lambda _, repeat: "found" if repeat else "wrong"),
        ]
    )

    assert [(row.who.name, row.ranks) for row in board.rows] == [("good", (1, 2)), ("fair", (1, 2)), ("poor", (3, 3))]
    assert board_title(board) == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    assert not board.has_misses
    assert board_notes(board) == []
    assert [*zip(board_head(board), board_row(board, board.rows[0]), strict=True)] == [
        ("rank", "1–2"),
        ("model", "good"),
        ("score % (95 %)", "100 (73.5–100)"),
        ("1k", "100"),
        ("4k", "100"),
        ("effective length (95 %)", "none to 4k or more"),
        ("prompt tokens", "980"),
        ("answer tokens", "5"),
        ("seconds an answer", "0.25"),
        ("seconds, slowest 5 %", "0.25"),
    ]


def test_what_one_alone_cannot_answer_is_a_miss_and_what_nobody_can_is_nothing(
    candidate: Callable[..., Candidate],
) -> None:
    whole, short = (
        candidate("whole", lambda *_: "found"),
        candidate("short", lambda length, _: "found" if length < 4000 else "skipped"),
    )
    (board,) = boards_of([short, whole])
    assert [(row.who.name, row.ranks, row.counted, row.mean) for row in board.rows] == [
        ("whole", (1, 1), 1.0, 1.0),
        ("short", (2, 2), 0.5, 1.0),
    ]
    assert "misses counted" in board_head(board)

    (board,) = boards_of([short, candidate("other", lambda length, _: "found" if length < 4000 else "skipped")])
    assert [row.counted for row in board.rows] == [1.0, 1.0]
    assert board_notes(board) == ["no difference between these 2 is shown: all are tied"]


def test_a_run_with_failed_trials_stands_in_the_same_table_and_its_row_says_so(
    candidate: Callable[..., Candidate], make_record: Make
) -> None:
    def failing(name: str, failed: range, **fields: Any) -> Candidate:
        records = [
            make_record(model=name, length=length, repeat=repeat, **(fields if repeat in failed else {}))
            for length in (1000, 4000)
            for repeat in range(12)
        ]
        entries = {entry.task: entry for entry in entries_of(asked_of(records))}
        return Candidate(name, f"run-{name}", "", entries, dict.fromkeys(entries, ""))

    error = {"outcome": "error", "scorer": "", "scorer_version": 0}
    one, both = failing("one", range(1), **error), failing("both", range(6, 12), **error)
    (board,) = boards_of(
        [one, both, candidate("poor", lambda *_: "wrong"), failing("void", range(3), outcome="invalid")]
    )

    assert board_title(board) == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    rows = [dict(zip(board_head(board), board_row(board, row), strict=True)) for row in board.rows]
    assert [(row["model"], row["score % (95 %)"][:5], row["misses counted"]) for row in rows] == [
        ("one (2 errors)", "100 (", "91.7"),
        ("void (6 invalid)", "100 (", "75.0"),
        ("both (12 errors)", "100 (", "50.0"),
        ("poor", "0 (0–", "0"),
    ]

    # What nobody answered was asked all the same.
    (board,) = boards_of([failing(name, range(3), **error) for name in "ab"])
    assert board_title(board).startswith("niah: 24 trials of 12 samples")
    assert [row.counted for row in board.rows] == [1.0, 1.0]


def test_the_mean_over_tasks_has_the_failed_trials_of_all_of_them(candidate: Callable[..., Candidate]) -> None:
    tasks = ("chain", "niah")
    failed = candidate("failed", lambda _, repeat: "found" if repeat else "error", tasks=tasks)
    boards = boards_of([failed, candidate("whole", lambda *_: "found", tasks=tasks)])

    names = [[board_row(board, row)[1] for row in board.rows] for board in boards]
    assert names == [["whole", f"failed ({count} errors)"] for count in (4, 2, 2)]


@pytest.mark.parametrize(
    "other",
    [
        {"question": "Another one?"},
        {"reference": {"answers": ["1"]}},
        {"scorer": "contains"},
        {"seed": 1},
        {"setting": "other corpus"},
    ],
    ids=str,
)
def test_other_cells_are_ranked_apart(candidate: Callable[..., Candidate], other: dict[str, Any]) -> None:
    boards = boards_of([candidate(name, lambda *_: "found", **fields) for name, fields in (("a", {}), ("b", other))])

    assert [[row.who.name for row in board.rows] for board in boards] in ([["a"], ["b"]], [["b"], ["a"]])


def test_another_models_texts_and_times_are_the_same_cells(candidate: Callable[..., Candidate]) -> None:
    other = {"prompt": {"tokens": 990}, "answer": "1", "timing": {}, "response": {}}
    (board,) = boards_of([candidate(name, lambda *_: "found", **each) for name, each in (("a", {}), ("b", other))])

    assert len(board.rows) == 2
    assert board_row(board, board.rows[1])[-4:] == ("–",) * 4


def test_all_tasks_stand_before_each_and_a_run_that_was_interrupted_nowhere(
    candidate: Callable[..., Candidate],
) -> None:
    tasks = ("chain", "niah")
    boards = boards_of(
        [
            candidate("a", lambda *_: "found", tasks=tasks),
            candidate("b", lambda *_: "wrong", tasks=tasks),
            candidate("c", lambda *_: "found", tasks=("niah",)),
            candidate("d", lambda *_: "found", tasks=tasks, why="interrupted after 2 of 40 trials"),
        ]
    )

    assert [board.task for board in boards] == ["all tasks (chain, niah)", "chain", "niah"]
    assert [[(row.who.name, row.ranks) for row in board.rows] for board in boards] == [
        [("a", (1, 1)), ("b", (2, 2))],
        [("a", (1, 1)), ("b", (2, 2))],
        [("a", (1, 2)), ("c", (1, 2)), ("b", (3, 3))],
    ]
    assert boards[0].samples == 24
    assert board_row(boards[0], boards[0].rows[0])[:3] == ("1", "a", "100 (81.3–100)")


def test_an_entry_says_how_long(candidate: Callable[..., Candidate]) -> None:
    entry = candidate("a", lambda length, _: "found" if length < 4000 else "wrong").entries["niah"]

    assert effective_words(entry) == "none to 1k"
    assert (entry.overall.trials, entry.overall.n, entry.overall.mean) == (24, 24, 0.5)
    assert (entry.overall.counts["found"], entry.overall.counts["wrong"]) == (12, 12)


def test_answers_that_are_cut_off_make_the_score_a_range_and_win_or_lose_no_rank(
    candidate: Callable[..., Candidate],
) -> None:
    cut = candidate("cut", lambda _, repeat: "censored" if repeat % 2 else "found")
    unclear = candidate("unclear", lambda *_: "unclear")
    found = candidate("found", lambda *_: "found")
    wrong = candidate("wrong", lambda *_: "wrong")

    (alone,) = boards_of([cut])
    told = dict(zip(board_head(alone), board_row(alone, alone.rows[0]), strict=True))
    assert (told["score % (95 %)"], told["misses counted"]) == ("50.0–100, scored 100 (54.1–100)", "50.0")
    assert (told["1k"], told["4k"], told["effective length (95 %)"]) == ("50.0–100", "50.0–100", "none to 4k or more")

    # Half of its answers are right whatever the others are; all or none of those of `unclear` may be.
    (board,) = boards_of([cut, unclear, wrong, found])
    assert {row.who.name: row.ranks for row in board.rows} == {
        "found": (1, 3), "cut": (1, 4), "unclear": (1, 4), "wrong": (2, 4),
    }  # fmt: skip


@given(
    outcomes=st.lists(
        st.tuples(*[st.sampled_from(("found", "wrong", "censored", "unclear"))] * 2), min_size=24, max_size=24
    ),
    hits=st.lists(st.booleans(), min_size=48, max_size=48),
)
def test_deciding_answers_turns_no_rank_around(
    candidate: Callable[..., Candidate], outcomes: list[tuple[str, str]], hits: list[bool]
) -> None:
    def ranks(decide: bool) -> list[tuple[int, int]]:
        def outcome(side: int) -> Callable[[int, int], str]:
            def of(length: int, repeat: int) -> str:
                at = repeat + (12 if length > 1000 else 0)
                own = outcomes[at][side]
                decided = "found" if hits[2 * at + side] else "wrong"
                return decided if decide and own in ("censored", "unclear") else own

            return of

        (board,) = boards_of([candidate(name, outcome(side)) for side, name in enumerate("ab")])
        return [row.ranks for row in sorted(board.rows, key=lambda row: row.who.name)]

    before, after = ranks(decide=False), ranks(decide=True)
    assert before != after[::-1] or before == [(1, 2), (1, 2)]
