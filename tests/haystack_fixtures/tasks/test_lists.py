"""Questions about lists, programs, graphs and conversations: reading the prompt's own text gives the answer."""

import ast
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from tests.haystack_fixtures.tasks.built import build, builder, context, judged, plain_trials, settings_of, trials

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=3)
BIRD = {"en": "A red kite was seen over ", "zh": "有人看见一只红鸢飞过"}


def read_count(trial):
    return str(context(trial).count(BIRD[trial.suite.language]))


def read_distinct(trial):
    lines = re.findall(r"^(?:Paragraph |段落)(\d+)[:：] ?(.+)$", context(trial), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    return str(len({text for _, text in lines}))


def read_numbers(trial):
    values = sorted(map(int, re.findall(r"(?:weighs |重)(\d+)(?: grams\.|克。)", trial.prompt.text)))
    assert len(set(values)) == len(values)
    assert len(values) % 2
    label = trial.cell.needle.partition("_")[0]
    return str(values[{"largest": -1, "smallest": 0, "median": len(values) // 2}[label]])


def read_common_words(trial):
    ranked = Counter(context(trial).split("\n")[:-1]).most_common()
    tenth, eleventh = ranked[9][1], ranked[10][1]
    assert tenth > 2 * eleventh or (tenth, eleventh) == (3, 1)
    assert set(trial.asked.reference["distractors"]) == {word for word, _ in ranked[10:]}
    top = {word for word, _ in ranked[:10]}
    return ", ".join(word for word in trial.asked.answer.split(", ") if word in top)


def read_code_chain(trial):
    """What running the document returns; the chain is as long as its label says, and others call it too."""
    [(name, argument)] = re.findall(r"([a-z]{6})\((\d+)\)", trial.asked.question)
    program = ast.parse(context(trial))
    calls = {
        line.name: next((call.func.id for call in ast.walk(line) if isinstance(call, ast.Call)), "")
        for line in program.body
    }
    assert len(calls) == len(program.body)
    assert set(calls.values()) <= {*calls, ""}
    chain = [name]
    while calls[chain[-1]]:
        chain.append(calls[chain[-1]])
    assert len(chain) == int(trial.cell.needle.partition("_")[0].removeprefix("d"))
    assert any(called in chain for caller, called in calls.items() if caller not in chain)
    scope = {}
    exec(compile(program, "document", "exec"), scope)
    assert 0 < int(trial.asked.answer) != int(argument)
    return str(scope[name](int(argument)))


NAME = re.compile(r"[0-9a-f]{10}")


def read_graph(trial):
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


READ = {
    "count": read_count,
    "distinct": read_distinct,
    "numbers": read_numbers,
    "common_words": read_common_words,
    "code_chain": read_code_chain,
    "graph_bfs": read_graph,
    "graph_parents": read_graph,
}


@pytest.mark.parametrize("task", READ)
@varied
@given(seed=seeds, language=languages)
def test_reading_the_prompt_gives_the_answer(task, seed, language):
    for trial in plain_trials(task, seed=str(seed), language=language, lengths="1k,4k"):
        assert READ[task](trial) == trial.asked.answer


def test_a_text_that_has_what_is_counted_is_refused(tmp_path):
    (tmp_path / "birds.txt").write_text("We waited. A Red Kite circled above us. Then it rained again. " * 200)
    with pytest.raises(InputError, match="red kite"):
        plain_trials("count", corpus=str(tmp_path / "birds.txt"), lengths="1k", language="en")


def test_sizes_to_copy_are_those_that_window_and_budget_hold():
    def labels(**options):
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


def test_a_budget_too_small_for_the_copy_names_the_least_and_that_works(tokenizer):
    def trial(budget):
        options = {"language": "en", "lengths": "2k", "answer_budget": str(budget)}
        [suite] = settings_of("copy", **options).suites
        return build(builder("copy", tokenizer, **options), suite, Cell("copy", 2000, None, "n25"))

    with pytest.raises(InputError, match=r"--answer-budget.*n25.*use at least") as caught:
        trial(25)
    least = int(str(caught.value).rsplit(" ", 1)[1])
    assert len(tokenizer.encode(trial(least).asked.answer).ids) == least - 1
    with pytest.raises(InputError, match=f"use at least {least}"):
        trial(least - 1)


def test_the_piece_given_is_recorded_against_the_piece_asked_for():
    options = {"language": "en", "lengths": "5500", "repeats": "8", "answer_budget": "300"}
    made, [suite] = builder("mrcr", **options), settings_of("mrcr", **options).suites
    trials_of_repeats = [build(made, suite, Cell("mrcr", 5500, 50, "n8", repeat)) for repeat in range(8)]
    assert sorted(trial.asked.reference["wanted"] for trial in trials_of_repeats) == [f"#{n}" for n in range(1, 9)]
    trial = trials_of_repeats[3]
    reference, turns = trial.asked.reference, pairwise(trial.prompt.messages)
    pieces = [reply.content for asked, reply in turns if asked.content == trial.asked.needles[0].ask]
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
