"""Answers that are rated: items, samples, order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from needlework.core.draws import draws, shuffled
from needlework.results.style import one_line
from needlework.results.web.rating_marks import GivenAnswer, Read

Asked = tuple[str, tuple[str, ...], str, int]


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """One model's answer. `id`: stays the same while item, model and text do, so that a rating is of this text."""

    id: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class RatedItem:
    """A question with its answers, in the order of the models' names. `document`: its number, if known.

    `group`: what it shares with other items, whose ratings are then not independent. `trial`: the run and the record's
    id, of which the context can be built again; `plain`: it was asked as the task asks it.
    """

    id: str
    question: str
    references: tuple[str, ...]
    answers: tuple[RatedAnswer, ...]
    document: int | None
    group: str
    trial: tuple[Path, str] | None = None
    plain: bool = True

    @property
    def texts(self) -> tuple[tuple[RatedAnswer, ...], ...]:
        """The answers by what they say: equal ones are shown, and rated, once."""
        found: dict[str, list[RatedAnswer]] = {}
        for answer in self.answers:
            found.setdefault(answer.text.strip(), []).append(answer)
        return tuple(map(tuple, found.values()))


@dataclass(frozen=True, slots=True)
class Items:
    """All there is to rate. `broken`: what could not be read. `grouped`: some items are known to share a document."""

    items: tuple[RatedItem, ...]
    documents: tuple[str, ...]
    broken: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Whose answers they are."""
        return tuple(sorted({answer.model for item in self.items for answer in item.answers}))

    @property
    def grouped(self) -> bool:
        """Whether some items are known to belong together."""
        return len({item.group for item in self.items}) < len(self.items)


def items_of(read: Read) -> Items:
    """Join the answers to the same question.

    A question that a file has more than once is as many items, in its order. Where two files have answers of one model
    to one question, and other ones, these are two models, and the file's name is added to the model's. The same answers
    under two scorers are of one model.
    """
    keyed = {source: list(_keyed(answers)) for source, answers in read.answers.items()}
    texts: dict[tuple[Asked, str], set[str]] = defaultdict(set)
    for answers in keyed.values():
        for key, model, given in answers:
            texts[key, model].add(given.text)
    twice = {model for (_, model), said in texts.items() if len(said) > 1}
    joined: dict[Asked, dict[str, GivenAnswer]] = defaultdict(dict)
    for source, answers in keyed.items():
        for key, model, given in answers:
            joined[key][f"{model} ({one_line(source)})" if model in twice else model] = given
    return Items(
        tuple(_item(key, answers, read.documents.of) for key, answers in joined.items()),
        read.documents.texts,
        read.broken,
    )


def _keyed(answers: Sequence[GivenAnswer]) -> Iterator[tuple[Asked, str, GivenAnswer]]:
    """Each answer with what it is joined by, and its model as it can be shown."""
    seen: Counter[tuple[object, ...]] = Counter()
    for given in answers:
        asked, model = (given.question, given.references, given.id), one_line(given.model)
        yield (*asked, seen[(*asked, model)]), model, given
        seen[(*asked, model)] += 1


def _item(key: Asked, answers: Mapping[str, GivenAnswer], documents: Mapping[tuple[str, str], int]) -> RatedItem:
    first = next(iter(answers.values()))
    number = documents.get(first.asked)
    question, references, record, time = key
    name = _digest(question, str(len(references)), *references, record, str(time))
    group = next((given.group for given in answers.values() if given.group), "")
    models = sorted(answers)
    return RatedItem(
        id=name,
        question=question,
        references=references,
        answers=tuple(
            RatedAnswer(_digest(name, model, answers[model].text), model, answers[model].text) for model in models
        ),
        document=number,
        group=_digest(group or (name if number is None else f"document {number}")),
        trial=None if first.run is None else (first.run, record),
        plain=all(given.plain for given in answers.values()),
    )


def _digest(*parts: str) -> str:
    told = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        told.update(len(data).to_bytes(8, "big") + data)
    return told.hexdigest()[:24]


def sampled(items: Sequence[RatedItem], questions: int | None, contexts: int) -> tuple[RatedItem, ...]:
    """Of each question of a run so many of its contexts, of all questions so many, in their order.

    A question with its answer taken out, or after a search, is the same question; contexts in which the task asks it as
    it is come first. Then those that the most models answered; among equals the draw is by the item's id, the same for
    everyone.
    """
    asked: dict[tuple[object, ...], list[RatedItem]] = defaultdict(list)
    plain = {item.question: item.references for item in items if item.trial and item.plain}
    for item in items:
        references = item.references if item.plain else plain.get(item.question, item.references)
        asked[(item.question, references) if item.trial else (item.id,)].append(item)
    kept = [found[:contexts] for found in (sorted(each, key=_wanted) for each in asked.values())]
    if questions is not None:
        kept = sorted(kept, key=lambda found: found[0].id)[:questions]
    chosen = {item.id for found in kept for item in found}
    return tuple(item for item in items if item.id in chosen)


def _wanted(item: RatedItem) -> tuple[bool, int, str]:
    return not item.plain, -len(item.answers), item.id


def item_order(seed: str, annotator: str, items: Sequence[RatedItem]) -> list[RatedItem]:
    """The items, those of one group together: who has read a document answers all that is asked about it."""
    groups: dict[str, list[RatedItem]] = defaultdict(list)
    for item in sorted(items, key=lambda each: each.id):
        groups[item.group].append(item)
    drawn = shuffled(draws("rating groups", seed, annotator.casefold()), sorted(groups))
    return [
        item
        for group in drawn
        for item in shuffled(draws("rating items", seed, annotator.casefold(), group), groups[group])
    ]


def answer_order(seed: str, annotator: str, item: RatedItem) -> list[tuple[RatedAnswer, ...]]:
    """An item's answers in the order of their labels A, B, C; equal ones have one label."""
    return shuffled(draws("rating answers", seed, annotator.casefold(), item.id), item.texts)


def label(place: int) -> str:
    """A for the first, Z for the 26th, then AA."""
    name = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        name = chr(ord("A") + letter) + name
    return name
