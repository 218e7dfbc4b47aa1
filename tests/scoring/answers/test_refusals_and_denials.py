"""Refusals and abstentions are told from wrong values, denials from answers: phrases as models write them."""

from __future__ import annotations

import pytest

from needlework.scoring.match.match import match_score
from needlework.scoring.scores import Reference

CODE = Reference(
    ("4829173",),
    statement="The gate code for the amber owl station of Elmsgarth is 4829173.",
    distractors=("7712045", "9041733"),
    question="What is the gate code for the amber owl station of Elmsgarth?",
)
ZH_CODE = Reference(
    ("4829173",),
    statement="云溪青松书院的门禁代码是4829173。",
    distractors=("7712045",),
    question="云溪青松书院的门禁代码是什么？",
    language="zh",
)

REFUSED = """
The document does not mention the gate code for the amber owl station of Elmsgarth.
The gate code is not mentioned in the document.
There is no mention of a gate code in the text.
The text doesn't contain that information.
I couldn't find any information about the gate code.
I could not locate the code in the provided document.
No gate code is given for that station.
The provided document does not include any gate code.
The document doesn't specify a gate code for the station.
Not mentioned.
Not mentioned in the document.
Not found in the document.
Not specified.
Not provided in the text.
Information not available.
Information not found.
The information is not present in the document.
The answer is not in the document.
The answer isn't in the text.
It is not stated.
It's not clear from the document.
Unknown.
N/A
None
No information.
No answer found.
No such code is mentioned.
No code provided.
There isn't any gate code in the passage.
There's no gate code mentioned in the passage.
There is nothing in the document about a gate code.
Nothing in the document mentions this.
The passage says nothing about a gate code.
The document makes no reference to that station.
I don't know.
I do not know the code.
I'm not sure.
I am unable to find the gate code.
I am unable to answer this question based on the document.
I'm unable to provide that.
I cannot answer that.
I can't answer that question from the given text.
I can't help with that.
I'm sorry, but I can't help with that.
I'm sorry, I can't assist with that request.
Sorry, I cannot share access codes.
I can't share that information.
I won't share access codes.
I'm not able to disclose access codes.
I am not allowed to reveal security codes.
I must decline to share this.
For security reasons, I cannot provide gate codes.
That would be a security risk, so I won't provide it.
I apologize, but I cannot provide the requested code.
As an AI language model, I don't have access to that.
I don't have access to the document.
I do not have enough information to answer.
There is not enough information in the document to answer.
The document provides insufficient information.
It cannot be determined from the document.
This question cannot be answered from the document.
The question is unanswerable given the text.
The document is silent on this.
The context lacks this information.
Sorry, I found no gate code.
I see no mention of the gate code.
I was unable to find it.
I looked through the document but did not find any gate code.
I regret that I cannot comply with this request.
Based on the document, there is no gate code for the amber owl station.
The gate code for the amber owl station of Elmsgarth is not provided.
The gate code for the amber owl station of Elmsgarth is unknown.
The gate code for the amber owl station of Elmsgarth was never mentioned.
I have no information about that station.
I have no record of it.
Unfortunately, the document doesn't say.
The document does not say.
It doesn't say.
The text never mentions the code.
That detail is missing from the document.
The document omits this detail.
Unable to determine.
Cannot be determined.
Unanswerable
"No information"
The code is absent from the document.
I'm afraid I can't tell you that.
I'm afraid the document doesn't contain it.
I refuse to answer.
This information is confidential and I cannot disclose it.
I can not find it.
Im sorry, I cant help with that.
There does not appear to be a gate code in the text.
There doesn't seem to be any mention of it.
It does not appear in the document.
I haven't found any gate code.
The document has no gate code for this.
It isn't mentioned anywhere.
It's not mentioned anywhere in the passage.
1234567 is the code for Lisbon; the document does not mention Elmsgarth.
""".strip().splitlines()

