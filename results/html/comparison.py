"""The `report.html` of `needlework compare`: what differs, by how much, where, and in which answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.html.budget import fit
from needlework.results.html.comparison_head import verdict_sentence
from needlework.results.html.comparison_view import change_views, comparison_data, family_view, pair_entries
from needlework.results.html.page import page
from needlework.results.html.report import LIMIT_BYTES, NOTICE_BYTES
from needlework.results.html.texts import on_one_line
from needlework.results.records.record import UNSCORED, Record
from needlework.results.statistics.comparison.comparison import Comparison
from needlework.results.tables.comparison import Windows, cautions, left_out, loss_words, outcomes_of_run


def write_comparison_html(
    path: Path,
    comparison: Comparison,
    first: Sequence[Record],
    second: Sequence[Record],
    *,
    title: str,
    names: tuple[str, str],
    parts: Sequence[str] = (),
    windows: Windows = (None, None),
) -> None:
    """Write `path` atomically. See `comparison_html`."""
    text = comparison_html(comparison, first, second, title=title, names=names, parts=parts, windows=windows)
    write_whole(path, text.encode())


def comparison_html(
    comparison: Comparison,
    first: Sequence[Record],
    second: Sequence[Record],
    *,
    title: str,
    names: tuple[str, str],
    parts: Sequence[str] = (),
    windows: Windows = (None, None),
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page of a comparison of the records of A (`first`) and of B (`second`), called by `names`.

    `parts`: what differs between the runs, `part: A / B`; `windows`: of A and B, in tokens. Scores and differences are
    all in it; where `limit_bytes` has no room for all answers, those of trials that both runs judged alike are left out
    first.
    """
    scores = comparison_data(comparison, names)
    fields = {
        "sentence": verdict_sentence(comparison.families, names),
        "names": [on_one_line(name) for name in names],
        "runs": [outcomes_of_run(comparison, side) for side in (0, 1)],
        "pairs": comparison.pairs,
        "left_out": left_out(comparison),
        "losses": [loss_words(each, windows) for each in comparison.losses],
        "cautions": cautions(comparison),
        "parts": [on_one_line(part) for part in parts],
        "families": [family_view(family) for family in comparison.families],
        "changes": change_views(comparison),
        "unscored": UNSCORED,
    }

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("comparison", title, scores, details=details, colors="safe", notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    kept = fit(pair_entries(comparison, first, second), room)
    return with_details(kept.packed, kept.notice(limit_bytes))
