"""What tasks on rows of a published data set have in common: the user's copy, its facts, and what keeps it from being
asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil, log2
from typing import Any

from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.documents.data_sets.chosen import chosen, nominal_length
from needlework.haystack_fixtures.documents.data_sets.data_set import DataSet, open_data
from needlework.haystack_fixtures.documents.data_sets.layout import OPTION, Entry, Layout
from needlework.haystack_fixtures.documents.data_sets.options import DataOptions
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Task, no_depths

Group = Callable[[Entry], str]
Size = Callable[[Entry], float]
Sizes = Callable[[Suite], Mapping[str, float]]
Facts = dict[str, dict[str, Any]]


def data_of(layout: Layout, suite: Suite) -> DataSet:
    """The user's copy. Raises `InputError` where none is named."""
    given = own_of(suite, DataOptions).data
    if given is None:
        where = f", or {OPTION} hf:{layout.hub}" if layout.hub else ""
        raise InputError(
            OPTION, "", f"{suite.task} asks rows of {layout.name}: name your copy with {OPTION} PATH{where}"
        )
    return open_data(given, layout)


def entries_of(layout: Layout, suite: Suite, group: Group, size: Size) -> dict[str, Entry]:
    """The rows that a suite asks, by label (`n8_q0123`: the group and the row's number). Raises `InputError`.

    `size`: about how many tokens a row has. `--data-limit` counts those of a group between two powers of 2.
    """
    return _entries(data_of(layout, suite), own_of(suite, DataOptions), group, size)


@lru_cache(8)
def _entries(data: DataSet, own: DataOptions, group: Group, size: Size) -> dict[str, Entry]:
    def kind(entry: Entry) -> object:
        return group(entry), ceil(log2(max(1.0, size(entry))))

    return {f"{group(entry)}_q{entry.number:04}": entry for entry in chosen(data, own, kind)}


def told_of(layout: Layout, suite: Suite, needed: Sizes | None = None) -> dict[str, str | int]:
    """What every reference tells of the copy: the beginning of its hash, why its rows are not today's, and how many
    rows are longer than every length."""
    data = data_of(layout, suite)
    over = _over(suite, needed)
    outdated = {"outdated": data.outdated} if data.outdated else {}
    return {"data": data.sha256[:12], **outdated, **({"over_lengths": over} if over else {})}


def _over(suite: Suite, needed: Sizes | None) -> int:
    longest = max(suite.lengths)
    return sum(size > longest for size in needed(suite).values()) if needed else 0


def corpus_of(layout: Layout, suite: Suite) -> Corpus:
    """The copy as a run's texts: its hash is what a trial's key knows of it."""
    data = data_of(layout, suite)
    source = f"https://huggingface.co/datasets/{layout.hub}" if layout.hub else layout.name
    return Corpus(f"{layout.name}, the user's copy", "en", "that of the data", source, (), data.sha256)


def facts_of(layout: Layout, suite: Suite, needed: Sizes | None = None) -> Facts:
    """Which copy it is, for the manifest, and how many of its rows are asked. `needed`: estimated tokens by label."""
    facts = data_of(layout, suite).facts
    if needed is not None:
        facts |= {"chosen": len(needed(suite)), "over_lengths": _over(suite, needed)}
    return {"data_sets": {layout.name: facts}}


def check_rows(layout: Layout, suites: Sequence[Suite], needed: Sizes | None = None) -> None:
    """Tell at once what keeps rows from being asked. Raises `InputError`."""
    for suite in suites:
        data_of(layout, suite)
        sizes = needed(suite) if needed else {}
        if sizes and min(sizes.values()) > max(suite.lengths):
            least = int(min(sizes.values())) + 1
            remedy = f"all {len(sizes)} rows of {layout.name} are longer: the shortest has about {least} tokens"
            raise InputError("--lengths", ",".join(map(str, suite.lengths)), remedy)
        if suite.controls:
            remedy = f"rows of {layout.name} are asked as they are: leave it out"
            raise InputError("--controls", ",".join(suite.controls), remedy)
        if suite.language != "en":
            raise InputError("--language", suite.language, f"rows of {layout.name} have one language: leave it out")


@dataclass(frozen=True)
class Rows:
    """The rows of a data set as trials: each has a label of its own, and is asked at the shortest length that holds it.

    `group`: what a row's label begins with; `size`: about how many tokens its prompt and answer have.
    """

    layout: Layout
    group: Group
    size: Size

    def of(self, suite: Suite) -> dict[str, Entry]:
        """The rows that a suite asks, by label. Raises `InputError`."""
        return entries_of(self.layout, suite, self.group, self.size)

    def sizes(self, suite: Suite) -> dict[str, float]:
        """About how many tokens each of them has."""
        return {label: self.size(entry) for label, entry in self.of(suite).items()}

    def told(self, suite: Suite) -> dict[str, Any]:
        """What a record's reference tells of the user's copy."""
        return told_of(self.layout, suite, self.sizes)

    def task(self, name: str, about: str, ask: Callable[[Suite, Cell, int], Asked]) -> Task:
        """The task that asks them; its family and its scorer have its name."""
        return Task(
            name,
            about,
            lambda suite: tuple(self.of(suite)),
            no_depths,
            ask,
            family=name,
            scorer=name,
            version=1,
            absent=False,
            focused=False,
            lengths=lambda suite, label: nominal_length(self.size(self.of(suite)[label]), suite.lengths),
            corpus=partial(corpus_of, self.layout),
            check=partial(check_rows, self.layout, needed=self.sizes),
            facts=partial(facts_of, self.layout, needed=self.sizes),
            rows=True,
        )
