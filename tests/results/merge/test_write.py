"""The manifest of a merged run: when it began, and what its parts have to say."""

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.merge.parts import RunPart
from needlework.results.merge.union import merged_manifest
from needlework.results.records.manifest import notes_of


def test_a_merged_run_began_with_its_first_part_and_tells_what_changed_in_any(tmp_path):
    settings = resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path)
    told = [
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4", 3]},
        {"started": "2026-11-01", "ended": "2026-11-04", "session_started": "2026-11-05"},
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4"]},
    ]
    parts = [RunPart(str(at), tmp_path, part, settings, "r", (), 0, None) for at, part in enumerate(told)]
    merged = merged_manifest(settings, parts, planned=3, recorded=3)

    assert (merged["started"], merged["ended"]) == ("2026-11-01", "2026-11-04")
    assert "session_started" not in merged
    assert notes_of(merged) == [
        "answers of earlier sessions were given under other facts (before / now): models m: window 8 / 4"
    ]
