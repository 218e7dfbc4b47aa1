"""What a run's user is told of how their words are taken, where that may not be what they expect."""

from __future__ import annotations

from collections.abc import Iterator

from needlework.haystack_fixtures.grid.limit import limit_note
from needlework.haystack_fixtures.needles.inline import has_answer
from needlework.haystack_fixtures.settings.settings import Settings


def notes(settings: Settings) -> Iterator[str]:
    """A sentence for each."""
    if settings.limit is not None and settings.adaptive is None:
        yield limit_note(settings.limit)
    for corpus, files, each in dict.fromkeys((s.corpus, s.file_list, s.repeats_per_file) for s in settings.suites):
        if each:
            yield f"{each} trials on each of {len(files)} files of {corpus}, each haystack of one: {', '.join(files)}"
        elif files:
            yield f"text: {', '.join(files)} of {corpus} (--file-list names others)"
    by_words = {suite.scorer for suite in settings.suites if not has_answer(suite.needle_set)} & {"needle_words"}
    if by_words:
        yield (
            "no --answer: scored by needle_words, the words of the needles that the question lacks;"
            " --answer TEXT, or --scorer judge_llmtest --judge SPEC, compares otherwise"
        )
