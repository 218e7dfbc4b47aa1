"""Parts of a run: do they fit together, their union, and how far each is."""

import json
import os
from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.devices import Division, Shard
from needlework.core.errors import InputError
from needlework.core.record import FINAL
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.merge.command import merged_manifest, union
from needlework.results.merge.parts import RunPart, main, progress_of_run, total_of
from needlework.results.records.journal import line_of
from needlework.results.records.manifest import notes_of
from needlework.results.records.run_folder import write_shard_file
from tests.results.builders import new_record, refusal


def test_a_merged_run_began_with_its_first_part_and_has_the_changes_of_all(tmp_path):
    settings = resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path)
    manifests = [
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4", 3]},
        {"started": "2026-11-01", "ended": "2026-11-04", "session_started": "2026-11-05"},
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4"]},
    ]
    parts = [RunPart(str(at), tmp_path, each, settings, "r", (), 0, None) for at, each in enumerate(manifests)]
    merged = merged_manifest(settings, parts, planned=3, recorded=3)

    assert (merged["started"], merged["ended"]) == ("2026-11-01", "2026-11-04")
    assert "session_started" not in merged
    assert notes_of(merged) == [
        "answers of earlier sessions were given under other facts (before / now): models m: window 8 / 4"
    ]


def test_the_part_is_named_that_something_is_wrong_with(tmp_path, capsys):
    folders = [write(tmp_path / name, []) for name in ("first", "second")]

    def refused():
        return refusal(capsys, "merge", *folders, "--into", tmp_path / "whole", "--partial")

    assert refused().startswith("needlework merge: RUN: 'first': has no readable manifest.json")
    for folder, seed in zip(folders, "12", strict=True):
        settings = resolve_settings({"model": ["mock:perfect"], "seed": seed}, {}, tmp_path)
        made = merged_manifest(settings, [RunPart("", folder, {}, settings, "r", (), 0, None)], planned=0, recorded=0)
        (folder / "manifest.json").write_text(json.dumps(made, default=str))
    assert refused().startswith("needlework merge: RUN: 'second': is of another recipe than first: ")
    (folders[1] / "manifest.json").write_bytes((folders[0] / "manifest.json").read_bytes())
    assert refused().startswith("needlework merge: RUN: 'first': has no records yet")


OUTCOMES = st.sampled_from(["found", "wrong", "censored", "skipped", "invalid", "error"])


def of(outcome="found", text="4711", repeat=0, key="k"):
    cell = f"niah-len1000-depth50-code-r{repeat}"
    fields = {"id": cell, "nodeid": f"t.py::test[{cell}]", "repeat": repeat, "key": key and f"{key}{repeat}"}
    return new_record(outcome=outcome, response={"text": text}, **fields)


@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4))
def test_the_kind_of_outcome_does_not_depend_on_the_order(outcomes):
    kinds = set()
    for order in permutations(outcomes):
        (record,), _ = union({str(at): [of(outcome)] for at, outcome in enumerate(order)})
        kinds.add("answer" if record.outcome in FINAL else record.outcome)

    assert len(kinds) == 1
    assert ("answer" in kinds) == bool(FINAL & set(outcomes))


def test_two_prompts_under_one_name_are_refused_but_not_a_cell_whose_process_died():
    with pytest.raises(InputError, match=r"^RUN: 'b': asked another prompt for niah.* than a: text, needles"):
        union({"a": [of()], "b": [of(key="of another text")]})
    (record,), _ = union({"a": [of("error", key="")], "b": [of()]})

    assert record.outcome == "found"


def test_a_part_counts_with_its_last_answer_and_all_trials_are_there():
    again = [of(outcome) for outcome in ("error", "found", "error")]
    records, _ = union({"a": again, **{str(at): [of(repeat=at)] for at in (1, 2)}, "": again})

    assert [(record.repeat, record.outcome) for record in records] == [(at, "found") for at in range(3)]
    assert not union({"": again})[0][0].timing.part, "the run's own stay as they are"
    (record,), conflicts = union({part: [of()] for part in "ab"})
    assert (record.timing.part, conflicts) == ("a", [])


