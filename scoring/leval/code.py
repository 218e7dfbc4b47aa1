"""What a piece of code prints (CodeU): numbers, arrays and texts.

Compatible: upstream's rule. It looks for the reference as a piece of text in the last words of the answer, or in the
first words behind the last `the final output`, as many as the reference has and three more. So 2 is found in
`operation2` and 32 in `[14, 32, 54]`; deleted words (`is`, `of the code`) make references with them unreachable, `.0`
is deleted from `1.05` too, and a reference of punctuation is found in any answer of punctuation.

Strict: the answer, or the value that it states at its end, has to be the reference: the same numbers, brackets and
words in the same order, spaces, commas and `3.` for `3` aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from needlework.scoring.leval.exact_core import exact_match, gold_of, judged
from needlework.scoring.leval.passages import first_reply
from needlework.scoring.scores import Reference, Score, Scorer

_SPACES = re.compile(r"\s+")
_DELETED = ("will be", "of the code", "is", "would be", "the value of", "the result of", "printed")
_CUE = "the final output"
_WINDOW = 3

_STATED = re.compile(
    r"\b(?:outputs?|results?|answers?|prints?|printed|returns?|value)\b[^\n:=]{0,80}?(?:\b(?:is|are|be)\b\s*:?|[:=])",
    re.IGNORECASE,
)
_SHOWN_VALUE = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)```|`+(?P<tick>[^`\n]+)`+|\"(?P<quote>[^\"\n]*)\"|“(?P<curly>[^”\n]*)”"
    r"|(?P<bracket>(?:(?:np\.|numpy\.)?array)?[\[({])",
    re.DOTALL,
)
_BRACKET = re.compile(r"[\[\](){}]")
_ARRAY = re.compile(r"(?:\b(?:np|numpy)\.)?\b(?:array|list|tuple)\((.*)\)", re.DOTALL)
_TOKEN = re.compile(r"(?<![\d.])[-+]?\d+(?:\.\d*)?(?!\w)|\w+|[\[\](){}]|[^\w\s\[\](){},'\"`]+")
_FRACTION = re.compile(r"([-+]?\d+)(?:\.0*|(\.\d*?)0*)")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)")
_TAIL = 4_000  # characters of an answer's end in which a value is looked for


def compat_gold(gold: str) -> str:
    """The reference as upstream compares it."""
    return _plain(gold)


def compat_output(answer: str, gold_words: int) -> str:
    """The part of an answer in which upstream looks for a reference of so many words."""
    text = _plain(answer)
    for words in _DELETED:
        text = text.replace(words, "")
    text = _SPACES.sub(" ", text)
    if _CUE in text:
        return " ".join(text.rpartition(_CUE)[2].split(" ")[: gold_words + _WINDOW])
    return " ".join(text.split(" ")[-(gold_words + _WINDOW) :])


def _plain(text: str) -> str:
    text = _SPACES.sub(" ", text)
    for piece in (",", "'", "\\", ".0"):
        text = text.replace(piece, "")
    return text.replace("] [", "][").replace("[ [", "[[").replace("] ]", "]]")


def tokens(text: str) -> tuple[str, ...]:
    """Numbers, words, brackets and runs of other signs; commas, quotes and spaces only separate."""
    found = []
    for token in _TOKEN.findall(text):
        number = _FRACTION.fullmatch(token)
        found.append(number[1] + (number[2] or "") if number else token)
    return tuple(found)


def stated_value(answer: str) -> str:
    """The value that an answer states at its end: behind the last words that announce one, else the last one shown.

    That is the first array, quotation or piece of code there; without any the one number of the sentence, else the
    sentence.
    """
    text = first_reply(answer)[-_TAIL:]
    announced = [(match[0], tail) for match in _STATED.finditer(text) if (tail := text[match.end() :].strip())]
    if not announced:
        shown = list(_expressions(text))
        return shown[-1] if shown else text.rpartition("\n")[2]
    final = [tail for words, tail in announced if "final" in words.lower()]
    tail = (final or [tail for _, tail in announced])[-1]
    tail = tail if tail.startswith("```") else tail.partition("\n\n")[0]
    first = next(_expressions(tail), None)
    if first is not None:
        return first
    sentence = _SENTENCE_END.split(tail, maxsplit=1)[0]
    numbers = _NUMBER.findall(sentence)
    return numbers[0] if len(numbers) == 1 else sentence


def _expressions(text: str) -> Iterator[str]:
    """Fenced, quoted and bracketed pieces, in order; none inside another."""
    at = 0
    while match := _SHOWN_VALUE.search(text, at):
        if match["bracket"] is None:
            yield next(group for group in match.group("fence", "tick", "quote", "curly") if group is not None)
            at = match.end()
            continue
        end = _closing(text, match.start())
        yield text[match.start() : end]
        at = end


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed; the end of the text where it is not."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] in "[{(" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _compat(answer: str, reference: Reference) -> Score:
    gold = compat_gold(gold_of(reference))
    taken = compat_output(answer, len(gold.split()))
    return judged(exact_match(taken, gold), answer, taken, gold)


def _strict(answer: str, reference: Reference) -> Score:
    gold = gold_of(reference)
    wanted = tokens(gold)
    taken = answer if tokens(answer) == wanted else stated_value(answer)
    return judged(float(bool(wanted) and _same(taken, wanted)), answer, taken, gold)


def _same(taken: str, wanted: tuple[str, ...]) -> bool:
    bare = taken.strip()
    array = _ARRAY.fullmatch(bare)
    forms = (bare, bare.removesuffix("."), array[1] if array else bare)
    return any(tokens(form) == wanted for form in forms)


CODE = Scorer("leval_code", 1, _strict)
CODE_COMPAT = Scorer("leval_code_compat", 1, _compat)