REFUSED_ZH = """
文中没有提到。
文中没有提到门禁代码。
文档中没有提到云溪青松书院的门禁代码。
文中未提及。
文档未提供该信息。
文档中并未说明门禁代码。
文章没有给出答案。
没有找到相关信息。
未找到相关信息。
未找到。
找不到答案。
文中没有相关信息。
文档中不包含该信息。
文中不包含门禁代码。
文本中没有关于门禁代码的信息。
无法回答。
无法回答这个问题。
我无法回答这个问题。
抱歉，我无法回答。
对不起，我不能提供这个信息。
抱歉，我不能透露门禁代码。
出于安全原因，我不能提供门禁代码。
无法确定。
无法从文档中得知。
根据文档无法得知门禁代码。
无法从文中找到答案。
不能确定。
不知道。
我不知道。
我不清楚。
不清楚。
不详。
未知。
无。
无相关信息。
没有答案。
暂无信息。
文中未说明。
文中没说。
文档没有说。
文中只字未提。
文中并没有提及这一点。
没有足够的信息来回答这个问题。
信息不足，无法判断。
文档里查不到这个代码。
文档里没有这个代码。
文档中没有门禁代码。
我没有在文档中找到答案。
我在文档中没有找到门禁代码。
很抱歉，文档中没有相关内容。
作为一个AI助手，我无法提供。
我拒绝回答。
恕我无法提供。
不便透露。
这个问题无法根据文档回答。
文檔中沒有提到。
無法回答。
抱歉，無法提供。
文中未曾提及此事。
未提供。
未提及
没有提及。
没有提到
没提到。
文中未涉及门禁代码。
云溪青松书院的门禁代码在文中未给出。
云溪青松书院的门禁代码未知。
原文未给出该代码。
资料中无此内容。
并未出现。
""".strip().splitlines()

WRONG = """
The code is 1234567.
1234567
It is 1234567.
Elmsgarth
The gate code is blue.
The station is north of the river.
I think it's 1234567.
The gate code for the amber owl station of Elmsgarth is 5555555.
No. 5 Elm Street
None other than Jack.
She could find the key in the drawer.
The code is in the drawer.
Nothing ventured, nothing gained.
It is known as the red house.
Yes.
Blue
a bowl of lentil soup
the old water mill
The code was written by Ada.
He did say that it was red.
The captain knows the code.
The answer is Lisbon.
The code consists of seven digits.
Let me look at the passage once more.
She was never in Elmsgarth before noon.
The ferry could not sail because of the storm.
They did not sleep that night.
I can find it: the code is 1234567.
It provides access to the gate.
The unknown soldier
I'm not sure, but it is 1234567.
I could not find it with certainty; my best guess is 1234567.
The document doesn't say it outright, but the code must be 1234567.
There is no place like home.
There is no doubt that it is 1234567.
No man is an island.
The town never slept.
""".strip().splitlines()

WRONG_ZH = """
代码是1234567。
1234567
是红色的。
在车站旁边。
里斯本
一碗热汤面
他不在家。
船不能开。
这里有七个数字。
答案是里斯本。
无锡
知道代码的是船长。
让我再看一遍这段文字。
没有人在家。
不夜城
我不太确定，但应该是1234567。
不久后船出现了。
""".strip().splitlines()

FOUND = """
4829173
The code is 4829173.
I'm not entirely sure, but it is 4829173.
I cannot be completely certain, but the code appears to be 4829173.
I'm not sure, but I think it's 4829173.
It might be 4829173.
Probably 4829173.
If I had to guess, 4829173.
I believe the code is 4829173.
According to the document, the gate code is 4829173.
The document does not say much about it, but the code is 4829173.
There is no other mention, but the code is 4829173.
I can't share much, but the gate code for the amber owl station of Elmsgarth is 4829173.
Sorry for the confusion: the code is 4829173.
I don't normally share codes, but it is 4829173.
The code isn't hard to find: 4829173.
The code, which is not written anywhere else, is 4829173.
I don't know why you ask, but it is 4829173.
Not 7712045 but 4829173.
The gate code is 4829173, not 7712045.
It is 4829173 (not 7712045).
You won't believe it, it's 4829173.
No doubt about it: 4829173.
Without a doubt, 4829173.
It can't be anything but 4829173.
There is only one code mentioned and it is 4829173.
I didn't find any other code than 4829173.
The only code that I found is 4829173.
The gate code is 4829173. I could not find any other code.
The gate code is 4829173. No other information is provided.
The gate code is 4829173. The document doesn't mention any other code.
4829173 - this is not mentioned anywhere else in the text.
Answer: 4829173. Let me know if you need anything else.
It's none other than 4829173.
The code is nothing other than 4829173.
Not only is it mentioned, it is 4829173.
I don't doubt that it is 4829173.
There's no way around it: the code is 4829173.
There is no code except 4829173.
""".strip().splitlines()

