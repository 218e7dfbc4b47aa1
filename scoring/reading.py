"""The part of an answer that counts, for every scorer: conclusion, own words, refusals."""

import re

from needlework.scoring.folding import phrases
from needlework.scoring.plain_text import Span, normalize
from needlework.scoring.scores import EXACT, Verdict

LONG, CLOSING = 1000, 300
"""From how many letters on an answer is long, and how many at its end count."""
_READ = 2000
_REFUSAL_WORD = re.compile(
    r"\W*(?:unknown|n/?a|none|nothing|not (?:stated|sure|given|available|clear)|no answer|no idea|未知|不详|暂无|无)\W*"
)


def refusal_end(text: str) -> int | None:
    """The end of the last words that decline or find no answer; of a folded text."""
    if _REFUSAL_WORD.fullmatch(text[:_READ]):
        return len(text)
    return max((match.end() for match in phrases("refused").finditer(text[:_READ])), default=None)


def is_refusal(text: str) -> bool:
    """Whether a folded text declines to answer or says that the answer is not there."""
    return refusal_end(text) is not None


def weight(text: str) -> int:
    """A text's length in letters of an alphabet: a Chinese character says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(char >= "\u2e80" for char in text)


_SENTENCE_END = re.compile(r"(?:[.!?](?=\s|$)|[。！？!?\n])[\"')\]]*")


def first_sentence(lines: str) -> Span:
    """The first sentence or line of a text."""
    match = _SENTENCE_END.search(lines)
    return Span(0, match.end() if match else len(lines))


def conclusion(lines: str) -> Span | None:
    """The last sentence or line, if it is one that concludes (`so the answer is ...`, `因此...`)."""
    last = next((index for index in range(len(lines) - 1, -1, -1) if lines[index].isalnum()), 0)
    start = max((match.end() for match in _SENTENCE_END.finditer(lines, 0, last)), default=0)
    return Span(start, len(lines)) if phrases("hence").search(lines, start) else None


_NEXT = re.compile(
    r"(?:\n\s*|(?<=[\w.!?。\"'*] ))(?:q(?:uestion)?|user|human|frage|pregunta|вопрос|问题|質問)\s*\d*\s*[:：]"
    r"|\n\s*(?:passage|document|context|instruction|input|問|问)\s*\d*\s*[:：.]"
)


def own_words(lines: str, question: str) -> str:
    """An answer's own words: no further question of the model, no repetition of the given one.

    Of an answer that repeats the question, what follows it; where nothing does, its first sentence, if it is no copy of
    the text. Only a real question counts: what a base model is to go on with (`The code is`) belongs to the answer.
    """
    turn = _NEXT.search(lines, 1)
    before = lines[: turn.start()] if turn else ""
    if any(char.isalnum() for char in before) and weight(before) <= LONG:
        lines = before
    wording = question.strip(" \"'.,:;。：；")
    start = lines.replace("\n", " ").rfind(wording) if len(wording) >= 8 and ("?" in wording or "？" in wording) else -1
    if start < 0:
        return lines
    after = lines[start + len(wording) :].lstrip(" \"'.,:;。：；_\n")
    if any(char.isalnum() for char in after):
        return after
    opening = lines[:start][: first_sentence(lines[:start]).end]
    return opening if weight(opening) <= LONG else ""


def outside_copies(lines: str, size: int = 1) -> str:
    """An answer; of a long one (1000 letters) the first sentence and the end (`size` x 300 letters)."""
    if weight(lines) <= LONG + CLOSING * (size - 1):
        return lines
    first = min(first_sentence(lines).end, CLOSING)
    return f"{lines[:first]}\n{lines[max(first, len(lines) - CLOSING * size) :]}"


_NEXT_QUESTION = re.compile(r"\n\s*(?:Question|Q)\s*\d*\s*[:.]")


def first_reply(answer: str) -> str:
    """The answer up to where it asks the next question; all of it where it opens with one."""
    text = answer.strip()
    return _NEXT_QUESTION.split(text, maxsplit=1)[0]


def verdict_for(value: float, answer: str, *, partial_from: float = 0.5) -> Verdict:
    """Name a score 0..1: found at 1, partial from `partial_from`, else empty, refused or wrong.

    Rules with a floor of unearned points (an edit distance gives any answer some) need a high `partial_from`.
    """
    if value >= EXACT:
        return "found"
    if value >= partial_from and value > 0:
        return "partial"
    text = normalize(answer[:4000])
    return "empty" if not text else "refused" if is_refusal(text) else "wrong"
