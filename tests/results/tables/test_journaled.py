"""What is said of a journal's records that were not asked for now."""

from needlework.results.run.session import kept_lines, left_lines, replayed_lines


def test_answers_from_the_journal_are_counted():
    assert list(replayed_lines(0, 1, "earlier", 1)) == []
    assert list(replayed_lines(1, 2, "earlier", 2)) == [
        "1 of 2 answers are from this run's journal, written earlier; 1 were asked now"
    ]


def test_answers_that_nobody_scored_are_counted():
    assert list(kept_lines(0)) == []
    assert list(kept_lines(1)) == ["1 more answer came before the end and is kept"]
    assert list(kept_lines(190)) == ["190 more answers came before the end and are kept"]


def left(earlier, records, changed=()):
    return [line.partition(": they stay")[0] for line in left_lines("mine", earlier, records, "r", changed)]


def test_nothing_is_left_out_of_a_run_that_has_all(make_record):
    first, second = make_record(key="a"), make_record(key="b", repeat=1)

    assert left([first], [first, second]) == []
    assert left([make_record(key="a", details={"recipe": "other"})], [first]) == []  # taken over: the same prompt


def test_records_of_other_options_are_told(make_record):
    other = make_record(key="a", details={"recipe": "other"})

    assert left([other, other], [make_record(key="b")]) == ["mine also holds 2 records of a run with other options"]


def test_answers_to_other_prompts_are_told_with_what_changed(make_record):
    was, now = make_record(key="a", question="Which code?"), make_record(key="b")
    said = "mine also holds 1 answer to other prompts of these cells (before / now: "

    assert left([was], [now]) == [f"{said}question: Which code? / What is the code?)"]
    assert left([was], [now], ["corpora c: sha256 1 / 2"]) == [f"{said}corpora c: sha256 1 / 2)"]
    assert left([make_record(key="a", outcome="error")], [now]) == []  # no answer


def test_what_changed_is_told_in_one_line_however_long(make_record):
    (line,) = left_lines("mine", [make_record(key="a")], [make_record(key="b")], "r", ["x\n" * 999])

    assert "\n" not in line
    assert len(line) < 500
