"""Statements, chains and stories in prose: a reader of the text that knows nothing of the generator answers."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.haystack_fixtures.tasks.words import table, words
from tests.haystack_fixtures.tasks.built import context, plain_trials

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=8)


def test_variants_are_asked_where_they_fit(tmp_path):
    def lengths(asked):
        (suite,) = resolve_settings({"task": "multikey", "lengths": asked, "language": "en"}, {}, tmp_path).suites
        task = TASKS["multikey"]
        return {label: task.lengths(suite, label) for label in task.labels(suite)}

    short, all_of_them = dict.fromkeys(("k0", "k4"), (512, 1000, 4000)), dict.fromkeys(("k16", "near"), (1000, 4000))
    assert lengths("512,1k,4k") == short | all_of_them | {"k64": (4000,)}
    assert lengths("200") == {"k0": (200,)}


TABLES = [(language, name) for language in ("en", "zh") for name in table("association", language)]
TABLES = [(language, name) for language, name in TABLES if name not in ("generated", "forms")]


def association_rows(language, name):
    lines = table("association", language)[name].strip().splitlines()
    return [[term.strip() for term in line.split("=")] for line in lines]


@varied
@given(seed=seeds, language=languages)
def test_the_text_and_the_tables_tell_who(seed, language):
    for trial in plain_trials("association", seed=str(seed), language=language):
        name, hops = re.match(r"(\w+?)_(\d)hop", trial.cell.needle).groups()
        values = {}
        for person in (trial.asked.answer, *trial.asked.reference["distractors"]):
            (line,) = [line for line in re.findall(r"[^.。\n]+[.。]", context(trial)) if person in line]
            rows = [row for row in association_rows(language, name) if re.search(rf"{row[0]}(?![a-z])", line)]
            values[person] = max(rows, key=lambda row: len(row[0]))[int(hops)]
        asked = {
            who: value for who, value in values.items() if value in trial.asked.question or value in ("meat", "有肉")
        }
        longest = max(map(len, asked.values()))  # 十一月 is not 一月
        assert [who for who, value in asked.items() if len(value) == longest] == [trial.asked.answer]
        for needle in trial.asked.needles:  # needle and question share no word
            said = needle.text.replace(needle.answer, "")
            question = trial.asked.question.replace("NOT FOUND", "").split("Reply")[0].split("请只")[0]
            assert not stems(said, language) & stems(question, language)


SMALL = set(re.findall(r"\w+", "a an the in at of for to is has was been by on with only which person who"))


def stems(text, language):
    """Content words without their endings; of Chinese every two characters that stand together."""
    if language == "zh":
        return {text[at : at + 2] for at in range(len(text) - 1) if text[at : at + 2].isalnum()}
    content = set(re.findall(r"\w+", text.lower())) - SMALL
    return {word.removesuffix("s").removesuffix("ing").removesuffix("e") for word in content}


def test_a_haystack_with_a_term_of_the_row_is_refused(tmp_path):
    terms = {term for language, name in TABLES if language == "en" for row in association_rows("en", name)
             for term in row[1:] if term}  # fmt: skip
    corpus = tmp_path / "text.txt"
    corpus.write_text(f"{'. '.join(sorted(terms))}. Nothing of note happened there. " * 60, encoding="utf-8")
    with pytest.raises(InputError, match="the haystack has this key or answer already"):
        plain_trials("association", language="en", corpus=str(corpus))


STORY = {
    "en": (
        (r"([A-Z]\w+) (?:went to|walked over to|moved to|came into) the (\w+)\.", "go"),
        (r"([A-Z]\w+) (?:picked up|took|got hold of) the (\w+)\.", "take"),
        (r"([A-Z]\w+) (?:put down|dropped) the (\w+)\.", "drop"),
        (r"([A-Z]\w+) left the (\w+) behind\.", "drop"),
        (r"([A-Z]\w+) (?:handed|gave|passed) the (\w+) to (\w+)\.", "give"),
        (r"([A-Z]\w+) is now either in the (\w+) or in the (\w+)\.", "either"),
    ),
    "zh": (
        (r"(\w{3})(?:去|走到|来到|转到)了(\w+)。", "go"),
        (r"(\w{3})(?:拿起|捡起|取走)了(\w+)。", "take"),
        (r"(\w{3})(?:放下|丢下|搁下)了(\w+)。", "drop"),
        (r"(\w{3})把(\w+?)(?:交给|递给|给)了(\w+)。", "give"),
        (r"(\w{3})现在不是在(\w+)就是在(\w+)。", "either"),
    ),
}


def events(trial, language):
    """What happened, in the order of the text."""
    text = context(trial)
    matches = [(m.start(), kind, *m.groups()) for pattern, kind in STORY[language] for m in re.finditer(pattern, text)]
    return [event[1:] for event in sorted(matches)]


def story_answer(happened, kind, question, language):
    """Play the events back, then answer."""
    where, path, holds, lies = {}, {}, {}, {}
    for event in happened:
        match event:
            case ("go", person, place):
                where[person] = {place}
                path.setdefault(person, []).append(place)
            case ("either", person, one, other):
                where[person] = {one, other}
            case ("take", person, thing):
                assert lies.pop(thing, where[person]) == where[person], "it lies in another room"
                assert thing not in holds
                holds[thing] = person
            case ("drop", person, thing):
                assert holds.pop(thing) == person
                lies[thing] = where[person]
            case ("give", person, thing, other):
                assert holds[thing] == person
                assert where[person] == where[other]
                holds[thing] = other
    nouns = words("state_world", language, "rooms") + words("state_world", language, "things")
    asked = [name for name in where if name in question] + [word for word in nouns if word in question]
    yes, no, maybe = words("state_world", language, "polar")
    match kind:
        case "where_person":
            (right,) = where[asked[0]]
        case "where_object":
            (right,) = where[holds[asked[0]]] if asked[0] in holds else lies[asked[0]]
        case "where_before":
            right = path[asked[0]][path[asked[0]].index(asked[1]) - 1]
            assert path[asked[0]].count(asked[1]) == 1
        case "who_has":
            right = holds[asked[0]]
        case "how_many":
            right = str(list(holds.values()).count(asked[0]))
        case _:
            known = where[asked[0]]
            right = no if asked[1] not in known else yes if len(known) == 1 else maybe
    return right


@pytest.mark.parametrize("task", ["state_where", "state_closed"])
@settings(max_examples=20)
@given(seed=seeds, language=languages)
def test_the_facts_of_a_story_give_the_answer_and_those_needed_do_alone(task, seed, language):
    answers = {}
    for trial in plain_trials(task, seed=str(seed), language=language):
        happened, label = events(trial, language), trial.cell.needle
        assert len(happened) == len(trial.asked.needles)
        answers[label] = story_answer(happened, label.removesuffix("_zh"), trial.asked.question, language)
        assert answers[label] == trial.asked.answer
        assert trial.asked.answer in trial.asked.reference["labels"]
    for trial in plain_trials(task, "focused", seed=str(seed), language=language):
        label, happened = trial.asked.reference["twin"], events(trial, language)
        if "who_has" in label:  # where people are is not told, and does not matter
            who = {event[1] for event in happened} | {event[3] for event in happened if event[0] == "give"}
            happened = [("go", person, "") for person in who] + happened
        answer = story_answer(happened, label.removesuffix("_zh"), trial.asked.question, language)
        assert answer == answers[label]