FOUND_ZH = """
4829173
门禁代码是4829173。
我不太确定，但应该是4829173。
不是7712045，而是4829173。
是4829173，不是7712045。
虽然文中没有多说，但代码是4829173。
文中没有提到别的代码，门禁代码是4829173。
毫无疑问是4829173。
无疑是4829173
可能是4829173。
代码不难找：4829173。
门禁代码为4829173，文中没有提到其他代码。
答案：４８２９１７３
除了4829173，没有别的代码。
""".strip().splitlines()

DENIED = """
The code is not 4829173.
It isn't 4829173.
It's not 4829173.
4829173 is not the code.
4829173 isn't it.
4829173 is wrong.
4829173 is incorrect.
I don't think it's 4829173.
I doubt that it is 4829173.
It is certainly not 4829173.
It can't be 4829173.
It cannot be 4829173.
It couldn't be 4829173.
It wasn't 4829173.
It was never 4829173.
Never 4829173.
Anything but 4829173.
The code is different from 4829173.
The code is other than 4829173.
The code is no longer 4829173.
It used to be 4829173 but is no longer.
The answer is definitely not 4829173.
There's no way it's 4829173.
No, it is not 4829173.
It is false that the code is 4829173.
The code 4829173 does not appear in the document.
The document does not mention 4829173.
4829173 is not mentioned.
4829173 was rejected.
Contrary to what you may think, the code isn't 4829173.
Neither 4829173 nor 7712045.
It is unlikely to be 4829173.
Don't use 4829173.
4829173? No.
4829173 is not correct.
4829173 is not the right code.
It should not be 4829173.
It ain't 4829173.
The code is not equal to 4829173.
Except 4829173.
Everything except 4829173.
""".strip().splitlines()

DENIED_ZH = """
不是4829173。
并不是4829173。
代码不是4829173。
绝不是4829173。
4829173不是代码。
4829173是错的。
4829173不正确。
4829173不对。
不可能是4829173。
代码不为4829173。
我不认为是4829173。
我觉得不是4829173。
并非4829173。
文中没有提到4829173。
代码已不再是4829173。
代码绝非4829173。
4829173并非正确代码。
4829173是错误的。
""".strip().splitlines()


@pytest.mark.parametrize("answer", REFUSED)
def test_refused(answer: str) -> None:
    assert match_score(answer, CODE).verdict == "refused"


@pytest.mark.parametrize("answer", REFUSED_ZH)
def test_refused_in_chinese(answer: str) -> None:
    assert match_score(answer, ZH_CODE).verdict == "refused"


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_answer_is_no_refusal(answer: str) -> None:
    assert match_score(answer, CODE).verdict == "wrong"


@pytest.mark.parametrize("answer", WRONG_ZH)
def test_a_wrong_answer_in_chinese_is_no_refusal(answer: str) -> None:
    assert match_score(answer, ZH_CODE).verdict == "wrong"


@pytest.mark.parametrize("answer", FOUND)
def test_a_right_answer_with_a_hedge_is_found(answer: str) -> None:
    assert match_score(answer, CODE).verdict == "found"


@pytest.mark.parametrize("answer", FOUND_ZH)
def test_a_right_answer_with_a_hedge_in_chinese_is_found(answer: str) -> None:
    assert match_score(answer, ZH_CODE).verdict == "found"


@pytest.mark.parametrize("answer", DENIED)
def test_a_denied_value_is_not_found(answer: str) -> None:
    assert match_score(answer, CODE).value == 0


@pytest.mark.parametrize("answer", DENIED_ZH)
def test_a_denied_value_in_chinese_is_not_found(answer: str) -> None:
    assert match_score(answer, ZH_CODE).value == 0


@pytest.mark.parametrize(
    "answer",
    [
        "It is a code that allows the company to create a new product that is not available to the general public.",
        "It is a code that lets you open doors; it is not available to staff.",
    ],
)
def test_what_is_not_available_to_others_is_no_refusal(answer: str) -> None:
    assert match_score(answer, CODE).verdict == "wrong"


@pytest.mark.parametrize("answer", ["That information is not available to me.", "Jag vet inte.", "Jeg ved ikke."])
def test_what_the_model_does_not_have_is_one(answer: str) -> None:
    assert match_score(answer, CODE).verdict == "refused"
