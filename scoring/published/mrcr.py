"""MRCR as others score it: OpenAI's data card, openbench, evalscope, and Google DeepMind's MRCR v2.

All of them part the string that the question asks to prepend from both texts, and take the ratio of Python's
`difflib.SequenceMatcher` with its autojunk rule: from 200 characters of the second text on, a character that makes up
more than a hundredth of it (and one more) is no place to begin a match, so that nearly equal texts can lose half of the
score. The order of the two texts matters.

`answers[0]` is the string with the piece behind it; `given[0]` is the string, where the question names one.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher

from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_text, verdict_for

_SHOWN = 160
_PARTIAL = 0.5
_HASH = 12  # characters of the string in Google DeepMind's data


def card_ratio(response: str, answer: str, string: str) -> float:
    """OpenAI's data card, 0..1: 0 where the response does not begin with the string, at its first character."""
    if not response.startswith(string):
        return 0.0
    return _ratio(response.removeprefix(string), answer.removeprefix(string))


def openbench_ratio(response: str, answer: str, string: str) -> float:
    """openbench (d03922c), 0..1: as the card; the whole texts are compared where no string is to be prepended."""
    return card_ratio(response, answer, string) if string else _ratio(response, answer)


def evalscope_ratio(response: str, answer: str, string: str) -> float:
    """evalscope (fde259d2), 0..1: as the card, on the response without the white space that it begins with."""
    return card_ratio(response.lstrip(), answer, string)


def deepmind_ratio(response: str, answer: str) -> float:
    """Google DeepMind's MRCR v2 (eval_hub 67b7fd2), 0..1.

    The first 12 characters of the answer are the string. What follows its last occurrence in the response is compared,
    wherever that stands; the answer is the first text of the two.
    """
    answer, response = answer.strip(), response.strip()
    string = answer[:_HASH]
    at = response.rfind(string)
    if len(answer) < _HASH or at < 0:
        return 0.0
    return _ratio(answer[_HASH:].strip(), response[at + _HASH :].strip())


def _ratio(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second).ratio()


def string_of(reference: Reference) -> str:
    """The string that the question asks to prepend; empty where it names none."""
    return reference.given[0] if reference.given else ""


def _scorer(name: str, rule: Callable[[str, str, str], float]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        value = rule(answer, expected_text(reference), string_of(reference))
        why = f"ratio {value:.4f}" if value else "nothing alike behind the string, or the string is not where it counts"
        return Score(value, verdict_for(value, answer, partial_from=_PARTIAL), answer[:_SHOWN], why)

    return Scorer(name, 1, judge)


CARD = _scorer("mrcr_card_compat", card_ratio)
OPENBENCH = _scorer("mrcr_openbench_compat", openbench_ratio)
EVALSCOPE = _scorer("mrcr_evalscope_compat", evalscope_ratio)
DEEPMIND = _scorer("mrcr_deepmind_compat", lambda response, answer, _string: deepmind_ratio(response, answer))
