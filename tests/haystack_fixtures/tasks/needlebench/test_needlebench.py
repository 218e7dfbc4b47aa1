"""NeedleBench's chains: what the text says and what the reference says agree, in every prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import ask, grid, task_named
from needlework.haystack_fixtures.trials.builder import Trial, TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named

LANGUAGES = ("en", "zh")
REASONING, ATC = "needlebench_reasoning", "needlebench_atc"
PRESET = """
[chains]
[[chains.suite]]
task = "needlebench_reasoning"
language = "en,zh"
prompt = "task"
lengths = "700,1k,2k"
depths = "0,50,80,100"
corpus = "noise"
answer_budget = 64
controls = "absent,focused"
repeats = 6
[[chains.suite]]
task = "needlebench_atc"
language = "en,zh"
prompt = "task"
lengths = "1k,2k,32k"
depths = "0"
answer_budget = 64
repeats = 8
"""
# Our statements, read back without the tables that they were made of: (elder, younger).
NAME = {"en": r"[A-Z][a-z]+ [A-Z][a-z]+", "zh": r"[\u4e00-\u9fff]{3}"}
READ = {
    "en": (
        r"(?P<elder>NAME) is the (?P<relation>[a-z ]+) of (?P<younger>NAME)\.",
        r"The (?P<relation>[a-z ]+) of (?P<younger>NAME) is called (?P<elder>NAME)\.",
        r"In the parish register, (?P<elder>NAME) is entered as (?P<younger>NAME)'s (?P<relation>[a-z ]+)\.",
        r"Neighbours know (?P<elder>NAME) as the (?P<relation>[a-z ]+) of (?P<younger>NAME)\.",
        r"Ask (?P<younger>NAME) about relatives, [^.]+ named is (?P<elder>NAME), NAME's (?P<relation>[a-z ]+)\.",
    ),
    "zh": (
        r"(?P<elder>NAME)就是(?P<younger>NAME)的(?P<relation>\w+)。",
        r"(?P<younger>NAME)有一位(?P<relation>\w+)，名叫(?P<elder>NAME)。",
        r"族谱上写着，(?P<younger>NAME)的(?P<relation>\w+)是(?P<elder>NAME)。",
        r"街坊都知道(?P<elder>NAME)是(?P<younger>NAME)的(?P<relation>\w+)。",
        r"说起亲人，(?P<younger>NAME)最先提到的是自己的(?P<relation>[母父亲祖外]+)(?P<elder>NAME)。",
    ),
}
Parents = Mapping[str, tuple[str, int]]


def read_chain(text: str, language: str) -> dict[str, tuple[str, int]]:
    """Who is said to be the elder one of whom, and how many generations back."""
    found: dict[str, tuple[str, int]] = {}
    for pattern in READ[language]:
        for match in re.finditer(pattern.replace("NAME", NAME[language]), text):
            generations = 2 if "grand" in match["relation"] or "祖" in match["relation"] else 1
            assert match["younger"] not in found
            found[match["younger"]] = (match["elder"], generations)
    return found


def climb(parents: Parents, person: str) -> tuple[str, int]:
    """The end of the line from a person, and its distance in generations."""
    far = 0
    while person in parents:
        person, step = parents[person]
        far += step
    return person, far


def answer_of(question: str, parents: Parents, language: str) -> str:
    """Answer from question and statements alone."""
    people = dict.fromkeys([*parents, *(elder for elder, _ in parents.values())])
    named = [person for person in people if person in question]
    far = [
        int(number) for pair in re.findall(r"(\d+) generations back\?|数(\d+)代", question) for number in pair if number
    ]
    if re.search(r"How many|一共是多少代", question):
        return str(climb(parents, min(named, key=lambda person: person not in parents))[1])
    (person,) = named
    if re.search(r"Of whom|往下数", question):
        (found,) = [other for other in people if climb(parents, other) == (person, far[0])]
        return found
    end, height = climb(parents, person)
    assert far in ([], [height])
    return end


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    file = tmp_path_factory.mktemp("preset") / "chains.toml"
    file.write_text(PRESET, encoding="utf-8")
    return resolve_settings({"preset": str(file), "model": ["mock:perfect"], "verify_prompts": "true"}, {}, file.parent)


@pytest.fixture(scope="module")
def builder(run: Settings, tmp_path_factory: pytest.TempPathFactory) -> TrialBuilder:
    return TrialBuilder(run, load_tokenizer("tiktoken:cl100k_base"), tmp_path_factory.mktemp("cache"))


def suite_of(run: Settings, task: str, language: str) -> Suite:
    return next(suite for suite in run.suites if (suite.task, suite.language) == (task, language))


def labelled(name: str, language: str) -> str:
    return name if language == "en" else f"{name}_{language}"


def context(trial: Trial) -> str:
    return trial.prompt.text[trial.prompt.context[0] : trial.prompt.context[1]]


@given(
    st.sampled_from(LANGUAGES),
    st.sampled_from([2, 3, 4, 5]),
    st.integers(0, 5),
    st.sampled_from([700, 1000, 2000]),
    st.sampled_from([0.0, 50.0, 80.0, 100.0]),
)
def test_the_text_has_one_answer_and_it_is_the_reference(builder, run, language, count, repeat, length, depth):
    suite = suite_of(run, REASONING, language)
    trial = builder.build(suite, Cell(REASONING, length, depth, labelled(f"{count}needle", language), repeat))
    parents = read_chain(context(trial), language)
    (answer,) = trial.asked.reference["answers"]
    assert len(parents) == count
    assert answer_of(trial.asked.question, parents, language) == answer
    people = {*parents, *(elder for elder, _ in parents.values())}
    assert {answer, *trial.asked.reference["distractors"]} < people
    assert len(people) == count + 1
    for person in people:
        assert context(trial).count(person) == sum(n.text.count(person) for n in trial.asked.needles)
    assert trial.prompt.slack <= max(2, length * 0.0005)
    assert trial.asked.reference["chance"] == 1 / count


@given(st.sampled_from(LANGUAGES), st.sampled_from([2, 4, 8, 16]), st.integers(0, 7))
def test_a_trace_has_one_answer_and_it_is_the_reference(builder, run, language, count, repeat):
    suite = suite_of(run, ATC, language)
    trial = builder.build(suite, Cell(ATC, 2000, None, labelled(f"n{count}", language), repeat))
    lines = context(trial).strip().splitlines()
    parents = read_chain(context(trial), language)
    assert len(lines) == len(parents) == count
    assert trial.asked.reference["answers"] == (answer_of(trial.asked.question, parents, language),)
    assert trial.asked.reference["kind"] == ("eldest", "ancestor", "descendant", "distance")[repeat % 4]


def test_traces_are_asked_at_the_first_length_that_holds_them(run):
    windows = {
        series.cells[0].needle: {cell.length for cell in series.cells}
        for series in grid(run)
        if series.suite.task == ATC
    }
    assert windows["n2"] == {1000}
    assert windows["n32"] == {2000}
    assert windows["n512"] == windows["n512_zh"] == {32_000}
    assert len(windows) == 18


def test_lengths_say_where_traces_stop(tmp_path: Path):
    def labels(lengths: str) -> list[str]:
        given = {"preset": "needlebench-v2-atc", "lengths": lengths, "language": "en"}
        return [series.cells[0].needle for series in grid(resolve_settings(given, {}, tmp_path))]

    assert labels("5k") == ["n2", "n4", "n8", "n16"]
    with pytest.raises(InputError, match=r"--lengths: '2000': too short for needlebench_atc: use at least 4460"):
        labels("2k")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("task", "label", "depth"), [(REASONING, "4needle", 0.0), (ATC, "n4", None)])
def test_answers_are_right_in_the_form_that_is_asked_for(run, task, label, depth, language):
    suite = suite_of(run, task, language)
    scorer = scorer_named(task_named(task).scorer)
    for repeat in range(4):
        asked = ask(task_named(suite.task), suite, Cell(task, 1000, depth, labelled(label, language), repeat), 0)
        reference = as_reference(asked.reference)
        assert scorer.judge(asked.answer, reference).value == 1
        assert scorer.judge(asked.reference["answers"][0], reference).value == 0
        assert scorer.judge(asked.question, reference).value == 0
