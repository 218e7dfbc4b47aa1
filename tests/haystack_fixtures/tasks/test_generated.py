"""Lists, programs, graphs, conversations, logs, stories: a reader of the prompt's text alone finds the answer."""

import ast
import json
import re
from collections import Counter
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.haystack_fixtures.tasks.statements import written_date
from needlework.haystack_fixtures.tasks.words import table, words
from tests.haystack_fixtures.tasks.built import build, builder, context, judged, plain_trials, settings_of, trials

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=3)
BIRD = {"en": "A red kite was seen over ", "zh": "有人看见一只红鸢飞过"}


def read_count(trial):
    return str(context(trial).count(BIRD[trial.suite.language]))


def read_distinct(trial):
    lines = re.findall(r"^(?:Paragraph |段落)(\d+)[:：] ?(.+)$", context(trial), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    return str(len({text for _, text in lines}))


def read_numbers(trial):
    values = sorted(map(int, re.findall(r"(?:weighs |重)(\d+)(?: grams\.|克。)", trial.prompt.text)))
    assert len(set(values)) == len(values)
    assert len(values) % 2
    label = trial.cell.needle.partition("_")[0]
    return str(values[{"largest": -1, "smallest": 0, "median": len(values) // 2}[label]])


def read_common_words(trial):
    ranked = Counter(context(trial).split("\n")[:-1]).most_common()
    tenth, eleventh = ranked[9][1], ranked[10][1]
    assert tenth > 2 * eleventh or (tenth, eleventh) == (3, 1)
    assert set(trial.asked.reference["distractors"]) == {word for word, _ in ranked[10:]}
    top = {word for word, _ in ranked[:10]}
    return ", ".join(word for word in trial.asked.answer.split(", ") if word in top)


def read_code_chain(trial):
    """What running the document returns; the chain is as long as its label says, and others call it too."""
    [(name, argument)] = re.findall(r"([a-z]{6})\((\d+)\)", trial.asked.question)
    program = ast.parse(context(trial))
    calls = {
        line.name: next((call.func.id for call in ast.walk(line) if isinstance(call, ast.Call)), "")
        for line in program.body
    }
    assert len(calls) == len(program.body)
    assert set(calls.values()) <= {*calls, ""}
    chain = [name]
    while calls[chain[-1]]:
        chain.append(calls[chain[-1]])
    assert len(chain) == int(trial.cell.needle.partition("_")[0].removeprefix("d"))
    assert any(called in chain for caller, called in calls.items() if caller not in chain)
    scope = {}
    exec(compile(program, "document", "exec"), scope)
    assert 0 < int(trial.asked.answer) != int(argument)
    return str(scope[name](int(argument)))


NAME = re.compile(r"[0-9a-f]{10}")


def read_graph(trial):
    """The nodes that the question asks for, by a search of all edges."""
    edges = [tuple(line.split(" -> ")) for line in context(trial).splitlines()]
    names = {name for edge in edges for name in edge}
    assert all(NAME.fullmatch(name) and sum(char.isalpha() for char in name) > 1 for name in names)
    assert len({name[:6] for name in names}) == len(names)
    assert len(set(edges)) == len(edges)
    [start] = set(NAME.findall(trial.asked.question))
    label = trial.cell.needle.partition("_")[0]
    if label == "parents":
        found = {source for source, target in edges if target == start}
    else:
        seen = found = {start}
        for _ in range(int(label[1])):
            found = {target for source, target in edges if source in found} - seen
            seen = seen | found
    assert found == set(trial.asked.reference["parts"])
    return trial.asked.answer if all(node in trial.asked.answer for node in found) else ""


READ = {
    "count": read_count,
    "distinct": read_distinct,
    "numbers": read_numbers,
    "common_words": read_common_words,
    "code_chain": read_code_chain,
    "graph_bfs": read_graph,
    "graph_parents": read_graph,
}


@pytest.mark.parametrize("task", READ)
@varied
@given(seed=seeds, language=languages)
def test_reading_the_prompt_gives_the_answer(task, seed, language):
    for trial in plain_trials(task, seed=str(seed), language=language, lengths="1k,4k"):
        assert READ[task](trial) == trial.asked.answer


def test_a_text_that_has_what_is_counted_is_refused(tmp_path):
    (tmp_path / "birds.txt").write_text("We waited. A Red Kite circled above us. Then it rained again. " * 200)
    with pytest.raises(InputError, match="red kite"):
        plain_trials("count", corpus=str(tmp_path / "birds.txt"), lengths="1k", language="en")


def test_sizes_to_copy_are_those_that_window_and_budget_hold():
    def labels(**options):
        [suite] = settings_of("copy", language="en", **options).suites
        return TASKS["copy"].labels(suite)

    assert labels(lengths="1k,4k", answer_budget="300") == ("n25", "n50", "n100", "n250")
    assert labels(lengths="512", answer_budget="300") == ("n25", "n50", "n100")
    with pytest.raises(InputError, match="--answer-budget: '24': task copy needs 25 or more"):
        labels(lengths="4k", answer_budget="24")
    with pytest.raises(TooShortError, match="--lengths: '400': its shortest text and the answer need more") as caught:
        labels(lengths="400", answer_budget="350")
    assert labels(lengths=str(caught.value.least), answer_budget="350") == ("n25",)
    asked = trials("copy", language="en", lengths="1k,2k,4k", answer_budget="900")
    sizes = {trial.cell.needle: trial.cell.length for trial in asked}
    assert sizes == {"n25": 1000, "n50": 1000, "n100": 2000, "n250": 2000, "n500": 2000}


def test_a_budget_too_small_for_the_copy_names_the_least_and_that_works(tokenizer):
    def trial(budget):
        options = {"language": "en", "lengths": "2k", "answer_budget": str(budget)}
        [suite] = settings_of("copy", **options).suites
        return build(builder("copy", tokenizer, **options), suite, Cell("copy", 2000, None, "n25"))

    with pytest.raises(InputError, match=r"--answer-budget.*n25.*use at least") as caught:
        trial(25)
    least = int(str(caught.value).rsplit(" ", 1)[1])
    assert len(tokenizer.encode(trial(least).asked.answer).ids) == least - 1
    with pytest.raises(InputError, match=f"use at least {least}"):
        trial(least - 1)


def trials_of(task, seed, language, control=""):
    options = {"controls": f"absent,{control}"} if control else {}
    return plain_trials(task, control, seed=str(seed), language=language, depths="0", repeats="2", **options)


def turns(trial):
    """The texts of the conversation up to the question."""
    return [message.content for message in trial.prompt.messages[:-1]]


def day_of_each_turn(trial, language):
    """What each turn says, with the day of its session."""
    pattern = {"en": r"Today is (\d+) (\w+) (\d+)\.", "zh": r"今天是(\d+)年(\d+)月(\d+)日"}[language]
    months = {written_date(date(2031, month, 1), "en").split()[1]: month for month in range(1, 13)}
    day, dated = None, []
    for text in turns(trial):
        if opening := re.search(pattern, text):
            first, second, third = opening.groups()
            day = (
                date(int(third), months[second], int(first)) if language == "en" else date(*map(int, opening.groups()))
            )
        dated.append((text, day))
    return dated


@varied
@given(seed=seeds, language=languages)
def test_dates_ascend_and_give_the_days_between_two_events_and_visits_to_closed_museums_do_not_count(seed, language):
    for trial in trials_of("memory_number", seed, language):
        dated = day_of_each_turn(trial, language)
        days = list(dict.fromkeys(day for _, day in dated if day))
        assert len(days) == 8
        assert days == sorted(days)
        if "several" in trial.cell.needle:
            visit = {"en": r"^I went to the museum of ", "zh": "^我今天去了.+博物馆"}[language]
            assert trial.asked.answer == str(sum(bool(re.search(visit, text)) for text in turns(trial)))
        if "days" not in trial.cell.needle:
            continue
        question = trial.asked.question
        said = {"en": r"^Today I (.+)\.$", "zh": r"^今天我(.+)。$"}[language]
        events = {match[1]: day for text, day in dated if (match := re.search(said, text))}
        first, second = sorted((event for event in events if event in question), key=question.index)
        assert len(events) == 4
        assert trial.asked.answer == str((events[second] - events[first]).days)


@varied
@given(seed=seeds, language=languages)
def test_the_number_that_was_said_last_counts(seed, language):
    for trial in trials_of("memory", seed, language):
        thing = {"en": r"number of my (.+?)(?: now)?\? ", "zh": r"我的(.+?)(?:现在的)?号码是多少"}[language]
        name = re.search(thing, trial.asked.question)[1]
        numbers = [re.search(r"\d{5}", text)[0] for text in turns(trial) if name in text and re.search(r"\d{5}", text)]
        assert trial.asked.answer == numbers[-1]
        assert set(numbers[:-1]) <= {trial.asked.answer, *trial.asked.reference["distractors"]}


ENTRY = re.compile(r"\[(c-[0-9a-f]{6})\] (\w+) (\{.*\})\n  (.+)")


def read_log(trial):
    """Id, tool, arguments and result of each entry."""
    return [(call, tool, json.loads(words), result) for call, tool, words, result in ENTRY.findall(context(trial))]


def answer_of_log(question, log, language):
    """The answer to a question about a log, by whoever reads it."""
    if "deploy" in question:
        failed = {"en": "failed", "zh": "失败"}[language]
        return next(call for call, tool, _, result in log if tool == "deploy" and result.startswith(failed))
    service = next(words["service"] for _, _, words, _ in log if words.get("service", "\0") in question)
    if "restart" in question:
        return str(sum(tool == "restart" and words["service"] == service for _, tool, words, _ in log))
    updates = [
        (call, words["value"])
        for call, tool, words, _ in log
        if tool == "set_config" and words["service"] == service and words["key"] in question
    ]
    wanted = re.search(r"\d{5}", question)
    return next(call for call, value in updates if str(value) == wanted[0]) if wanted else str(updates[-1][1])


@varied
@given(seed=seeds, language=languages)
def test_a_reader_of_the_log_comes_to_the_answer(seed, language):
    for task in ("agent_log", "agent_log_count"):
        for trial in trials_of(task, seed, language):
            log = read_log(trial)
            assert len({call for call, *_ in log}) == len(log)
            if trial.asked.answer != "0":  # a service that was never restarted is in the question alone
                assert answer_of_log(trial.asked.question, log, language) == trial.asked.answer


def test_the_other_entries_of_a_log_have_numbers_like_the_wanted_ones_and_one_search_in_six_fails():
    log = read_log(plain_trials("agent_log", lengths="60k", language="en")[0])
    values = [words["value"] for _, tool, words, _ in log if tool == "set_config"]
    searches = [result for _, tool, _, result in log if tool == "search_logs"]
    counts = [int(number) for result in searches for number in re.findall(r"ok: (\d+) ", result)]
    assert 10_000 <= min(values) < 20_000 < 90_000 < max(values) < 100_000
    assert 0 <= min(counts) < 100 < 900 < max(counts) < 1000
    assert 0.1 < sum(result.startswith("failed") for result in searches) / len(searches) < 0.25
    assert {tool for _, tool, _, _ in log} == {"set_config", "get_config", "restart", "search_logs", "read_file"}


@varied
@given(seed=seeds, language=languages)
def test_after_compaction_the_question_is_asked_on_the_summary_alone(seed, language):
    whole = {(trial.cell.needle, trial.cell.repeat): trial for trial in trials_of("agent_log", seed, language)}
    for trial in trials_of("agent_log", seed, language, "compacted"):
        twin = whole[trial.asked.reference["twin"], trial.cell.repeat].asked
        options = {"seed": str(seed), "language": language, "controls": "absent,compacted", "repeats": "2"}
        made = builder("agent_log", corpus="noise", lengths="2k", depths="0", **options)
        second = made.follow_up(trial, " c-1: {summary} of all\n")
        assert "c-1: {summary} of all\n\n" in second.prompt.text
        assert second.prompt.text.count(twin.question) == 1
        assert twin.question not in trial.prompt.text
        assert all(needle.text in context(trial) for needle in twin.needles)
        assert not any(needle.text in second.prompt.text for needle in twin.needles)
        assert judged(trial, twin.answer).for_asserting == 1
        assert judged(trial, NOT_FOUND[language]).for_asserting == 0


def test_a_summary_is_asked_within_the_answer_budget_and_without_what_the_shape_says_of_answers():
    for budget, most in (("100", "60 words"), ("1k", "600 words")):
        options = {"controls": "compacted", "lengths": "4k", "answer_budget": budget, "language": "en"}
        (trial, *_) = plain_trials("agent_log", "compacted", **options)
        assert f"at most {most}" in trial.asked.question
        assert "{question}" not in trial.prompt.text
    options = {"controls": "compacted", "language": "en", "needle_set": "codes"}
    (trial, *_) = plain_trials("niah", "compacted", **options)
    second = builder("niah", corpus="noise", lengths="2k", depths="50", **options).follow_up(trial, "Codes: 1.")

    assert "Answer in a few words" not in trial.prompt.text
    assert second.prompt.text.count("Answer in a few words") == 1


def association_rows(language, name):
    lines = table("association", language)[name].strip().splitlines()
    return [[term.strip() for term in line.split("=")] for line in lines]


@settings(max_examples=8)
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
