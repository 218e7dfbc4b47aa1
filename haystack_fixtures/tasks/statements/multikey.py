"""One key asked for among many of the same form: `The badge code for the amber otter is 4815162.`"""

from __future__ import annotations

from needlework.haystack_fixtures.draws import draws
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.fitting import fitting, long_enough
from needlework.haystack_fixtures.tasks.parts.statement_keys import (
    draw_keys,
    draw_kind,
    draw_near_keys,
    draw_values,
    statement,
)
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled

_NEAR = "near"
_OTHERS = {"k0": 0, "k4": 4, "k16": 16, _NEAR: 16, "k64": 64}
_MOST = max(_OTHERS.values())
_QUESTION = {
    "en": "What is the {kind} code for {key}? Reply with the code only.",
    "zh": "{key}的{kind}代码是什么？请只回答代码。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in fitting(suite, _OTHERS))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    name, language = cell.needle.split("_")[0], suite.language
    others = _OTHERS[name]
    # The same draws for every variant: more keys are the fewer ones and others.
    rng = draws("multikey", 1, seed, cell.repeat, language)
    kind, values = draw_kind(rng, language), draw_values(rng, _MOST + 1)
    keys = (draw_near_keys if name == _NEAR else draw_keys)(rng, language, _MOST + 1)
    (key, *other_keys), (value, *wrong) = keys[: others + 1], values[: others + 1]
    question = _QUESTION[language].format(kind=kind, key=key)
    assert cell.depth is not None
    needle = Needle(
        "code", statement(language, kind, key, value), question, value, key=key, distractor_answers=tuple(wrong)
    )
    # Where trials.py puts distractors.
    spread = [round(100 * (number + 1) / (others + 1), 2) for number in range(others)]
    return Asked(
        needles=(needle,),
        depths=(cell.depth,),
        question=question,
        answer=value,
        reference={
            "answers": (value,),
            "statement": needle.text,
            "distractors": tuple(wrong),
            "places": {value: cell.depth, **dict(zip(wrong, spread, strict=True))},
            "question": question,
            "language": language,
        },
        distractors=tuple(statement(language, kind, *pair) for pair in zip(other_keys, wrong, strict=True)),
        avoid=(*other_keys, *wrong),
    )


TASK = Task(
    "multikey",
    "one key among many of the same form",
    _labels,
    lambda suite: suite.depths,
    _ask,
    scorer="confusion",
    version=1,
    lengths=lambda suite, label: long_enough(suite, _OTHERS[label.split("_")[0]]),
)
