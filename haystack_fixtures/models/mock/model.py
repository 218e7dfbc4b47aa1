"""Models that behave as their name says: for tests, demonstrations and dry runs. They load nothing."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.args import check_known, int_arg
from needlework.haystack_fixtures.models.mock.curve import Curve, chance_at, parse_curve
from needlework.haystack_fixtures.models.mock.judging import judged
from needlework.haystack_fixtures.models.mock.text import answer_sentence, language_of, ramble, refusal, wrong_answer
from needlework.haystack_fixtures.models.model import ErrorKind, ModelError, Request, Response
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

_PLAIN = (
    "perfect", "middle", "refuse", "ramble", "wrong", "empty", "distractor", "echo", "half", "die", "unsteady", "judge",
)  # fmt: skip
_WITH_VALUE = ("sleep", "error", "rate", "die", "judge")
_KINDS: tuple[ErrorKind, ...] = ("timeout", "rate_limit", "server", "client", "oom", "protocol")
_FORGOTTEN = (30.0, 70.0)  # depths between which `middle` knows nothing, both ends left out
_DEATH_DEPTH = 50.0
_BY_WORDS = -1.0  # in place of a share: the judge looks at the answer

MOCK_ARGS = ("window",)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A behaviour's name, and its number, error kind or curve."""

    name: str
    number: float = 0.0
    error: ErrorKind | None = None
    curve: Curve = ()


def parse_behaviour(text: str) -> Behaviour:
    """`perfect`, `sleep=0.2`, `error=timeout`, ...; an unknown one raises `InputError`."""
    name, given, value = text.partition("=")
    if name == "error" and given:
        kind = next((each for each in _KINDS if each == value), None)
        if kind is None:
            raise InputError("--model mock:error", value, f"use one of {', '.join(_KINDS)}")
        return Behaviour(name, error=kind)
    if name == "curve" and given:
        return Behaviour(name, curve=parse_curve(value))
    if name in _WITH_VALUE and given:
        return Behaviour(name, _number(name, value))
    if given or name not in _PLAIN:
        errors = f"error={'|'.join(_KINDS)}"
        listed = [*_PLAIN, "die=DEPTH", "sleep=SECONDS", "rate=SHARE", "judge=SHARE", "curve=LENGTH:SHARE,...", errors]
        raise InputError("--model mock", text, f"use one of {', '.join(f'mock:{each}' for each in listed)}")
    return Behaviour(name, {"die": _DEATH_DEPTH, "judge": _BY_WORDS}.get(name, 0.0))


class MockModel:
    """Answers from the request's own needles and reference, as its behaviour says."""

    def __init__(self, behaviour: str, model_args: Mapping[str, str], tokenizer: Tokenizer) -> None:
        check_known(model_args, MOCK_ARGS)
        self._behaviour = parse_behaviour(behaviour)
        self._window = int_arg(model_args, "window", 1)
        self._tokenizer = tokenizer
        self._identity = {"spec": f"mock:{behaviour}"}
        self._asked: Counter[str] = Counter()

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return dict(self._identity)

    @property
    def window(self) -> int | None:
        return self._window

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def respond(self, request: Request) -> Response:
        """Answer at once (`sleep`: later). The same request gets the same answer (`unsteady`: every other time)."""
        begun = time.perf_counter()
        behaviour, depth = self._behaviour, request.cell.depth if request.cell else None
        if behaviour.error is not None:
            return Response(error=ModelError(behaviour.error, f"mock error: {behaviour.error}"), latency_s=0.0)
        if behaviour.name == "die" and depth == behaviour.number:
            os._exit(1)
        if behaviour.name == "sleep":
            time.sleep(behaviour.number)
        text, finish = self._say(request)
        taken = time.perf_counter() - begun
        return Response(
            text=text,
            finish_reason=finish,
            prompt_tokens=request.prompt.tokens,
            completion_tokens=len(self._tokenizer.encode(text).ids),
            latency_s=taken,
            ttft_s=taken,
        )

    def close(self) -> None:
        """Nothing to let go of."""

    def _say(self, request: Request) -> tuple[str, str]:
        language = language_of(_question(request))
        match self._behaviour.name:
            case "judge":
                share = self._behaviour.number
                return judged(request.prompt.messages, None if share == _BY_WORDS else share), "stop"
            case "refuse":
                return refusal(language), "stop"
            case "empty":
                return "", "stop"
            case "echo":
                return _question(request), "stop"
            case "ramble":
                return self._ramble(language, request.answer_budget + request.thinking_budget), "length"
            case "distractor":
                return _distractor(request, language), "stop"
            case "unsteady" if self._again(request) % 2:
                return _wrong(request, language), "stop"
            case _ if self._knows(request):
                return answer_sentence(_answers(request), language), "stop"
            case _:
                return _wrong(request, language), "stop"

    def _knows(self, request: Request) -> bool:
        cell, behaviour = request.cell, self._behaviour
        if behaviour.name == "wrong":
            return False
        if cell is None:
            return True
        if behaviour.name == "middle":
            return cell.depth is None or not _FORGOTTEN[0] < cell.depth < _FORGOTTEN[1]
        if behaviour.name == "half":
            return cell.repeat % 2 == 0
        if behaviour.name in ("rate", "curve"):
            chance = chance_at(behaviour.curve, cell.length) if behaviour.curve else behaviour.number
            return int(sha256(cell.id.encode()).hexdigest()[:12], 16) / 16**12 < chance
        return True

    def _again(self, request: Request) -> int:
        """How often this prompt was asked before."""
        self._asked[request.prompt.text_sha256] += 1
        return self._asked[request.prompt.text_sha256] - 1

    def _ramble(self, language: str, budget: int) -> str:
        # A token is a character or more, so this is enough text; what is over the budget is cut off.
        sentence_tokens = max(1, len(self._tokenizer.encode(ramble(language, 1)).ids) - 1)
        ids = self._tokenizer.encode(ramble(language, budget // sentence_tokens + 1)).ids
        return self._tokenizer.decode(ids[:budget].tolist())


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    highest = {"sleep": 3600.0, "rate": 1.0, "judge": 1.0, "die": 100.0}[name]
    if not 0 <= number <= highest:
        raise InputError(f"--model mock:{name}", value, f"use a number from 0 to {highest:g}")
    return number


def _question(request: Request) -> str:
    """The needles' questions, else the end of the last message (a prompt's question stands there)."""
    asked = dict.fromkeys(needle.question for needle in request.needles if needle.question)
    if asked:
        return "\n".join(asked)
    messages = request.prompt.messages
    return (messages[-1].content if messages else request.prompt.text).rstrip().rpartition("\n")[2][-500:]


def _answers(request: Request) -> list[str]:
    """What a perfect model says: the reference, and with several needles each of their answers."""
    several = [needle.answer for needle in request.needles if needle.answer] if len(request.needles) > 1 else []
    if not several:
        return [request.answer or "".join(needle.answer for needle in request.needles)]
    if not request.answer or any(request.answer == answer for answer in several):
        return several
    missing = [answer for answer in several if answer not in request.answer]
    return [request.answer, *missing]


def _wrong(request: Request, language: str) -> str:
    taken = {
        text for needle in request.needles for text in (needle.answer, *needle.accepted, *needle.distractor_answers)
    }
    right = request.answer or (request.needles[0].answer if request.needles else "")
    return answer_sentence([wrong_answer(right, taken, language)], language)


def _distractor(request: Request, language: str) -> str:
    found = [answer for needle in request.needles for answer in needle.distractor_answers]
    return answer_sentence(found[:1], language) if found else _wrong(request, language)
