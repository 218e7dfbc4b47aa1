"""Denials and cues in answers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

import regex

from needlework.scoring.match.normalize import MARK, Span, normalize, table

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


# A text is given as a sketch: every value in it is the one character `MARK`. All languages are looked for at once, as
# nobody tells in which one a model answers.
_UNSPACED = ("ja", "zh")


@cache
def _tables() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    read = tomllib.loads(table("cues.toml"))
    kinds = {kind for table in read.values() for kind in table}
    return MappingProxyType(
        {kind: {language: tuple(table.get(kind, ())) for language, table in read.items()} for kind in kinds}
    )


@cache
def cue(kind: str) -> str:
    """The regular expression of a table, for every language."""
    phrases = [_spaced(_phrases((kind,))), "|".join(_phrases((kind,), unspaced=True))]
    return f"(?:{'|'.join(filter(None, phrases))})".replace("M", MARK)


def _phrases(kinds: tuple[str, ...], *, unspaced: bool = False) -> list[str]:
    tables = [table for kind in kinds for table in _tables()[kind].items()]
    return [phrase for language, phrases in tables if (language in _UNSPACED) is unspaced for phrase in phrases]


def _spaced(phrases: Iterable[str]) -> str:
    either = "|".join(phrases)
    return rf"(?<!\w)(?:{either})(?![^\W{_SUFFIXED}])" if either else ""


# A value's ending in a script without spaces is no further letter of a Latin word.
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SUFFIXED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff"
# Every phrase of a script without spaces has one of these.
_SIGN = re.compile("[\u3001-\u9fff]")
# What may stand before a phrase that begins at a word of its own.
_LEAD = re.compile(r"\A(?:\(\?:\(\?![^()]*\)\[[^]]*\]\)|\[[^]]*\])\{0,\d+\}\?(?=(?:\(\?<!\w+ \))*\(\?<!\\w\))")


@cache
def cue_pattern(kind: str) -> re.Pattern[str]:
    """A table of cues, to be searched for."""
    return re.compile(cue(kind))


@cache
def known_words() -> frozenset[str]:
    """Words that nearly every sentence has one of, in the languages that are known."""
    return frozenset(word for words in _tables()["words"].values() for word in words)


@cache
def vocabulary() -> frozenset[str]:
    """Every word of the tables, and so of the languages that are known."""
    phrases = (phrase for tables in _tables().values() for row in tables.values() for phrase in row)
    return frozenset(word for phrase in phrases for word in _LETTERS.findall(phrase))


def compiled(pattern: str, *kinds: str) -> re.Pattern[str]:
    """Compile a pattern in which `<kind>` stands for a table of cues and `M` for a value."""
    pattern = pattern.replace("M", MARK)
    for kind in kinds:
        pattern = pattern.replace(f"<{kind}>", cue(kind))
    return re.compile(pattern)


@cache  # the text of such a pattern has thousands of characters
def any_of(kinds: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these tables, to be searched for."""
    return re.compile("|".join(map(cue, kinds)))


def has_any(text: str, kinds: tuple[str, ...]) -> bool:
    """Whether a text has a phrase of any of these tables: most answers have none. As `any_of` would find, and sooner:
    what may stand before a phrase is not looked at, nor phrases of scripts that the text is not in.
    """
    spaced, unspaced = _either(kinds)
    return spaced.search(text) is not None or (_SIGN.search(text) is not None and unspaced.search(text) is not None)


@cache
def _either(kinds: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    spaced = _spaced(_LEAD.sub("", phrase) for phrase in _phrases(kinds))
    unspaced = "|".join(_phrases(kinds, unspaced=True))
    return re.compile(spaced.replace("M", MARK)), re.compile(unspaced.replace("M", MARK))


# Content-word recall is what agrees best with judges on questions about documents: of an answer, at least 0.3 of the
# reference's (1,055 judged records of snorkel's long-context-eval: 92 % agreement, kappa 0.77). Substrings do not do.
_CONTENT_WORDS_LETTERS = r"[\w--[_\p{Han}\p{Hiragana}\p{Katakana}]]++"
# Plain letters before a plain character come first: sets of properties take three times as long.
_PLAIN = r"[a-z0-9]++(?=[\n -&(-\-/-~])"
_WORD = regex.compile(
    rf"{_PLAIN}|[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]++|{_CONTENT_WORDS_LETTERS}(?:['.]{_CONTENT_WORDS_LETTERS})*+",
    regex.V1,
)
_CONTENT_WORDS_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CHINESE_PARTICLES = regex.compile("[的了着过是在和与或把被也就都而吗呢吧啊之其及]")
_IN_EVERY_TEXT = """
a about above after again all also although am an and any are as at be because been before being below between both
but by can could did do does doing down during each either even every few for from further had has have having he
her here hers herself him himself his how however i if in into is it its itself just many may me might more most
much must my myself neither no nor not now of off on once only onto or other our ours ourselves out over own rather
same shall she should since so some such than that the their theirs them themselves then there these they this those
though through thus to too under until up upon us very was we were what when where whether which while who whom
whose why will with within without would yet you your yours yourself yourselves answer document documents text
passage context according based mentioned stated
"""
_FUNCTION_WORDS = frozenset(_IN_EVERY_TEXT.split())
_REMEMBERED = 1 << 16  # words: documents have most of theirs in common


def content_words(text: str) -> frozenset[str]:
    """The words of a text without those that every text has, endings of English plurals and verbs taken off.

    Text without spaces between words (Chinese, Japanese) counts by pairs of neighbouring characters. A text that has
    function words alone counts these.
    """
    words = _words(normalize(text))
    return frozenset[str]().union(*map(_content, words)) or words


def words_to_look_up(text: str) -> frozenset[str]:
    """The content words of a text, and its function words as well: all that `content_words` of a part of it can be."""
    return frozenset[str]().union(*(_content(word) or (word,) for word in _words(normalize(text))))


def content_word_places(plain: str) -> Iterator[tuple[str, Span]]:
    """Each content word of a text from `normalize`, and where it stands there; of a text of function words none."""
    for match in _WORD.finditer(plain):
        for word, start, end in _parts(match[0]):
            yield word, Span(match.start() + start, match.start() + end)


def content_word_recall(reference: str, text: str) -> float:
    """The share (0..1) of the reference's content words that stand in the text; 0 where the reference has none."""
    wanted = content_words(reference)
    return len(wanted & content_words(text)) / len(wanted) if wanted else 0.0


def _words(plain: str) -> frozenset[str]:
    return frozenset(_WORD.findall(plain))


@lru_cache(_REMEMBERED)
def _content(word: str) -> frozenset[str]:
    return frozenset(part for part, _, _ in _parts(word))


def _parts(word: str) -> Iterator[tuple[str, int, int]]:
    """The content words that a match of `_WORD` is, with start and end in it; of a function word none."""
    if _CONTENT_WORDS_UNSPACED.match(word):
        start = 0
        for part in _CHINESE_PARTICLES.split(word):
            size = min(len(part), 2)
            for at in range(start, start + len(part) - size + 1 if part else start):
                yield word[at : at + size], at, at + size
            start += len(part) + 1
    elif word.removesuffix("'s") not in _FUNCTION_WORDS:
        yield _stem(word.removesuffix("'s")), 0, len(word)


def _stem(word: str) -> str:
    """A word without an ending, so that `walks`, `walked`, `walking` are one; wrong for some words, the same for both
    texts."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending).removesuffix("e") + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 4 else word
