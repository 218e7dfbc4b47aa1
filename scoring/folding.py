"""Folds spellings to one form; phrases in every language, names of months, units and numbers."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from unicodedata import numeric

from needlework.scoring.plain_text import CJK, HAN_NUMERALS, normalize_lines

MARK = "\ue000"
"""What stands for a value in a sketch (`claims`); no folded text has it."""
_UNSPACED = ("zh", "ja")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_STROKES = str.maketrans(
    dict(zip("øłđıð،→⇒➜➔", ["o", "l", "d", "i", "d", ",", "->", "=>", "->", "->"], strict=True))
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_PLAIN_WORD = re.compile(r"[a-zа-я][a-zа-я'-]+|[\u3400-\u9fff\u30a0-\u30ff]")


def strip_accents(text: str) -> str:
    """A text without accents and strokes, and with signs as in ASCII."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(_STROKES)


@cache
def tables() -> Mapping[str, Mapping[str, str]]:
    """The tables: language to kind to phrases, and `values` to the names of months, units and numbers."""
    merged: dict[str, dict[str, str]] = {}
    for name in ("words.toml", "match/claims.toml"):
        text = strip_accents(files("needlework.scoring").joinpath(name).read_text("utf-8"))
        for language, table in tomllib.loads(text).items():
            merged.setdefault(language, {}).update(table)
    return merged


def names(kind: str) -> list[list[str]]:
    """The rows of one table of `values`, each with the names of one thing."""
    return [row.split() for row in tables()["values"][kind].split("|")]


@cache
def phrases(kind: str, *, pattern: str = "%s") -> re.Pattern[str]:
    """The phrases of one kind in every language, as the `%s` of a pattern; M stands for a value."""
    rows = {language: table[kind].replace("\n", "") for language, table in tables().items() if table.get(kind)}
    spaced = "|".join(row for language, row in rows.items() if language not in _UNSPACED)
    unspaced = "".join(f"|{row}" for language, row in rows.items() if language in _UNSPACED)
    return re.compile((pattern % rf"(?:(?<!\w)(?:{spaced})(?!\w){unspaced})").replace("M", MARK))


def split_words(text: str) -> list[str]:
    """The words of a folded text, and each of its Chinese and Japanese characters."""
    return _PLAIN_WORD.findall(text)


@cache
def words_of(*kinds: str) -> frozenset[str]:
    """Every word of the phrases of some kinds, or of all tables."""
    rows = (row for table in tables().values() for kind, row in table.items() if not kinds or kind in kinds)
    return frozenset(split_words(" ".join(rows)))


_DASHES = re.compile(r"(?<=\w)[‐‑‒–−](?=\w)")
_PAUSES = re.compile(r" *[–—―⸺⸻‒]+ *")
_LATEX_SPACE = re.compile(r"(?<=\d)(?:\\[,;: !]|~|\{,\}|\\thinspace|\\ )(?=\d)")
_LATEX_TEXT = re.compile(r"\\(?:text|math|operatorname)[a-z]*\s*\{([^{}]*)\}")
_HAN = rf"\u3005-\u3007{CJK}\uac00-\ud7a3"
_BESIDE_LETTERS = re.compile(rf"(?<=[{_HAN}])(?=[a-z])|(?<=[a-z])(?=[{_HAN}])")
_BESIDE_DIGITS = re.compile(rf"(?<=[{_HAN}]) (?=\d)|(?<=\d) (?=[{_HAN}])")
_IN_HAN = re.compile(
    rf"(?<![{HAN_NUMERALS}第几幾数\d])(?<!\d )"
    rf"(?:[{HAN_NUMERALS}]+(?=千[米克])|[{HAN_NUMERALS}]+(?![{HAN_NUMERALS}几幾多]))"
)
_UNITS = "一二三四五六七八九兩"
_BELOW_MYRIAD = rf"(?:[{_UNITS}]千)?(?:〇?[{_UNITS}]百)?(?:〇?[{_UNITS}]?十[{_UNITS}]?|〇[{_UNITS}])?"
_MYRIADS = rf"(?:(?:{_BELOW_MYRIAD}|[{_UNITS}])(?<=[{_UNITS}十百千])"
_HAN_NUMBER = re.compile(rf"[{_UNITS}]|{_MYRIADS}[亿億])?〇?{_MYRIADS}[万萬])?{_BELOW_MYRIAD}")
_ENGLISH = [name for row in names("numbers") for name in row]
_TENS, _TEENS = "|".join(_ENGLISH[20:]), "|".join(sorted(_ENGLISH[2:20], key=len, reverse=True))
_SPELLED = re.compile(rf"(?<![\w-])(?:({_TENS})(?:[- ]({'|'.join(_ENGLISH[1:10])}))?|({_TEENS}))(?![\w-])")
_DIGITS = {word: str(digit) for digit, row in enumerate(names("digits")) for word in row}
_DIGIT = f"(?:{'|'.join(sorted(_DIGITS, key=len, reverse=True))})"
_ONE_BY_ONE = re.compile(rf"(?<!\w){_DIGIT}(?:[ ,-]{{1,2}}{_DIGIT}){{2,}}(?!\w)")

