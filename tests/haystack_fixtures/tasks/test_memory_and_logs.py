"""Chat sessions over months and logs of tool calls: a reader of the prompt alone finds the same answer."""

import json
import re
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.tasks.statements import written_date
from tests.haystack_fixtures.tasks.built import builder, context, judged, plain_trials

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=3)


def trials(task, seed, language, control=""):
    options = {"controls": f"absent,{control}"} if control else {}
    return plain_trials(task, control, seed=str(seed), language=language, depths="0", repeats="2", **options)


def turns(trial):
    """The texts of the conversation up to the question, in their order."""
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
    for trial in trials("memory_number", seed, language):
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
    for trial in trials("memory", seed, language):
        thing = {"en": r"number of my (.+?)(?: now)?\? ", "zh": r"我的(.+?)(?:现在的)?号码是多少"}[language]
        name = re.search(thing, trial.asked.question)[1]
        numbers = [re.search(r"\d{5}", text)[0] for text in turns(trial) if name in text and re.search(r"\d{5}", text)]
        assert trial.asked.answer == numbers[-1]
        assert set(numbers[:-1]) <= {trial.asked.answer, *trial.asked.reference["distractors"]}


def test_a_preference_is_one_of_four_proposals_in_any_order():
    places = set()
    for trial in trials("memory_choice", 3, "en") + trials("memory_choice", 4, "en"):
        options = re.search(r"suits me best: (.+?)\?", trial.asked.question)[1].split(", ")
        assert sorted(options) == sorted(trial.asked.reference["labels"])
        places.add(options.index(trial.asked.answer))
    assert len(places) > 1


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
        for trial in trials(task, seed, language):
            log = read_log(trial)
            assert len({call for call, *_ in log}) == len(log)
            if trial.asked.answer != "0":  # a service that was never restarted is in the question alone
                assert answer_of_log(trial.asked.question, log, language) == trial.asked.answer


@varied
@given(seed=seeds, language=languages)
def test_after_compaction_the_question_is_asked_on_the_summary_alone(seed, language):
    whole = {(trial.cell.needle, trial.cell.repeat): trial for trial in trials("agent_log", seed, language)}
    for trial in trials("agent_log", seed, language, "compacted"):
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
    for budget, words in (("100", "60 words"), ("1k", "600 words")):
        options = {"controls": "compacted", "lengths": "4k", "answer_budget": budget, "language": "en"}
        (trial, *_) = plain_trials("agent_log", "compacted", **options)
        assert f"at most {words}" in trial.asked.question
        assert "{question}" not in trial.prompt.text
    options = {"controls": "compacted", "language": "en", "needle_set": "codes"}
    (trial, *_) = plain_trials("niah", "compacted", **options)
    second = builder("niah", corpus="noise", lengths="2k", depths="50", **options).follow_up(trial, "Codes: 1.")

    assert "Answer in a few words" not in trial.prompt.text
    assert second.prompt.text.count("Answer in a few words") == 1