BEGUN = 1_700_000_000.0


def name_of(length, repeat):
    return f"t.py::test[niah-len{length}-depth50-code-r{repeat}]"


def write(folder, records, *, ended=False, before=0, planned=4, **more):
    """A run's folder that began at `BEGUN` with `before` records, and has written last 60 seconds later."""
    folder.mkdir(parents=True, exist_ok=True)
    started = datetime.fromtimestamp(BEGUN, UTC).isoformat()
    manifest = {"started": started, "ended": started if ended else None, "planned": planned, "recorded": before}
    if "started" in more:
        manifest |= {"session_started": started, **more}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "journal.jsonl").write_text("".join(f"{line_of(record)}\n" for record in records))
    for path in folder.iterdir():
        os.utime(path, (BEGUN + 60, BEGUN + 60))
    return folder


def record(repeat=0, length=1000, outcome="found"):
    cell = name_of(length, repeat)
    return new_record(
        id=cell[11:-1], nodeid=cell, repeat=repeat, length=length, outcome=outcome, key=f"k{length} {repeat}"
    )


def only(run):
    (found,) = progress_of_run(run, BEGUN + 70)
    return found


@pytest.mark.parametrize("more", [{}, {"started": "2001-01-01T00:00:00+00:00"}], ids=["first session", "resumed"])
def test_a_run_that_writes_has_a_rate_and_a_time_left(tmp_path, more):
    part = only(write(tmp_path / "r", [record(0), record(1), record(2)], before=1, **more))

    assert (part.name, part.state, part.done, part.expected, part.errors) == ("r", "writing", 3, 4, 0)
    assert part.per_minute == pytest.approx(2), "one of the three is of an earlier session"
    assert (part.left_s, part.quiet_s) == (pytest.approx(30), pytest.approx(10))


def test_the_time_left_is_estimated_by_tokens(tmp_path):
    run, cells = tmp_path / "r", [(1000, 0), (1000, 1), (1000, 2), (9000, 0)]
    write(run / "shards/1-of-1", [record(repeat, length) for length, repeat in cells[:3]])
    names = [name_of(length, repeat) for length, repeat in cells]
    write_shard_file(run / "shards/1-of-1", Division(Shard(1, 1), (4,), "all"), names)

    assert only(run).left_s == pytest.approx(180)


@pytest.mark.parametrize(("records", "state", "left"), [(4, "ended", 0), (1, "interrupted", None)])
def test_a_run_that_ended_is_whole_or_interrupted(tmp_path, records, state, left):
    part = only(write(tmp_path / "r", [record(repeat) for repeat in range(records)], ended=True))

    assert (part.state, part.left_s) == (state, left)


def test_shards_without_a_folder_have_a_line(tmp_path, capsys):
    shard = write(tmp_path / "r/shards/2-of-3", [record(0), record(1)], ended=True, planned=2)
    write_shard_file(shard, Division(Shard(2, 3), (2, 2, 0), "all"), [name_of(1000, 0), name_of(1000, 1)])

    assert total_of(progress_of_run(tmp_path / "r", BEGUN)).left_s is None
    assert main([str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "part           done            errors  a minute  left  state",
        "shards/2-of-3  2 of 2 (100 %)  0                       ended",
        "shards/1-of-3  0 of 2 (0 %)    0                       not begun",
        "all            2 of 4 (50 %)   0",
    ]


def test_the_command_prints_lines_or_json(tmp_path, capsys):
    run = str(write(tmp_path / "r", [record(0)]))
    assert main([run]) == 0
    _head, line = capsys.readouterr().out.splitlines()
    assert line.startswith("r     1 of 4 (25 %)  0       1.0       3:00  last answer ")
    assert line.endswith(" ago: killed? the same command goes on"), "silent for long"
    assert main([run, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["done"], content["expected"], content["parts"][0]["name"]) == (1, 4, "r")
