"""Generated text: stories, of sentence templates and tables of words."""

from __future__ import annotations

import hashlib
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import regex

from needlework.core.draws import draws, pick

# The text follows from `VERSION`, the tables under `data/`, the language and the seed, on every machine and Python
# version: only `random.Random(int).random()` is drawn from.
VERSION = 1  # raise it when code changes the text; the tables' hash notices changed tables by itself
LANGUAGES = ("en", "zh")


def generate_documents(language: str, seed: int, min_chars: int) -> tuple[str, ...]:
    """Short stories with at least `min_chars` characters in all (one story at least).

    Asking for more characters only appends stories. No sentence occurs twice, in the whole tuple: "sentence" is the
    text between two of `. ! ? … 。 ！ ？` or line ends, so that short lines of dialogue count as well.
    """
    kit = _load_kit(language)
    rng = draws(f"needlework generated {VERSION} {language} {seed}")
    seen: set[bytes] = set()
    documents: list[str] = []
    chars = 0
    while chars < min_chars or not documents:
        story = _write_story(kit, rng, seen)
        documents.append(story)
        chars += len(story)
    return tuple(documents)


def recipe_sha256(language: str, seed: int) -> str:
    """Identity of the endless text that a language and a seed stand for: version, tables, language, seed."""
    recipe = f"needlework generated {VERSION} {_tables_sha256(language)} {language} {seed}"
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
    """A story while it is written."""

    kit: Kit
    roles: Mapping[str, str]
    rng: random.Random
    seen: set[bytes]
    clock: str = ""  # "day" or "week"
    sky: str = ""  # the weather of the story
    stage: int = 0
    stage_told: bool = False
    name_due: bool = True
    used: set[tuple[str, int]] = field(default_factory=set)  # patterns by role and number
    used_words: dict[str, set[int]] = field(default_factory=dict)  # entries of each word table by number
    values: dict[str, str] = field(default_factory=dict)  # what patterns may refer to by name
    paragraphs: list[str] = field(default_factory=list)


def _write_story(kit: Kit, rng: random.Random, seen: set[bytes]) -> str:
    """Write one document whose sentences are not in `seen`, and add them to it.

    Where no fresh sentence can be found for a turn of the story, the turn is left out.
    """
    plot = pick(rng, kit.plots)
    story = _begin(kit, plot, rng, seen)
    roles, turns = story.roles, len(plot["beats"])
    scene = pick(rng, ("setting", "trait"))
    _tell(story, ("opening", plot["opening"]), (scene, roles[scene]), ("weather", roles[f"{story.sky}_first"]))
    talks = {int(rng.random() * turns) for _ in range(2)}
    for number, beat in enumerate(plot["beats"]):
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
    _tell(story, ("closing", plot["closing"]), ("afterword", roles["afterword"]))
    return "\n\n".join(story.paragraphs)


def _sentence_keys(text: str) -> list[bytes]:
    """Short hashes of the text between sentence ends, however those sentences are quoted or spaced."""
    pieces = (piece.strip(_EDGE) for piece in _SENTENCE_END.split(text))
    return [blake2b(piece.encode(), digest_size=8).digest() for piece in pieces if piece]


def _begin(kit: Kit, plot: Mapping[str, Any], rng: random.Random, seen: set[bytes]) -> _GeneratedStory:
    story = _GeneratedStory(kit, kit.roles | plot.get("roles", {}), rng, seen)
    values = story.values
    values["month"] = pick(rng, plot.get("months") or tuple(kit.cast["weather"]))
    # Hero and friend differ in gender, so that a pronoun has one possible owner.
    hero = int(rng.random() * 2)
    cast = (("hero", "", hero), ("friend", "f", 1 - hero), ("neighbour", "n", int(rng.random() * 2)))
    for role, prefix, gender in cast:
        words = kit.cast[_GENDERS[gender]]
        values[role] = _phrase(words[role], story)
        for word in _PERSON_WORDS:
            values[prefix + word] = _phrase(words[word], story)
    for name, text in (*kit.cast["setup"].items(), *plot["setup"].items()):
        values[name] = _phrase(text, story)
    story.clock = pick(rng, ("day", "day", "week"))
    story.sky = pick(rng, kit.cast["weather"][values["month"]])
    return story


def _tell(story: _GeneratedStory, *parts: tuple[str, str]) -> None:
    """Append one paragraph, a sentence for each part: a role, and its patterns."""
    story.name_due = True
    sentences = []
    for role, patterns in parts:
        sentence = _fresh_sentence(story, role, patterns)
        if sentence:
            sentences.append(sentence)
            story.name_due = role in _OTHERS
    if sentences:
        story.paragraphs.append(story.kit.cast["joiner"].join(sentences))


def _fresh_sentence(story: _GeneratedStory, role: str, lines: str) -> str:
    """A sentence of an unused pattern, whose text is in no document yet; "" if there is none."""
    rng, values, patterns = story.rng, story.values, _patterns(lines)
    for _ in range(_ATTEMPTS):
        index = int(rng.random() * len(patterns))
        if (role, index) in story.used:
            continue
        pattern = patterns[index]
        named = story.name_due or rng.random() >= _PRONOUN_SHARE
        values["who"] = values["hero" if named else "he"]
        dated = _WHEN.search(pattern) is not None  # it says when, so that the time line has to move with it
        if dated:
            table = "when_next" if story.stage_told else f"{story.clock}_{story.stage}"
            values["when"] = _phrase(pick(rng, _entries(story.kit.tables[table])), story)
        text = _render(pattern, story)
        keys = _sentence_keys(text)
        fresh = set(keys)
        if len(fresh) == len(keys) and story.seen.isdisjoint(fresh):
            story.seen.update(fresh)
            story.used.add((role, index))
            story.stage_told |= dated
            return text
    return ""


