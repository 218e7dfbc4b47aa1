"""L-Eval's rules of exact answers: letters, numbers (GSM100), code (CodeU), topics, true or false (SciFi)."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import regex

from needlework.scoring.match.match import match_score
from needlework.scoring.published.ruler import squash
from needlework.scoring.reading import first_reply, verdict_for
from needlework.scoring.scorers.sets import stated_letters
from needlework.scoring.scores import Details, Reference, Score, Scorer, expected_text, rule

SHOWN = 160  # characters of an answer that a score shows

# Quirks of the published comparison are kept: a strict subset of the right letters is worth 0.25 however small it is; a
# reference of nothing but punctuation is equal to every answer of nothing but punctuation; and outside letters a
# reference counts wherever it stands in the answer as text.
OPTIONS = "ABCD"
SUBSET = 0.25


def gold_of(reference: Reference) -> str:
    """Return L-Eval's one reference of an item. Raises `ValueError` where there is none."""
    return reference.answers[0] if reference.answers else expected_text(reference)


def exact_match(prediction: str, gold: str) -> float:
    """Compare an answer with the reference, both already extracted: 0, 0.25 or 1."""
    left, right = squash(prediction), squash(gold)
    if all(char in OPTIONS for char in right):  # also where nothing is left of the reference
        return 1.0 if left == right else SUBSET if set(left) <= set(right) else 0.0
    try:
        return float(float(prediction) == float(gold))
    except ValueError:
        return float(gold.lower().replace(" ", "") in prediction.lower().replace(" ", ""))


def _score(value: float, answer: str, taken: str, gold: str, why: str = "") -> Score:
    """The score of an answer, of which `taken` was compared with `gold`; both stand in its details."""
    verdict = verdict_for(value, answer, partial_from=SUBSET)
    why = why or ("equal" if value == 1 else f"{taken[:60]!r} is not {gold[:60]!r}")
    return Score(value, verdict, taken[:SHOWN], why, {"taken": taken, "gold": gold})


def _compat_scorer(
    name: str, take: Callable[[str], str], read_gold: Callable[[str], str], *, blank: bool = True
) -> Scorer:
    """The scorer that compares what upstream takes out of an answer. `blank`: also where either is blank."""

    def judge(answer: str, reference: Reference) -> Score:
        gold, taken = read_gold(gold_of(reference)), take(answer)
        value = exact_match(taken, gold) if blank or (taken and gold) else 0.0
        return _score(value, answer, taken, gold)

    return Scorer(f"leval_{name}_compat", 1, judge)


# Letters. Compatible: upstream's extraction. It takes letters out of words (`Based on` is B), the first of several
# where one is wanted, loses letters before a comma and at the end where several are, guesses A where there is none, and
# gives 0.25 for any part of the right letters.
#
# Strict: a letter counts where it stands alone and is not denied; `the answer is C` beats labels, and labels (`B. ...`)
# beat what else is said. No letter, or several where one is wanted, is wrong, and so is a part of the right letters.
_BEFORE_END = re.compile(r"[A-D](?=[\s.)])")
_RUN = re.compile(r"[A-D]+")


def compat_letters(answer: str, *, several: bool) -> str:
    """Take letters out of an answer as upstream does; `None` for a blank one, A where it finds no letter."""
    if not answer.strip():
        return "None"
    if answer in OPTIONS:
        return answer
    if not several:
        return next((char for char in answer if char in OPTIONS), "A")
    leading = _RUN.match(answer)
    run = leading[0] if leading else ""
    if len(run) > 1:
        return "".join(sorted(set(run)))
    rest = answer[len(run) :].partition("Question")[0]
    letters = {*_BEFORE_END.findall(rest), *run}
    if letters:
        return "".join(sorted(letters))
    anywhere = _RUN.search(rest)
    return anywhere[0] if anywhere else "A"


def gold_letters(gold: str) -> str:
    """The letters of a reference: those of its first word (`(B) the text`)."""
    words = gold.split(None, 1)
    return "".join(char for char in words[0] if char in OPTIONS) if words else ""


def _letters(answer: str, reference: Reference, *, several: bool) -> Score:
    gold = "".join(sorted(set(gold_letters(gold_of(reference)))))
    taken = stated_letters(answer)
    why = "" if taken else "names no option"
    if len(taken) > 1 and not several:
        why = f"names {len(taken)} options where one is wanted"
    return _score(float(bool(gold) and taken == gold), answer, taken, gold, why)


