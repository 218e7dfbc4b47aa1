"""What `match` must call found, and what it must not: English and Chinese answers as models really write them."""

from __future__ import annotations

import pytest

from needlework.scoring.match.match import match_score
from needlework.scoring.scores import Reference, Verdict

CODE = Reference(
    ("48213",),
    statement="The secret code for Lisbon is 48213.",
    distractors=("77120", "90417"),
    question="What is the secret code for Lisbon?",
)
YEAR = Reference(("1234",), statement="The bridge was built in 1234.", question="When was the bridge built?")
JACK = Reference(
    ("Jack",), statement="The cook is Jack.", distractors=("Bob", "Jack Smith"), question="Who is the cook?"
)
SANDWICH = Reference(
    ("eat a sandwich and sit in Dolores Park on a sunny day",),
    statement="The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.",
    question="What is the best thing to do in San Francisco?",
)
LAB = Reference(
    ("上海人工智能实验室",),
    statement="小明最喜欢的实习的地点就是上海人工智能实验室。",
    distractors=("北京大学",),
    question="小明最喜欢的实习地点是哪里？请按照“小明最喜欢的实习地点就是________。”的格式回答。",
    language="zh",
)
ZH_CODE = Reference(("48213",), statement="密码是48213。", distractors=("77120",), question="密码是多少？请回答。")
THREE = Reference(("三",), question="有几个？")
A7 = Reference(("a7", "a-7"), question="Which room is it?")
UUID = Reference(("3f2a-91bc-77de",), statement="The key is 3f2a-91bc-77de.")
GEMS = Reference((), parts=("48213", "55601", "10934"), distractors=("77120",), question="What are the three codes?")

FILLER = "People wander along the river and talk about the weather and the price of bread. "
ZH_FILLER = "江上的渔夫每天清晨划船出去，傍晚才带着几条鱼回来。"

FOUND = [
    (A7, "A7 or A-7"),
    (A7, "a7, or so it says"),
    (A7, "Room B3 or not, it is a7."),
    (CODE, "48213"),
    (CODE, "The code is: 48213."),
    (CODE, "The secret code for Lisbon is 48213."),
    (CODE, "**48213**"),
    (CODE, "The code is **48213**."),
    (CODE, "__48213__"),
    (CODE, "`48213`"),
    (CODE, '"48213"'),
    (CODE, "“48213”"),
    (CODE, "'48213'"),
    (CODE, "４８２１３"),
    (CODE, "48,213"),
    (CODE, "'48,213'"),
    (CODE, "48\u202f213"),
    (CODE, "48'213"),
    (CODE, "４８，２１３"),
    (CODE, "٤٨٢١٣"),
    (CODE, '{"answer": 48213}'),
    (CODE, '{"answer": "48213", "confidence": 0.9}'),
    (CODE, "{'code':'48213'}"),
    (CODE, '```json\n{"code": "48213"}\n```'),
    (CODE, "\\boxed{48213}"),
    (CODE, "code=48213"),
    (CODE, "(48213)"),
    (CODE, "48213!"),
    (CODE, "48213²"),
    (CODE, "- 48213"),
    (CODE, "1. 48213"),
    (CODE, "Answer:\n\n48213\n"),
    (CODE, "The code is not 77120, it is 48213."),
    (CODE, "It is not 77120 but 48213."),
    (CODE, "The code is 48213, not 77120."),
    (CODE, "I don't see any other code in the text; the code is 48213."),
    (CODE, "There is no doubt that the code is 48213."),
    (CODE, "The text says that it's 48213."),
    (CODE, "Madrid has 77120. Lisbon has another one. So the answer is 48213."),
    (CODE, "Candidates: 77120 and 48213.\nFinal answer: 48213"),
    (CODE, "Question: What is the secret code for Lisbon?\nAnswer: 48213"),
    (CODE, 'The answer to "What is the secret code for Lisbon?" is 48213.'),
    (CODE, "48213\n\nQuestion: What is the secret code for Madrid?"),
    (CODE, "I cannot be sure, but it seems to be 48213."),
    (CODE, "The secret code for Lisbon is 48213. " * 3),
    (CODE, "48213. " + FILLER * 30),
    (CODE, FILLER * 30 + "The value asked for is 48213."),
    (CODE, "It is not the case that the code is 77120; it's 48213"),
    (CODE, "If I'm not mistaken the code is 48213"),
    (CODE, "The code is neither 77120 nor 90417; it is 48213"),
    (YEAR, "1,234"),
    (YEAR, "in 1234, I think"),
    (YEAR, "1234年"),
    (JACK, "Jack"),
    (JACK, "jack."),
    (JACK, "JACK'S the cook"),
    (JACK, "It's Jack, the man from Florence, who cooks."),
    (JACK, "The cook is Jack, not Bob."),
    (JACK, "None other than Jack"),
    (SANDWICH, "Eat a sandwich and sit in Dolores Park on a sunny day."),
    (SANDWICH, "The best thing is to eat a sandwich, and sit in Dolores Park on a sunny day!"),
    (SANDWICH, "eat a **sandwich** and sit in\nDolores Park on a sunny day"),
    (SANDWICH, "“The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.”"),
    (LAB, "上海人工智能实验室"),
    (LAB, "小明最喜欢的实习地点就是上海人工智能实验室。"),
    (LAB, "小明最喜欢的实习的地点就是上海人工智能实验室。"),
    (LAB, "**上海人工智能实验室**。"),
    (LAB, "「上海人工智能实验室」"),
    (LAB, "上海 人工智能 实验室"),
    (LAB, "不是北京大学，而是上海人工智能实验室。"),
    (LAB, "毫无疑问是上海人工智能实验室"),
    (ZH_CODE, "密码是48213。"),
    (ZH_CODE, "密码是４８２１３。"),
    (ZH_CODE, "答案：48,213"),
    (ZH_CODE, "密码不是77120，而是48213"),
    (THREE, "一共有三个。"),
    (UUID, "3F2A-91BC-77DE"),
    (UUID, "3f2a‑91bc‑77de"),
]