# `{name}` stands for a value of the document or, failing that, a random entry of the word table
# `name`; `{^name}` is the same with a capital; `{a}` is "a" or "an", whichever suits the next word;
# `[x|y|]` chooses one of its parts (the last one here is empty); `¶` starts a new paragraph. Entries
# of word tables may use the notation themselves.
_WHEN = re.compile(r"{\^?when}")
_ARTICLE = "\x01"  # stands where "a" or "an" will be; the next word decides
_SLOT = regex.compile(r"\{(?P<capital>\^?)(?P<name>\w+)\}|\[(?P<options>(?:[^\[\]]++|\[(?&options)\])*+)\]")
_ARTICLE_AND_NEXT = re.compile(_ARTICLE + r" (\w+)")
_SENTENCE_START = re.compile(r"^(\W*)([a-z])")
# "a uniform", "a one-way street": written with a vowel, spoken with a consonant. And the other way round.
_SPOKEN_CONSONANT = ("uni", "use", "usu", "one", "once", "eu", "uku")
_SPOKEN_VOWEL = ("hour", "honest", "heir", "honour")
_REDRAWS = 4


def _render(pattern: str, story: _GeneratedStory) -> str:
    """Fill a sentence pattern: paragraphs begin with a capital, and `¶` has become an empty line."""
    return "\n\n".join(
        _SENTENCE_START.sub(lambda start: start[1] + start[2].upper(), part)
        for part in _phrase(pattern, story).split("¶")
    )


def _phrase(pattern: str, story: _GeneratedStory) -> str:
    """Fill a pattern that will stand inside a sentence: articles agree, the first letter is kept."""
    text = _filled(pattern, story)
    return _ARTICLE_AND_NEXT.sub(_with_article, text) if _ARTICLE in text else text


def _filled(pattern: str, story: _GeneratedStory) -> str:
    """The pattern with its slots filled and its alternatives chosen, from left to right."""

    def fill(slot: regex.Match[str]) -> str:
        if slot["options"] is not None:
            return _filled(pick(story.rng, _options(slot["options"])), story)
        if slot["name"] == "a":
            return _ARTICLE
        known = slot["name"] in story.values
        value = story.values[slot["name"]] if known else _filled(_draw(slot["name"], story), story)
        return _upper_first(value) if slot["capital"] else value

    return _SLOT.sub(fill, pattern)


@cache
def _options(text: str) -> Sequence[str]:
    """The alternatives between bars; those inside of one keep theirs."""
    depth, options = 0, [""]
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == "|" and depth == 0:
            options.append("")
        else:
            options[-1] += char
    return options


def _draw(name: str, story: _GeneratedStory) -> str:
    """An entry of a table, preferably one that this document has not used."""
    entries = _entries(story.kit.tables[name])
    used = story.used_words.setdefault(name, set())
    index = 0
    for _ in range(_REDRAWS):
        index = int(story.rng.random() * len(entries))
        if index not in used:
            break
    used.add(index)
    return entries[index]


def _with_article(match: re.Match[str]) -> str:
    word = match[1]
    lower = word.lower()
    vowel = lower[0] in "aeiou" and not lower.startswith(_SPOKEN_CONSONANT)
    return f"{'an' if vowel or lower.startswith(_SPOKEN_VOWEL) else 'a'} {word}"


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


_GENDERS = ("female", "male")
_FILES = ("cast.toml", "shared.toml", "stories.toml", "words.toml")
_PERSON_WORDS = ("he", "him", "his", "himself", "adult")


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts of a language's stories, as their files have them."""

    tables: Mapping[str, str]  # words by kind
    roles: dict[str, str]  # sentence patterns, one a line (sometimes a few sentences that belong together)
    plots: Sequence[Mapping[str, Any]]  # kinds of stories: setup, turns in order, months, and roles of their own
    cast: Mapping[str, Any]  # people, setup, weather, and what stands between sentences


def _tables_sha256(language: str) -> str:
    """Hash of the language's data files."""
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(name.encode())
        digest.update(_read(language, name).encode())
    return digest.hexdigest()


@cache
def _load_kit(language: str) -> Kit:
    """Read the tables of one language."""
    cast, shared, stories, words = (tomllib.loads(_read(language, name)) for name in _FILES)
    tables: dict[str, str] = {}
    for source in (words, shared, *stories.values()):
        tables |= source.get("words", {})
    roles = {name: text for name, text in shared.items() if name != "words"}
    return Kit(tables, roles, [plot for _, plot in sorted(stories.items())], cast)


def _read(language: str, name: str) -> str:
    return (files("needlework.haystack_fixtures.corpora") / "data" / language / name).read_text("utf-8")


@cache
def _entries(text: str) -> Sequence[str]:
    """The entries of a word table, which semicolons and line ends part."""
    return [entry.strip() for line in text.splitlines() for entry in line.split(";") if entry.strip()]


@cache
def _patterns(text: str) -> Sequence[str]:
    """The patterns of a role, one a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]
