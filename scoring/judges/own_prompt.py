"""A judge's prompt of one's own: a text with placeholders for question, reference and answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"\{(\w+)\}")
# Each under the names that others' judge prompts have: EvalScope's, simple-evals', inspect_ai's.
_NAMES = {
    "question": ("question", "input", "query"),
    "reference": ("reference", "gold", "target", "expected", "criterion", "gold_answer", "correct_answer"),
    "answer": ("answer", "pred", "prediction", "predicted_answer", "response", "submission"),
}
_MEANS = {name: meaning for meaning, names in _NAMES.items() for name in names}


@dataclass(frozen=True, slots=True)
class OwnPrompt:
    """The text as it was written; make it with `own_prompt`."""

    text: str

    def filled(self, question: str, reference: str, answer: str) -> str:
        """The message for one answer. What is filled in is not looked through for placeholders again."""
        values = {"question": question, "reference": reference, "answer": answer}
        return _PLACE.sub(lambda found: values[_MEANS[found[1]]], self.text)


def own_prompt(text: str) -> OwnPrompt:
    """Check a prompt. Raises `ValueError` where it lacks the answer, or has a placeholder that is none of ours."""
    if not text.strip():
        raise ValueError("is empty; write the prompt, with {question}, {reference} and {answer}")
    names = dict.fromkeys(_PLACE.findall(text))
    strange = [name for name in names if name not in _MEANS]
    if strange:
        raise ValueError(f"{{{strange[0]}}} is no placeholder; there are {{question}}, {{reference}} and {{answer}}")
    for meaning in ("answer", "reference", "question"):
        several = [name for name in names if _MEANS[name] == meaning]
        if len(several) > 1:
            both = " and ".join(f"{{{name}}}" for name in several)
            raise ValueError(
                f"{both} are both the {meaning}; write {{reference}} for what is right, {{answer}} for"
                " what the model said"
            )
    if not any(_MEANS[name] == "answer" for name in names):
        raise ValueError("has no {answer}: the judge would not see what it judges")
    if not any(_MEANS[name] in ("reference", "question") for name in names):
        raise ValueError("has neither {question} nor {reference}: the judge would not know what is right")
    return OwnPrompt(text)
