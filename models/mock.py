"""Mock models: rules that answer by depth, length or chance."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from typing import Annotated, Any, get_args

from msgspec import Meta

from needlework.core.errors import InputError
from needlework.core.grid import parse_tokens
from needlework.core.options import Parser, number, one_of
from needlework.core.prompts import Message
from needlework.models.model import ErrorKind, ModelError, Request, Response, read_args
from needlework.models.tokenizers.tokenizer import Tokenizer

_PLAIN = (
    "perfect", "middle", "refuse", "ramble", "wrong", "empty", "distractor", "echo", "half", "die", "unsteady", "judge",
)  # fmt: skip
_KINDS = tuple(kind for kind in get_args(ErrorKind) if kind not in ("judge", "harness"))
_FORGOTTEN = (30.0, 70.0)  # depths between which `middle` knows nothing, both ends left out
_DEATH_DEPTH = 50.0


@dataclass(frozen=True, slots=True)
class MockArgs:
    """The `--model-arg`s of mock models."""

    window: Annotated[int, Meta(ge=1)] | None = None


Curve = tuple[tuple[int, float], ...]  # lengths in tokens, ascending, each with the chance of a hit, 0..1


def parse_curve(option: str, text: str) -> Curve:
    """Read `4k:1,8k:0.95`. Raises `InputError`."""
    remedy = "write LENGTH:SHARE, with a share of 0 to 1, such as 4k:1,8k:0.95"
    chance: Callable[[str, str], Any] = number(lambda share: 0 <= share <= 1, remedy)
    points = [point.strip().partition(":")[::2] for point in text.split(",")]
    return tuple(sorted({parse_tokens(option, length): chance(option, share) for length, share in points}.items()))


def _up_to(highest: float) -> Parser:
    return number(lambda amount: 0 <= amount <= highest, f"use a number from 0 to {highest:g}")


_WITH_VALUE: Mapping[str, Callable[[str, str], Any]] = {
    "die": _up_to(100), "sleep": _up_to(3600), "rate": _up_to(1), "judge": _up_to(1), "curve": parse_curve,
    "error": one_of(*_KINDS),
}  # fmt: skip


def parse_behaviour(text: str) -> tuple[str, Any]:
    """The name and the value of `perfect`, `sleep=0.2`, `error=timeout`, ...; an unknown one raises `InputError`."""
    name, has_value, value = text.partition("=")
    if has_value and name in _WITH_VALUE:
        return name, _WITH_VALUE[name](f"--model mock:{name}", value)
    if has_value or name not in _PLAIN:
        errors = f"error={'|'.join(_KINDS)}"
        listed = [*_PLAIN, "die=DEPTH", "sleep=SECONDS", "rate=SHARE", "judge=SHARE", "curve=LENGTH:SHARE,...", errors]
        raise InputError("--model mock", text, f"use one of {', '.join(f'mock:{word}' for word in listed)}")
    return name, _DEATH_DEPTH if name == "die" else None


def chance_at(curve: Curve, length: int) -> float:
    """The chance of a hit at a length, interpolated in log2 of the length; constant beyond the points."""
    below = [point for point in curve if point[0] <= length]
    above = [point for point in curve if point[0] >= length]
    if not below or not above:
        return below[-1][1] if below else above[0][1]
    (low, chance), (high, other) = below[-1], above[0]
    return chance if low == high else chance + log2(length / low) / log2(high / low) * (other - chance)


class MockModel:
    """Answers from the request's own needles and reference, as its behaviour says."""

    def __init__(self, behaviour: str, model_args: Mapping[str, str], tokenizer: Tokenizer) -> None:
        self._behaviour, self._value = parse_behaviour(behaviour)
        self.window = read_args(MockArgs, model_args).window
        self.tokenizer = tokenizer
        self.identity = {"spec": f"mock:{behaviour}"}
        self._times_asked: Counter[str] = Counter()

    def respond(self, request: Request) -> Response:
        """Answer at once (`sleep`: later); the same for the same request (`unsteady`: every other time)."""
        begun = time.perf_counter()
        if self._behaviour == "error":
            return Response(error=ModelError(self._value, f"mock error: {self._value}"), latency_s=0.0)
        if self._behaviour == "die" and request.cell and request.cell.depth == self._value:
            os._exit(1)
        if self._behaviour == "sleep":
            time.sleep(self._value)
        text = self._answer(request)
        self._times_asked[request.prompt.text_sha256] += 1
        seconds = time.perf_counter() - begun
        return Response(
            text=text,
            finish_reason="length" if self._behaviour == "ramble" else "stop",
            prompt_tokens=request.prompt.tokens,
            completion_tokens=len(self.tokenizer.encode(text).ids),
            latency_s=seconds,
            ttft_s=seconds,
        )

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _answer(self, request: Request) -> str:
        language = "zh" if _CJK.search(_question(request)) else "en"
        match self._behaviour:
            case "judge":
                return judge_reply(request.prompt.messages, self._value)
            case "refuse":
                return _REFUSAL[language]
            case "empty":
                return ""
            case "echo":
                return _question(request)
            case "ramble":
                # A token is a character or more, so this is enough text; what is over the budget is cut off.
                budget, encode = request.answer_budget + request.thinking_budget, self.tokenizer.encode
                sentences = budget // max(1, encode(_RAMBLE[language]).count - 1) + 1
                return self.tokenizer.decode(encode(_RAMBLE[language] * sentences).ids[:budget].tolist())
            case "distractor":
                distractors = [answer for needle in request.needles for answer in needle.distractor_answers]
                return answer_sentence(distractors[:1], language) if distractors else _wrong(request, language)
            case "unsteady" if self._times_asked[request.prompt.text_sha256] % 2:
                return _wrong(request, language)
            case _:
                is_right = self._knows(request)
                return answer_sentence(_answers(request), language) if is_right else _wrong(request, language)

    def _knows(self, request: Request) -> bool:
        cell = request.cell
        if self._behaviour == "wrong" or cell is None:
            return self._behaviour != "wrong"
        match self._behaviour:
            case "middle":
                return cell.depth is None or not _FORGOTTEN[0] < cell.depth < _FORGOTTEN[1]
            case "half":
                return cell.repeat % 2 == 0
            case "rate":
                return bool(_drawn(cell.id) < self._value)
            case "curve":
                return _drawn(cell.id) < chance_at(self._value, cell.length)
        return True


