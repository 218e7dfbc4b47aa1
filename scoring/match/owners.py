"""Whose a value is, and whether every word beside it is known."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from needlework.scoring.match.claims import clause_before, sentence_before, tables, words
from needlework.scoring.match.folding import MARK
from needlework.scoring.match.values import MONTHS, UNITS
from needlework.scoring.plain_text import CJK

# Names are compared with the question's words, but for an ending; words that every answer uses are no name.
_WORD = re.compile(r"[a-zа-я][a-zа-я'-]+")
_FOR = r"(?:for|of|under|with|to(?= the | an? )|fur|von|zu[mr]?|des|pour|du|de|del|para|для|у|к)"
_NAME = r"(?:(?:the|an?|der|die|das|den|le|la|les|el|los|las|your|its) |l')?((?:[a-zа-я][\w'-]* ?){1,4})"
_EITHER_WORD = re.compile(rf"{_WORD.pattern}|[\u3400-\u9fff\u30a0-\u30ff]")
_BEFORE = (
    re.compile(rf"(?<!\w)(?:{_FOR} |d'(?!apres)){_NAME}"),
    re.compile(
        r"((?:[a-zа-я][\w-]* ){0,2}(?!it|that|there|here|what|who|she|he|let)[a-zа-я][\w-]*)'s "
        r"(?:\w+ ){0,3}(?:is|was|ist)?\W*$"
    ),
    re.compile(rf"^\W*{_NAME}(?:has|had|got|uses?|gets?|reads|hat|tiene)(?: the| code| number| value)*\W*$"),
)
_LABEL = re.compile(r"(?:^|[|\n*]|- )((?:[a-zа-я][\w'-]* ?){1,3})\W*(?:[:=|(]|->|=>| - )[^\w\n]*$")
_NAME_END = re.compile(r"\b(?:and|but|not|in|is|was|und|nicht|et|y|on|at|that|which)\b")
_SIGNS = " \"'*$"
_PUNCT = r"[\"')\]}*\s,，]*"
_AFTER = re.compile(
    rf"{_PUNCT}(?:\(|(?:which |that |it |and |and it )?(?:is|was|belongs|goes|ist|gehort|est|es|appartient"
    rf"|pertenece|refers|applies|opens|относится|принадлежит)"
    rf"(?: \w+){{0,4}}? )?(?<!\w)(?:(?:{_FOR}|to) |d'(?!apres)){_NAME}"
    rf"|{_PUNCT}[(\[]{_NAME}[)\]]|{_PUNCT}\(?(?:is|was) (?:the )?{_NAME}'s?(?!\w)"
)
_OTHER = re.compile(r"\b(?:other|another|different|someone else|andere\w*|autre|otr[oa]|друг\w+)\b|[另别]|別の|他の")
_CODE = re.compile(
    r"(?<!\w)(?:\w*(?:code|number|nummer|schlussel)|key|pass(?:word|phrase)|pin|tag|label|id|uuid|numero|cle|codigo|clave"
    r"|код|номер|пароль)(?!\w)|[码号號番]|コード"
)
_OF_HAN = re.compile(rf"([{CJK}]{{1,12}})[的の][^的の，。、{MARK}]{{0,10}}$|([{CJK}]{{1,12}}?)(?:さん)?(?:[:：是]|が)$")
_HAN_OF = re.compile(rf"[^，。、{MARK}]{{0,6}}?(?:は|是|属于|属於)([{CJK}]{{1,12}}?)(?:さん)?(?:[的の]|$)()")
_HAN_KEY = re.compile(rf"([{CJK}]{{2,12}})[的の]")
_HAN_NEUTRAL = (
    "多少什么哪里几谁她他共和与及也え書位置記載思確信え不而其在有由以可能現今写对应储物柜新旧现在目前我认觉以為代替案的の這个那你您我要找问所指述说提到及给出中文里本根据正确最终答案问题密码代"
    "号编值数字是为了一关于应该该コードは質問回答番号文章上下前后没错就そこれ"
)


@cache
def neutral_words(*more: str) -> frozenset[str]:
    """The words that every answer uses, and `more`; they name nothing."""
    rows = [table["neutral"] for table in tables().values() if "neutral" in table]
    return frozenset(_EITHER_WORD.findall(" ".join([*rows, *more, _HAN_NEUTRAL])))


@cache
def vocabulary() -> frozenset[str]:
    """Every word of the tables: where one value is denied or replaced, they are about that one."""
    return frozenset(_EITHER_WORD.findall(" ".join(row for table in tables().values() for row in table.values())))


@lru_cache(1024)
def known_words(text: str) -> frozenset[str]:
    """The words of a folded question or needle, and those that may stand for them."""
    given = frozenset(_EITHER_WORD.findall(text))
    groups = (row.split() for table in tables().values() for row in table.get("alike", "").split("|"))
    return given.union(*(group for group in groups if given.intersection(group)))


def asks_for_code(question: str) -> bool:
    """Whether a folded question asks for a code, whose key another one may be like."""
    return _CODE.search(question) is not None


@lru_cache(1024)
def every_word(question: str) -> frozenset[str]:
    """The words of a folded question."""
    return frozenset(_WORD.findall(question))


@lru_cache(1024)
def asked_words(question: str) -> frozenset[str]:
    """The words of a folded question that say whose value is asked for."""
    return frozenset(_WORD.findall(question)) - neutral_words()


def owner(sketch: str, place: int, question: str, *, strict: bool) -> Literal["asked", "other", ""]:
    """Whose a value is by the words beside it: the asked key's, another's, or not said.

    `strict`: a name that the question has only a part of is another one (`the copper kettle` for `the copper lantern`).
    """
    clause, after = clause_before(sketch, place), sketch[place + 1 : place + 70].partition(MARK)[0]
    after = after[:2] + re.split(r"[.;!?\n](?!\d)|[,，。、] ?(?!\()", after[2:])[0]
    before = (
        clause if clause.strip(_SIGNS) else words("back").sub("", sentence_before(sketch, place).rpartition(")")[2])
    )
    if sketch[max(0, place - len(before) - 1)] == MARK:
        before = before[max((found.end() for found in _AND.finditer(before)), default=0) :]
    han = _OF_HAN.search(before if before.strip(_SIGNS) else _label(sketch, place)) or _HAN_OF.match(after)
    if han:
        name = (han[1] or han[2]).lstrip(_HAN_NEUTRAL)
        key = _HAN_KEY.search(question)
        if not key or not name:
            return ""
        return "asked" if key[1] in name or name in question else "other" if strict else ""
    asked = asked_words(question)
    behind, labelled = _AFTER.match(after), _LABEL.search(_label(sketch, place)) if not clause.strip(_SIGNS) else None
    named = [found[1] for pattern in _BEFORE for found in pattern.finditer(before)]
    named += [name for name in behind.groups() if name] if behind else []
    if labelled and len(_WORD.findall(labelled[1])) >= min(2, len(asked)):
        named.append(labelled[1])
    said: Literal["asked", "other", ""] = ""
    for name in named:
        spelled = [word for word in _WORD.findall(_NAME_END.split(name)[0]) if word not in neutral_words()]
        known = [word for word in spelled if is_known(word, asked)]
        if known and len(known) == len(spelled):
            said = "asked"
        elif spelled and strict and len(known) < 2:
            return "other"
    return "other" if _OTHER.search(sentence_before(sketch, place)) and not _OTHER.search(question) else said


def _label(sketch: str, place: int) -> str:
    label = sketch[max(sketch.rfind(sign, 0, place) for sign in f"\n.;{MARK}") + 1 : place][-60:]
    return label if re.search(r"[:=|(\[>-][^\w\n]*$", label) else ""


def is_known(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of those that are known, but for an ending."""
    return word in known or any(_is_same(word, other) for other in known)


