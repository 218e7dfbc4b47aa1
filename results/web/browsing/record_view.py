"""A record as its page shows it: texts, and facts with names that people read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.records.record import OutcomeName, Record
from needlework.results.style.text import percent1
from needlework.results.web.browsing.rows import says_nothing_is_there

Facts = list[tuple[str, str]]
_GOOD: tuple[OutcomeName, ...] = ("found",)
_BAD: tuple[OutcomeName, ...] = ("wrong", "distractor", "refused", "empty")
# What has a place of its own on the page; the rest of a record's tables is shown as it stands.
_PROMPT = frozenset({"tokens", "context_tokens", "slack", "template", "sha256", "filler_sha256", "corpus_passes"}) | {
    "flags", "needles", "truncated", "retrieval",
}  # fmt: skip
_DETAILS = frozenset({"flags", "invalid", "score", "stability", "recipe"})


def look_of(outcome: OutcomeName) -> str:
    """The class of an outcome's badge."""
    return "is-good" if outcome in _GOOD else "is-bad" if outcome in _BAD else "is-between"


def outcome_words(record: Record) -> str:
    """The outcome as people read it: where right is to say so, nothing was "found"."""
    right = says_nothing_is_there(record) and record["outcome"] == "found"
    return "right: says it is not there" if right else record["outcome"]


def asked_words(record: Record) -> str:
    """`doc_size · q3 · 8,000 tokens · depth 50 %`: which trial it is, in one line."""
    depth = "" if record["depth"] is None else f" · depth {depth_label(record['depth'])} %"
    repeat = f" · repeat {record['repeat']}" if record["repeat"] else ""
    return f"{record['task']} · {record['needle']} · {_tokens(record['length'])}{depth}{repeat}"


def score_text(score: float | None) -> str:
    """`75.0 %`, or a dash where the outcome has no score."""
    return "–" if score is None else f"{percent1(score)} %"


def scored_part(record: Record) -> str:
    """What was scored, where that is not simply the whole response."""
    answer, whole = record["answer"], record["response"].get("text", "")
    return "" if not whole or _bare(answer) == _bare(whole) else answer


def facts_of(record: Record) -> Facts:
    """What was asked for and what came of it: tokens, percent, flags, hashes."""
    prompt, response, details = record["prompt"], record["response"], record["details"]
    served, own = response.get("prompt_tokens"), prompt.get("tokens")
    gap = f" ({served - own:+,})" if served is not None and own is not None and served != own else ""
    cut = prompt.get("truncated")
    return _told(
        ("model", record["model"]),
        ("task", record["task"]),
        ("needle", record["needle"]),
        ("language", record["language"]),
        ("length asked", _tokens(record["length"])),
        ("depth asked", _depth(record["depth"])),
        ("repeat", record["repeat"]),
        ("seed", record["seed"]),
        ("prompt", _tokens(own)),
        ("server's count", _tokens(served) + gap if served is not None else "not told"),
        ("context", _tokens(prompt.get("context_tokens"))),
        ("short of the budget", _tokens(prompt.get("slack"))),
        ("cut from the document", None if cut is None else f"{percent1(cut)} %"),
        ("passes of the corpus", prompt.get("corpus_passes")),
        ("answer", _tokens(response.get("completion_tokens"))),
        ("reasoning", _tokens(response.get("reasoning_tokens"))),
        ("ended by", response.get("finish_reason")),
        ("template", prompt.get("template")),
        ("flags", ", ".join(dict.fromkeys((*prompt.get("flags", ()), *details.get("flags", ()))))),
        ("invalid", ", ".join(details.get("invalid", ()))),
        ("prompt sha256", prompt.get("sha256")),
        ("filler sha256", prompt.get("filler_sha256")),
        ("scored by", f"{record['scorer']} version {record['scorer_version']}" if record["scorer"] else "no scorer"),
        ("trial", record["id"]),
        ("recipe", details.get("recipe")),
        ("key", record["key"]),
        ("test", record["nodeid"]),
    )