def _drawn(text: str) -> float:
    """A number in [0, 1) that a text always has."""
    return int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12], 16) / 16**12


def _question(request: Request) -> str:
    """The needles' questions, else the end of the last message (a prompt's question stands there)."""
    questions = dict.fromkeys(needle.question for needle in request.needles if needle.question)
    if questions:
        return "\n".join(questions)
    messages = request.prompt.messages
    return (messages[-1].content if messages else request.prompt.text).rstrip().rpartition("\n")[2][-500:]


def _answers(request: Request) -> list[str]:
    """The answers of a perfect model: the reference, and with several needles each of their answers."""
    several = [needle.answer for needle in request.needles if needle.answer] if len(request.needles) > 1 else []
    if not several:
        return [request.answer or "".join(needle.answer for needle in request.needles)]
    if not request.answer or any(request.answer == answer for answer in several):
        return several
    return [request.answer, *(answer for answer in several if answer not in request.answer)]


def _wrong(request: Request, language: str) -> str:
    taken = {
        text for needle in request.needles for text in (needle.answer, *needle.accepted, *needle.distractor_answers)
    }
    right = request.answer or (request.needles[0].answer if request.needles else "")
    return answer_sentence([wrong_answer(right, taken, language)], language)


_SECTION = re.compile(r"^\[(?:End of [^\]]+|(Question|Reference|Accepted answers|Answer(?: [AB])?))\]$", re.MULTILINE)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_ABSTAINS = ("not found", "没有提到")
_BLIND = "mock:judge knows the prompts of needlework alone; in another one give mock:judge=SHARE, which draws"


