"""L-Eval's F1 and ROUGE, and the answers of a model that has not seen the document."""

import importlib.util
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import combinations
from math import fsum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import regex

from needlework.scoring.leval.exact import OPTIONS, SHOWN, gold_of
from needlework.scoring.published.ruler import normalize_answer
from needlework.scoring.reading import verdict_for
from needlework.scoring.scores import Reference, Score, Scorer

PUBLISHED = ("rouge1", "rouge2", "rougeL")
SUMMARY = "rougeLsum"
DECLINED = "I do not know."
_NEED = "ROUGE needs rouge-score"
_HAN = regex.compile(r"\p{Han}")
_RUN = regex.compile(r"\p{Han}+")
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")


class MissingPackageError(ImportError):
    """A package of the extra `leval` is not installed; its text is one line with the remedy."""


def _package(module: str, need: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(f"{need}: pip install 'needlework[leval]'") from None


def has_chinese(*texts: str) -> bool:
    """Whether a Chinese character stands in one of the texts."""
    return any(_HAN.search(text) for text in texts)


def segment(text: str) -> str:
    """Chinese as words between spaces (jieba), punctuation of every script as spaces, the rest as it is."""
    words = _segmenter()
    return _PUNCTUATION.sub(" ", _RUN.sub(lambda match: f" {' '.join(words.lcut(match[0]))} ", text))


@cache
def _segmenter() -> Any:
    jieba = _package("jieba", "Chinese text needs jieba")
    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()


class SpacedWords:
    """Splits where `segment` does, in small letters, for rouge-score."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""
        return segment(text).lower().split()


# Words are what remains of the text in small letters without ASCII punctuation and a/an/the; the best of several
# references counts. The strict score differs on Chinese only, which the published rule takes for one word between two
# spaces.
def _english_words(text: str) -> list[str]:
    """The words of a text as SQuAD counts them."""
    return normalize_answer(text).split()


def _words(text: str) -> list[str]:
    """Words as of `_english_words`, with Chinese cut into words."""
    return _english_words(segment(text) if has_chinese(text) else text)


def _f1_scorer(name: str, split: Callable[[str], list[str]]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        words, value = split(answer), 0.0
        for gold in map(split, reference.answers or (gold_of(reference),)):
            if shared := (Counter(words) & Counter(gold)).total():
                value = max(value, 2 * shared / (len(words) + len(gold)))
        verdict = verdict_for(value, answer, partial_from=0.0)
        return Score(value, verdict, answer[:SHOWN], f"F1 {value:.4f} of {len(words)} words", {"f1": value})

    return Scorer(name, 1, judge)


F1 = _f1_scorer("leval_f1", _words)
F1_COMPAT = _f1_scorer("leval_f1_compat", _english_words)


# A score's value is ROUGE-L; its details have `rouge1`, `rouge2`, `rougeL`, and `rougeLsum` where the sentence model is
# installed (`by_line`). The strict score differs on Chinese only, of which rouge-score's own words have nothing.
@lru_cache(maxsize=1_024)  # both rules ask for the same
def rouge(answer: str, gold: str, *, chinese: bool = False) -> Mapping[str, float]:
    """The F-measures, 0..1, by name. Raises `MissingPackageError`."""
    sentences = None if chinese else (by_line(gold), by_line(answer))
    if sentences is None or None in sentences:
        scores = _scorer(PUBLISHED, chinese).score(gold, answer)
    else:
        scores = _scorer((*PUBLISHED, SUMMARY), chinese).score(*sentences)
    return MappingProxyType({name: float(score.fmeasure) for name, score in scores.items()})


@cache
def _scorer(names: tuple[str, ...], chinese: bool) -> Any:
    scorer = _package("rouge_score.rouge_scorer", _NEED).RougeScorer
    return scorer(list(names), use_stemmer=False, tokenizer=SpacedWords() if chinese else None)


def geometric_mean(means: Mapping[str, float]) -> float:
    """L-Eval's `LEval_score`: the cube root of the product of the means of ROUGE-1, -2 and -L."""
    return float((means["rouge1"] * means["rouge2"] * means["rougeL"]) ** (1 / 3))


def by_line(text: str) -> str | None:
    """The text with each sentence on a line of its own; `None` where the model is not installed."""
    tokenizer = _tokenizer()
    return None if tokenizer is None else "\n".join(tokenizer.tokenize(text))


@cache
def _tokenizer() -> Any:
    """NLTK's sentence tokenizer; `None` where its English model is not installed.

    The model is data that NLTK does not bring along. It is read where NLTK looks for it, or out of the package
    llama-index-core, which carries it (`requirements-data.txt`).
    """
    try:
        import nltk.data
        from nltk.tokenize.punkt import PunktTokenizer
    except ImportError:
        return None
    # A name without its package's code: only the namespace package above it is looked up.
    spec = importlib.util.find_spec("llama_index")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        nltk.data.path.append(str(Path(folder, "core", "_static", "nltk_cache")))
    try:
        return PunktTokenizer()
    except LookupError:
        return None


def _rouge_scorer(name: str, *, strict: bool) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        golds = reference.answers or (gold_of(reference),)
        scores = [rouge(answer, gold, chinese=strict and has_chinese(answer, gold)) for gold in golds]
        best = max(scores, key=lambda means: fsum(means[name] for name in PUBLISHED))
        value = min(1.0, best["rougeL"])
        verdict = verdict_for(value, answer, partial_from=0.0)
        return Score(value, verdict, answer[:SHOWN], f"ROUGE-L {value:.4f}", dict(best))

    return Scorer(name, 1, judge)


ROUGE = _rouge_scorer("leval_rouge", strict=True)
ROUGE_COMPAT = _rouge_scorer("leval_rouge_compat", strict=False)


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