def _is_same(word: str, other: str) -> bool:
    word, other = word.removesuffix("'s"), other.removesuffix("'s")
    same = min(len(word), len(other), max(4, min(len(word), len(other)) - 2))
    return word == other or (same >= 4 and word[:same] == other[:same] and abs(len(word) - len(other)) <= 4)


_LANGUAGE = {
    "few": r"\b(?:il|di|che|da|het|een|voor|van|dla|jest|na|ar|det|er|och|av|icin|bir|ve|cua|este|az|egy|je|pro|codigo"
    r"|codice|kod|kode|e|o)\b",
    "en": r"\b(?:the|is|for|of|was|what|which|it|to|but)\b",
    "de": r"\b(?:der|die|das|den|dem|nicht|ist|lautet|fur|und|wie)\b",
    "fr": r"\b(?:le|la|est|du|des|pour|quel|quelle|c'est)\b", "es": r"\b(?:el|la|es|del|para|cual)\b",
    "ru": r"[а-я]{2,}", "zh": rf"[{CJK}]{{2}}",
}  # fmt: skip


def is_foreign(text: str, question: str) -> bool:
    """Whether a folded text is in another language than the question, by the commonest words of both."""
    spoken = {_language_of(text[:600]), _language_of(question)}
    return len(spoken) > 1 and "" not in spoken


