"""Scorers by name."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType

from needlework.scoring.custom import imported_scorer, installed, installed_scorer
from needlework.scoring.leval import code, f1, letters, mathematics, rouge, sci_fi, topics
from needlework.scoring.published import (
    beside,
    cdme,
    evalscope,
    graphwalks,
    longbench_v2,
    opencompass,
    opencompass_compat,
    ruler,
)
from needlework.scoring.published import mrcr as published_mrcr
from needlework.scoring.scorers import (
    abstaining,
    choice_letter,
    confusing,
    copy_fidelity,
    documents,
    labels,
    match,
    mrcr,
    needle_words,
    node_set,
    number,
    set_f1,
    word_list,
)
from needlework.scoring.scores import Scorer

_ALL = (
    match.MATCH,
    abstaining.ABSTAIN,
    documents.DOCUMENTS,
    needle_words.NEEDLE_WORDS,
    number.NUMBER,
    word_list.WORD_LIST,
    copy_fidelity.COPY,
    confusing.CONFUSION,
    set_f1.SET_F1,
    labels.LABELS,
    mrcr.MRCR,
    node_set.NODE_SET,
    choice_letter.CHOICE_LETTER,
    beside.OPENAI_MRCR,
    beside.DEEPMIND_MRCR,
    beside.GRAPHWALKS,
    beside.LONGBENCH_V2,
    published_mrcr.CARD,
    published_mrcr.OPENBENCH,
    published_mrcr.EVALSCOPE,
    published_mrcr.DEEPMIND,
    graphwalks.CARD,
    graphwalks.OPENBENCH,
    graphwalks.LM_EVAL,
    graphwalks.LM_EVAL_FLEXIBLE,
    longbench_v2.AUTHORS,
    longbench_v2.EVALSCOPE,
    ruler.RULER_ALL,
    ruler.RULER_PART,
    ruler.RULER_STRICT,
    opencompass.KEYWORD,
    evalscope.EXACT_MATCH,
    evalscope.EXACT_MATCH_COMPAT,
    evalscope.NORMALIZED_MATCH,
    cdme.CDME,
    cdme.CDME_TRIM,
    opencompass.CDME_MULTI,
    opencompass.NEEDLEBENCH_V1,
    opencompass.NEEDLEBENCH_V1_MULTI,
    opencompass.NEEDLEBENCH_V2,
    opencompass.NEEDLEBENCH_PARALLEL,
    opencompass.NEEDLEBENCH_ATC,
    opencompass_compat.CDME_MULTI_COMPAT,
    opencompass_compat.NEEDLEBENCH_V1_COMPAT,
    opencompass_compat.NEEDLEBENCH_V1_MULTI_COMPAT,
    opencompass_compat.NEEDLEBENCH_V2_COMPAT,
    opencompass_compat.NEEDLEBENCH_PARALLEL_COMPAT,
    opencompass_compat.NEEDLEBENCH_ATC_COMPAT,
    letters.LETTER,
    letters.LETTER_COMPAT,
    letters.LETTERS,
    letters.LETTERS_COMPAT,
    mathematics.MATH,
    mathematics.MATH_COMPAT,
    code.CODE,
    code.CODE_COMPAT,
    topics.TOPIC,
    topics.TOPIC_COMPAT,
    sci_fi.SCI_FI,
    sci_fi.SCI_FI_COMPAT,
    f1.F1,
    f1.F1_COMPAT,
    rouge.ROUGE,
    rouge.ROUGE_COMPAT,
)
SCORERS = MappingProxyType({scorer.name: scorer for scorer in _ALL})
"""Scorers by name."""


def scorer_named(name: str) -> Scorer:
    """Return the scorer of that name: one of ours, an installed package's, or one's own as `module:attribute`.

    Judges are made by `judges.scorers.judged`. Raises `ValueError` where there is none.
    """
    if name in SCORERS:
        return SCORERS[name]
    if ":" in name.strip(":"):
        return imported_scorer(name)
    others = installed()
    if name in others:
        return installed_scorer(others[name])
    known = {*SCORERS, *others}
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    names = [*close, *sorted(known - set(close)), "module:attribute"]
    raise ValueError(f"unknown scorer {name!r}: use one of {', '.join(names)}")
