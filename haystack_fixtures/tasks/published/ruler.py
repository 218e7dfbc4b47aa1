"""RULER: retrieval, variable tracking, lists of words.

The English wording of the retrieval tasks is RULER's own (c3f5e3b), a constant of its protocol; one value is asked for
in the singular.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import pi
from random import Random
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal

from needlework.core.draws import below, different, digits, draws, pick, sample, shuffled, uuid4
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus import NOISE_LINE
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Prose, Question, labelled, our_task
from needlework.haystack_fixtures.tasks.words import compounds, first_words, single_words, table

VERSION = 1
# Percent of the context: where RULER lets needles stand, drawn for each sample without replacement.
_DEPTHS = tuple(float(round(100 * number / 39)) for number in range(40))
_KNOWN = 3  # of a haystack of statements: those whose values are distractors
_HOPS = 4
_LETTERS, _EXAMPLE_LETTERS = 5, 3  # of a variable's name
_EXAMPLE_LINES = 15  # of noise in the example, about 500 tokens in all
Made = Literal["words", "numbers", "uuids"]


@dataclass(frozen=True, slots=True)
class RetrievalKind:
    """One retrieval task's parameters, by their names in RULER."""

    name: str
    key: Made = "words"
    value: Literal["numbers", "uuids"] = "numbers"
    num_needle_k: int = 1
    num_needle_v: int = 1
    num_needle_q: int = 1
    among: bool = False  # the haystack is made of needles that are not asked for

    @property
    def several(self) -> bool:
        """Whether more than one value is asked for."""
        return self.num_needle_v * self.num_needle_q > 1


_KINDS = (
    RetrievalKind("ruler_niah_single_1"),
    RetrievalKind("ruler_niah_single_2"),
    RetrievalKind("ruler_niah_single_3", value="uuids"),
    RetrievalKind("ruler_niah_multikey_1", num_needle_k=4),
    RetrievalKind("ruler_niah_multikey_2", among=True),
    RetrievalKind("ruler_niah_multikey_3", "uuids", "uuids", among=True),
    RetrievalKind("ruler_niah_multivalue", num_needle_v=4),
    RetrievalKind("ruler_niah_multiquery", num_needle_k=4, num_needle_q=4),
)


@dataclass(frozen=True, slots=True)
class _KeyStatement:
    """One key with one of its values."""

    key: str
    value: str
    text: str