LETTER = Scorer("leval_letter", 2, partial(_letters, several=False))
LETTERS = Scorer("leval_letters", 2, partial(_letters, several=True))
LETTER_COMPAT = _compat_scorer("letter", partial(compat_letters, several=False), gold_letters)
LETTERS_COMPAT = _compat_scorer("letters", partial(compat_letters, several=True), gold_letters)


# GSM100. Compatible: upstream's rule, on the reference too: digits up to the first point behind the first `The answer
# is`, else those of the last word with a digit in the first paragraph. It cuts decimals (`294.67` is 294), loses signs,
# joins fractions (`69/3` is 693) and overlooks `The answer is: 5`.
#
# Strict: the number behind the last `answer is`, `####` or `\boxed`, else the last number, compared by value: signs,
# decimals, thousands separators and fractions are read.
_COMPAT_CUE = re.compile(r"The answer is (\S+)")
_CUE = re.compile(r"\banswer\b(?:\s+is\b\s*[:=]?|\s*[:=])|####|\\boxed\s*\{", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-−+](?=[$€£¥.\d]))?(?:[$€£¥]\s?(?P<inner>[-−])?)?"
    r"(?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:\s?/\s?(?P<under>\d+))?"
)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n\s*\n")
_CUES = 50  # the last places that announce a number
_BEHIND = 300  # characters behind `the answer is` in which its number stands
_LONGEST = 60  # digits; longer numbers are no results


def compat_number(text: str) -> str:
    """The digits that upstream takes; nothing where there is none."""
    cued = _COMPAT_CUE.search(text)
    if cued:
        word = cued[1]
    else:
        words = text.partition("\n\n")[0].split(" ")
        word = next((word for word in reversed(words) if any(char.isdigit() for char in word)), "")
    return "".join(char for char in word.partition(".")[0] if char.isdigit())


def stated_number(text: str) -> Fraction | None:
    """The number that a text ends with, or `None`."""
    plain = unicodedata.normalize("NFKC", first_reply(text)).replace("\\$", "$").replace("\u2044", "/")
    for cue in list(_CUE.finditer(plain))[: -_CUES - 1 : -1]:
        sentence = _SENTENCE.split(plain[cue.end() : cue.end() + _BEHIND].lstrip(), maxsplit=1)[0]
        numbers = _numbers(sentence.rpartition("=")[2]) or _numbers(sentence)
        if numbers:
            return numbers[0]
    everywhere = _numbers(plain)
    return everywhere[-1] if everywhere else None


def _numbers(text: str) -> list[Fraction]:
    read = (_fraction_of(match) for match in _NUMBER.finditer(text))
    return [number for number in read if number is not None]


def _fraction_of(match: re.Match[str]) -> Fraction | None:
    digits = match["digits"].replace(",", "")
    under = match["under"] or "1"
    if len(digits) > _LONGEST or len(under) > _LONGEST or not digits.replace(".", "").isascii() or not under.isascii():
        return None
    if not int(under):
        return None
    value = Fraction(digits) / int(under)
    negative = match["sign"] in ("-", "−") or bool(match["inner"])
    return -value if negative else value


@rule("leval_math", 1)
def mathematics_scorer(answer: str, reference: Reference) -> Score:
    gold, taken = stated_number(gold_of(reference)), stated_number(answer)
    value = float(taken is not None and taken == gold)
    shown = "" if taken is None else str(taken)
    return _score(value, answer, shown, str(gold), "" if shown else "gives no number")


MATH_COMPAT = _compat_scorer("math", compat_number, compat_number, blank=False)


# CodeU. Compatible: upstream's rule. It looks for the reference as text in the last words of the answer, or in the
# first words behind the last `the final output`, as many as the reference has and three more. So 2 is found in
# `operation2` and 32 in `[14, 32, 54]`; deleted words (`is`, `of the code`) make references with them unreachable, `.0`
# is deleted from `1.05` too, and a reference of punctuation is found in any answer of punctuation.
#
# Strict: the answer, or the value that it states at its end, has to be the reference: the same numbers, brackets and
# words in the same order, spaces, commas and `3.` for `3` aside.
_SPACES = re.compile(r"\s+")
_DELETED = ("will be", "of the code", "is", "would be", "the value of", "the result of", "printed")
_CODE_CUE = "the final output"
_WINDOW = 3

