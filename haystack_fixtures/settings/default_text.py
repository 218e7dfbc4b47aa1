"""What `--corpus default` is where the package with a language's default text is not installed."""

from __future__ import annotations

from dataclasses import replace

from needlework.haystack_fixtures.corpora.builtin import missing_package
from needlework.haystack_fixtures.corpora.corpus_named import DEFAULTS
from needlework.haystack_fixtures.settings.settings import Settings, Suite


def with_text_at_hand(settings: Settings) -> Settings:
    """The settings with `generated` in place of each default corpus that is not installed.

    A base install has no text of others, and runs all the same. Its records name the text that they were asked on, and
    are another recipe than records on the default text: neither takes the place of the other in a run folder.
    """
    suites = (replace(suite, corpus="generated") if _missing(suite) else suite for suite in settings.suites)
    return replace(settings, suites=tuple(suites))


def stand_ins(settings: Settings) -> list[str]:
    """A line for each language in which generated text stands in: what is missing, and the command that installs it."""
    lines = {
        f"corpus default ({suite.language}): {DEFAULTS[suite.language]} is not installed, so the text is generated; "
        f"for the usual text: {install}"
        for suite in settings.suites
        if (install := _missing(suite))
    }
    return sorted(lines)


def _missing(suite: Suite) -> str | None:
    default = suite.corpus == "default" and suite.language in DEFAULTS
    return missing_package(DEFAULTS[suite.language]) if default else None
