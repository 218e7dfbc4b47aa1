"""Which of a run's trials a session is about."""

from needlework.core.record import Record
from needlework.results.run.open_folder import Selected


def record(cell, test="test_needle", folder="tests", label=""):
    return Record(
        id=cell.replace("niah", f"niah@{label}" if label else "niah"), nodeid=f"{folder}/test_own.py::{test}[{cell}]",
        model="m", task="niah", test=label,
        needle="code", length=400, depth=50.0, repeat=0, outcome="found", score=1.0,
    )  # fmt: skip


def selected(*cells):
    found = Selected()
    found.add(record(cell).nodeid for cell in cells)
    return found


SHORT, LONG, FURTHER = "niah-len400-depth50-code-r0", "niah-len2000-depth50-code-r0", "niah-len400-depth50-code-r7"


def test_cells_of_earlier_commands_are_left_out():
    whole = [record(SHORT), record(LONG)]

    assert selected(SHORT).of(whole, now=[]) == [record(SHORT)]


def test_what_was_asked_beyond_the_selected_cells_counts_once_it_is_there():
    whole = [record(SHORT), record(FURTHER)]

    assert selected(SHORT).of(whole, now=[record(SHORT)]) == [record(SHORT)]
    assert selected(SHORT).of(whole, now=[record(SHORT), record(FURTHER)]) == whole


def test_records_count_that_name_their_test_or_were_made_in_another_folder():
    named = record(SHORT, label="test_needle")
    moved = record(SHORT, folder="moved/tests")
    other = record(SHORT, test="test_other", label="test_other")

    assert selected(SHORT).of([named, other], now=[]) == [named]
    assert selected(SHORT).of([moved], now=[]) == [moved]
