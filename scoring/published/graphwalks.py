"""GraphWalks as others score it: OpenAI's data card as printed, openbench, and lm-evaluation-harness's two metrics.

Each reads a list of nodes behind `Final Answer:` and takes F1 of the two sets. They differ in which line they read, in
capitals, in what may follow the list, and in what an empty set is worth. The card's code takes the brackets off the
whole match, label included, so that the first node never counts; and F1 is 1 there where nothing is right at all.

`parts` (else `answers`) are the nodes; neither: the right set is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

_LABEL = "Final Answer:"
_CARD = re.compile(r"Final Answer: ?\[.*\]")
_OPENBENCH = re.compile(r"final answer:\s*\[(.*)\]\s*$", re.IGNORECASE)
_LM_EVAL = re.compile(r"Final Answer:\s*\[(.*)\]")
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of an answer as one system reads them; `readable`: it found a list."""

    names: tuple[str, ...] = ()
    readable: bool = False


@dataclass(frozen=True, slots=True)
class F1:
    """Precision, recall and F1 of two sets, each 0..1."""

    precision: float
    recall: float
    f1: float


def card_nodes(response: str) -> Nodes:
    """The data card's reading, of the last line; the first name has the words `Final Answer: [` before it."""
    found = _CARD.search(response.split("\n")[-1])
    return Nodes(_names(found[0].strip("[]")), True) if found else Nodes()


def openbench_nodes(response: str) -> Nodes:
    """openbench's reading (d03922c): of the last line, in any case, the list at its end; each name once."""
    last = response.split("\n")[-1]
    found = _OPENBENCH.search(last) if _LABEL.lower() in last.lower() else None
    return Nodes(tuple(dict.fromkeys(_names(found[1]))), True) if found else Nodes()


def lm_eval_nodes(response: str, *, flexible: bool = False) -> Nodes:
    """lm-evaluation-harness's reading (4e7e0d4): of the last line, or of the last line that has a list (`flexible`)."""
    lines = response.rstrip("\n").split("\n")
    for line in reversed(lines) if flexible else lines[-1:]:
        found = _LM_EVAL.search(line)
        if found:
            return Nodes(tuple(name.strip("'\"") for name in _names(found[1])), True)
    return Nodes()


def card_f1(nodes: Collection[str], right: Collection[str]) -> F1:
    """F1 as the card prints it: 1 where precision and recall are both 0."""
    return _f1(nodes, right, none_right=1.0)


def openbench_f1(nodes: Collection[str], right: Collection[str]) -> F1:
    """F1 as openbench has it: an empty set for an empty set is 1, also where no list could be read."""
    return F1(1.0, 1.0, 1.0) if not nodes and not right else _f1(nodes, right)


def lm_eval_f1(nodes: Collection[str], right: Collection[str]) -> F1:
    """F1 as lm-evaluation-harness has it: an empty set is worth 0 always."""
    return _f1(nodes, right)


def _f1(nodes: Collection[str], right: Collection[str], none_right: float = 0.0) -> F1:
    given, wanted = set(nodes), set(right)
    recall = len(given & wanted) / len(wanted) if wanted else 0.0
    precision = len(given & wanted) / len(given) if given else 0.0
    both = recall + precision
    return F1(precision, recall, 2 * (recall * precision) / both if both > 0 else none_right)


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for name in (item.strip() for item in listed.split(",")) if name)


def right_nodes(reference: Reference) -> tuple[str, ...]:
    """The nodes that are right; none: the empty set is."""
    return reference.parts or reference.answers


def _scorer(name: str, read: Callable[[str], Nodes], rule: Callable[[Collection[str], Collection[str]], F1]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        nodes = read(answer)
        result = rule(nodes.names, right_nodes(reference))
        details = {
            "precision": result.precision,
            "recall": result.recall,
            "nodes": len(nodes.names),
            "readable": nodes.readable,
        }
        why = f"{len(nodes.names)} nodes read" if nodes.readable else "no list could be read"
        verdict = verdict_for(result.f1, answer, partial_from=0.0)
        return Score(result.f1, verdict, ", ".join(nodes.names)[:_SHOWN], why, details)

    return Scorer(name, 1, judge)


CARD = _scorer("graphwalks_card_compat", card_nodes, card_f1)
OPENBENCH = _scorer("graphwalks_openbench_compat", openbench_nodes, openbench_f1)
LM_EVAL = _scorer("graphwalks_lm_eval_compat", lm_eval_nodes, lm_eval_f1)
LM_EVAL_FLEXIBLE = _scorer(
    "graphwalks_lm_eval_flexible_compat", lambda response: lm_eval_nodes(response, flexible=True), lm_eval_f1
)
