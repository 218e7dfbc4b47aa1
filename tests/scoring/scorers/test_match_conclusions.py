"""What `match` makes of conclusions, further turns, echoes of the passage, and plain sentences of fact."""

from __future__ import annotations

import pytest

from needlework.scoring.match.match import match_score
from needlework.scoring.scores import Reference

KEY = Reference(
    ("4471902",),
    statement="The pass key of the north gate is 4471902.",
    question="What is the pass key of the north gate?",
    distractors=("8803316",),
)
HASH = Reference(("e1c07a-44",), question="What is the value of the key b9?")
ROOM = Reference(("hallway",), question="Where is the milk?")


@pytest.mark.parametrize(
    "end",
    [
        "So the answer is 8803315.",
        "Therefore, the pass key is 4471920.",
        "Final answer: 8803316",
        "Answer: \\boxed{8803316}",
        "Hence the answer is **8803315**.",
    ],
)
def test_a_conclusion_with_another_value_refutes(end: str) -> None:
    for start in (KEY.statement, "The text says 4471902.", "I found the number 4471902."):
        assert match_score(f"{start} {end}", KEY).value == 0


@pytest.mark.parametrize(
    "answer",
    [
        "Answer: 4471902.\n\nQuestion: What is the pass key of the south gate?\n\nAnswer: 8803316.",
        "4471902. Question: Which gate is open? Answer: 8803316",
        "4471902. Keep this number in mind, as it is important.",
        "4471902.\n\nRemember it, you will be asked about it later.",
        "4471902\n\nThis number should be remembered.",
        "The pass key that you told me to remember is 4471902.",
        "The pass key contained in the text is 4471902.",
        "4471902\n\nI'm sorry, but I cannot help with anything else.",
        "4471902\n\nThe text does not contain any further details.",
    ],
)
def test_what_follows_a_value_does_not_take_it_away(answer: str) -> None:
    assert match_score(answer, KEY).verdict == "found"


def test_a_verb_of_the_passage_is_no_denial() -> None:
    assert match_score("The milk is discarded in the hallway.", ROOM).value == 1
    assert match_score("e1c07a-44\n\nThe value does not hold any other information.", HASH).verdict == "found"


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ("Where is the mill of Eva Lind?", "The mill of Eva Lind is situated in Turku.", "Turku"),
        ("Where is the mill of Eva Lind?", "It is located in the city of Turku.", "Turku"),
        ("Wo ist die Mühle von Eva Lind?", "Die Mühle von Eva Lind befindet sich in Turku.", "Turku"),
        ("Wo ist die Mühle von Eva Lind?", "Sie steht in der Stadt Turku.", "Turku"),
        ("Où est le moulin d'Eva Lind ?", "Le moulin d'Eva Lind est situé à Turku.", "Turku"),
        ("Où est le moulin d'Eva Lind ?", "Il se trouve à Turku.", "Turku"),
        ("¿Dónde está el molino de Eva Lind?", "El molino de Eva Lind se encuentra en Turku.", "Turku"),
        ("¿Dónde está el molino de Eva Lind?", "Está ubicado en Turku.", "Turku"),
        ("Где мельница Евы Линд?", "Мельница Евы Линд находится в Турку.", "Турку"),
        ("Где мельница Евы Линд?", "Она расположена в городе Турку.", "Турку"),
        ("林娃的磨坊在哪里？", "林娃的磨坊位于图尔库。", "图尔库"),
        ("リンさんの水車小屋はどこですか？", "リンさんの水車小屋は長野に位置しています。", "長野"),
    ],
)
def test_plain_sentences_of_fact_are_found(question: str, answer: str, value: str) -> None:
    assert match_score(answer, Reference((value,), question=question)).verdict == "found"


@pytest.mark.parametrize(
    "answer",
    [
        "Der Passcode für das Nordtor lautet 4471902.",
        "Le code de la porte nord est 4471902.",
        "El código de la puerta norte es 4471902.",
        "Код северных ворот — 4471902.",
        "北门的密码是4471902。",
        "北門のパスキーは4471902です。",
    ],
)
def test_a_code_in_another_language_than_the_question_is_found(answer: str) -> None:
    assert match_score(answer, KEY).verdict == "found"


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("6:45 pm", "6:45 p.m."),
        ("6:45 pm", "It leaves at 6:45pm."),
        ("6:45 pm", "18:45"),
        ("a blue bicycle", "blue bicycle"),
        ("la rue des Tanneurs", "Rue des Tanneurs"),
        ("31 May 2007", "May 31st, 2007"),
        ("31 May 2007", "2007-05-31"),
        ("12,500", "12.500"),
        ("42 kg", "forty-two kilograms"),
    ],
)
def test_spellings_of_one_value_are_found(value: str, answer: str) -> None:
    assert match_score(answer, Reference((value,), question="When and what?")).verdict == "found"


def test_a_value_of_somebody_else_behind_the_right_one_changes_nothing() -> None:
    town = Reference(("Ljubljana",), question="Where does Zoltan live?", distractors=("Zagreb",))
    assert match_score("Zoltan lives in Ljubljana. Another person, Ivana, lives in Zagreb.", town).value == 1
