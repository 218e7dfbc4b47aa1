"""Whose value it is, in Chinese and Japanese: `X的代码是M`, `M是X的代码`, `M属于X`, `X：M`."""

from __future__ import annotations

import re

from needlework.scoring.answers.folding import MARK, closed_up
from needlework.scoring.answers.keys import Asked, Owner

_UNSPACED_END = re.compile(rf"[。！？；;!?\n,、{MARK}]")
_UNSPACED_NAME = re.compile(
    r"([^的の\s,。、？?「」“”\"]{2,16})[的の]|属于([^的,。]{2,12})|(?:^|は|が)([^的の\s,。、]{2,12})(?:用|のもの)(?:です|だ|$)"
)
_HEADING = re.compile(r"[是为為は]$|答|回|码|碼|结果|結果|输出|最终|编号|コード|番号|根据")
_VAGUE = re.compile(
    r"这|那|它|该|此|正确|错误|新|旧|当前|目前|如今|先前|现在|原来|文中|文章|文档|提到|所问|您|你|我|唯一|给出|要求"
    r"|問|質問|正し|古|文書|本文|求め|以前|現在|最終"
)


def unspaced_owner(sketch: str, place: int, asked: Asked) -> Owner:
    """Say whose the value at `place` of a sketch is."""
    clauses = (
        _UNSPACED_END.split(sketch[max(0, place - 60) : place])[-1],
        _UNSPACED_END.split(sketch[place + 1 : place + 60])[0],
    )
    clauses = (closed_up(clauses[0]), closed_up(clauses[1]))
    question = closed_up(asked.question)
    named = [found[1] or found[2] or found[3] for clause in clauses for found in _UNSPACED_NAME.finditer(clause)]
    entry = re.fullmatch(r"\W*([\u3040-\u9fff]{2,8}): *", clauses[0])
    if entry and abs(len(entry[1]) - len(asked.unspaced)) <= 1 and not _HEADING.search(entry[1]):
        named.append(entry[1])
    named = [re.split(r"ではなく|じゃなく|不是|而是", name)[-1] for name in named]
    named = [re.sub(r"^(?:是|为|属于|は|が|根据|文中)", "", name) for name in named]
    named = [name for name in named if len(name) > 1]
    if any(asked.unspaced in name or name in asked.unspaced for name in named):
        return "asked"
    return "other" if any(not _VAGUE.search(name) and name not in question for name in named) else ""
