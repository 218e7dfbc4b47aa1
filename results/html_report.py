"""`report.html`: one file to look at and to pass on, with the scores, the heatmaps, the curves and every trial."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from results.atomic import write_atomic
from results.html.budget import Kept, entries, fit
from results.html.details import OWN, SHARED
from results.html.page import page
from results.html.panels import depth_tallies, panel_view, panels_data
from results.html.texts import on_one_line, script_json
from results.records import Record
from results.summary import summarise

LIMIT_BYTES = 3_000_000
_NOTICE = 1_000  # bytes kept free for what is said about things left out


def write_html(
    path: Path,
    records: Sequence[Record],
    *,
    title: str,
    statistics: Sequence[str] = (),
    limit_bytes: int = LIMIT_BYTES,
) -> None:
    """Write `path` atomically. See `html_text`."""
    text = html_text(records, title=title, statistics=statistics, limit_bytes=limit_bytes)
    write_atomic(path, text.encode())


def html_text(
    records: Sequence[Record],
    *,
    title: str,
    statistics: Sequence[str] = (),
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page: the same for the same records in any order, and nothing in it is loaded from elsewhere.

    `statistics`: lines to show with the scores. Scores are all in it, whatever their number: what `limit_bytes` limits
    is the details of the trials, and the page says what it left out.
    """
    panels = summarise(records)
    trials = entries(records, panels)
    depths = depth_tallies(trials, panels)
    views = [panel_view(panel, rows) for panel, rows in zip(panels, depths, strict=True)]
    scores = script_json({**panels_data(panels, depths), "shared": SHARED, "own": OWN})
    heading, lines = on_one_line(title) or "Needlework", [on_one_line(line, 2_000) for line in statistics]
    alone = page(heading, views, lines, (), _data(scores, (), ()))
    kept = fit(trials, panels, limit_bytes - len(alone.encode()) - _NOTICE)
    return page(heading, views, lines, _notice(kept, limit_bytes), _data(scores, kept.values, kept.rows))


def _data(scores: str, values: Sequence[str], rows: Sequence[str]) -> str:
    """Put finished JSON texts together: rows a line each, so that the source can be read."""
    separator = ",\n"
    return f'{scores[:-1]},\n"values":[\n{separator.join(values)}\n],\n"rows":[\n{separator.join(rows)}\n]}}'


def _notice(kept: Kept, limit_bytes: int) -> list[str]:
    """What is not in the page, one sentence each; empty where everything is."""
    if kept.whole:
        return []
    sentences = ["All scores are complete."]
    if kept.dropped:
        total = kept.dropped + len(kept.rows)
        sentences.append(
            f"Details of {kept.dropped:,} of {total:,} trials are left out, from the middle of many equal cells first."
        )
    if kept.shortened:
        trials = "1 trial" if kept.shortened == 1 else f"{kept.shortened:,} trials"
        sentences.append(f"Texts of {trials} are cut to {kept.level.text:,} characters, with a mark.")
    if kept.rows and kept.level.digest < 64:
        sentences.append(f"Hashes are cut to {kept.level.digest} characters.")
    return [*sentences, f"This keeps the page below {limit_bytes / 1e6:g} MB; results.json has everything."]
