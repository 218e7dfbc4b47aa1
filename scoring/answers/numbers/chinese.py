"""Chinese numerals: `十五` is 15, `两千零三` 2003, `二〇二四` 2024.

`三四` (three or four) and `一百五` (150) are not read.
"""

from __future__ import annotations

HAN_NUMERALS = "〇零一二三四五六七八九十百千万萬亿億两兩壹贰叁肆伍陆柒捌玖拾佰仟廿卅"
"""Han that say a number; what is in a row is one number, or none."""
HAN_DIGITS = dict(
    zip("〇零一二三四五六七八九两兩壹贰叁肆伍陆柒捌玖", (0, *range(10), 2, 2, *range(1, 10)), strict=True)
)
"""Those that say a digit, with it."""
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
SCALES = {**_UNITS, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
"""Those that multiply what stands before them."""


def read_han(run: str) -> int | None:
    """Read a Chinese numeral below a million million; `None` where it may say several numbers, or none."""
    if all(char in HAN_DIGITS for char in run):
        one = len(run) == 1 or len(run) > 2 or "〇" in run or "零" in run  # `三四` is three or four
        return int("".join(str(HAN_DIGITS[char]) for char in run)) if run and one else None
    total = 0
    for signs in ("亿億", "万萬"):
        head, sign, rest = run.partition(next((char for char in run if char in signs), "\n"))
        if sign:
            many = _below_ten_thousand(head)
            if not many or (rest and len(rest) < 2):  # `三万五` is 35,000
                return None
            total, run = total + many * SCALES[sign], rest
    few = _below_ten_thousand(run) if run else 0
    return None if few is None else total + few


def _below_ten_thousand(run: str) -> int | None:
    total, digit, last, gap = 0, 0, 10_000, False
    for char in run:
        unit = _UNITS.get(char)
        if unit is None:
            if digit or char not in HAN_DIGITS:
                return None
            digit = HAN_DIGITS[char]
            gap = gap or digit == 0
        elif unit >= last or not (digit or (unit == 10 and not total)):
            return None
        else:
            total, digit, last, gap = total + (digit or 1) * unit, 0, unit, False
    if digit and 10 < last < 10_000 and not gap:
        return None  # `一百五` is 150
    return total + digit if digit or not gap else None
