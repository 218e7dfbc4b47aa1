"""How fast a run went, and how long another one takes at that pace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.records.record import Record
from needlework.results.records.run_file import read_run_json
from needlework.results.records.run_folder import MANIFEST
from needlework.results.style.text import duration

_MOST_RUNS = 100  # that are looked through for a pace, the newest first


@dataclass(frozen=True, slots=True)
class Pace:
    """What a session asked, and the seconds that it took, loading the model included."""

    trials: int
    prompt_tokens: int
    seconds: float

    @property
    def trial_s(self) -> float:
        return self.seconds / self.trials

    @property
    def tokens_per_s(self) -> float:
        return self.prompt_tokens / self.seconds


def pace_of(now: Iterable[Record], seconds: float) -> Pace | None:
    """The pace of a session with these records; `None` where it asked nothing, or all that it asked failed."""
    tokens = [
        record["prompt"]["tokens"]
        for record in now
        if not record["timing"].get("replayed") and record["outcome"] != "error" and record["prompt"].get("tokens")
    ]
    return Pace(len(tokens), sum(tokens), seconds) if tokens and seconds > 0 else None


def pace_facts(pace: Pace) -> dict[str, Any]:
    """The pace as a manifest has it."""
    return asdict(pace) | {"seconds": round(pace.seconds, 3)}


def last_pace(settings: Settings) -> tuple[str, Pace] | None:
    """The newest run of the same models at the same address in the folder of runs: its name, its pace."""
    manifests: list[tuple[float, Path]] = []
    for path in settings.results_dir.glob(f"*/{MANIFEST}"):
        with suppress(OSError):
            manifests.append((path.stat().st_mtime, path))
    for _, path in sorted(manifests, reverse=True)[:_MOST_RUNS]:
        with suppress(OSError, ValueError, RecursionError, InputError):
            manifest = read_run_json(path)
            pace = _pace_in(manifest, settings) if isinstance(manifest, dict) else None
            if pace is not None:
                return path.parent.name, pace
    return None


def _pace_in(manifest: Mapping[str, Any], settings: Settings) -> Pace | None:
    options, pace = manifest.get("options"), manifest.get("pace")
    if not isinstance(options, dict) or not isinstance(pace, dict):
        return None
    if options.get("model") != list(settings.model) or options.get("base_url") != settings.base_url:
        return None
    with suppress(TypeError, ValueError, KeyError):
        found = Pace(int(pace["trials"]), int(pace["prompt_tokens"]), float(pace["seconds"]))
        return found if found.trials > 0 and found.prompt_tokens > 0 and found.seconds > 0 else None
    return None


def time_lines(settings: Settings, lengths: Sequence[int]) -> list[str]:
    """How long trials of these `lengths` (tokens, one each) take: at `--tokens-per-s`, else at the last run's pace."""
    last = None if settings.tokens_per_s else last_pace(settings)
    speed = settings.tokens_per_s or (last[1].tokens_per_s if last else None)
    if not speed or not lengths:
        return []
    by = f", the pace of run {last[0]} (trials: {last[1].trials})" if last else ""
    whole, one = sum(lengths) / speed, sum(lengths) / len(lengths) / speed
    return [f"at {speed:,.0f} prompt tokens a second{by}: at most {duration(whole)}, {duration(one)} a trial"]