def timings_of(record: Record) -> Facts:
    """What may differ between two runs of the same thing."""
    timing = record["timing"]
    return _told(
        ("whole answer", _seconds(timing.get("latency_s"))),
        ("first token", _seconds(timing.get("ttft_s"))),
        ("tokens per second", timing.get("tokens_per_s")),
        ("building the prompt", _seconds(timing.get("build_s"))),
        ("cached tokens", timing.get("cached_tokens")),
        ("attempts", timing.get("attempts")),
        ("worker", timing.get("worker")),
        ("replayed from the journal", "yes" if timing.get("replayed") else None),
    )


def score_details_of(record: Record) -> Facts:
    """What the scorer noted."""
    return [(name, _plain(value)) for name, value in record["details"].get("score", {}).items()]


def further_of(record: Record) -> list[tuple[str, str]]:
    """Tables of the record that this page has no other place for, as JSON; empty ones are left out."""
    tables = {
        "Reference: what the scorer knows": record["reference"],
        "More about the prompt": _without(record["prompt"], _PROMPT),
        "Asked again": record["details"].get("stability"),
        "More details": _without(record["details"], _DETAILS),
    }
    return [(name, json.dumps(value, ensure_ascii=False, indent=2)) for name, value in tables.items() if value]


def hits_of(record: Record) -> list[dict[str, Any]]:
    """The chunks that a retriever found, best first; none where none was asked."""
    retrieval = record["prompt"].get("retrieval")
    hits = retrieval.get("hits") if isinstance(retrieval, dict) else None
    gold = retrieval.get("gold") if isinstance(retrieval, dict) else None
    return [
        {
            "document": str(hit.get("document")),
            "place": f"{hit.get('start')}–{hit.get('end')}",
            "score": "–" if hit.get("score") is None else _plain(hit["score"]),
            "gold": gold is not None and hit.get("document") == gold,
        }
        for hit in (hits if isinstance(hits, list) else ())
        if isinstance(hit, dict)
    ]


def retrieval_of(record: Record) -> Facts:
    """How a context was retrieved."""
    retrieval = record["prompt"].get("retrieval")
    if not isinstance(retrieval, dict):
        return []
    recall = retrieval.get("answer_recall")
    unit = retrieval.get("unit") or ""
    return _told(
        ("retriever", retrieval.get("retriever")),
        ("embedder", retrieval.get("embedder")),
        ("chunks asked for", retrieval.get("k")),
        ("chunks in the index", retrieval.get("chunks")),
        ("chunk size, overlap", f"{retrieval.get('chunk_size')}, {retrieval.get('chunk_overlap')} {unit}"),
        ("gold document", retrieval.get("gold")),
        ("its rank", retrieval.get("rank") or ("not found" if retrieval.get("gold") else None)),
        ("the answer's words that were found", f"{percent1(recall)} %" if isinstance(recall, (int, float)) else None),
    )


def needles_of(record: Record) -> list[dict[str, Any]]:
    """Where the needles stand, by the record, and the text around those that are asked for."""
    return [
        {
            "name": str(needle.get("name", "")),
            "requested": _percent(needle.get("requested")),
            "depth": _percent(needle.get("depth")),
            "before": _thousands(needle.get("tokens_before")),
            "tokens": _thousands(needle.get("tokens")),
            "around": tuple(str(needle[part]) for part in ("before", "text", "after"))
            if {"before", "text", "after"} <= needle.keys()
            else (),
        }
        for needle in record["prompt"].get("needles", ())
    ]


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _told(*facts: tuple[str, object]) -> Facts:
    return [(name, _plain(value)) for name, value in facts if value not in (None, "")]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tokens(value: object) -> str:
    return "" if value is None else f"{_thousands(value)} tokens"


def _thousands(value: object) -> str:
    return "" if value is None else f"{cast('int', value):,}"


def _seconds(value: object) -> str | None:
    return None if value is None else f"{cast('float', value):.3f} s"


def _percent(value: object) -> str:
    return "–" if value is None else f"{value:.3g} %"


def _depth(depth: float | None) -> str:
    return "all" if depth is None else f"{depth_label(depth)} %"


def _without(table: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}