def _retrieval(kind: RetrievalKind, suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = trial_seeds(kind.name, suite, cell, seed), suite.language
    rng = draws(*parts)
    # A key's values stand behind each other.
    stated = list(islice(_statements(rng, kind, language), kind.num_needle_k * kind.num_needle_v))
    queries = sample(rng, list(dict.fromkeys(each.key for each in stated)), kind.num_needle_q)
    targets = [each for query in queries for each in stated if each.key == query]
    others = [each for each in stated if each.key not in queries]

    def more(count: int) -> list[_KeyStatement]:
        return list(islice(_statements(draws(*parts, "haystack"), kind, language, taken=stated), count))

    distractors = tuple(each.value for each in (more(_KNOWN) if kind.among else others))
    forms = sentences("niah", language)["several" if kind.several else "one"]
    *before, last = queries
    comma, end = (", ", ", and ") if language == "en" else ("、", "和")
    listed = f"{comma.join(before)}{end}{last}" if before else last
    fields = _value_names(kind, language) | {"query": listed}
    question, values = forms["question"].format(**fields), tuple(each.value for each in targets)
    needles = [
        Needle(f"asked{number}", each.text, question, each.value, key=each.key, distractor_answers=distractors)
        for number, each in enumerate(targets)
    ]
    if not kind.among:
        needles += [Needle(f"other{number}", each.text) for number, each in enumerate(others)]
    return Question(
        needles=tuple(needles),
        depths=tuple(sample(rng, _DEPTHS, len(needles))),
        question=question,
        answer=", ".join(values),
        reference={
            "answers": () if kind.several else values,
            "parts": values if kind.several else (),
            "distractors": distractors,
            "chance": len(queries) / kind.num_needle_k if kind.num_needle_k > len(queries) else 0.0,
        },
        needed=tuple(range(len(targets))),
        context=Listing(lambda count: [f"{each.text}\n" for each in more(count)]) if kind.among else Prose(),
        introduction=forms["introduction"].format(**fields),
        answer_prefix=forms["prefix"].format(**fields),
    )


def _statements(
    rng: Random, kind: RetrievalKind, language: str, taken: Sequence[_KeyStatement] = ()
) -> Iterator[_KeyStatement]:
    """Statements with distinct values and key groups; none whose key or value relates to a taken one."""
    keys, values = _stream(rng, kind.key, language), _stream(rng, kind.value, language)
    known = {each.value for each in taken}
    form, names = sentences("niah", language)["statement"], _value_names(kind, language)
    for key in keys:
        if any(key in each.key or each.key in key for each in taken):
            continue
        for _ in range(kind.num_needle_v):
            value = next(value for value in values if value not in known)
            yield _KeyStatement(key, value, form.format(key=key, value=value, **names))


def _stream(rng: Random, made: Made, language: str) -> Iterator[str]:
    """Endless keys or values, each once."""
    if made == "words":
        yield from compounds(rng, language)
        return
    seen: set[str] = set()
    while True:
        drawn = digits(rng) if made == "numbers" else uuid4(rng)
        if drawn not in seen:
            seen.add(drawn)
            yield drawn


def _value_names(kind: RetrievalKind, language: str) -> dict[str, str]:
    one, more = sentences("niah", language)[kind.value]
    return {"one": one, "more": more}


def _tracking(suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = trial_seeds("ruler_vt", suite, cell, seed), suite.language
    rng = draws(*parts)
    value, names = _chain(rng, _LETTERS)
    forms, fields = sentences("vt", language), {"value": value, "count": _HOPS + 1}
    question = forms["question"].format(**fields)
    line = f"{NOISE_LINE[language]}\n"
    return Question(
        needles=tuple(
            Needle(f"hop{hop}", text, question, name)
            for hop, (text, name) in enumerate(zip(_assignments(value, names), names, strict=True))
        ),
        depths=tuple(sorted(sample(rng, _DEPTHS, _HOPS + 1))),
        question=question,
        answer=", ".join(names),
        reference={"answers": (), "parts": names},
        context=Listing(lambda count: [line] * count),
        introduction=_example(draws(*parts, "example"), value, language) + forms["introduction"],
        answer_prefix=forms["prefix"].format(**fields),
    )


def _chain(rng: Random, letters: int, unlike: str = "") -> tuple[str, tuple[str, ...]]:
    """A value, not `unlike`, and the names that have it."""
    value = unlike
    while value == unlike:
        value = str(10_000 + below(rng, 89_999))
    names = different(_HOPS + 1, lambda: "".join(pick(rng, ascii_uppercase) for _ in range(letters)))
    return value, tuple(names)


def _assignments(value: str, names: tuple[str, ...]) -> list[str]:
    """`VAR ABCDE = 12345`, then each variable from the one before it."""
    sources = (value, *(f"VAR {name}" for name in names))
    return [f"VAR {name} = {source}" for name, source in zip(names, sources, strict=False)]


def _example(rng: Random, unlike: str, language: str) -> str:
    """A solved task, short, with shorter names."""
    value, names = _chain(rng, _EXAMPLE_LETTERS, unlike)
    lines = [NOISE_LINE[language]] * _EXAMPLE_LINES
    places = sorted(sample(rng, range(_EXAMPLE_LINES + 1), _HOPS + 1), reverse=True)
    for line, text in zip(places, reversed(_assignments(value, names)), strict=True):
        lines.insert(line, text)
    forms, fields = sentences("vt", language), {"value": value, "count": _HOPS + 1}
    question, prefix = forms["question"].format(**fields), forms["prefix"].format(**fields)
    text = "\n".join(lines)
    return f"{forms['introduction']}{text}\n{question}\n{prefix} {', '.join(names)}\n\n"


def trial_seeds(task: str, suite: Suite, cell: Cell, seed: int) -> tuple[object, ...]:
    """The seeds of a trial's draws; the same for all lengths and depths."""
    return task, VERSION, seed, cell.repeat, suite.language


def sentences(task: str, language: str) -> Mapping[str, Any]:
    """The sentences of a task: introduction, question, beginning of the answer."""
    return table("ruler", language, task)


_ALPHA = 2
_ZETA = pi * pi / 6  # zeta(_ALPHA)
_RANKS = 3  # ranks 2 to 4; rank 1 is filler
_FILLER = "..."
_CODED_LETTERS = 6
_FEWEST = 100  # entries: with fewer, the counts of two ranks could be the same
_NEXT_RANKS = 6  # whose words are the distractors

_COMMON = 10
_LONG = {"en": 4096, "zh": 8192}  # tokens; shorter lists have fewer of each word (Chinese ones: ours, they take more)
_STEP = 3  # entries that a list grows by: one other word, or three


def rank_counts(entries: int) -> list[int]:
    """The count of each rank in a text of so many entries: floor(N / (zeta(2) rank^2)), N minimal.

    Where the floors of that N give more than `entries`, the rarest ranks give way.
    """
    counts = _floors(bisect_left(range(4 * entries), entries, key=lambda nominal: sum(_floors(nominal))))
    surplus = sum(counts) - entries
    while surplus:
        taken = min(surplus, counts[-1])
        counts[-1] -= taken
        surplus -= taken
        if not counts[-1]:
            counts.pop()
    return counts


def _floors(nominal: int) -> list[int]:
    counts: list[int] = []
    while (count := int(nominal / (_ZETA * (len(counts) + 1) ** _ALPHA))) > 0:
        counts.append(count)
    return counts


def _ranked_words(rng: Random, count: int) -> list[str]:
    """The filler, then words by their rank."""
    return [_FILLER, *different(count - 1, lambda: "".join(pick(rng, ascii_lowercase) for _ in range(_CODED_LETTERS)))]


def _frequent_words(suite: Suite, cell: Cell, seed: int) -> Question:
    parts = trial_seeds("ruler_fwe", suite, cell, seed)
    ranked = _ranked_words(draws(*parts), 1 + _RANKS + _NEXT_RANKS)
    top = tuple(ranked[1 : 1 + _RANKS])

    def units(entries: int) -> list[str]:
        counts = rank_counts(entries)
        words = _ranked_words(draws(*parts), len(counts))
        text = [word for word, times in zip(words, counts, strict=True) for _ in range(times)]
        return [f"{word} " for word in shuffled(draws(*parts, entries), text)]

    def resolve(entries: int) -> tuple[str, dict[str, Any]]:
        return ", ".join(top), {"entries": entries, "chance": _RANKS / (len(rank_counts(entries)) - 1)}

    forms = sentences("fwe", suite.language)
    return Question(
        question=forms["question"],
        answer=", ".join(top),
        reference={"answers": (), "parts": top, "distractors": tuple(ranked[1 + _RANKS :])},
        context=Listing(units, resolve=resolve, growing=False, steady=False, fewest=_FEWEST),
        introduction=forms["introduction"],
        answer_prefix=forms["prefix"],
    )


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """Counts of common and other words in the list, and in the example of so many different words."""

    common: int
    other: int
    example_words: int
    example_common: int
    example_other: int


_FREQUENCIES = {"freq30": WordFrequencies(30, 3, 40, 10, 3), "freq6": WordFrequencies(6, 1, 20, 3, 1)}


def _cwe_labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in _FREQUENCIES if _cwe_lengths(suite, name))


def _cwe_lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if (length >= _LONG[suite.language]) == label.startswith("freq30"))