def judge_reply(messages: Sequence[Message], share: float | None) -> str:
    """The reply to a judge's prompt, a mark or verdict: the share of the reference's words in the answer.

    Words of the question do not count. Of two answers the one with more of them is better. `share`: so many of all
    answers, 0..1, are called right, whatever they say.
    """
    system, user = (messages[0].content, messages[-1].content) if messages else ("", "")
    if share is not None:
        return _reply(system, float(_drawn(user) < share))
    sections = _sections(user)
    question, reference = sections.get("Question", ""), sections.get("Reference", "")
    if "Answer A" in sections:
        first, second = (_recall(reference, sections.get(f"Answer {which}", ""), question) for which in "AB")
        return f"mock: by words alone. [[{'A' if first > second else 'B' if second > first else 'C'}]]"
    if "Answer" not in sections:
        return _BLIND
    answer = sections["Answer"]
    accepted = [line.removeprefix("- ") for line in sections.get("Accepted answers", "").splitlines() if line.strip()]
    if accepted or "Reference" in sections:
        return _reply(system, max(_recall(text, answer, question) for text in accepted or [reference]))
    return _reply(system, float(any(words in answer.casefold() for words in _ABSTAINS)))


def _reply(system: str, share: float) -> str:
    """`share` as the system text asks for it: `[[7]]`, a mark in JSON, else right or wrong."""
    if "double square brackets" in system:
        return f"mock: by words alone. [[{max(1, int(10 * share))}]]"
    if '"verdict"' in system:
        return f'{{"reasoning": "mock: by words alone", "verdict": {int(10 * share)}}}'
    return f'{{"reason": "mock: by words alone", "correct": {"true" if share == 1 else "false"}}}'


def _sections(user: str) -> Mapping[str, str]:
    """The parts of a message by name; of an answer that holds such a heading itself, all up to its end."""
    sections: dict[str, str] = {}
    headings = list(_SECTION.finditer(user))
    for heading, following in zip(headings, [*headings[1:], None], strict=False):
        name = heading[1]
        if name and name not in sections:
            end = following.start() if following and name != "Answer" else len(user)
            sections[name] = user[heading.end() : end].strip()
            if name == "Answer":
                break
    return sections


def _recall(reference: str, answer: str, question: str) -> float:
    """The share of the reference's words, those of the question left out, that the answer has."""
    expected, used, repeated = (set(_WORD.findall(text.casefold())) for text in (reference, answer, question))
    expected = expected - repeated or expected
    return len(expected & used) / len(expected) if expected else 0.0


_WRONG = {
    "en": ("a bowl of lentil soup", "Lisbon", "the old water mill", "a violin lesson", "Thursday"),
    "zh": ("一碗热汤面", "里斯本", "旧水磨坊", "一节小提琴课", "星期四"),
}
_RAMBLE = {
    "en": "Let me look at the passage once more, since it speaks of several things, one after another. ",
    "zh": "让我再看一遍这段文字，因为它依次谈到了好几件事情。",
}
_REFUSAL = {"en": "I'm sorry, but I can't help with that request.", "zh": "抱歉，我无法回答这个问题。"}
_NOTHING_ASKED = {"en": "OK.", "zh": "好的。"}
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")
_LONG_CHARS = 120  # no value of a needle has as many; a poem to give back has
_CJK = re.compile(r"[\u3400-\u9fff]")


def answer_sentence(answers: Sequence[str], language: str) -> str:
    """All answers in one sentence; sentences, lists in brackets and long texts stay as they are."""
    values = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    if not values:
        return _NOTHING_ASKED[language]
    if len(values) == 1 and (values[0].endswith((*_SENTENCE_ENDS, "]")) or len(values[0]) > _LONG_CHARS):
        return values[0]
    bare = [value.rstrip("".join(_SENTENCE_ENDS)) for value in values]
    if language == "zh":
        return f"答案是{'、'.join(bare)}。"
    if len(bare) == 1:
        return f"The answer is {bare[0]}."
    return f"The answers are {', '.join(bare[:-1])} and {bare[-1]}."


def wrong_answer(answer: str, taken: Collection[str], language: str) -> str:
    """A plausible answer that is neither right nor one of `taken`: other digits, or other words."""
    digits = "0123456789"
    for shift in range(1, 10) if any(char.isdigit() for char in answer) else ():
        changed = answer.translate(str.maketrans(digits, digits[shift:] + digits[:shift]))
        if changed != answer and changed not in taken:
            return changed
    words = _WRONG[language]
    first = int(sha256(answer.encode()).hexdigest()[:8], 16) % len(words)
    ordered = words[first:] + words[:first]
    return next((word for word in ordered if word not in answer and word not in taken), ordered[0])
