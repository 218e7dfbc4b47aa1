"""Following a value through names: `Let QWRTP be 48213.` `Let BKDZV equal QWRTP.` (the form of variable tracking).

A chain of h hops has h + 1 names; c chains have different values, and the first is asked about. `forward`: every name
is explained before it is used; `shuffled`: in any order. `all`: every name of a value; `last`: the value of the last
name.
"""

from __future__ import annotations

from random import Random

from needlework.haystack_fixtures.draws import digits, draws, pick, sample, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.fitting import fitting, long_enough
from needlework.haystack_fixtures.tasks.parts.statement_keys import stratified
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

# Names of consonants alone are words of no language that is asked here; no two begin with the same two letters.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_VARIANTS = (
    "h1_c1_forward_all",
    "h2_c2_forward_all",
    "h4_c2_forward_all",
    "h4_c2_shuffled_all",
    "h8_c4_shuffled_all",
    "h1_c2_forward_last",
    "h2_c2_forward_last",
    "h4_c2_forward_last",
    "h4_c2_shuffled_last",
    "h8_c4_shuffled_last",
)
_FIRST = {"en": "Let {name} be {value}.", "zh": "设{name}为{value}。"}
_NEXT = {"en": "Let {name} equal {other}.", "zh": "令{name}等于{other}。"}
_QUESTION = {
    "all": {
        "en": "Which names are equal to {value}, directly or through other names? Reply with the names and nothing "
        "else, one per line.",
        "zh": "哪些名称直接或通过其他名称等于{value}？请只回答这些名称，每行一个。",
    },
    "last": {
        "en": "Follow the names: which number is {name} equal to? Reply with the number only.",
        "zh": "顺着这些名称推下去：{name}等于哪个数？请只回答这个数。",
    },
}


def _shape(variant: str) -> tuple[int, int, str, str]:
    """Hops, chains, order and question of a variant."""
    hops, chains, order, kind, *_ = variant.split("_")
    return int(hops[1:]), int(chains[1:]), order, kind


def _statements(variant: str) -> int:
    hops, chains, *_ = _shape(variant)
    return (hops + 1) * chains


def _labels(suite: Suite, kind: str) -> tuple[str, ...]:
    sizes = {name: _statements(name) for name in _VARIANTS if _shape(name)[3] == kind}
    return tuple(labelled(name, suite) for name in fitting(suite, sizes))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    hops, chains, order, kind = _shape(cell.needle)
    language = suite.language
    # The same draws for both questions.
    rng = draws("chain", 1, seed, cell.repeat, hops, chains, order, language)
    names = _names(rng, chains * (hops + 1))
    values = _values(rng, chains)
    links = [
        (
            chain,
            hop,
            names[chain * (hops + 1) + hop],
            values[chain] if hop == 0 else names[chain * (hops + 1) + hop - 1],
        )
        for chain in range(chains)
        for hop in range(hops + 1)
    ]
    ordered = _ordered(rng, links, hops, chains, order)
    needles = tuple(
        Needle(
            f"chain{chain + 1}_{hop}",
            _FIRST[language].format(name=name, value=on) if hop == 0 else _NEXT[language].format(name=name, other=on),
            "",
            "",
            key=name,
        )
        for chain, hop, name, on in ordered
    )
    own = [name for chain, _, name, _ in ordered if chain == 0]
    others = tuple(name for chain, _, name, _ in ordered if chain != 0)
    question = _QUESTION[kind][language].format(value=values[0], name=names[hops])
    wanted = (
        {"answers": (), "parts": tuple(own), "distractors": others}
        if kind == "all"
        else {"answers": (values[0],), "distractors": tuple(values[1:])}
    )
    return Asked(
        needles=needles,
        depths=stratified(rng, len(needles)),
        question=question,
        answer="\n".join(own) if kind == "all" else values[0],
        reference=wanted | {"question": question, "language": language},
        avoid=tuple(values),
        needed=tuple(number for number, (chain, *_) in enumerate(ordered) if chain == 0),
    )


def _ordered(
    rng: Random, links: list[tuple[int, int, str, str]], hops: int, chains: int, order: str
) -> list[tuple[int, int, str, str]]:
    """The links in the order of the document; forward ones of all chains by turns at random."""
    mixed = shuffled(rng, links)
    if order == "forward":
        waiting = [iter(links[chain * (hops + 1) : (chain + 1) * (hops + 1)]) for chain in range(chains)]
        return [next(waiting[chain]) for chain, *_ in mixed]
    while [hop for chain, hop, *_ in mixed if chain == 0] == list(range(hops + 1)):
        mixed = shuffled(rng, links)
    return mixed


def _names(rng: Random, count: int) -> list[str]:
    heads = sample(rng, [first + second for first in _LETTERS for second in _LETTERS], count)
    return [head + "".join(pick(rng, _LETTERS) for _ in range(3)) for head in heads]


def _values(rng: Random, count: int) -> list[str]:
    values: dict[str, None] = {}
    while len(values) < count:
        values[digits(rng, 5)] = None
    return list(values)


def _task(name: str, about: str, kind: str, scorer: str) -> Task:
    return Task(
        name,
        about,
        lambda suite: _labels(suite, kind),
        no_depths,
        _ask,
        family="chain",
        scorer=scorer,
        version=1,
        lengths=lambda suite, label: long_enough(suite, _statements(label)),
    )


ALL_NAMES = _task("chain", "every name that a value has through others", "all", "set_f1")
LAST_VALUE = _task("chain_last", "the value of a name that is given through others", "last", "match")
TASKS = (ALL_NAMES, LAST_VALUE)