def _common_words(suite: Suite, cell: Cell, seed: int) -> Question:
    name = cell.needle.partition("_")[0]
    parts, language = (*trial_seeds("ruler_cwe", suite, cell, seed), name), suite.language
    times = _FREQUENCIES[name]

    # The example's words first, then the common ones, then as many others as the list has room for.
    shown = times.example_words
    stream = partial(first_words, parts, language, shown + _COMMON)
    example, common = stream(shown), stream(shown + _COMMON)[shown:]

    def others(count: int) -> int:
        return (count * _STEP - _COMMON * times.common) // times.other

    def resolve(count: int) -> tuple[str, dict[str, Any]]:
        return answer, {"entries": count * _STEP, "chance": _COMMON / (_COMMON + others(count))}

    def units(count: int) -> list[str]:
        words = stream(shown + _COMMON + others(count))[shown + _COMMON :]
        entries = _numbered(common, times.common, words, times.other, (*parts, count))
        return ["".join(entries[at : at + _STEP]) for at in range(0, len(entries), _STEP)]

    forms = sentences("cwe", language)
    answer = forms["comma"].join(common)
    frequent = example[:_COMMON]
    entries = _numbered(frequent, times.example_common, example[_COMMON:], times.example_other, (*parts, "example"))
    solved = f"{forms['prefix']} {forms['comma'].join(frequent)}"
    worked = f"{forms['introduction']}{''.join(entries).rstrip()}\n{forms['question']}\n{solved}\n\n"
    return Question(
        question=forms["question"],
        answer=answer,
        reference={"answers": (), "parts": tuple(common), "floor": _COMMON / len(single_words(language))},
        context=Listing(
            units, resolve=resolve, growing=False, fewest=_COMMON * (times.common + times.other) // _STEP + 1
        ),
        introduction=f"{worked}{forms['introduction']}",
        answer_prefix=forms["prefix"],
    )


def _numbered(
    common: Sequence[str], often: int, others: Sequence[str], seldom: int, parts: tuple[object, ...]
) -> list[str]:
    """The entries `1. word `, in an order of their own for these `parts`."""
    entries = shuffled(draws(*parts, "order"), [*common] * often + [*others] * seldom)
    return [f"{number}. {word} " for number, word in enumerate(entries, 1)]


TASKS = (
    *(our_task(kind.name, partial(_retrieval, kind)) for kind in _KINDS),
    our_task("ruler_vt", _tracking),
    our_task("ruler_cwe", _common_words, labels=_cwe_labels, lengths=_cwe_lengths),
    our_task("ruler_fwe", _frequent_words),
)
