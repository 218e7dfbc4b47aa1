"""Does a text affirm a value, deny it, or decline to answer? English and Chinese phrases, on normalised text."""

from __future__ import annotations

import re

_BEFORE = 90
_AFTER = 40
# One of these stands before every denial: most answers need no longer search.
_HINT = re.compile(
    r"n(?:o[tr ]|'?t |ever|either)|without|unlike|except|instead|opposed|than|thing but|all but"
    r"|(?:false|true|correct|wrong) that|[不非没沒未]"
)

_THINK = (
    r"(?:think|thought|believe|say|said|state|mean|claim|suggest|indicate|mention|confirm|true|case|correct|sure"
    r"|certain)"
)
# `that` opens a new clause, but not behind words that pass a denial on (`I don't think that it is X`).
_PASS_ON = ("think", "believe", "say", "state", "mean", "true", "case", "correct", "sure", "false", "untrue")
_PASSED_ON = "".join(f"(?<!{word} )" for word in (*_PASS_ON, "incorrect", "wrong"))
_BREAK = re.compile(
    r"[.;:!?\n。；：！？，,]|\b(?:but|however|and|because|since|so|yet|although|though|while|which|whereas)\b"
    rf"|{_PASSED_ON}\bthat\b|而是|但|正是|就是|所以|因此"
)
_NOT = (
    r"(?:\b(?:not|never|neither|nor|cannot|without|unlike|except|isnt|wasnt)\b|n't\b|\brather than\b|\binstead of\b"
    r"|\bas opposed to\b|\bno (?:mention|evidence|sign|record|indication) (?:of|that|for)\b)"
    r"(?! (?:only|just|merely|simply|mistaken|wrong|surprising|to mention))"
)
_DENIED_BEFORE = re.compile(
    rf"{_NOT}(?:(?:\W+(?!(?:is|are|was|were|equals?)\b)\w+){{0,6}}|.{{0,40}}\b{_THINK}\b.{{0,60}})\W*$"
    r"|\b(?:false|untrue|incorrect|wrong) that\b.{0,60}$"
    r"|(?:不是|并非|绝非|而非|不叫|不为|不等于|不可能是|不会是|不应是|不应该是|不在|不算|不喜欢|不喜歡|不去|不选|不用"
    r"|(?:没有?|沒有|未|并未)(?:提到|提及|出现|包含|说是?|去过?|在|选|用))[^，。；,;!?！？]{0,8}$"
)
# "not: X" denies although a colon stands between.
_DENIED_AT_ONCE = re.compile(
    r"(?:\bnot|n't|\b(?:any|every)thing but|\ball but|不是|并非|(?<![莫除])非)[\s:：\"'(\[{*-]*$"
)
_DENIED_AFTER = re.compile(
    r"[\"')\]}*\s]*(?:(?:(?:is|was|are|were)(?: (?:definitely|certainly|actually|probably|simply|clearly|also))?"
    r"(?: not|n't)\b|isnt\b)(?! (?:only|just|merely|simply))"
    r"|(?:is|was) (?:wrong|incorrect|false|a distractor|a decoy)\b"
    r"|并?不是|并非|是错|不对|不正确|是不对)"
)

_VERBS = (
    "(?:find|locate|identify|determine|answer|provide|see|tell|assist|help|comply|access|retrieve|give|share|confirm"
    "|extract|infer|recall|know|have|say|disclose|reveal|fulfil|fulfill|complete|discuss)"
)
_STATES = "(?:mention|contain|include|specify|state|appear|exist|indicate|describe|list|refer|offer|cover)"
_PARTICIPLES = (
    "(?:mentioned|specified|provided|stated|given|found|present|included|available|listed|known|described|disclosed"
    "|revealed|indicated|contained|discussed|in the (?:text|document|context|passage))"
)
_REFUSAL = re.compile(
    r"\b(?:can(?:not|'t| not)|could(?: not|n't)|unable to|not able to|failed to|won't|will not) "
    rf"(?:\w+ ){{0,2}}?{_VERBS}\b"
    rf"|\b(?:do(?:es)?|did)(?: not|n't) (?:\w+ ){{0,2}}?(?:{_VERBS}|{_STATES})\b"
    rf"|\b(?:not|isn't|aren't|wasn't|weren't) (?:\w+ ){{0,2}}?{_PARTICIPLES}\b"
    r"|\bno (?:\w+ ){0,3}?(?:information|mention|reference|answer|record|data|details?|evidence|indication)\b"
    r"|\b(?:i'm|i am) (?:sorry|afraid|not sure|unsure|uncertain)\b|\bi apologi[sz]e\b|\bas an ai\b|\bi have no idea\b"
    r"|\b(?:cannot|can't|could not|couldn't) be (?:determined|found|answered|known|identified|located)\b"
    r"|\bi (?:must |have to )?(?:decline|refuse)\b|\binsufficient (?:information|context|data)\b|\bunanswerable\b"
    r"|\bimpossible to (?:tell|say|know|determine|answer|find)\b"
    r"|(?:没有?|沒有|未曾?|并未)\w{0,6}?(?:提到|提及|提供|说明|說明|找到|给出|給出|包含|涉及|记载|記載|出现|出現|指出|明确|看到)"
    r"|(?:无法|無法|不能|没法|沒法)\w{0,6}?(?:确定|確定|回答|找到|判断|判斷|得知|提供|获知|知道|得出|给出|查到|确认|推断|透露)"
    r"|不(?:知道|清楚|太?确定|确定|得而知)|找不到|查不到|抱歉|对不起|對不起|(?:没有|沒有|无|無)(?:相关|相關|足够)?的?(?:信息|内容|答案|資訊)"
)
_REFUSAL_WORD = re.compile(
    r"\W*(?:unknown|n/?a|none|not (?:stated|sure|given|available)|no answer|未知|不详|暂无|无)\W*"
)
_READ = 2000


def is_denied(text: str, start: int, end: int) -> bool:
    """Say whether the words around `text[start:end]` deny it: `it is not X`, `X is wrong`, `不是X`."""
    before = text[max(0, start - _BEFORE) : start]
    if _HINT.search(before):
        if _DENIED_AT_ONCE.search(before):
            return True
        clause = 0
        for match in _BREAK.finditer(before):
            clause = match.end()
        if _DENIED_BEFORE.search(before[clause:]):
            return True
    return _DENIED_AFTER.match(text[end : end + _AFTER]) is not None


def is_refusal(text: str) -> bool:
    """Say whether a normalised text declines to answer or says that the answer is not there."""
    return _REFUSAL.search(text[:_READ]) is not None or _REFUSAL_WORD.fullmatch(text[:_READ]) is not None
