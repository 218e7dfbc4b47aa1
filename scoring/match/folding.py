"""All spellings of one thing folded to one."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from needlework.scoring.plain_text import CJK, HAN_NUMERALS, normalize_lines

MARK = "\ue000"
"""What stands for a value in a sketch (`claims`); no folded text has it."""
MEASURES = (
    "只個个条張张本輛辆座栋層层楼樓名位人件把支枝颗粒台艘架头匹棵箱瓶杯碗盒对套间家所篇页章册次岁歲块"
    "种步级倍羽軒階番年月日号時时分秒天周公千米厘毫克升吨英元円度"
)
"""Chinese and Japanese words that may follow a number."""
_STROKES = str.maketrans(
    dict(zip("øłđıð،→⇒➜➔", ["o", "l", "d", "i", "d", ",", "->", "=>", "->", "->"], strict=True))
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_DASHES = re.compile(r"(?<=\w)[‐‑‒–−](?=\w)")
_PAUSES = re.compile(r" *[–—―⸺⸻‒]+ *")
_LATEX_SPACE = re.compile(r"(?<=\d)(?:\\[,;: !]|~|\{,\}|\\thinspace|\\ )(?=\d)")
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname|mathit|texttt|textit)\s*\{([^{}]*)\}")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_HAN = rf"\u3005-\u3007{CJK}\uac00-\ud7a3"
_BESIDE_LETTERS = re.compile(rf"(?<=[{_HAN}])(?=[a-z])|(?<=[a-z])(?=[{_HAN}])")
_BESIDE_DIGITS = re.compile(rf"(?<=[{_HAN}]) (?=\d)|(?<=\d) (?=[{_HAN}])")
_IN_HAN = re.compile(
    rf"(?<![{HAN_NUMERALS}第几幾数\d])(?:[{HAN_NUMERALS}]+(?=千[米克])|[{HAN_NUMERALS}]+(?![{HAN_NUMERALS}几幾多]))"
)
_NUMBER_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
"""
_ENGLISH = _NUMBER_WORDS.split()
_NUMBERS = {word: rank if rank < 20 else 10 * (rank - 18) for rank, word in enumerate(_ENGLISH)}
_SPELLED = re.compile(
    rf"(?<![\w-])({'|'.join(_ENGLISH[20:])})(?:[- ]({'|'.join(_ENGLISH[1:10])}))?(?![\w-])|"
    rf"(?<![\w-])({'|'.join(sorted(_ENGLISH[2:20], key=len, reverse=True))})(?![\w-])"
)
# Said digit by digit, three or more, in English, German, French, Spanish and Russian.
_DIGITS = {
    word: str(digit)
    for digit, words in enumerate((
        "zero oh null cero ноль", "one eins un uno один", "two zwei zwo deux dos два", "three drei trois tres три",
        "four vier quatre cuatro четыре", "five funf cinq cinco пять", "six sechs seis шесть",
        "seven sieben sept siete семь", "eight acht huit ocho восемь", "nine neun neuf nueve девять",
    ))
    for word in words.split()
}  # fmt: skip
_DIGIT = f"(?:{'|'.join(sorted(_DIGITS, key=len, reverse=True))})"
_ONE_BY_ONE = re.compile(rf"(?<!\w){_DIGIT}(?:[ ,-]{{1,2}}{_DIGIT}){{2,}}(?!\w)")


def fold_lines(text: str) -> str:
    """Fold all spellings of one thing to one, and keep line breaks: `normalize_lines`, accents, dashes, numerals."""
    if "\\" in text or "{,}" in text:
        text = _LATEX_TEXT.sub(r" \1 ", _LATEX_SPACE.sub("\u202f", text).replace("\\$", "$").replace("\\%", "%"))
    if not text.isascii():
        text = _PAUSES.sub(" - ", _DASHES.sub("-", text.replace(MARK, " ")))
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    lines = normalize_lines(text)
    if not lines.isascii():
        lines = _IN_HAN.sub(_to_digits, strip_accents(lines))
        lines = re.sub(
            r"(\d+)([万萬亿億])", lambda said: str(int(said[1]) * (10**4 if said[2] in "万萬" else 10**8)), lines
        )
        lines = _BESIDE_LETTERS.sub(" ", _BESIDE_DIGITS.sub("", lines))
    lines = _ONE_BY_ONE.sub(lambda said: "".join(_DIGITS[word] for word in re.split(r"[ ,-]+", said[0])), lines)
    return _SPELLED.sub(lambda said: str(_NUMBERS[said[1] or said[3]] + _NUMBERS.get(said[2] or "", 0)), lines)


def strip_accents(text: str) -> str:
    """A text without accents and strokes, and with signs as in ASCII."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(_STROKES)


def fold(text: str) -> str:
    """Fold a text to one line."""
    return fold_lines(text).replace("\n", " ")


def _to_digits(run: re.Match[str]) -> str:
    """A Chinese numeral in digits where it is one, and not a part of a word (`一起`, `万一`)."""
    said, after = run[0], run.string[run.end() : run.end() + 1]
    number = read_han(said)
    if number is None or (len(said) == 1 and (after not in MEASURES or (said == "一" and after in ("个", "個", "")))):
        return said if number is None or run.span() != (0, len(run.string)) else str(number)
    return number


@cache
def read_han(run: str) -> str | None:
    """Read a Chinese numeral, as digits; `None` where it may say several numbers (`三四`, `一百五`), or none."""
    digits = {char: rank for rank, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
    if not run or not all(char in digits or char in "十百千万萬亿億" for char in run):
        return None
    if all(char in digits for char in run):
        alone = len(run) == 1 or len(run) > 2 or digits[run[0]] == 0 or digits[run[1]] == 0
        return "".join(str(digits[char]) for char in run) if alone else None
    scales = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
    total, section, digit, last, gap = 0, 0, -1, 10**9, False
    for char in run:
        if char in digits:
            if digit > 0:
                return None
            digit, gap = digits[char], gap or digits[char] == 0
        elif scales[char] >= 10**4:
            section = (section + max(digit, 0)) * scales[char]
            if not section:
                return None
            total, section, digit, last, gap = total + section, 0, -1, 10**4, False
        elif scales[char] >= last or (digit < 0 and scales[char] > 10):
            return None
        else:
            section, last = section + (1 if digit < 0 else digit) * scales[char], scales[char]
            digit, gap = -1, False
    if digit > 0 and last > 10 and not gap:
        return None
    return str(total + section + max(digit, 0))
