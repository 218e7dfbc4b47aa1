r"""NeedleBench v2's boxed answers (Ancestral Trace Challenge and multi reasoning): find, clean, compare.

Rule: the last `\boxed{...}` (balanced braces, one doubled pair removed), cleaned of LaTeX commands, back slashes,
quotes and tildes, must equal the reference exactly. Anything without such a box is the text `None`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NOTHING = "None"
_BOX = r"\boxed"
_DOUBLED = re.compile(r"\{(.*)\}$")
_COMMANDS = (re.compile(r"\\text\{([^}]+)\}"), re.compile(r"\\boxed\{([^}]+)\}"))
_SPACES = re.compile(r"\s+")


def boxed_answer(text: str) -> str:
    r"""Return the cleaned content of the last `\boxed{...}`, or `None` as text (needlebench_atc_postprocess_v2)."""
    inner = _last_box(text)
    doubled = _DOUBLED.match(inner)
    inner = doubled[1] if doubled else inner
    return _clean(inner) if inner and inner != NOTHING else NOTHING


def atc_score(predictions: Sequence[str], gold: Sequence[str]) -> float:
    """Return the percentage of post-processed predictions that equal their gold name (NeedleBenchATCEvaluator)."""
    if len(predictions) != len(gold):
        raise ValueError("predictions and gold have different lengths")
    right = sum(is_same_name(left, name) for left, name in zip(predictions, gold, strict=True))
    return right / len(predictions) * 100 if predictions else 0.0


def is_same_name(prediction: str, gold: str) -> bool:
    """Compare as ATC does: equal but for white space at the ends. Quotes were removed from the prediction only."""
    return prediction.strip() == gold.strip()


def _last_box(text: str) -> str:
    start = text.rfind(_BOX)
    if start < 0 or not text.startswith("{", start + len(_BOX)):
        return ""
    opening = start + len(_BOX)
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[opening + 1 : place]
    return ""


def _clean(text: str) -> str:
    for command in _COMMANDS:
        text = command.sub(r"\1", text)
    # A back slash goes, and a display bracket `\[` or `\]` with it.
    text = re.sub(r"\\[\[\]]", "", text).replace("\\", "")
    text = _SPACES.sub(" ", text).strip()
    return text.replace('"', "").replace("'", "").replace("~", " ")
