"""L-Eval's F1 and ROUGE, and rules of exact answers."""

from __future__ import annotations

import importlib.util
import logging
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import combinations
from math import fsum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import regex

from needlework.scoring.published.ruler import normalize_answer
from needlework.scoring.scores import Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import expected_text, verdict_for

# Words are what remains of the text in small letters without ASCII punctuation and a/an/the; the best of several
# references counts. The strict score differs on Chinese only, which the published rule takes for one word between two
# spaces.
Words = Callable[[str], list[str]]


def f1(said: list[str], wanted: list[str]) -> float:
    """F1 of two bags of words, 0..1; 0 where they share none."""
    shared = (Counter(said) & Counter(wanted)).total()
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def english_words(text: str) -> list[str]:
    """The words of a text as SQuAD counts them."""
    return normalize_answer(text).split()


def words(text: str) -> list[str]:
    """As `english_words`, with Chinese cut into words."""
    return english_words(spaced(text) if has_chinese(text) else text)


def _judge(answer: str, reference: Reference, split: Words) -> Score:
    said = split(answer)
    golds = reference.answers or (gold_of(reference),)
    value = max(f1(said, split(gold)) for gold in golds)
    verdict = verdict_for(value, answer, partial_from=0.0)
    return Score(value, verdict, answer[:SHOWN], f"F1 {value:.4f} of {len(said)} words", {"f1": value})


def has_chinese(*texts: str) -> bool:
    """Whether a Chinese character stands in one of the texts."""
    return any(_HAN.search(text) for text in texts)


_HAN = regex.compile(r"\p{Han}")


def spaced(text: str) -> str:
    """Chinese as words between spaces (jieba), punctuation of every script as spaces, the rest as it is."""
    words = _segmenter()
    return _PUNCTUATION.sub(" ", _RUN.sub(lambda match: f" {' '.join(words.lcut(match[0]))} ", text))


@cache
def _segmenter() -> Any:
    jieba = _package("jieba", "Chinese text needs jieba")
    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()


REMEDY = "pip install 'needlework[leval]'"


class MissingPackageError(ImportError):
    """A package of the extra `leval` is not installed; its text is one line with the remedy."""


def _package(module: str, need: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(f"{need}: {REMEDY}") from None


_RUN = regex.compile(r"\p{Han}+")
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")


def gold_of(reference: Reference) -> str:
    """Return L-Eval's one reference of an item. Raises `ValueError` where there is none."""
    return reference.answers[0] if reference.answers else expected_text(reference)


SHOWN = 160


F1 = Scorer("leval_f1", 1, lambda answer, reference: _judge(answer, reference, words))
F1_COMPAT = Scorer("leval_f1_compat", 1, lambda answer, reference: _judge(answer, reference, english_words))


# A score's value is ROUGE-L; its details have `rouge1`, `rouge2`, `rougeL`, and `rougeLsum` where the sentence model is
# installed (`sentences`). The strict score differs on Chinese only, of which rouge-score's own words have nothing.
PUBLISHED = ("rouge1", "rouge2", "rougeL")
SUMMARY = "rougeLsum"
_NEED = "ROUGE needs rouge-score"


@lru_cache(maxsize=1_024)  # both rules ask for the same
def rouge(answer: str, gold: str, *, chinese: bool = False) -> Mapping[str, float]:
    """The F-measures, 0..1, by name. Raises `MissingPackageError`."""
    sentences = None if chinese else (by_line(gold), by_line(answer))
    if sentences is None or None in sentences:
        scores = _scorer(PUBLISHED, chinese).score(gold, answer)
    else:
        scores = _scorer((*PUBLISHED, SUMMARY), chinese).score(*sentences)
    return MappingProxyType({name: float(score.fmeasure) for name, score in scores.items()})


def of_itself(text: str) -> dict[str, float]:
    """As `rouge(text, text)`, without the time that takes: 1 for all that a text has enough words for."""
    english = _package("rouge_score.tokenizers", _NEED).DefaultTokenizer
    words = len((SpacedWords() if has_chinese(text) else english(use_stemmer=False)).tokenize(text))
    return {name: float(words >= (2 if name == "rouge2" else 1)) for name in (*PUBLISHED, SUMMARY)}


def geometric_mean(means: Mapping[str, float]) -> float:
    """L-Eval's `LEval_score`: the cube root of the product of the means of ROUGE-1, -2 and -L."""
    return float((means["rouge1"] * means["rouge2"] * means["rougeL"]) ** (1 / 3))


@cache
def _scorer(names: tuple[str, ...], chinese: bool) -> Any:
    scorer = _package("rouge_score.rouge_scorer", _NEED).RougeScorer
    return scorer(list(names), use_stemmer=False, tokenizer=SpacedWords() if chinese else None)


def _rouge_judge(answer: str, reference: Reference, *, strict: bool) -> Score:
    golds = reference.answers or (gold_of(reference),)
    scores_of_golds = [rouge(answer, gold, chinese=strict and has_chinese(answer, gold)) for gold in golds]
    best = max(scores_of_golds, key=lambda scores: fsum(scores[name] for name in PUBLISHED))
    value = min(1.0, best["rougeL"])
    verdict = verdict_for(value, answer, partial_from=0.0)
    return Score(value, verdict, answer[:SHOWN], f"ROUGE-L {value:.4f}", dict(best))


def by_line(text: str) -> str | None:
    """The text with each sentence on a line of its own; `None` where the model is not installed."""
    tokenizer = _tokenizer()
    return None if tokenizer is None else "\n".join(tokenizer.tokenize(text))


@cache
def _tokenizer() -> Any:
    folder = next((each for each in _folders() if all((each / name).is_file() for name in _FILES)), None)
    if folder is None:
        return None
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    abbreviations, starters, pairs, context = ((folder / name).read_text("utf-8").split("\n") for name in _FILES)
    model = PunktParameters()
    model.abbrev_types = set(filter(None, abbreviations))
    model.sent_starters = set(filter(None, starters))
    model.collocations = {tuple(line.split("\t")) for line in pairs if line}
    model.ortho_context = defaultdict(int)
    for line in filter(None, context):
        word, _, flags = line.rpartition("\t")
        model.ortho_context[word] = int(flags)
    tokenizer = PunktSentenceTokenizer()
    tokenizer._params = model  # noqa: SLF001  # its constructor trains, or unpickles
    return tokenizer


def _folders() -> Iterator[Path]:
    try:
        import nltk.data
    except ImportError:
        return
    yield from (Path(folder) / _MODEL for folder in nltk.data.path)
    # A name without its package's code: only the namespace package above it is looked up.
    spec = importlib.util.find_spec("llama_index")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder) / _IN_PACKAGE / _MODEL


