"""A set of graph nodes as the answer: F1 of the nodes that it names last.

Read is the last list in brackets behind the words `Final Answer`, in capitals or not, in bold, quotes, fences or a box,
on one line or several; without those words, a list that the answer ends with. `[]` and `none` are the empty set, which
is worth 1 where the right set is empty. An answer without a list is worth 0, also then.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from hashlib import sha256

from needlework.scoring.answers.normalize import normalize
from needlework.scoring.answers.refusals import declined_until
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

_LABEL = re.compile(r"(?:final\s+answer|最终答案)", re.IGNORECASE)
_LIST = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")  # lists within it are its parts
_BRACED = re.compile(r"(?:boxed|text)\s*\{\s*([^{}\[\]]*)\}|\{([^{}\[\]]*)\}")
_NONE = re.compile(r"[\s*_`:：\"'=-]*(?:is|are|是|为)?[\s*_`:：\"'=-]*(?:none\b|empty\b|∅|无|空)", re.IGNORECASE)
_CLOSING = re.compile(r"[\s*_`.。\"'$})]*\Z")
_NUMBERING = re.compile(r"(?:^|(?<=[\s,;\[]))\d{1,3}[.)](?=\s)")
_NAME = re.compile(r"\w+")
_EMPTY_WORDS = frozenset(("none", "empty", "无", "空"))
_SHOWN = 160
_MARK = 2


def named_nodes(answer: str) -> tuple[str, ...] | None:
    """The nodes that an answer names in its last list, in small letters, each once; `None`: it has no list."""
    text = unicodedata.normalize("NFKC", answer).replace("\\[", "").replace("\\]", "")
    end = len(text)
    for label in reversed(list(_LABEL.finditer(text))):
        rest = text[label.end() : end]
        found = _LIST.search(rest) or _BRACED.search(rest)
        if found:
            return _names(next(group for group in found.groups() if group is not None))
        if _NONE.match(rest):
            return ()
        end = label.start()
    last = next(reversed(list(_LIST.finditer(text))), None)
    return _names(last[1]) if last and _CLOSING.match(text, last.end()) else None


def _names(listed: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.casefold() for name in _NAME.findall(_NUMBERING.sub("", listed))))
    return () if set(names) <= _EMPTY_WORDS else names


def node_set_score(answer: str, reference: Reference) -> Score:
    """F1 of the nodes named and the right ones: `parts`, else `answers`; neither: the empty set is right.

    Details: `precision`, `recall`, `exact`, `extra` and `missed` (how many nodes), and for each kind of wrong node in
    `kinds` how many were named (`extra_KIND`). With a `name_key`, `invented`: names that are no node's; every name
    ends with two digits of the sha256 of key and name, which one that is made up has once in 256 times.
    """
    right = {node.casefold() for node in reference.parts or reference.answers}
    named = named_nodes(answer)
    if named is None:
        plain = normalize(answer[-4000:])
        verdict: Verdict = "empty" if not plain else "refused" if declined_until(plain) is not None else "wrong"
        return Score(0.0, verdict, answer[-_SHOWN:], "no list of nodes")
    hits, total = len(right & set(named)), len(right) + len(named)
    value = 2 * hits / total if total else 1.0
    kinds = {node.casefold(): kind for node, kind in reference.kinds.items()}
    wrong = [node for node in named if node not in right]
    details: dict[str, float | str | int | bool | None] = {
        "precision": hits / len(named) if named else float(not right),
        "recall": hits / len(right) if right else float(not named),
        "exact": value == 1,
        "extra": len(wrong),
        "missed": len(right) - hits,
        **({"invented": sum(not _is_own(node, reference.name_key) for node in wrong)} if reference.name_key else {}),
        **{f"extra_{kind}": count for kind, count in Counter(kinds[node] for node in wrong if node in kinds).items()},
    }
    why = f"{hits} of {len(right)} nodes" + (f", {len(wrong)} too many" if wrong else "")
    verdict = "found" if value == 1 else "partial" if value else "wrong"
    return Score(value, verdict, ", ".join(named)[:_SHOWN], why, details)


def _is_own(node: str, key: str) -> bool:
    return sha256(f"{key} {node[:-_MARK]}".encode()).hexdigest()[:_MARK] == node[-_MARK:]


NODE_SET = Scorer("node_set", 1, node_set_score, whole=True)
"""F1 of a set of nodes."""
