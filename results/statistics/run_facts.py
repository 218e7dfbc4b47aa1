"""How a run was made, in the words of its manifest: for a person who reads its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from needlework.results.style.text import fit, one_line

_LONGEST = 200  # columns of a value
# Facts of a model in the order in which people ask for them; others follow by name.
_FIRST = (
    "window", "dtype", "rope", "rope_scaling", "quantization", "server", "base_url", "device", "attn_implementation",
    "cache", "sharing", "decoding", "weights_sha256", "template_sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: names and values. `short`: those that a reader must know, in one line."""

    name: str
    facts: tuple[tuple[str, str], ...]

    @property
    def short(self) -> str:
        """`window 8,192 tokens · float32 · cpu`."""
        known = dict(self.facts)
        parts = [f"window {known['window']} tokens"] if known.get("window") else []
        parts += [known[name] for name in ("dtype", "device") if known.get(name)]
        parts += [f"{name} {known[name]}" for name in ("rope", "rope_scaling", "quantization") if known.get(name)]
        parts += [fit(known[name], 60, "…") for name in ("server", "base_url") if known.get(name)]
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`name`: the run's folder; `command`: as it was typed, secrets left out; `seconds`: of one trial on average, 0
    where nobody knows; `models`: a row of facts each; `versions`: of the programs that took part; `told`: the
    manifest itself."""

    name: str
    started: str
    commit: str
    command: tuple[str, ...]
    seconds: float
    models: tuple[ModelFacts, ...]
    versions: tuple[tuple[str, str], ...]
    told: Mapping[str, Any] = field(default_factory=dict, repr=False)


def run_facts(manifest: Mapping[str, Any], name: str) -> RunFacts:
    """Read a manifest; whatever it lacks is empty."""
    pace = _object(manifest, "pace")
    trials, seconds = pace.get("trials"), pace.get("seconds")
    known = isinstance(trials, (int, float)) and isinstance(seconds, (int, float)) and trials > 0
    return RunFacts(
        name=one_line(name),
        started=_text(manifest.get("started")),
        commit=_text(manifest.get("commit")),
        command=_words(manifest.get("command")),
        seconds=float(seconds) / float(trials) if known else 0.0,  # type: ignore[arg-type]  # numbers, as was looked
        models=tuple(ModelFacts(one_line(model), _facts(told)) for model, told in _object(manifest, "models").items()),
        versions=tuple((one_line(key), _text(each)) for key, each in _object(manifest, "versions").items()),
        told=manifest,
    )


def command_words(facts: RunFacts, repeats: int) -> str:
    """The command that asks so many repeats in all, under the name of the run: nothing is asked twice."""
    words = list(_without(facts.command[1:], ("--repeats", "--run-name"), ("--fresh",)))
    if not facts.command or facts.command[0] not in ("pytest", "py.test", "__main__.py"):
        return ""
    return " ".join(map(_quoted, ["pytest", *words, "--repeats", str(repeats), "--run-name", facts.name]))


def _without(words: Sequence[str], valued: Sequence[str], flags: Sequence[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif word not in flags and not word.startswith(tuple(f"{name}=" for name in valued)):
            yield word


def _quoted(word: str) -> str:
    plain = word and all(char.isalnum() or char in "-_./:=,@%+" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _facts(told: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(told, Mapping):
        return ()
    order = {name: at for at, name in enumerate(_FIRST)}
    names = sorted((str(name) for name in told), key=lambda name: (order.get(name, len(order)), name))
    return tuple((one_line(name), text) for name in names if (text := _text(told[name])))


def _object(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = manifest.get(name)
    return found if isinstance(found, Mapping) else {}


def _words(value: object) -> tuple[str, ...]:
    return tuple(one_line(str(word)) for word in value) if isinstance(value, (list, tuple)) else ()


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return fit(
        one_line(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)), _LONGEST, "…"
    )