MISSED: list[tuple[Reference, str, Verdict]] = [
    (A7, "b3 or a7", "wrong"),
    (A7, "a7 or b3", "wrong"),
    (A7, "It is either B3 or A7.", "wrong"),
    (A7, "12, maybe a7", "wrong"),
    (A7, "**r2d2** or **a7**", "wrong"),
    (CODE, "", "empty"),
    (CODE, " \n\t\u3000", "empty"),
    (CODE, "148213", "wrong"),
    (CODE, "482135", "wrong"),
    (CODE, "48213.5", "wrong"),
    (CODE, "0.48213", "wrong"),
    (CODE, "-48213", "wrong"),
    (CODE, "A48213", "wrong"),
    (CODE, "48213b", "wrong"),
    (CODE, "48213-9", "wrong"),
    (CODE, "1,482,13", "wrong"),
    (CODE, "148,213", "wrong"),
    (CODE, "48,213,000", "wrong"),
    (CODE, "Blue", "wrong"),
    (CODE, "77120", "distractor"),
    (CODE, "The code is 77,120.", "distractor"),
    (CODE, "The code is not 48213.", "wrong"),
    (CODE, "It isn't 48213", "wrong"),
    (CODE, "It isn’t 48213", "wrong"),
    (CODE, "The secret code is definitely not “48213”.", "wrong"),
    (CODE, "I don't think that the code is 48213.", "wrong"),
    (CODE, "48213 is not the code.", "wrong"),
    (CODE, "48213 is wrong.", "wrong"),
    (CODE, "It's false that the code is 48213", "wrong"),
    (CODE, "The code is anything but 48213", "wrong"),
    (CODE, "The code is not: 48213", "wrong"),
    (CODE, "anything rather than 48213", "wrong"),
    (CODE, "It is not true that the secret code for Lisbon is 48213.", "wrong"),
    (CODE, "The code is 48213. Sorry, no: it is not 48213.", "wrong"),
    (CODE, "It is 77120, not 48213.", "distractor"),
    (CODE, "48213, 77120, 90417", "distractor"),
    (CODE, "77120\n90417\n48213", "distractor"),
    (CODE, "48213 or 77120", "distractor"),
    (CODE, "48213 or 11111", "wrong"),
    (CODE, "It could be 48213, 11111 or 22222.", "wrong"),
    (CODE, "11111 22222 33333 44444 48213 55555", "wrong"),
    (CODE, "What is the secret code for Lisbon?", "wrong"),
    (CODE, FILLER + CODE.statement + " " + FILLER + "\n\n" + CODE.question, "wrong"),
    (CODE, FILLER * 20 + CODE.statement + " " + FILLER * 20 + "\n\n" + CODE.question, "wrong"),
    (CODE, CODE.question + "\n" + FILLER * 20 + CODE.statement + " " + FILLER * 20, "wrong"),
    (CODE, FILLER * 20 + CODE.statement + " " + FILLER * 20, "wrong"),
    (CODE, FILLER * 20 + CODE.statement, "wrong"),
    (CODE, "I cannot find the code in the text.", "refused"),
    (CODE, "The document does not mention a secret code for Lisbon.", "refused"),
    (CODE, "The code is not mentioned.", "refused"),
    (CODE, "I'm sorry, but I can't help with that.", "refused"),
    (CODE, "There is no information about this in the context.", "refused"),
    (CODE, "I don’t know.", "refused"),
    (CODE, "Unknown", "refused"),
    (CODE, "N/A", "refused"),
    (CODE, "The text does not mention 48213.", "refused"),
    (YEAR, "12345", "wrong"),
    (YEAR, "1234.5", "wrong"),
    (YEAR, "1,234.5", "wrong"),
    (YEAR, "1,234,567", "wrong"),
    (YEAR, "555-1234", "wrong"),
    (YEAR, "12341", "wrong"),
    (JACK, "Jackson", "wrong"),
    (JACK, "It is not Jack", "wrong"),
    (JACK, "Anne-Jack", "wrong"),
    (JACK, "Jack Smith", "distractor"),
    (JACK, "Bob", "distractor"),
    (JACK, "Jack, Bob", "distractor"),
    (JACK, "Neither Bob nor Jack", "wrong"),
    (SANDWICH, "Visit Alcatraz.", "wrong"),
    (SANDWICH, "sandwich day park sunny Dolores eat sit", "wrong"),
    (SANDWICH, "Eat a burrito and sit in Dolores Park on a sunny day.", "wrong"),
    (SANDWICH, "No information about San Francisco is given in the document.", "refused"),
    (LAB, "不是上海人工智能实验室", "wrong"),
    (LAB, "小明最喜欢的实习地点并不是上海人工智能实验室。", "wrong"),
    (LAB, "上海人工智能实验室不是他最喜欢的地点。", "wrong"),
    (LAB, "北京大学", "distractor"),
    (LAB, "是北京大学，而不是上海人工智能实验室。", "distractor"),
    (LAB, "北京大学和上海人工智能实验室", "distractor"),
    (LAB, "文中没有提到小明的实习地点。", "refused"),
    (LAB, "无法确定。", "refused"),
    (LAB, "抱歉，我找不到相关信息。", "refused"),
    (LAB, "上海", "wrong"),
    (LAB, LAB.question, "wrong"),
    (LAB, ZH_FILLER * 15 + LAB.statement + ZH_FILLER * 15 + LAB.question, "wrong"),
    (LAB, ZH_FILLER * 15 + LAB.statement + ZH_FILLER * 15, "wrong"),
    (ZH_CODE, "密码是148213。", "wrong"),
    (ZH_CODE, "密码不是48213。", "wrong"),
    (ZH_CODE, "密码是48213还是11111", "wrong"),
    (THREE, "十三个", "wrong"),
    (THREE, "三十个", "wrong"),
    (UUID, "3f2a-91bc-77de-0000", "wrong"),
    (UUID, "3f2a-91bc-77d", "wrong"),
    (UUID, "1a1a-2b2b-3c3c 3f2a-91bc-77de 4d4d-5e5e-6f6f", "wrong"),
]


