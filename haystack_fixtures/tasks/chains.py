"""Chains: of statements, and of variables in code."""

from __future__ import annotations

from itertools import islice
from random import Random

from needlework.core.draws import below, digits, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import fitting, long_enough, nonsense, stratified
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

# A chain of h hops has h + 1 names; c chains have different values, and the first is asked about. `forward`: every name
# is explained before it is used; `shuffled`: in any order. `all`: every name of a value; `last`: the value of the last
# name.

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


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
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
    return Question(
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


# The functions of the chain stand in any order among others, which call each other and those of the chain too. Nothing
# calls itself, on no way: the text is a program that can be run.
_DEPTHS = (2, 4, 6, 8, 10)  # functions of a chain
_LARGEST = 20
_LOWEST = 300  # of arguments: no result is negative
_LEAF = 0.25  # share of the other functions that call none
_CODE_CHAIN_QUESTION = {
    "en": "The document defines functions in Python. What does {call} return? Reply with the number only.",
    "zh": "文档用Python定义了一些函数。{call}的返回值是多少？请只回答这个数。",
}


def _define(name: str, called: str, added: int) -> str:
    """One line that defines a function; it calls another, or none."""
    inner = f"{called}(x)" if called else "x"
    return f"def {name}(x): return {inner} {'-' if added < 0 else '+'} {abs(added)}"


def _others(seed: int, repeat: int, label: str, taken: tuple[str, ...], count: int) -> list[str]:
    """The first of the functions that the answer does not rest on; each calls one above it, or one that is taken."""
    rng = draws("code_chain", 1, seed, repeat, label, "others")
    known = list(taken)
    lines: list[str] = []
    for name in islice((name for name in nonsense(rng) if name not in taken), count):
        called = "" if rng.random() < _LEAF else pick(rng, known)
        lines.append(f"{_define(name, called, _step(1 + below(rng, 2 * _LARGEST)))}\n")
        known.append(name)
    return lines


def _step(number: int) -> int:
    """Of numbers from 1 to twice the largest step: 1 to the largest, and -1 down to its negative."""
    return number if number <= _LARGEST else _LARGEST - number


def _code_chain_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    label = cell.needle.partition("_")[0]
    count = int(label.removeprefix("d"))
    rng = draws("code_chain", 1, seed, cell.repeat, label)
    names = tuple(islice(nonsense(rng), count))
    steps = [0]
    while sum(steps) == 0:  # the answer is not the argument
        steps = [_step(1 + below(rng, 2 * _LARGEST)) for _ in names]
    argument = _LOWEST + below(rng, 1000 - _LOWEST)
    question = _CODE_CHAIN_QUESTION[suite.language].format(call=f"{names[0]}({argument})")
    answer = str(argument + sum(steps))
    return Question(
        needles=tuple(
            Needle(f"call{number}", _define(name, called, step), question, "")
            for number, (name, called, step) in enumerate(zip(names, (*names[1:], ""), steps, strict=True), 1)
        ),
        depths=tuple(round(100 * rng.random(), 2) for _ in names),
        question=question,
        answer=answer,
        reference={"answers": (answer,), "question": question, "language": suite.language},
        context=Listing(lambda n: _others(seed, cell.repeat, label, names, n)),
    )


TASK = Task(
    "code_chain",
    "what a chain of function calls returns",
    lambda suite: tuple(labelled(f"d{count}", suite) for count in _DEPTHS),
    no_depths,
    _code_chain_ask,
    scorer="number",
    version=1,
)
CODE_CHAIN_TASKS = (TASK,)
