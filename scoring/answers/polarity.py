"""Does a text affirm a value, deny it, or decline to answer? English and Chinese phrases, on normalised text."""

from __future__ import annotations

import re

_BEFORE = 90
_AFTER = 40
# One of these stands before every denial: most answers need no longer search.
_HINT = re.compile(
    r"n(?:o[tr ]|'?t |ever|either)|without|unlike|except|instead|opposed|than|thing but|all but|doubt|differ|far from"
    r"|used to|(?:false|true|correct|wrong) that|[不非没沒未]"
)

_THINK = (
    r"(?:think|thought|believe|say|said|state|mean|claim|suggest|indicate|mention|confirm|true|case|correct|sure"
    r"|certain)"
)
# `that` opens a new clause, but not behind words that pass a denial on (`I don't think that it is X`).
_PASS_ON = ("think", "believe", "say", "state", "mean", "true", "case", "correct", "sure", "false", "untrue", "doubt")
_PASSED_ON = "".join(f"(?<!{word} )" for word in (*_PASS_ON, "incorrect", "wrong", "unlikely"))
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
    r"|\b(?:false|untrue|incorrect|wrong|unlikely) that\b.{0,60}$"
    r"|(?<!\bno )(?<!\bwithout )(?<!\bwithout a )(?<!\bwithout any )(?<!n't )(?<!\bnot )(?<!\bnever )"
    r"\bdoubt(?:s|ful)? (?:that|if|whether|it)\b.{0,60}$"
    r"|\bno way (?:that |it|the )[^,]{0,40}$"
    r"|(?:\bdiff(?:ers?|erent) from|\bother than|\bfar from|\bno longer|\bused to be|\bunlikely to be|\bunequal to"
    r"|\bnot (?:be )?(?:equal|identical) to)\W*$"
    r"|不(?:认为|認為|觉得|覺得|相信|确信)[^，。；,;!?！？]{0,12}$|不再(?:是|为|為|叫)[^，。；,;!?！？]{0,8}$"
    r"|(?:不是|并非|绝非|而非|不叫|不为|不等于|不可能是|不会是|不应是|不应该是|不在|不算|不喜欢|不喜歡|不去|不选|不用"
    r"|(?:没有?|沒有|未|并未)(?:提到|提及|出现|包含|说是?|去过?|在|选|用))[^，。；,;!?！？]{0,8}$"
)
# "not: X" denies although a colon stands between.
_DENIED_AT_ONCE = re.compile(
    r"(?:\bnot|n't|\b(?:any|every)thing but|\ball but|不是|并非|(?<![莫除])非)[\s:：\"'(\[{*-]*$"
)
# Two denials affirm: `it can't be anything but X`, `none other than X`, `no code except X`.
_AFFIRMED_TWICE = re.compile(
    r"(?:\b(?:not|never|no|none|nothing|cannot|isnt)\b|n't).{0,60}"
    r"\b(?:other (?:\w+ ){0,3}than|(?:any|every)thing but|except(?: for)?|besides|apart from)\W*$"
)
_DENIED_AFTER = re.compile(
    r"[\"')\]}*\s]*(?:(?:(?:is|was|are|were|does|do|did)"
    r"(?: (?:definitely|certainly|actually|probably|simply|clearly|also))?(?: not|n't)\b|isnt\b)"
    r"(?! (?:only|just|merely|simply))"
    r"|(?:is|was) (?:wrong|incorrect|false|untrue|invalid|outdated|rejected|ruled out|excluded|no longer|a distractor"
    r"|a decoy)\b|but (?:is |was )?no longer\b|\? ?(?:no|nope)\b"
    r"|(?:是|可能|显然|肯定|绝对)?(?:并?不是|并非|不对|不正确|不再是)|是错)"
)

