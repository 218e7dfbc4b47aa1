"""Small documents about institutions and their founders, and questions of one and of two steps about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from needlework.haystack_fixtures.draws import below, pick
from needlework.haystack_fixtures.tasks.ruler.vocabulary import compounds, person, town, vocabulary

_KINDS = {
    "en": ("Museum", "Library", "Society", "Archive", "Theatre", "Academy", "Orchestra", "Observatory"),
    "zh": ("博物馆", "图书馆", "学会", "档案馆", "剧院", "书院", "乐团", "天文台"),
}
_JOBS = {
    "en": ("clockmaker", "schoolteacher", "surveyor", "printer", "ferry captain", "chemist", "tailor", "gardener"),
    "zh": ("钟表匠", "小学教员", "测量员", "印刷工", "渡船船长", "药剂师", "裁缝", "园丁"),
}
_SEASONS = {
    "en": ("spring", "summer", "autumn", "winter"),
    "zh": ("春天", "夏天", "秋天", "冬天"),
}
_INSTITUTION = {
    "en": "{name}\nThe {name} was founded in {founded} by {founder}. "
    "Its house stands in {place}, not far from the river. The oldest piece that it "
    "owns is called the {piece}. Most of its visitors come in {season}.",
    "zh": "{name}\n{name}由{founder}于{founded}年创办，馆舍位于{place}，离河不远。"
    "馆中最古老的藏品名叫“{piece}”。参观者大多在{season}前来。",
}
_FOUNDER = {
    "en": "{founder}\n{founder} was born in {birth} in {born} and learnt the trade of a {job}. "
    "After a fire the family moved to {home}, where {founder} opened a workshop. The diaries were printed much later.",
    "zh": "{founder}\n{founder}于{born}年出生在{birth}，早年学做{job}。"
    "一场大火之后，全家搬到{home}，{founder}在那里开了一间工坊。其日记多年以后才付印。",
}
_ONE_STEP = {
    "en": {
        "founder": "Who founded the {name}?",
        "place": "In which town does the house of the {name} stand?",
        "piece": "What is the oldest piece that the {name} owns called?",
    },
    "zh": {
        "founder": "{name}是由谁创办的？",
        "place": "{name}的馆舍位于什么地方？",
        "piece": "{name}最古老的藏品叫什么？",
    },
}
_TWO_STEPS = {"en": "In which town was the founder of the {name} born?", "zh": "{name}的创办人出生在什么地方？"}


@dataclass(frozen=True, slots=True)
class Story:
    """An institution and its founder."""

    name: str
    founder: str
    place: str
    piece: str
    birth: str
    institution: str
    life: str


def stories(rng: Random, language: str) -> Iterator[Story]:
    """Endless stories; names and pieces come once, the first story's founder, towns and piece in no other.

    Other founders come once too, until half of all names are used up.
    """
    words = vocabulary(language)
    names, pieces = compounds(rng, words), compounds(rng, words)
    people: set[str] = set()
    enough, first, first_piece = len(words.given) * len(words.surnames) // 2, "", ""
    barred: set[str] = set()
    while True:
        kind = pick(rng, _KINDS[language])
        compound = next(names)
        name = _title(next(names) if compound == first_piece else compound, kind, language)
        founder = person(rng, language)
        while founder == first or (founder in people and len(people) < enough):
            founder = person(rng, language)
        people.add(founder)
        first = first or founder
        towns: list[str] = []
        while len(towns) < 3:
            drawn = town(rng, language)
            if drawn not in barred and drawn not in towns:
                towns.append(drawn)
        born = 1600 + below(rng, 300)
        piece = next(pieces)
        told = {
            "name": name,
            "founder": founder,
            "place": towns[0],
            "birth": towns[1],
            "home": towns[2],
            "piece": piece.replace("-", " "),
            "born": str(born),
            "founded": str(born + 25 + below(rng, 40)),
            "season": pick(rng, _SEASONS[language]),
            "job": pick(rng, _JOBS[language]),
        }
        yield Story(
            name,
            founder,
            told["place"],
            told["piece"],
            told["birth"],
            _INSTITUTION[language].format(**told),
            _FOUNDER[language].format(**told),
        )
        barred, first_piece = barred or set(towns), first_piece or piece


def one_step(rng: Random, story: Story, language: str) -> tuple[str, str]:
    """A question that one document answers, and the answer."""
    about = pick(rng, sorted(_ONE_STEP[language]))
    return _ONE_STEP[language][about].format(name=story.name), str(getattr(story, about))


def two_steps(story: Story, language: str) -> tuple[str, str]:
    """A question that takes the founder's name from one document and the town from another, and the answer."""
    return _TWO_STEPS[language].format(name=story.name), story.birth


def _title(compound: str, kind: str, language: str) -> str:
    return f"{compound.replace('-', ' ').title()} {kind}" if language == "en" else f"{compound}{kind}"
