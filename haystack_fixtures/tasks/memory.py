"""Memory of chat sessions over months: facts, updates, several sessions, dates, a preference.

The kinds of questions are those of LongMemEval (Wu et al., 2025, arXiv:2410.10813), its texts are not. What the user
never said is asked by the control `absent`. In the first round of a session the assistant says its date.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from needlework.core.draws import below, draws, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation, Round
from needlework.haystack_fixtures.tasks.mrcr import generated_rounds
from needlework.haystack_fixtures.tasks.statements import draw_numbers, written_date
from needlework.haystack_fixtures.tasks.task import Question, our_task, without_language
from needlework.haystack_fixtures.tasks.words import phrases, question_text, table, words

_SESSIONS = 8
_FIRST_DAY = date(2031, 1, 6)
_SHORTEST_GAP, _LONGEST_GAP = 12, 45  # days between two sessions
_MOST_VISITS = 6
_OPTIONS = 4  # of a question about a preference


@dataclass(frozen=True, slots=True)
class Statement:
    """A user's statement in a session (from 0), with the reply. `needed`: for the answer."""

    session: int
    round: Round
    needed: bool = False


# A question, the statements of all sessions, and the reference, whose first answer is the one a person would give.
MemoryQuestion = tuple[Sequence[Statement], str, dict[str, Any]]


def _statement(language: str, kind: str, session: int, *, needed: bool = False, **fields: str) -> Statement:
    ask, reply = (text.format(**fields) for text in table("memory", language)[kind])
    return Statement(session, Round(ask, reply), needed)


def _fact(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """Numbers of three things, one of which is asked for."""
    things = sample(rng, phrases("memory", language, "things"), 3)
    values = draw_numbers(rng, len(things), 5)
    sessions = sample(rng, range(_SESSIONS), len(things))
    statements = [
        _statement(language, "fact", session, needed=thing == things[0], thing=thing, value=value)
        for session, thing, value in zip(sessions, things, values, strict=True)
    ]
    reference = {"answers": (values[0],), "distractors": tuple(values[1:])}
    return statements, question_text("memory", language, "fact", thing=things[0]), reference


def _update(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """The number of a thing, which changes twice; the last is asked for."""
    thing, other = sample(rng, phrases("memory", language, "things"), 2)
    *old, new, other_value = draw_numbers(rng, 4, 5)
    first, *later = sorted(sample(rng, range(_SESSIONS), 3))
    statements = (
        _statement(language, "fact", first, needed=True, thing=thing, value=old[0]),
        *(
            _statement(language, "update", session, needed=True, thing=thing, value=value)
            for session, value in zip(later, (old[1], new), strict=True)
        ),
        _statement(language, "fact", below(rng, _SESSIONS), thing=other, value=other_value),
    )
    reference = {"answers": (new,), "distractors": (*old, other_value), "kinds": dict.fromkeys(old, "stale")}
    return statements, question_text("memory", language, "update", thing=thing), reference


def _visits(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """Visits in several sessions, to be counted; two further museums were closed."""
    count = 1 + below(rng, _MOST_VISITS)
    topics = sample(rng, words("memory", language, "topics"), count + 2)
    sessions = sample(rng, range(_SESSIONS), len(topics))
    statements = [
        _statement(language, "visit" if number < count else "missed", session, needed=number < count, topic=topic)
        for number, (session, topic) in enumerate(zip(sessions, topics, strict=True))
    ]
    chance = 1 / _MOST_VISITS
    reference = {"answers": (str(count),), "chance": chance, "floor": chance}
    return statements, question_text("memory", language, "several"), reference


def _days_between(rng: Random, language: str, days: Sequence[date]) -> MemoryQuestion:
    """Two events of different sessions; the days between them are asked for."""
    events = sample(rng, phrases("memory", language, "events"), 4)
    sessions = sample(rng, range(_SESSIONS), len(events))
    sessions[:2] = sorted(sessions[:2])
    statements = [
        _statement(language, "event", session, needed=number < 2, event=event)
        for number, (session, event) in enumerate(zip(sessions, events, strict=True))
    ]
    answer = str((days[sessions[1]] - days[sessions[0]]).days)
    question = question_text("memory", language, "days", first=events[0], second=events[1])
    return statements, question, {"answers": (answer,), "floor": 0.0}


def _preference(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """A preference of the user; the question: which of four proposals suits it."""
    wishes = dict(row.split(" = ") for row in phrases("memory", language, "wishes"))
    chosen = sample(rng, tuple(wishes), _OPTIONS)
    options = [wishes[wish] for wish in chosen]
    listed = table("memory", language)["comma"].join(shuffled(rng, options))
    question = question_text("memory", language, "preference", options=listed)
    statement = _statement(language, "wish", below(rng, _SESSIONS), needed=True, wish=chosen[0])
    reference = {"answers": (options[0],), "labels": tuple(options), "chance": 1 / _OPTIONS, "floor": 1 / len(wishes)}
    return [statement], question, reference


_KINDS: dict[str, Callable[[Random, str, Sequence[date]], MemoryQuestion]] = {
    "fact": _fact,
    "update": _update,
    "several": _visits,
    "days": _days_between,
    "preference": _preference,
}


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language, kind = suite.language, without_language(cell.needle, suite)
    rng = draws("memory", 1, seed, cell.repeat, kind, language)
    days = [_FIRST_DAY + timedelta(below(rng, 28))]
    while len(days) < _SESSIONS:
        days.append(days[-1] + timedelta(_SHORTEST_GAP + below(rng, _LONGEST_GAP - _SHORTEST_GAP)))
    statements, question, reference = _KINDS[kind](rng, language, days)
    openings = [
        _statement(language, "opening", session, date=written_date(day, language)) for session, day in enumerate(days)
    ]
    # A session begins with its opening; its statements follow.
    placed = [(100 * each.session / _SESSIONS, each) for each in openings]
    placed += [(100 * (each.session + 0.2 + below(rng, 700) / 1000) / _SESSIONS, each) for each in statements]
    placed.sort(key=lambda pair: pair[0])
    closing = table("memory", language)["closing"]
    return Question(
        needles=tuple(
            Needle(f"{'statement' if each in statements else 'session'}{number}", each.round.reply, ask=each.round.ask)
            for number, (_, each) in enumerate(placed, 1)
        ),
        depths=tuple(round(depth, 2) for depth, _ in placed),
        question=question,
        answer=reference["answers"][0],
        reference=reference,
        needed=tuple(number for number, (_, each) in enumerate(placed) if each.needed),
        context=GrowingConversation(
            generated_rounds(language, ("memory", 1, seed, cell.repeat, language, "others")), Round(*closing)
        ),
    )


TASKS = tuple(our_task(name, _ask) for name in ("memory", "memory_number", "memory_choice"))
