"""The words of the world: rooms, things, the sentences that tell a fact, the questions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from needlework.haystack_fixtures.draws import shuffled
from needlework.haystack_fixtures.tasks.state_world.world import Fact

ROOMS = {
    "en": ("kitchen", "garden", "hallway", "attic", "cellar", "library", "office", "workshop"),
    "zh": ("厨房", "花园", "走廊", "阁楼", "地窖", "书房", "办公室", "车间"),
}
THINGS = {
    "en": ("apple", "lamp", "ball", "hammer", "map", "kettle", "bell", "spoon"),
    "zh": ("苹果", "台灯", "皮球", "锤子", "地图", "水壶", "铃铛", "勺子"),
}
POLAR = {"en": ("yes", "no", "maybe"), "zh": ("是", "否", "不确定")}
# Several sentences of a kind: no sentence may stand in a text twice.
SENTENCES = {
    "en": {
        "go": (
            "{person} went to the {place}.",
            "{person} walked over to the {place}.",
            "{person} moved to the {place}.",
            "{person} came into the {place}.",
        ),
        "take": ("{person} picked up the {thing}.", "{person} took the {thing}.", "{person} got hold of the {thing}."),
        "drop": (
            "{person} put down the {thing}.",
            "{person} dropped the {thing}.",
            "{person} left the {thing} behind.",
        ),
        "give": (
            "{person} handed the {thing} to {other}.",
            "{person} gave the {thing} to {other}.",
            "{person} passed the {thing} to {other}.",
        ),
        "either": ("{person} is now either in the {place} or in the {other}.",),
    },
    "zh": {
        "go": (
            "{person}去了{place}。",
            "{person}走到了{place}。",
            "{person}来到了{place}。",
            "{person}转到了{place}。",
        ),
        "take": ("{person}拿起了{thing}。", "{person}捡起了{thing}。", "{person}取走了{thing}。"),
        "drop": ("{person}放下了{thing}。", "{person}丢下了{thing}。", "{person}搁下了{thing}。"),
        "give": (
            "{person}把{thing}给了{other}。",
            "{person}把{thing}交给了{other}。",
            "{person}把{thing}递给了{other}。",
        ),
        "either": ("{person}现在不是在{place}就是在{other}。",),
    },
}
QUESTIONS = {
    "en": {
        "where_person": "Where is {person} now? Reply with the place only.",
        "where_object": "Where is the {thing} now? Reply with the place only.",
        "where_before": "Where was {person} right before going to the {place}? Reply with the place only.",
        "who_has": "Who has the {thing} now? Reply with the name only.",
        "how_many": "How many things is {person} carrying now? Reply with a number from 0 to 5.",
        "yes_no": "Is {person} in the {place} now? Reply with yes or no.",
        "yes_no_maybe": "Is {person} in the {place} now? Reply with yes, no or maybe.",
    },
    "zh": {
        "where_person": "{person}现在在哪里？请只回答地点。",
        "where_object": "{thing}现在在哪里？请只回答地点。",
        "where_before": "{person}去{place}之前紧接着是在哪里？请只回答地点。",
        "who_has": "{thing}现在在谁手里？请只回答姓名。",
        "how_many": "{person}现在拿着几样东西？请用0到5的数字回答。",
        "yes_no": "{person}现在在{place}吗？请回答是或否。",
        "yes_no_maybe": "{person}现在在{place}吗？请回答是、否或不确定。",
    },
}


def told(rng: Random, facts: Sequence[Fact], language: str) -> list[str]:
    """The facts as sentences that all differ."""
    texts: dict[str, None] = {}
    for fact in facts:
        fields = {"person": fact.person, "place": fact.place, "thing": fact.thing, "other": fact.other}
        forms = shuffled(rng, SENTENCES[language][fact.kind])
        texts[next(text for form in forms if (text := form.format(**fields)) not in texts)] = None
    return list(texts)