_MONTH_OF = {name: rank for rank, row in enumerate(names("months"), 1) for name in row}
_MONTH = rf"({'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\.?"
_OF = r"(?:,|\s|of|de|del|den|the)*"
_YEAR = re.compile(r"(?<!\d)\d{4,6}(?!\d)")  # of every date; a day may touch it
_DATES = (
    (
        re.compile(rf"(?<![\d.])(\d{{1,2}})(?:st|nd|rd|th|er|\.)?{_OF}{_MONTH}{_OF}(\d{{4}})(?!\d)(?: года?| г\.)?"),
        "dmy",
    ),
    (re.compile(rf"(?<!\w){_MONTH}\s(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?{_OF}(\d{{4}})(?!\d)"), "mdy"),
    (re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), "ymd"),
    (re.compile(r"(?<!\d)(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})(?!\d)[日号號일]?"), "ymd"),
    (re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)"), "dmy"),
    (re.compile(r"(?<!\d)(1[3-9]|2\d|3[01])[-/](\d{1,2})[-/](\d{4})(?!\d)"), "dmy"),
    (re.compile(r"(?<!\d)(\d{1,2})[-/](1[3-9]|2\d|3[01])[-/](\d{4})(?!\d)"), "mdy"),
)
_HALF_DAY = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d\d))? ?(?:in the )?([ap]\.? ?m\b\.?|morning|afternoon|evening)")
_EARLY = re.compile(r"(?<![\d:.-])(\d:\d\d)(?![\d:]| ?[ap]\.? ?m\b)")
_DATE, _TIME, _AT = r"(\d{4}-\d\d-\d\d)", r"(\d\d:\d\d)", r"(?:,? ?\(?(?:(?:on|at|the|um|am|den|le|a|el|las) )*|t)"


def fold_lines(text: str) -> str:
    """Fold all spellings to one form, and keep line breaks.

    `normalize_lines`, accents, dashes, numbers in words; dates become `2024-03-05`, times `15:30`, the date first.
    """
    if "\\" in text or "{,}" in text:
        text = _LATEX_TEXT.sub(r" \1 ", _LATEX_SPACE.sub("\u202f", text).replace("\\$", "$").replace("\\%", "%"))
    if not text.isascii():
        text = _PAUSES.sub(" - ", _DASHES.sub("-", text.replace(MARK, " ")))
    lines = normalize_lines(text)
    if not lines.isascii():
        lines = _IN_HAN.sub(_to_digits, _BESIDE_LETTERS.sub(" ", strip_accents(lines)))
        lines = re.sub(r"(\d+)([万萬亿億])", lambda match: str(int(match[1]) * int(numeric(match[2]))), lines)
        lines = _BESIDE_LETTERS.sub(" ", _BESIDE_DIGITS.sub("", lines))
    lines = _ONE_BY_ONE.sub(lambda match: "".join(_DIGITS[word] for word in re.split(r"[ ,-]+", match[0])), lines)
    lines = _SPELLED.sub(lambda match: str(sum(_number_of(word) for word in match.groups() if word)), lines)
    has_date = _YEAR.search(lines) is not None  # most texts have none, and there are seven patterns
    for pattern, order in _DATES if has_date else ():
        lines = pattern.sub(partial(_date, order=order), lines)
    lines = _EARLY.sub(r"0\1", _HALF_DAY.sub(_time, lines))
    if not has_date:
        return lines
    return re.sub(rf"{_TIME}{_AT}{_DATE}", r"\2 \1", re.sub(rf"{_DATE}{_AT}{_TIME}", r"\1 \2", lines))


def fold(text: str) -> str:
    """Fold a text to one line."""
    return fold_lines(text).replace("\n", " ")


def _number_of(word: str) -> int:
    rank = _ENGLISH.index(word)
    return rank if rank < 20 else 10 * (rank - 18)


def _to_digits(run: re.Match[str]) -> str:
    """Replace a Chinese numeral by digits, unless it is part of a word (`一起`, `万一`)."""
    numeral, after = run[0], run.string[run.end() : run.end() + 1]
    number = read_han(numeral)
    measured = after in tables()["values"]["measures"] and not (numeral == "一" and after in ("个", "個", ""))
    if number is None or len(numeral) > 1 or measured or numeral == run.string:
        return number or numeral
    return numeral


@cache
def read_han(run: str) -> str | None:
    """Read a Chinese numeral as digits; `None` if it is ambiguous (`三四`, `一百五`) or no number."""
    run = run.replace("零", "〇").replace("两", "兩")
    if re.fullmatch(rf"[〇{_UNITS}]+", run):
        return None if re.fullmatch(rf"[{_UNITS}]{{2}}", run) else "".join(str(int(numeric(sign))) for sign in run)
    if not run or not _HAN_NUMBER.fullmatch(run):
        return None
    total = below = digit = 0
    for value in map(int, map(numeric, run)):
        if value >= 10**4:
            total, below, digit = total + (below + digit) * value, 0, 0
        elif value >= 10:
            below, digit = below + (digit or 1) * value, 0
        else:
            digit = value
    return str(total + below + digit)


def _date(match: re.Match[str], order: str) -> str:
    year, month, day = (match[order.index(part) + 1] for part in "ymd")
    rank = _MONTH_OF.get(month) or int(month)
    return f"{year}-{rank:02}-{int(day):02}" if 1 <= rank <= 12 and 1 <= int(day) <= 31 else match[0]


def _time(match: re.Match[str]) -> str:
    hour = int(match[1])
    is_late = match[3][:2] not in ("am", "a.", "a ", "mo")
    return f"{hour % 12 + 12 * is_late:02}:{match[2] or '00'}" if 1 <= hour <= 12 else match[0]
