"""Who on a board was asked in another way than most: what is a model's own affair, and can change its score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_SHOWN = 40  # characters of a value


def asked_otherwise(asked: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return in words what differs, by model, from how most of the models were asked.

    `asked`: by model, the options that address it (`template`, `system_prompt`, ...). Of two values as common as each
    other the one that comes first is what the others are held against.
    """
    names = dict.fromkeys(name for options in asked.values() for name in options)
    found: dict[str, list[str]] = {}
    for name in names:
        values = {model: _shown(options.get(name)) for model, options in asked.items()}
        usual = Counter(values.values()).most_common(1)[0][0]
        for model, value in values.items():
            if value != usual:
                found.setdefault(model, []).append(f"{name.replace('_', ' ')} {value}, others {usual}")
    return {model: "; ".join(words) for model, words in found.items()}


def _shown(value: object) -> str:
    if value in (None, False, ""):
        return "none"
    text = "yes" if value is True else " ".join(str(value).split())
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f'"{text}"' if " " in text else text
