"""Our own needles: seeded, high in entropy, never seen by any model.

`The <noun> code for <key> is <value>.` A key is one of 4 million, a value one of 9 million; both depend on the seed,
so that a score cannot come from memory and two trials never share a needle.
"""

import random
import tomllib
from functools import cache
from importlib import resources

from needlework.core.draws import below, draws, pick
from needlework.core.prompts import JointQuestion, Needle

VERSION = 1


@cache
def _words(language: str, kind: str) -> tuple[str, ...]:
    """The words of one kind in `codes.toml`."""
    tables = tomllib.loads((resources.files(__package__) / "codes.toml").read_text(encoding="utf-8"))
    return tuple(word.strip() for word in tables[language][kind].split(","))


def draw_codes(language: str, *, seed: int, repeat: int | str, count: int = 1) -> tuple[Needle, ...]:
    """Draw `count` needles whose keys and values all differ. Depends on nothing but the arguments.

    `repeat`: the repeat whose trials share the needle, or the name of the one trial that has it.
    """
    rng = draws(f"codes {VERSION} {language} {seed} {repeat}")
    needles: list[Needle] = []
    keys: set[str] = set()
    values: set[str] = set()
    while len(needles) < count:
        key, noun = _key(language, rng), pick(rng, _words(language, "nouns"))
        value = str(1_000_000 + below(rng, 9_000_000))
        if key in keys or value in values:
            continue
        keys.add(key)
        values.add(value)
        if language == "zh":
            text, question = f"{key}的{noun}代码是{value}。", f"{key}的{noun}代码是什么？"
        else:
            text, question = f"The {noun} code for {key} is {value}.", f"What is the {noun} code for {key}?"
        needles.append(Needle("code", text, question, value, keyword=value, key=key))
    return tuple(needles)


def joint_codes(language: str, needles: tuple[Needle, ...]) -> JointQuestion:
    """One question for several codes; the answer lists the values in order."""
    keys = [needle.key for needle in needles]
    values = [needle.answer for needle in needles]
    if language == "zh":
        return JointQuestion(f"以下各处的代码分别是什么：{'、'.join(keys)}？", "、".join(values))
    return JointQuestion(f"What are the codes for these places: {'; '.join(keys)}?", ", ".join(values))


def _key(language: str, rng: random.Random) -> str:
    first, second, town, kind = (pick(rng, _words(language, each)) for each in ("first", "second", "towns", "kinds"))
    return f"{town}{first}{second}{kind}" if language == "zh" else f"the {first} {second} {kind} of {town}"