_IN_PACKAGE = Path("core", "_static", "nltk_cache")


# The model is data that NLTK does not bring along. It is read where NLTK looks for it, or out of the package
# llama-index-core, which carries it (`requirements-data.txt`); without it there is no ROUGE-Lsum. T. Kiss, J. Strunk,
# "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32 (2006).
_MODEL = Path("tokenizers", "punkt_tab", "english")
_FILES = ("abbrev_types.txt", "sent_starters.txt", "collocations.tab", "ortho_context.tab")


class SpacedWords:
    """Splits where `spaced` does, in small letters, for rouge-score."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""
        return spaced(text).lower().split()


ROUGE = Scorer("leval_rouge", 1, lambda answer, reference: _rouge_judge(answer, reference, strict=True))
ROUGE_COMPAT = Scorer("leval_rouge_compat", 1, lambda answer, reference: _rouge_judge(answer, reference, strict=False))


# Its quirks are kept: a strict subset of the right letters is worth 0.25 however small it is; a reference of nothing
# but punctuation is equal to every answer of nothing but punctuation; and outside letters a reference counts wherever
# it stands in the answer as a piece of text.
OPTIONS = "ABCD"
SUBSET = 0.25
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def squashed(text: str) -> str:
    """Without ASCII punctuation and lower-case articles, single spaces; capitals stay."""
    return " ".join(_ARTICLES.sub(" ", text.translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> float:
    """Compare an answer with the reference, both already extracted: 0, 0.25 or 1."""
    said, wanted = squashed(prediction), squashed(gold)
    if all(char in OPTIONS for char in wanted):  # also where nothing is left of the reference
        return 1.0 if said == wanted else SUBSET if set(said) <= set(wanted) else 0.0
    try:
        return float(float(prediction) == float(gold))
    except ValueError:
        return float(gold.lower().replace(" ", "") in prediction.lower().replace(" ", ""))


def judged(value: float, answer: str, taken: str, gold: str, why: str = "") -> Score:
    """Make the score of an answer, of which `taken` was compared with `gold`; both stand in its details."""
    verdict: Verdict = verdict_for(value, answer, partial_from=SUBSET)
    right = "equal" if value == 1 else f"{taken[:60]!r} is not {gold[:60]!r}"
    return Score(value, verdict, taken[:SHOWN], why or right, {"taken": taken, "gold": gold})


# The score is the mean of both parts, `loyalty` and `fact`. Compatible: in each part the first word that has `true` or
# `false` in it; the part behind the first `[fact:` loses its last character. An answer without `[fact:`, which ended
# upstream's run, has no second part, and its details say so (`fact_missing`).
#
# Strict: the part in the last `[fact: ...]`; whole words, `not true` is false, `true or false` says nothing, and where
# both are said `the answer is` beats the first.
MARK = "[fact:"
_NOTHING = "<error>"
_EITHER = re.compile(r"\btrue\s*(?:or|/|,)\s*false\b|\bfalse\s*(?:or|/|,)\s*true\b")
_SAID = re.compile(
    r"(?P<not>(?:\bnot|n['’]t|\bneither)\s+(?:(?:be|entirely|really|actually|strictly)\s+)?)?"
    r"\b(?P<word>untrue|true|false)\b"
)
_CUE = re.compile(r"\b(?:answer|statement)\b[^.\n]{0,40}?\b(?:is|:)\W*", re.IGNORECASE)


def compat_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as upstream reads them: `true`, `false` or `<error>`."""
    pieces = answer.lower().split(MARK)
    return _compat_word(pieces[0]), _compat_word(pieces[1][:-1] if len(pieces) > 1 else "")