@pytest.mark.parametrize(("reference", "answer"), FOUND)
def test_found(reference: Reference, answer: str) -> None:
    score = match_score(answer, reference)
    assert (score.value, score.verdict) == (1.0, "found"), score
    assert score.why
    assert score.answer


@pytest.mark.parametrize(("reference", "answer", "verdict"), MISSED)
def test_not_found(reference: Reference, answer: str, verdict: Verdict) -> None:
    score = match_score(answer, reference)
    assert (score.value, score.verdict) == (0.0, verdict), score
    assert score.why


@pytest.mark.parametrize(
    ("answer", "value", "verdict"),
    [
        ("48213, 55601, 10934", 1.0, "found"),
        ("1. 48213\n2. 55601\n3. 10934", 1.0, "found"),
        ("48213,55601,10934", 1.0, "found"),
        ("48213 and 10934", 2 / 3, "partial"),
        ("48213, 55601, 10934, 77120", 3 / 4, "partial"),
        ("48213, 55601, 10934, 11111, 22222, 33333", 1 / 2, "partial"),
        ("48213; it is not 55601; 10934", 2 / 3, "partial"),
        ("77120", 0.0, "distractor"),
        ("I could not find the codes.", 0.0, "refused"),
        ("nothing of the kind", 0.0, "wrong"),
        ("", 0.0, "empty"),
    ],
)
def test_several_needles_score_their_share(answer: str, value: float, verdict: Verdict) -> None:
    score = match_score(answer, GEMS)
    assert score.value == pytest.approx(value)
    assert score.verdict == verdict


def test_any_accepted_spelling_counts() -> None:
    reference = Reference(("12 March 1921", "March 12, 1921", "1921-03-12"))
    for answer in ("It was 1921-03-12.", "on March 12, 1921", "12 march 1921"):
        assert match_score(answer, reference).verdict == "found"


def test_a_right_answer_may_be_that_the_text_is_silent() -> None:
    reference = Reference(("not mentioned",), question="Who won?")
    assert match_score("It is not mentioned in the text.", reference).verdict == "found"


def test_a_value_in_the_needle_does_not_count_as_another_candidate() -> None:
    reference = Reference(("1984",), statement="Between 1901 and 1999 the best year was 1984.", distractors=("1901",))
    assert match_score("Between 1901 and 1999 the best year was 1984.", reference).verdict == "found"


def test_a_reference_without_a_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="no value to match"):
        match_score("48213", Reference((" ",)))