_VERBS = (
    "(?:find|locate|identify|determine|answer|provide|see|tell|assist|help|comply|access|retrieve|give|share|confirm"
    "|extract|infer|recall|know|have|say|disclose|reveal|fulfil|fulfill|complete|discuss)"
)
_STATES = "(?:mention|contain|include|specify|state|appear|exist|indicate|describe|list|refer|offer|cover|seem|address)"
_PARTICIPLES = (
    r"(?:mentioned|specified|provided|stated|given|found|present|included|available(?! to (?!me\b|us\b))|listed|known"
    "|described|disclosed"
    "|revealed|indicated|contained|discussed|clear|evident|answered|in the (?:text|document|context|passage))"
)
# What a text that is silent has none of. Any noun would do for a model, but `there is no` begins many sentences.
_ASKED = (
    "(?:information|info|mention|reference|answers?|record|data|details?|evidence|indication|codes?|numbers?|keys?|names?"
    "|values?|passwords?|entry|entries|statements?|facts?|clue|hint)"
)
_SAYS_NOTHING = (
    r"\b(?:there(?:'?s| is| are| was| were)|ha[sd]|have|found|see|saw|finds?|gives?|provides?|contains?|includes?)"
    rf" (?:no|not any) (?:[\w'-]+ ){{0,4}}?{_ASKED}\b"
    rf"|\bthere (?:is|are|was|were)(?: not|n't) (?:any |an? )?(?:[\w'-]+ ){{0,4}}?{_ASKED}\b"
    rf"|\bno (?:[\w'-]+ ){{1,6}}?(?:(?:is|are|was|were|has been|have been|can be|could be) )?{_PARTICIPLES}\b"
    r"|\bnothing (?:in|about|on|regarding|concerning) |\b(?:says?|mentions?|states?|found|find) nothing\b"
    r"|\bnothing (?:is|was) (?:said|mentioned|stated|given|found)\b"
    r"|\b(?:is|are|was|remains?) (?:silent|unknown|unclear|unspecified|undisclosed|unstated|unmentioned|unavailable)\b"
    r"|\b(?:missing|absent|omitted) from the (?:text|document|context|passage)\b"
    r"|\bthe (?:text|document|context|passage|excerpt) (?:lacks|omits)\b"
)
_REFUSAL = re.compile(
    r"\b(?:can(?:not|'?t| not)|could(?: not|n'?t)|unable to|not able to|failed to|won't|will not) "
    rf"(?:\w+ ){{0,2}}?{_VERBS}\b"
    rf"|\b(?:do(?:es)?|did)(?: not|n'?t) (?:\w+ ){{0,2}}?(?:{_VERBS}|{_STATES})\b"
    rf"|\bnever (?:{_VERBS}|{_STATES})s?\b"
    rf"|\b(?:not|never|isn'?t|aren't|wasn't|weren't) (?:\w+ ){{0,2}}?{_PARTICIPLES}\b"
    rf"|\b(?:not|n't) (?:allowed|permitted|authori[sz]ed|comfortable|supposed|willing|going|possible) to {_VERBS}\b"
    r"|\b(?:have|has|had)(?: not|n't) (?:\w+ ){0,2}?(?:found|seen|located|been (?:given|told|provided))\b"
    r"|\bno (?:\w+ ){0,3}?(?:information|mention|reference|answer|record|data|details?|evidence|indication)\b"
    r"|\b(?:i'?m|i am) (?:sorry|afraid|not sure|unsure|uncertain)\b|\bi apologi[sz]e\b|\bas an ai\b|\bi have no idea\b"
    r"|\b(?:cannot|can't|could not|couldn't) be (?:determined|found|answered|known|identified|located)\b"
    r"|\bi (?:must |have to )?(?:decline|refuse)\b|\b(?:insufficient|not enough) (?:information|context|data|details)\b"
    r"|\bunanswerable\b|\bimpossible to (?:tell|say|know|determine|answer|find)\b"
    rf"|{_SAYS_NOTHING}"
    r"|(?:没有?|沒有|未曾?|并未)\w{0,6}?"
    r"(?:提到|提及|提供|说明|說明|找到|给出|給出|包含|涉及|记载|記載|出现|出現|指出|明确|看到|透露|写明|列出)"
    r"|不(?:直接|明确|曾|会|能)?(?:提到|提及|提供|说明|包含|涉及|透露)"
    r"|(?:无法|無法|不能|没法|沒法|不便|不可以|拒绝|拒絕|不予|恕不)\w{0,6}?"
    r"(?:确定|確定|回答|找到|判断|判斷|得知|提供|获知|知道|得出|给出|查到|确认|推断|透露|告知|分享|协助|帮助)"
    r"|不(?:知道|清楚|太?确定|确定|得而知|详|明)|找不到|查不到|抱歉|对不起|對不起|只字未提"
    r"|(?:没有|沒有|无|無)(?:相关|相關|足够|这个|此)?的?(?:信息|内容|內容|答案|資訊|资料)"
    r"|(?:文[中档檔本章件]?|资料|資料|材料|段落|上下文)[中里裡内內]?(?:并|均|都)?(?:没有?|沒有?|无|無)(?!人|法|论|論)"
    r"|(?:没有?|沒有)(?:关于|關於)|(?:没|沒)有?说|未知(?=\W|$)"
)
_REFUSAL_WORD = re.compile(
    r"\W*(?:unknown|n/?a|none|nothing|not (?:stated|sure|given|available|clear)|no answer|no idea|未知|不详|暂无|无)\W*"
)
_READ = 2000


def is_denied(text: str, start: int, end: int) -> bool:
    """Say whether the words around `text[start:end]` deny it: `it is not X`, `X is wrong`, `不是X`."""
    before = text[max(0, start - _BEFORE) : start]
    if _HINT.search(before) and not _AFFIRMED_TWICE.search(before):
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
    return refusal_end(text) is not None


def refusal_end(text: str) -> int | None:
    """Find where the last words end that decline to answer or say that the answer is not there."""
    if _REFUSAL_WORD.fullmatch(text[:_READ]):
        return len(text)
    ends = [match.end() for match in _REFUSAL.finditer(text[:_READ])]
    return ends[-1] if ends else None
