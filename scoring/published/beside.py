"""The sound scorers with the published rules' scores beside them, for the benchmarks that these rules are about.

The score is the sound one. Details have each other rule's as `as_WHO`, 0..1; of MRCR also `noise`: what the published
ratio gives, on the average, for any of the pieces that were written for the ask, the wanted one among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import fsum

from needlework.scoring.published import graphwalks, longbench_v2, mrcr
from needlework.scoring.scorers.choice_letter import CHOICE_LETTER
from needlework.scoring.scorers.mrcr import MRCR
from needlework.scoring.scorers.node_set import NODE_SET
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_text

AS = "as_"


def _beside(
    name: str, sound: Scorer, others: Mapping[str, Scorer], ratio: Callable[[str, str], float] | None = None
) -> Scorer:
    """`ratio`: the published likeness of two pieces, for the noise of MRCR."""

    def judge(answer: str, reference: Reference) -> Score:
        score = sound.judge(answer, reference)
        told = {f"{AS}{who}": other.judge(answer, reference).value for who, other in others.items()}
        if ratio is not None and reference.kinds:
            told["noise"] = _noise(reference, ratio)
        return replace(score, details={**score.details, **told})

    return Scorer(name, 1, judge, whole=sound.whole)


def _noise(reference: Reference, ratio: Callable[[str, str], float]) -> float:
    """The mean ratio of the pieces of the ask to the wanted one (eval_hub's noise rate over relevant pieces)."""
    wanted = expected_text(reference).strip().removeprefix(mrcr.string_of(reference)).strip()
    others = [text for text in reference.distractors if text in reference.kinds]
    return fsum((1.0, *(ratio(text, wanted) for text in others))) / (len(others) + 1)


OPENAI_MRCR = _beside(
    "openai_mrcr",
    MRCR,
    {"card": mrcr.CARD, "openbench": mrcr.OPENBENCH, "evalscope": mrcr.EVALSCOPE},
    lambda given, wanted: mrcr.openbench_ratio(given, wanted, ""),
)
DEEPMIND_MRCR = _beside(
    "deepmind_mrcr", MRCR, {"deepmind": mrcr.DEEPMIND}, lambda given, wanted: mrcr.openbench_ratio(wanted, given, "")
)
GRAPHWALKS = _beside(
    "graphwalks",
    NODE_SET,
    {
        "openbench": graphwalks.OPENBENCH,
        "lm_eval": graphwalks.LM_EVAL,
        "lm_eval_flexible": graphwalks.LM_EVAL_FLEXIBLE,
        "card": graphwalks.CARD,
    },
)
LONGBENCH_V2 = _beside(
    "longbench_v2", CHOICE_LETTER, {"authors": longbench_v2.AUTHORS, "evalscope": longbench_v2.EVALSCOPE}
)
