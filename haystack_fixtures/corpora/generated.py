"""Generated text: stories."""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from needlework.core.draws import draws
from needlework.core.errors import InputError
from needlework.haystack_fixtures.corpora.grammar import (
    GENDERS,
    PERSON_WORDS,
    Kit,
    Pattern,
    Plot,
    Scope,
    load_kit,
    phrase,
    pick,
    render,
    tables_sha256,
)

# The text follows from `VERSION`, the tables under `data/`, the language and the seed, on every machine and Python
# version: only `random.Random(int).random()` is drawn from.
VERSION = 1  # raise it when code changes the text; the tables' hash notices changed tables by itself
LANGUAGES = ("en", "zh")


def generate_documents(language: str, seed: int, min_chars: int) -> tuple[str, ...]:
    """Short stories with at least `min_chars` characters in all (one story at least).

    Asking for more characters only appends stories. No sentence occurs twice, in the whole tuple: "sentence" is the
    text between two of `. ! ? 。 ！ ？` or line ends, so that short lines of dialogue count as well.
    """
    if language not in LANGUAGES:
        raise InputError("generated corpus, language", language, f"choose one of {', '.join(LANGUAGES)}")
    kit = load_kit(language)
    rng = draws(f"needlework generated {VERSION} {language} {seed}")
    seen: set[bytes] = set()
    documents: list[str] = []
    chars = 0
    while chars < min_chars or not documents:
        story = write_story(kit, rng, seen)
        documents.append(story)
        chars += len(story)
    return tuple(documents)


def recipe_sha256(language: str, seed: int) -> str:
    """Identity of the endless text that a language and a seed stand for: version, tables, language, seed."""
    recipe = f"needlework generated {VERSION} {tables_sha256(language)} {language} {seed}"
    return hashlib.sha256(recipe.encode()).hexdigest()


_ATTEMPTS = 12  # redraws of a sentence that has been told before
_STAGES = 5
_PRONOUN_SHARE = 0.7
_SENTENCE_END = re.compile(r"[.!?。！？…\n]+")
_EDGE = " \t,;:\"'“”‘’，；："
# What may follow a turn of the plot; seeing is more frequent than thinking.
_FILLERS = ("observation",) * 4 + ("reflection",) * 3 + ("digression",) * 2 + ("interruption",) * 2 + ("weather",)
# After these someone else has been spoken of, and "she" would be anybody.
_OTHERS = frozenset({"digression", "interruption", "weather"})


@dataclass(slots=True)
class _GeneratedStory:
    kit: Kit
    roles: Mapping[str, tuple[Pattern, ...]]
    scope: Scope
    seen: set[bytes]
    clock: str  # "day" or "week"
    sky: str  # the weather of the story
    stage: int = 0
    stage_told: bool = False
    name_due: bool = True
    used: set[tuple[str, int]] = field(default_factory=set)
    paragraphs: list[str] = field(default_factory=list)


def write_story(kit: Kit, rng: random.Random, seen: set[bytes]) -> str:
    """Write one document whose sentences are not in `seen`, and add them to it.

    Where no fresh sentence can be found for a turn of the story, the turn is left out.
    """
    plot = pick(rng, kit.plots)
    story = _begin(kit, plot, rng, seen)
    roles = story.roles
    scene = pick(rng, ("setting", "trait"))
    _tell(story, ("opening", plot.opening), (scene, roles[scene]), ("weather", roles[f"{story.sky}_first"]))
    turns = len(plot.beats)
    talks = {int(rng.random() * turns) for _ in range(2)}
    for number, beat in enumerate(plot.beats):
        stage = (number + 1) * (_STAGES - 1) // turns
        if stage != story.stage:
            story.stage, story.stage_told = stage, False
        fillers = [pick(rng, _FILLERS) for _ in range(1 + int(rng.random() * 3))]
        if number == 0 and scene != "trait":
            fillers.insert(0, "trait")
        weather = roles[f"{story.sky}_later"]
        details = ((name, weather if name == "weather" else roles[name]) for name in fillers)
        _tell(story, (f"beat{number}", beat), *details)
        if number in talks:
            _tell(story, ("dialogue", roles["dialogue"]))
    _tell(story, ("closing", plot.closing), ("afterword", roles["afterword"]))
    return "\n\n".join(story.paragraphs)


def sentence_keys(text: str) -> list[bytes]:
    """Short hashes of the text between sentence ends, however those sentences are quoted or spaced."""
    pieces = (piece.strip(_EDGE) for piece in _SENTENCE_END.split(text))
    return [blake2b(piece.encode(), digest_size=8).digest() for piece in pieces if piece]


def _begin(kit: Kit, plot: Plot, rng: random.Random, seen: set[bytes]) -> _GeneratedStory:
    scope = Scope(rng, kit.tables, {})
    values = scope.values
    values["month"] = pick(rng, plot.months or tuple(kit.weather))
    # Hero and friend differ in gender, so that a pronoun has one possible owner.
    hero = int(rng.random() * 2)
    cast = (("hero", "", hero), ("friend", "f", 1 - hero), ("neighbour", "n", int(rng.random() * 2)))
    for role, prefix, gender in cast:
        words = kit.people[GENDERS[gender]]
        values[role] = phrase(words[role], scope)
        for word in PERSON_WORDS:
            values[prefix + word] = phrase(words[word], scope)
    for name, template in (*kit.setup, *plot.setup):
        values[name] = phrase(template, scope)
    clock = pick(rng, ("day", "day", "week"))
    sky = pick(rng, kit.weather[values["month"]])
    return _GeneratedStory(kit, {**kit.roles, **plot.roles}, scope, seen, clock, sky)


def _tell(story: _GeneratedStory, *parts: tuple[str, Sequence[Pattern]]) -> None:
    """Append one paragraph, a sentence for each part."""
    story.name_due = True
    sentences = []
    for role, patterns in parts:
        sentence = _fresh_sentence(story, role, patterns)
        if sentence:
            sentences.append(sentence)
            story.name_due = role in _OTHERS
    if sentences:
        story.paragraphs.append(story.kit.joiner.join(sentences))


def _fresh_sentence(story: _GeneratedStory, role: str, patterns: Sequence[Pattern]) -> str:
    """A sentence of one of the patterns that nobody has read before, or "" when none is found."""
    rng, values = story.scope.rng, story.scope.values
    for _ in range(_ATTEMPTS):
        index = int(rng.random() * len(patterns))
        if (role, index) in story.used:
            continue
        pattern = patterns[index]
        named = story.name_due or rng.random() >= _PRONOUN_SHARE
        values["who"] = values["hero" if named else "he"]
        if pattern.dated:
            table = "when_next" if story.stage_told else f"{story.clock}_{story.stage}"
            values["when"] = phrase(pick(rng, story.kit.tables[table]), story.scope)
        text = render(pattern.template, story.scope)
        keys = sentence_keys(text)
        fresh = set(keys)
        if len(fresh) == len(keys) and story.seen.isdisjoint(fresh):
            story.seen.update(fresh)
            story.used.add((role, index))
            story.stage_told |= pattern.dated
            return text
    return ""
