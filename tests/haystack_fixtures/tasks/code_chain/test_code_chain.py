"""Call chains: the document is a program, and running it gives the answer."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import build, builder, context, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

DEPTHS = (2, 4, 6, 8, 10)


def functions(trial: Trial) -> dict[str, tuple[str, int]]:
    """What each function calls (nothing: empty) and adds, read from the program in the prompt."""
    found: dict[str, tuple[str, int]] = {}
    for line in ast.parse(context(trial)).body:
        assert isinstance(line, ast.FunctionDef)
        [returned] = line.body
        assert isinstance(returned, ast.Return)
        assert isinstance(returned.value, ast.BinOp)
        called, added = returned.value.left, ast.literal_eval(returned.value.right)
        sign = -1 if isinstance(returned.value.op, ast.Sub) else 1
        assert line.name not in found
        found[line.name] = (called.func.id if isinstance(called, ast.Call) else "", sign * added)  # type: ignore[attr-defined]
    return found


def asked_call(trial: Trial) -> tuple[str, int]:
    [(name, argument)] = re.findall(r"([a-z]{6})\((\d+)\)", trial.asked.question)
    return name, int(argument)


def run(trial: Trial) -> int:
    """What the program returns."""
    name, argument = asked_call(trial)
    scope: dict[str, object] = {}
    exec(compile(context(trial), "document", "exec"), scope)
    return scope[name](argument)  # type: ignore[operator, no-any-return]


def chain(trial: Trial) -> list[str]:
    name, table = asked_call(trial)[0], functions(trial)
    names = [name]
    while table[names[-1]][0]:
        names.append(table[names[-1]][0])
        assert len(names) <= len(table)
    return names


@pytest.mark.parametrize("language", ["en", "zh"])
def test_running_the_document_gives_the_answer(tokenizer: Tokenizer, language: str) -> None:
    for trial in trials("code_chain", tokenizer, language=language, lengths="900,2k", repeats="2"):
        name, argument = asked_call(trial)
        control = trial.asked.reference.get("control")
        if control == "absent":
            assert name not in functions(trial)
            assert trial.asked.answer == NOT_FOUND[language]
            continue
        assert str(run(trial)) == trial.asked.answer
        assert trial.asked.reference["answers"] == (trial.asked.answer,)
        assert 0 < int(trial.asked.answer) != argument
        names, table = chain(trial), functions(trial)
        assert len(names) == int(trial.cell.needle.partition("_")[0].removeprefix("d"))
        assert (len(table) == len(names)) == (control == "focused")
        assert argument + sum(table[each][1] for each in names) == int(trial.asked.answer)
        for called, _ in table.values():
            assert called in table or called == ""


def test_the_chain_cannot_be_told_by_who_calls_it() -> None:
    others, inside = 0, 0
    for trial in trials("code_chain", language="en", lengths="2k", repeats="5"):
        if trial.asked.reference.get("control"):
            continue
        names, table = set(chain(trial)), functions(trial)
        callers = [name for name, (called, _) in table.items() if called in names and name not in names]
        inside += len(callers)
        others += sum(called != "" and called not in names for name, (called, _) in table.items() if name not in names)
    assert inside > 20
    assert others > 20


def test_the_chain_stands_in_any_order() -> None:
    orders = set()
    made, [suite] = builder("code_chain", language="en"), settings_of("code_chain", language="en").suites
    for repeat in range(40):
        trial = build(made, suite, Cell("code_chain", 512, None, "d4", repeat))
        places = [context(trial).index(f"def {name}(") for name in chain(trial)]
        orders.add(tuple(sorted(range(4), key=places.__getitem__)))
    assert len(orders) > 12


@given(
    seed=st.integers(0, 20),
    repeat=st.integers(0, 5),
    depth=st.sampled_from(DEPTHS),
    language=st.sampled_from(["en", "zh"]),
    length=st.integers(700, 2500),
)
def test_any_seed_repeat_and_length(seed: int, repeat: int, depth: int, language: str, length: int) -> None:
    options = {"language": language, "lengths": "800,2500", "seed": str(seed), "repeats": "6"}
    made, [suite] = builder("code_chain", **options), settings_of("code_chain", **options).suites
    label = f"d{depth}" if language == "en" else f"d{depth}_zh"
    short, long = (build(made, suite, Cell("code_chain", size, None, label, repeat)) for size in (length, 2500))
    assert str(run(short)) == short.asked.answer == long.asked.answer
    assert (short.asked.question, short.asked.needles) == (long.asked.question, long.asked.needles)
    wanted = set(chain(short))
    rest = [[line for line in context(each).splitlines() if line[4:10] not in wanted] for each in (short, long)]
    assert rest[1][: len(rest[0])] == rest[0]


def test_mock_models_score_as_they_should() -> None:
    for trial in trials("code_chain", lengths="600"):
        absent = trial.asked.reference.get("control") == "absent"
        assert mock_value(trial, "perfect") == 1
        for behaviour in ("wrong", "empty", "echo", "ramble"):
            assert mock_value(trial, behaviour) == 0, behaviour
        assert mock_value(trial, "refuse") == absent