_STATED = re.compile(
    r"\b(?:outputs?|results?|answers?|prints?|printed|returns?|value)\b[^\n:=]{0,80}?(?:\b(?:is|are|be)\b\s*:?|[:=])",
    re.IGNORECASE,
)
_OPENING = r"(?:(?:np\.|numpy\.)?array)?(?=[\[({])"
# The value in a fence, in back quotes, in quotes, or in brackets: up to the one that closes, or to the end.
_SHOWN_VALUE = regex.compile(
    r"```[^\n`]*\n(?P<value>.*?)```|`+(?P<value>[^`\n]+)`+|\"(?P<value>[^\"\n]*)\"|“(?P<value>[^”\n]*)”"
    rf"|(?P<value>{_OPENING}(?P<bracket>[\[({{](?>[^\[\](){{}}]+|(?&bracket))*+[\])}}]))|(?P<value>{_OPENING}.+)",
    regex.DOTALL,
)
_ARRAY = re.compile(r"(?:\b(?:np|numpy)\.)?\b(?:array|list|tuple)\((.*)\)", re.DOTALL)
_TOKEN = re.compile(r"(?<![\d.])[-+]?\d+(?:\.\d*)?(?!\w)|\w+|[\[\](){}]|[^\w\s\[\](){},'\"`]+")
_FRACTION = re.compile(r"([-+]?\d+)(?:\.0*|(\.\d*?)0*)")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_CODE_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)")
_TAIL = 4_000  # characters of an answer's end in which a value is looked for


def compat_output(answer: str, gold_words: int) -> str:
    """The part of an answer in which upstream looks for a reference of so many words."""
    text = _plain(answer)
    for words in _DELETED:
        text = text.replace(words, "")
    text = _SPACES.sub(" ", text)
    if _CODE_CUE in text:
        return " ".join(text.rpartition(_CODE_CUE)[2].split(" ")[: gold_words + _WINDOW])
    return " ".join(text.split(" ")[-(gold_words + _WINDOW) :])


def _plain(text: str) -> str:
    text = _SPACES.sub(" ", text)
    for piece in (",", "'", "\\", ".0"):
        text = text.replace(piece, "")
    return text.replace("] [", "][").replace("[ [", "[[").replace("] ]", "]]")


def tokens(text: str) -> tuple[str, ...]:
    """Numbers, words, brackets and runs of other signs; commas, quotes and spaces only separate."""
    pairs = ((token, _FRACTION.fullmatch(token)) for token in _TOKEN.findall(text))
    return tuple(number[1] + (number[2] or "") if number else token for token, number in pairs)


def stated_value(answer: str) -> str:
    """The value that an answer states at its end: after the last announcing words, else the last one.

    That is the first array, quotation or piece of code there; without any the one number of the sentence, else the
    sentence.
    """
    text = first_reply(answer)[-_TAIL:]
    announced = [(match[0], tail) for match in _STATED.finditer(text) if (tail := text[match.end() :].strip())]
    if not announced:
        shown = list(_shown_values(text))
        return shown[-1] if shown else text.rpartition("\n")[2]
    final = [tail for words, tail in announced if "final" in words.lower()]
    tail = (final or [tail for _, tail in announced])[-1]
    tail = tail if tail.startswith("```") else tail.partition("\n\n")[0]
    first = next(_shown_values(tail), None)
    if first is not None:
        return first
    sentence = _SENTENCE_END.split(tail, maxsplit=1)[0]
    numbers = _CODE_NUMBER.findall(sentence)
    return numbers[0] if len(numbers) == 1 else sentence


def _shown_values(text: str) -> Iterator[str]:
    """Fenced, quoted and bracketed pieces, in order; none inside another."""
    return (match["value"] for match in _SHOWN_VALUE.finditer(text))


@rule("leval_code_compat", 1)
def code_compat_scorer(answer: str, reference: Reference) -> Score:
    gold = _plain(gold_of(reference))
    taken = compat_output(answer, len(gold.split()))
    return _score(exact_match(taken, gold), answer, taken, gold)


@rule("leval_code", 1)
def code_scorer(answer: str, reference: Reference) -> Score:
    gold = gold_of(reference)
    expected = tokens(gold)
    taken = answer if tokens(answer) == expected else stated_value(answer)
    return _score(float(bool(expected) and _has_tokens(taken, expected)), answer, taken, gold)