def stated_parts(answer: str) -> tuple[str, str]:
    """Loyalty and fact as an answer states them: `true`, `false` or `<error>`."""
    loyalty, mark, fact = answer.lower().rpartition(MARK)
    if not mark:
        return _stated(answer.lower()), _NOTHING
    return _stated(loyalty), _stated(fact.strip().removesuffix("]"))


def _compat_word(text: str) -> str:
    for word in text.split():
        for value in ("true", "false"):
            if value in word:
                return value
    return _NOTHING


def _stated(text: str) -> str:
    plain = _EITHER.sub(" ", text)
    said = _values(plain)
    if len(set(said)) > 1:
        concluded = [values[0] for cue in _CUE.finditer(plain) if (values := _values(plain[cue.end() :][:40]))]
        said = concluded[-1:] or said
    return said[0] if said else _NOTHING


def _values(text: str) -> list[str]:
    return ["true" if (match["word"] == "true") != bool(match["not"]) else "false" for match in _SAID.finditer(text)]


def _score(answer: str, taken: tuple[str, str], gold: tuple[str, str]) -> Score:
    pairs = zip(taken, gold, strict=True)
    loyalty, fact = (exact_match(said, right) if right != _NOTHING else 0.0 for said, right in pairs)
    value = (loyalty + fact) / 2
    missing = MARK not in answer.lower()
    said, right = " | ".join(taken), " | ".join(gold)
    why = "has no [fact: ...]" if missing else f"{said} for {right}"
    details: dict[str, float | str | bool] = {"loyalty": loyalty, "fact": fact, "taken": said, "gold": right}
    details["fact_missing"] = missing
    return Score(value, verdict_for(value, answer), said[:SHOWN], why, details)


def _compat(answer: str, reference: Reference) -> Score:
    return _score(answer, compat_parts(answer), compat_parts(gold_of(reference)))


def _strict(answer: str, reference: Reference) -> Score:
    return _score(answer, stated_parts(answer), stated_parts(gold_of(reference)))


SCI_FI = Scorer("leval_sci_fi", 1, _strict)
SCI_FI_COMPAT = Scorer("leval_sci_fi_compat", 1, _compat)


DECLINED = "I do not know."


def blind_answers(rule: str, questions: Sequence[str], golds: Sequence[str]) -> list[list[str]]:
    """Sets of one answer for each question: the best of them under a rule is its floor.

    Exams: the same answer to every question, each option or each reference in turn, no answer in words, and a lone
    point. F1 and ROUGE: the question itself, and no answer in words.
    """
    if rule in ("leval_f1", "leval_rouge"):
        return [list(questions), [DECLINED] * len(golds)]
    if rule in ("leval_letter", "leval_letters"):
        most = 1 if rule == "leval_letter" else len(OPTIONS)
        same = ["".join(some) for size in range(1, most + 1) for some in combinations(OPTIONS, size)]
    else:
        same = list(dict.fromkeys(golds))
    return [[answer] * len(golds) for answer in (*same, DECLINED, ".")]