@lru_cache(1024)
def _language_of(text: str) -> str:
    counts = {name: len(re.findall(pattern, text)) for name, pattern in _LANGUAGE.items()}
    return max(counts, key=counts.__getitem__) if any(counts.values()) else ""


_AND = re.compile(r"\s(?:and|und|et|y|и)\s")
_RATE = re.compile(r"\W*(?:per|a|each|every|pro|par|por|im|al) ([^\W\d_]+)")
_DASHED = re.compile(rf"[\"'*]*(?: -|:) ([^.!?;,\n{MARK}(]*)")
_COMMENT = re.compile(
    rf"[^\w{MARK}]*(?:(?:and|but|yet|hmm+|though|und|aber|et|mais|y|pero|и|но)[\s,]+)*(?:that|this|it|which|who|what|there"
    rf"|c'est|das|dies\w*|esto|eso|это|там)(?: one| number| value| code)?(?:'s| is| was| has| goes| belongs"
    rf"| refers)(?!\w)"
    rf"(?! (?:\w+ly )?(?:in|at|near|on|found|mentioned|stated|located|hidden|given)\b)([^.!?;\n{MARK}]*)"
)
_CONTRAST = re.compile(
    rf"[^.!?;\n{MARK}]{{0,70}}?(?:(?<!\w)(?:but|though|although|however|yet|aber|jedoch|mais|pero|но)(?!\w))([^.!?;\n{MARK}]*)"
)


def is_strange(sketch: str, place: int, known: frozenset[str]) -> bool:
    """Whether words stand beside a value that are not known, nor used by every answer.

    They may be another way to say what was asked, or something else (`he grew up in V`, `the joining fee is V`).
    """
    if known <= neutral_words():
        return False
    clause = clause_before(sketch, place)
    clause = clause[max((found.end() for found in _AND.finditer(clause)), default=0) :]
    after = re.split(rf"[.;!?()\n:,](?!\d)|[。、]|{_AND.pattern}", sketch[place + 1 : place + 90].partition(MARK)[0])[0]
    at = place + 1 + len(after)
    remarks = [
        found[1]
        for found in (_COMMENT.match(sketch, at), _CONTRAST.match(sketch, at), _DASHED.match(sketch, at))
        if found
    ]
    text = f"{clause if clause.strip() else _label(sketch, place)} {after} {' '.join(remarks)}"
    rate = _RATE.match(after)
    if rate and rate[1] not in known:
        return True
    beside = _EITHER_WORD.findall(words("then").sub("", words("back").sub("", text)))
    if all(word < "\u3000" for word in known):
        beside = [word for word in beside if word < "\u3000"]
    return any(
        word.removesuffix("'s") not in neutral_words(UNITS, MONTHS) and not is_known(word, known) for word in beside
    )