def _has_tokens(taken: str, expected: tuple[str, ...]) -> bool:
    bare = taken.strip()
    array = _ARRAY.fullmatch(bare)
    forms = (bare, bare.removesuffix("."), array[1] if array else bare)
    return any(tokens(form) == expected for form in forms)


# Topics. Compatible: the reference wherever it stands in the answer as text, so that naming every topic is right.
# Strict: the answer gives the reference, whole and affirmed, and none of the other topics (`Reference.distractors`).
ORDINALS = ("first", "second", "third")


def asked_for(question: str) -> str | None:
    """The topic that a question asks for: `first`, `second` or `third`; `None` for none or several."""
    named = [ordinal for ordinal in ORDINALS if f"the {ordinal} topic" in question.lower()]
    return named[0] if len(named) == 1 else None


@rule("leval_topic", 3)
def topic_scorer(answer: str, reference: Reference) -> Score:
    return match_score(answer, replace(reference, answers=(gold_of(reference),), parts=(), statement=""))


TOPIC_COMPAT = _compat_scorer("topic", str, str)


# SciFi. The score is the mean of `loyalty` and `fact`. Compatible: in each part the first word that has `true` or
# `false` in it; the part behind the first `[fact:` loses its last character. An answer without `[fact:`, which ended
# upstream's run, has no second part, and its details say so (`fact_missing`).
#
# Strict: the part in the last `[fact: ...]`; whole words, `not true` is false, `true or false` says nothing, and where
# both are said `the answer is` beats the first.
MARK = "[fact:"
_NOTHING = "<error>"
_EITHER = re.compile(r"\btrue\s*(?:or|/|,)\s*false\b|\bfalse\s*(?:or|/|,)\s*true\b")
_TRUTH = re.compile(
    r"(?P<not>(?:\bnot|n['’]t|\bneither)\s+(?:(?:be|entirely|really|actually|strictly)\s+)?)?"
    r"\b(?P<word>untrue|true|false)\b"
)
_ANSWER_IS = re.compile(r"\b(?:answer|statement)\b[^.\n]{0,40}?\b(?:is|:)\W*", re.IGNORECASE)


def compat_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as upstream reads them: `true`, `false` or `<error>`."""
    pieces = answer.lower().split(MARK)
    return _compat_word(pieces[0]), _compat_word(pieces[1][:-1] if len(pieces) > 1 else "")


def stated_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as an answer states them: `true`, `false` or `<error>`."""
    loyalty, mark, fact = answer.lower().rpartition(MARK)
    if not mark:
        return _stated_truth(answer.lower()), _NOTHING
    return _stated_truth(loyalty), _stated_truth(fact.strip().removesuffix("]"))


def _compat_word(text: str) -> str:
    for word in text.split():
        for value in ("true", "false"):
            if value in word:
                return value
    return _NOTHING


def _stated_truth(text: str) -> str:
    plain = _EITHER.sub(" ", text)
    words = _truths(plain)
    if len(set(words)) > 1:
        concluded = [truths[0] for cue in _ANSWER_IS.finditer(plain) if (truths := _truths(plain[cue.end() :][:40]))]
        words = concluded[-1:] or words
    return words[0] if words else _NOTHING


def _truths(text: str) -> list[str]:
    return ["true" if (match["word"] == "true") != bool(match["not"]) else "false" for match in _TRUTH.finditer(text)]


def _sci_fi_scorer(name: str, read: Callable[[str], tuple[str, str]]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        taken, gold = read(answer), read(gold_of(reference))
        pairs = zip(taken, gold, strict=True)
        loyalty, fact = (exact_match(value, right) if right != _NOTHING else 0.0 for value, right in pairs)
        missing, shown, right = MARK not in answer.lower(), " | ".join(taken), " | ".join(gold)
        details: Details = {"loyalty": loyalty, "fact": fact, "taken": shown, "gold": right, "fact_missing": missing}
        why, value = "has no [fact: ...]" if missing else f"{shown} for {right}", (loyalty + fact) / 2
        return Score(value, verdict_for(value, answer), shown[:SHOWN], why, details)

    return Scorer(name, 1, judge)


SCI_FI = _sci_fi_scorer("leval_sci_fi", stated_parts)
SCI_FI_COMPAT = _sci_fi_scorer("leval_sci_fi_compat", compat_parts)
