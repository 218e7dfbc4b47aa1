"""What a run's user is told of how their words are taken, where that may not be what they expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.limit import limit_note
from needlework.haystack_fixtures.haystacks.unique import occurs
from needlework.haystack_fixtures.needles.inline import has_answer
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.needles.needle_sets import is_own, load_needle_set
from needlework.haystack_fixtures.settings.settings import Settings

_SHOWN = 60  # characters


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
    judged = ("judge", "needle_words")
    compared = [suite for suite in settings.suites if not (suite.scorer or "").startswith(judged)]
    for needle_set, language in dict.fromkeys((suite.needle_set, suite.language) for suite in compared):
        yield from _without_their_answers(_own_needles(needle_set, language))


def _without_their_answers(needles: Iterable[Needle]) -> Iterator[str]:
    """A sentence on the needles that do not say their answer: the first of them stands for all."""
    if found := [needle for needle in needles if not _has_its_answer(needle)]:
        more = f", and so with {len(found) - 1} more" if len(found) > 1 else ""
        yield (
            f"the answer {_begun(found[0].answer)} is not in its needle {_begun(found[0].text)}{more}:"
            " a model that quotes the needle may be scored as wrong"
        )


def _begun(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _own_needles(spec: str, language: str) -> tuple[Needle, ...]:
    """The needles of a user's set; none where it cannot be read, which is told where it is asked about."""
    with suppress(InputError):
        return load_needle_set(spec, language).needles if is_own(spec) else ()
    return ()


def _has_its_answer(needle: Needle) -> bool:
    """Whether the right answer, or another spelling of it, is said in the needle; one without an answer lacks none."""
    right = [answer for answer in (needle.answer, needle.keyword, *needle.accepted) if answer]
    return not needle.answer or any(occurs(answer.casefold(), needle.text.casefold()) for answer in right)
