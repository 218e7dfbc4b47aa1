"""What a run's records tell about its corpus and server: sentences that a person must read before the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from needlework.results.records.record import Record
from needlework.results.style.text import fit, length_labels

_MANY = 0.5  # share of trials from which on a flag is about the server and not about a trial
_FEWEST = 5  # trials; from so many on a cache that gave nothing is told
_LONGEST, _MOST_NAMES = 60, 5  # columns of a model's name, and how many names: a server says what it likes
_UNANSWERED = ("skipped", "error")


def corpus_notes(records: Sequence[Record]) -> Iterator[str]:
    """A sentence where a prompt has more text than its corpus: copies of one text are no natural haystack."""
    repeated = [record for record in records if (record["prompt"].get("corpus_passes") or 0) > 1]
    if repeated:
        most = max(repeated, key=lambda record: float(record["prompt"]["corpus_passes"]))
        times, at = most["prompt"]["corpus_passes"], length_labels([most["length"]])[0]
        yield (
            f"the corpus is shorter than {len(repeated)} of {len(records)} prompts, and is repeated in them, up to"
            f" {times:,.1f} times over at {at} tokens: give --corpus more text, or shorter --lengths"
        )


def server_notes(records: Sequence[Record]) -> tuple[str, ...]:
    """Sentences about the servers of a run, a model at a time; none where nothing is odd.

    They rest on the records alone: on the names that replies bear, on flags, token counts and outcomes.
    """
    found: list[str] = []
    for model in dict.fromkeys(record["model"] for record in records):
        asked = [record for record in records if record["model"] == model and record["outcome"] not in _UNANSWERED]
        found += [f"{model}: {sentence}" for sentence in _of_model(asked)] if asked else []
    return tuple(found)


def _of_model(asked: Sequence[Record]) -> Iterator[str]:
    flags = Counter(flag for record in asked if record["details"].get("flags") for flag in _flags(record))
    yield from _names(asked, flags)
    yield from _template(asked, flags)
    yield from _reasoning(asked, flags)
    off = max([float(record["prompt"].get("tokens_error") or 0) for record in asked], default=0.0)
    if off:
        far = flags["length_off"]
        beyond = f"; {_of(far, asked)} are further off, by the server's own count" if far else ""
        yield f"lengths are approximate: a scaled tokenizer counts, {100 * off:.1f} % off in its calibration{beyond}"
    if flags["no_usage"]:
        yield (
            f"the server counted no tokens for {_of(flags['no_usage'], asked)}: nothing proves that these prompts were"
            " read whole; --canary does"
        )
    if flags["server_changed"]:
        yield (
            f"{_of(flags['server_changed'], asked)} were asked again: another server answers at this address than the"
            " one whose answers are in the journal"
        )
    if flags["over_budget"]:
        yield f"{_of(flags['over_budget'], asked)} have more tokens than were asked for: the server heeds no limit"
    marks = {"canary_start_missing", "canary_end_missing"} & flags.keys()
    lost = sum(bool(marks & _flags(record)) for record in asked) if marks else 0
    if lost:
        yield (
            f"{_of(lost, asked)} lack a mark that stood at an end of the text: the model is too weak to repeat both, or"
            " the server cuts prompts and counts them whole"
        )
    yield from _cache(asked)


def _flags(record: Record) -> set[str]:
    return set(record["details"].get("flags", ()))


def _names(asked: Sequence[Record], flags: Mapping[str, int]) -> Iterator[str]:
    names = Counter(name for record in asked if (name := record["response"].get("model")))
    if "model_changed" in flags:
        changed = next(record for record in asked if "model_changed" in _flags(record))
        told = ", ".join(f"{fit(name, _LONGEST)!r} ({count})" for name, count in names.most_common(_MOST_NAMES))
        told += ", ..." if len(names) > _MOST_NAMES else ""
        yield (
            f"the server CHANGED ITS MODEL during the run: answers came from {told}; first at {changed['id']};"
            " --strict-model makes such answers invalid"
        )
    elif "other_model" in flags:
        told = ", ".join(repr(fit(name, _LONGEST)) for name in names)
        yield f"the server answers as {told}, which is not the name that was asked for"
    prints = {mark for record in asked if (mark := record["response"].get("fingerprint"))}
    if len(prints) > 1:
        yield f"the server's system_fingerprint changed during the run: {len(prints)} kinds"


def _template(asked: Sequence[Record], flags: Counter[str]) -> Iterator[str]:
    empty = sum(record["outcome"] == "empty" for record in asked)
    many_empty = empty >= _MANY * len(asked) and len(asked) > 1
    calls = sum(record["response"].get("finish_reason") == "tool_calls" for record in asked)
    if flags["template_difference"] >= _MANY * len(asked):
        tokens = [
            record["response"]["prompt_tokens"] - record["prompt"]["tokens"]
            for record in asked
            if "template_difference" in _flags(record)
            and record["response"].get("prompt_tokens") is not None
            and "tokens" in record["prompt"]
        ]
        by = f" ({median(tokens):+.0f} tokens a prompt)" if tokens else ""
        likely = f": with {_of(empty, asked)} empty, a WRONG CHAT TEMPLATE is the likely cause" if many_empty else ""
        yield f"the server's chat template is not the tokenizer's{by}{likely}"
    elif many_empty and calls:
        yield f"{_of(calls, asked)} are calls of tools and no words: the server offers tools that no request asked for"
    elif many_empty:
        yield f"{_of(empty, asked)} are empty: look at the chat template, the stop strings and the answer budget"


def _reasoning(asked: Sequence[Record], flags: Mapping[str, int]) -> Iterator[str]:
    """Answers that ended with reasoning, before the token limit: the server may take all that is said for reasoning."""
    alone = sum(record["response"].get("finish_reason") == "unfinished" for record in asked)
    if alone:
        inside = flags.get("answer_in_reasoning", 0)
        there = f" (in {inside} the right value stands in it)" if inside else ""
        yield (
            f"{_of(alone, asked)} are reasoning without an answer{there}, and the token limit was not reached: look at"
            " the server's reasoning parser and its chat template"
        )


def _cache(asked: Sequence[Record]) -> Iterator[str]:
    """A server that reports what its prompt cache gave, and reports nothing though prompts begin alike."""
    if any(record["timing"].get("cached_tokens") != 0 for record in asked):
        return
    fillers = Counter((record["length"], record["prompt"].get("filler_sha256")) for record in asked)
    if max(fillers.values()) >= _FEWEST:
        yield "the prompt cache gave nothing, though prompts begin alike: it is off, and each is computed whole"


def _of(count: int, asked: Sequence[Record]) -> str:
    return f"{count} of {len(asked)} answers"
