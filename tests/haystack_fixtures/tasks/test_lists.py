"""Questions about lists, programs, graphs and conversations: reading the prompt's own text gives the answer."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from needlework.scoring.scorers.sets import node_set_score
from needlework.scoring.scores import Reference
from tests.haystack_fixtures.tasks.built import (
    build,
    builder,
    context,
    judged,
    plain_trials,
    settings_of,
    trials,
)
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=6)
BIRD = {"en": "A red kite was seen over ", "zh": "有人看见一只红鸢飞过"}


def read_count(trial: Trial) -> str:
    return str(context(trial).count(BIRD[trial.suite.language]))


def read_distinct(trial: Trial) -> str:
    lines = re.findall(r"^(?:Paragraph |段落)(\d+)[:：] ?(.+)$", context(trial), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    return str(len({text for _, text in lines}))


def read_numbers(trial: Trial) -> str:
    values = sorted(map(int, re.findall(r"(?:weighs |重)(\d+)(?: grams\.|克。)", trial.prompt.text)))
    assert len(set(values)) == len(values)
    assert len(values) % 2
    label = trial.cell.needle.partition("_")[0]
    return str(values[{"largest": -1, "smallest": 0, "median": len(values) // 2}[label]])


def read_common_words(trial: Trial) -> str:
    ranked = Counter(context(trial).split("\n")[:-1]).most_common()
    tenth, eleventh = ranked[9][1], ranked[10][1]
    assert tenth > 2 * eleventh or (tenth, eleventh) == (3, 1)
    assert set(trial.asked.reference["distractors"]) == {word for word, _ in ranked[10:]}
    top = {word for word, _ in ranked[:10]}
    return ", ".join(word for word in trial.asked.answer.split(", ") if word in top)


def read_icl(trial: Trial) -> str:
    """The class of the words that were only ever seen with one class."""
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    shots = re.findall(r"([a-z]{6}(?: [a-z]{6}){3}) -> (\d\d)\n", context(trial))
    assert "".join(f"{text} -> {number}\n" for text, number in shots) == context(trial)
    assert len(shots) == trial.asked.reference["shots"] >= 12
    for text, number in shots:
        for word in text.split():
            classes[word][number] += 1
    shown = Counter(number for _, number in shots)
    assert max(shown.values()) - min(shown.values()) <= 1
    assert shown.keys() == {trial.asked.answer, *trial.asked.reference["distractors"]}
    [asked] = re.findall(r'["“]([a-z ]+)["”]', trial.asked.question)
    assert asked not in {text for text, _ in shots}
    telling = [next(iter(classes[word])) for word in asked.split() if len(classes[word]) == 1]
    assert len(telling) == 2
    assert len(set(telling)) == 1
    return telling[0]


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def read_key_value(trial: Trial) -> str:
    begin, end = trial.prompt.text.index("{\n"), trial.prompt.text.rindex("\n}") + 2
    [asked] = UUID.findall(trial.asked.question)
    found = UUID.findall(context(trial))
    assert len(found) == len(set(found))
    [placed] = trial.prompt.placed
    assert abs(placed.depth - 50) / 100 * trial.prompt.context_tokens <= placed.tokens + 8  # of one pair
    return str(json.loads(trial.prompt.text[begin:end])[asked])


def read_code_chain(trial: Trial) -> str:
    """What running the document returns; the chain is as long as its label says, and others call it too."""
    [(name, argument)] = re.findall(r"([a-z]{6})\((\d+)\)", trial.asked.question)
    program = ast.parse(context(trial))
    calls = {
        line.name: next((call.func.id for call in ast.walk(line) if isinstance(call, ast.Call)), "")  # type: ignore[attr-defined, union-attr]
        for line in program.body
    }
    assert len(calls) == len(program.body)
    assert set(calls.values()) <= {*calls, ""}
    chain = [name]
    while calls[chain[-1]]:
        chain.append(calls[chain[-1]])
    assert len(chain) == int(trial.cell.needle.partition("_")[0].removeprefix("d"))
    assert any(called in chain for caller, called in calls.items() if caller not in chain)
    scope: dict[str, object] = {}
    exec(compile(program, "document", "exec"), scope)
    assert 0 < int(trial.asked.answer) != int(argument)
    return str(scope[name](int(argument)))  # type: ignore[operator]


NAME = re.compile(r"[0-9a-f]{10}")


def read_graph(trial: Trial) -> str:
    """The nodes that the question asks for, by a search of all edges."""
    edges = [tuple(line.split(" -> ")) for line in context(trial).splitlines()]
    names = {name for edge in edges for name in edge}
    assert all(NAME.fullmatch(name) and sum(char.isalpha() for char in name) > 1 for name in names)
    assert len({name[:6] for name in names}) == len(names)
    assert len(set(edges)) == len(edges)
    [start] = set(NAME.findall(trial.asked.question))
    label = trial.cell.needle.partition("_")[0]
    if label == "parents":
        found = {source for source, target in edges if target == start}
    else:
        seen = found = {start}
        for _ in range(int(label[1])):
            found = {target for source, target in edges if source in found} - seen
            seen = seen | found
    assert found == set(trial.asked.reference["parts"])
    return trial.asked.answer if all(node in trial.asked.answer for node in found) else ""


def read_copy(trial: Trial) -> str:
    word, odd = trial.asked.reference["parts"]
    text = context(trial)
    size = int(trial.cell.needle.removeprefix("n").partition("_")[0])
    said = text.split() if trial.suite.language == "en" else re.findall(f"{word}|{odd}", text)
    assert Counter(said) == {word: size - 1, odd: 1}
    assert trial.asked.reference["keyword"] == odd
    return text


READ = {
    "count": read_count,
    "distinct": read_distinct,
    "numbers": read_numbers,
    "common_words": read_common_words,
    "icl": read_icl,
    "key_value": read_key_value,
    "code_chain": read_code_chain,
    "graph_bfs": read_graph,
    "graph_parents": read_graph,
    "copy": read_copy,
}


@pytest.mark.parametrize("task", READ)
@varied
@given(seed=seeds, language=languages)
def test_reading_the_prompt_gives_the_answer(task, seed, language):
    budget = {"answer_budget": "600"} if task == "copy" else {}
    for trial in plain_trials(task, seed=str(seed), language=language, lengths="1k,4k", **budget):
        assert READ[task](trial) == trial.asked.answer


def test_a_text_that_has_what_is_counted_is_refused(tmp_path):
    (tmp_path / "birds.txt").write_text("We waited. A Red Kite circled above us. Then it rained again. " * 200)
    with pytest.raises(InputError, match="red kite"):
        plain_trials("count", corpus=str(tmp_path / "birds.txt"), lengths="1k", language="en")


def test_sizes_to_copy_are_those_that_window_and_budget_hold():
    def labels(**options: str) -> tuple[str, ...]:
        [suite] = settings_of("copy", language="en", **options).suites
        return TASKS["copy"].labels(suite)

    assert labels(lengths="1k,4k", answer_budget="300") == ("n25", "n50", "n100", "n250")
    assert labels(lengths="512", answer_budget="300") == ("n25", "n50", "n100")
    with pytest.raises(InputError, match="--answer-budget: '24': task copy needs 25 or more"):
        labels(lengths="4k", answer_budget="24")
    with pytest.raises(TooShortError, match="--lengths: '400': its shortest text and the answer need more") as caught:
        labels(lengths="400", answer_budget="350")
    assert labels(lengths=str(caught.value.least), answer_budget="350") == ("n25",)
    asked = trials("copy", language="en", lengths="1k,2k,4k", answer_budget="900")
    sizes = {trial.cell.needle: trial.cell.length for trial in asked}
    assert sizes == {"n25": 1000, "n50": 1000, "n100": 2000, "n250": 2000, "n500": 2000}


def test_a_budget_too_small_for_the_copy_names_the_least_and_that_works(tokenizer: Tokenizer) -> None:
    def trial(budget: int) -> Trial:
        options = {"language": "en", "lengths": "2k", "answer_budget": str(budget)}
        [suite] = settings_of("copy", **options).suites
        return build(builder("copy", tokenizer, **options), suite, Cell("copy", 2000, None, "n25"))

    with pytest.raises(InputError, match=r"--answer-budget.*n25.*use at least") as caught:
        trial(25)
    least = int(str(caught.value).rsplit(" ", 1)[1])
    assert len(tokenizer.encode(trial(least).asked.answer).ids) == least - 1
    with pytest.raises(InputError, match=f"use at least {least}"):
        trial(least - 1)


def test_wrong_nodes_are_told_apart():
    trial = next(each for each in plain_trials("graph_bfs", lengths="4k", language="en")
                 if each.cell.needle == "d3" and each.asked.reference["kinds"])  # fmt: skip
    told = trial.asked.reference
    reference = Reference(told["parts"], parts=told["parts"], kinds=told["kinds"], name_key=told["name_key"])
    earlier = next(node for node, kind in told["kinds"].items() if kind == "earlier" or kind == "start")
    other = next(node for node in NAME.findall(context(trial)) if node not in (*told["parts"], *told["kinds"]))
    invented = other[:-1] + ("0" if other[-1] != "0" else "1")
    details = node_set_score(f"Final Answer: [{earlier}, {other}, {invented}]", reference).details
    assert (details["extra"], details["invented"]) == (3, 1)
    assert sum(value for name, value in details.items() if name in ("extra_earlier", "extra_start")) == 1


PIECES = {"n2": 2, "n4": 4, "n8": 8}


def wanted_pieces(trial: Trial) -> list[str]:
    """The assistant's replies to the asks of the wanted kind, in the order of the messages sent."""
    ask = trial.asked.needles[0].ask if trial.asked.needles else None
    return [reply.content for asked, reply in pairwise(trial.prompt.messages) if asked.content == ask]


