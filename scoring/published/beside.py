"""The sound scorers with the published rules' scores beside them, for the benchmarks that these rules are about.

The score is the sound one. Details have each other rule's as `as_WHO`, 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from needlework.scoring.published import graphwalks, longbench_v2, mrcr
from needlework.scoring.scorers.choice_letter import CHOICE_LETTER
from needlework.scoring.scorers.mrcr import MRCR
from needlework.scoring.scorers.node_set import NODE_SET
from needlework.scoring.scores import Reference, Score, Scorer

AS = "as_"


def _beside(name: str, sound: Scorer, others: Mapping[str, Scorer]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        score = sound.judge(answer, reference)
        told = {f"{AS}{who}": other.judge(answer, reference).value for who, other in others.items()}
        return replace(score, details={**score.details, **told})

    return Scorer(name, 1, judge, whole=sound.whole)


OPENAI_MRCR = _beside(
    "openai_mrcr", MRCR, {"card": mrcr.CARD, "openbench": mrcr.OPENBENCH, "evalscope": mrcr.EVALSCOPE}
)
DEEPMIND_MRCR = _beside("deepmind_mrcr", MRCR, {"deepmind": mrcr.DEEPMIND})
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