def mrcr(language: str, label: str, length: int, depth: float | None, seed: int = 0, repeat: int = 0) -> Trial:
    options = {"language": language, "lengths": "4500,5500", "seed": str(seed), "repeats": "8", "answer_budget": "300"}
    made, [suite] = builder("mrcr", **options), settings_of("mrcr", **options).suites
    name = label if language == "en" else f"{label}_zh"
    return build(made, suite, Cell("mrcr", length, depth, name, repeat))


@varied
@given(seed=seeds, repeat=st.integers(0, 7), label=st.sampled_from(sorted(PIECES)), language=languages)
def test_a_conversation_is_the_same_at_every_depth_and_length(seed, repeat, label, language):
    made = [mrcr(language, label, size, depth, seed, repeat) for size, depth in ((4500, 0), (5500, 40), (5500, 100))]
    first = made[0]
    number = int(first.asked.reference["wanted"][1:]) - 1
    for trial in made:
        assert (trial.asked.reference, trial.asked.question) == (first.asked.reference, first.asked.question)
        pieces = wanted_pieces(trial)
        assert pieces == wanted_pieces(first)
        assert len(pieces) == PIECES[label]
        [string] = trial.asked.reference["given"]
        assert trial.asked.answer == string + pieces[number]
        assert not any(string in message.content for message in trial.prompt.messages[:-1])
        placed = trial.prompt.placed[number]
        assert abs(placed.depth - (trial.cell.depth or 0)) < 100 * 450 / 4000
        assert trial.prompt.text[placed.start : placed.end] == pieces[number]
    shared = {*wanted_pieces(first), first.asked.needles[0].ask}
    rest = [[each.content for each in trial.prompt.messages[:-3] if each.content not in shared] for trial in made]
    assert rest[1] == rest[2]
    assert rest[1][: len(rest[0])] == rest[0]


def test_the_piece_given_is_recorded_against_the_piece_asked_for():
    trials_of_repeats = [mrcr("en", "n8", 5500, 50, repeat=repeat) for repeat in range(8)]
    assert sorted(trial.asked.reference["wanted"] for trial in trials_of_repeats) == [f"#{n}" for n in range(1, 9)]
    trial = trials_of_repeats[3]
    reference, pieces = trial.asked.reference, wanted_pieces(trial)
    kinds = Counter(reference["kinds"].values())
    assert kinds["topic"] + kinds["format"] == 16
    [string] = reference["given"]
    for number, text in enumerate(pieces, 1):
        scored, right = judged(trial, string + text).for_asserting, reference["wanted"] == f"#{number}"
        assert scored.details["given"] == ("wanted" if right else f"#{number}")
        assert (scored, scored.verdict) == ((1.0, "found") if right else (0.0, "distractor"))
    other = next(text for text, kind in reference["kinds"].items() if kind == "topic")
    assert judged(trial, string + other).for_asserting.details["given"] == "topic"
    assert judged(trial, pieces[int(reference["wanted"][1:]) - 1]).for_asserting == 0  # without the string
