"""Pages on which people rate answers from 1 to 5, without knowing whose they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.core.errors import InputError
from needlework.core.grid import slug
from needlework.results.statistics.agreement import LEVELS, rating_tables
from needlework.results.style import counted
from needlework.results.web.app import Context, FormFields, ListRow, Page, document_html
from needlework.results.web.rated_answers import RatedItem, RatedItems, answer_order, item_order, read_items, sampled
from needlework.results.web.ratings import (
    Rater,
    RatingMark,
    RatingsContent,
    change_ratings,
    counts_file,
    label,
    ratings_file,
    ratings_of,
    read_ratings,
)
from needlework.results.web.store import StaleError, change_record, digest_of, read_record, utc_now

_ADDRESS = "/rating/"
_STATES = ("all", "open", "begun", "rated", "skipped")
_A_TEXT = 500  # characters of a needle that is a document, not a sentence put into one
_LONGEST_COMMENT = 10_000
_EditItem = Callable[[Rater, RatedItem, str], None]  # the last is the seed


@dataclass(frozen=True, slots=True)
class _Rating:
    """What all addresses share. `left_out`: how many trials are not rated."""

    context: Context
    items: RatedItems
    left_out: int

    def content(self) -> RatingsContent:
        return read_ratings(self.context.state)

    def item(self, content: RatingsContent, request: Request, person: str) -> RatedItem:
        """The item at the address's number in this person's order."""
        order = item_order(content.seed, person, self.items.items)
        number: int = request.path_params["number"]
        if number >= len(order):
            raise HTTPException(404, "there is no such question")
        return order[number]

    def after(self, content: RatingsContent, rater: Rater, number: int) -> str:
        """The address of the next question that is not rated or skipped, of the list where there is none."""
        order = item_order(content.seed, rater.name, self.items.items)
        numbers = [*range(number + 1, len(order)), *range(min(number + 1, len(order)))]
        following = next((each for each in numbers if rater.state(order[each]) in ("open", "begun")), None)
        return _ADDRESS if following is None else f"{_ADDRESS}{following}"

    def state(self) -> str:
        """What there is, and who has begun."""
        models = counted(len(self.items.models), "model")
        mock = ": mock models, to try the page with" * all(model.startswith("mock") for model in self.items.models)
        names = ", ".join(rater.name for rater in self.content().raters) or "nobody"
        return f"{counted(len(self.items.items), 'question')}, answers of {models}{mock}; begun by {names}"


def open_pages(context: Context) -> list[Page]:
    """The page, where there are answers to rate. Raises `InputError` for a file that cannot be read."""
    sources, items = context.sources, read_items(context.sources)
    if not items.items:
        return []
    change_ratings(
        context.state, lambda _content: None
    )  # what cannot be written is refused now, not at the first click
    drawn = sampled(items.items, sources.rate_questions, sources.rate_contexts)
    rating = _Rating(context, replace(items, items=drawn), len(items.items) - len(drawn))
    routes = [
        context.reading("/", partial(_show_list, rating)),
        context.reading("/results", partial(_show_results, rating)),
        context.changing("/show", partial(_show_names, rating)),
        context.changing("/write", partial(_write_files, rating)),
        context.reading("/{number:int}", partial(_show_item, rating)),
        context.reading("/{number:int}/document", partial(_show_document, rating)),
        context.changing("/{number:int}/rate", partial(_rate, rating)),
        context.changing("/{number:int}/skip", partial(_skip, rating)),
    ]
    about = "Give models' answers 1 to 5, without knowing whose they are."
    return [Page(_ADDRESS, "Rate answers", about, routes, rating.state)]


def _show_list(rating: _Rating, request: Request, person: str) -> Response:
    content = rating.content()
    rater, order = content.rater(person), item_order(content.seed, person, rating.items.items)
    rows = [ListRow(f"{_ADDRESS}{number}", item.question, rater.state(item)) for number, item in enumerate(order)]
    done = [sum(row.state == state for row in rows) for state in ("rated", "skipped")]
    return rating.context.show_list(
        request,
        "rating",
        rows,
        _STATES,
        title="Rate answers",
        items=rating.items,
        left_out=rating.left_out,
        counts=f"{len(order)} questions: {done[0]} rated, {done[1]} skipped",
        done=sum(done),
        total=len(order),
        following=rating.after(content, rater, -1),
        begun=bool(content.raters),
    )


def _show_item(rating: _Rating, request: Request, person: str) -> Response:
    content, number, total = rating.content(), request.path_params["number"], len(rating.items.items)
    rater, item = content.rater(person), rating.item(content, request, person)
    order = answer_order(content.seed, person, item)
    marks = [rater.mark(item, same) for same in order]
    chosen = request.query_params.get("answer", "")
    first_open = next((index for index, mark in enumerate(marks) if mark.rating is None), 0)
    # Without the blanks around it: how an answer begins tells one model from another.
    texts = [same[0].text.strip() for same in order]
    return rating.context.show(
        request,
        "rate",
        title=f"Question {number + 1} of {total}",
        list=_ADDRESS,
        number=number,
        total=total,
        item=item,
        answers=[(label(n), text, mark) for n, (text, mark) in enumerate(zip(texts, marks, strict=True))],
        chosen=int(chosen) if chosen in map(str, range(len(order))) else first_open,
        levels=LEVELS,
        skipped=rater.skipped.get(item.id),
        seen=_digest(rater, item),
        next_open=rating.after(content, rater, number),
    )


def _digest(rater: Rater, item: RatedItem) -> str:
    return digest_of(msgspec.json.encode([rater.marks.get(item.id, {}), rater.skipped.get(item.id)]))


def _show_document(rating: _Rating, request: Request, person: str) -> Response:
    item = rating.item(rating.content(), request, person)
    if item.document is not None:
        return document_html(list(rating.items.documents)[item.document])
    if item.trial is None:
        raise HTTPException(404, "there is no such document")
    prompt = rating.context.rebuild(*item.trial)
    documents = [each for each in prompt.needles if each[2] - each[1] >= _A_TEXT]
    if not documents:
        return document_html(prompt.text[slice(*prompt.context)], "Context")
    text = "\n\n".join(prompt.text[first:last] for _, first, last in documents)
    return document_html(text, ", ".join(name for name, _, _ in documents))


def _change_item(rating: _Rating, request: Request, person: str, form: FormFields, edit: _EditItem) -> str:
    """Change what a person gave an item; moves on to the next open question once all of it is rated or skipped."""
    number = request.path_params["number"]
    address = [f"{_ADDRESS}{number}"]

    def change(content: RatingsContent) -> None:
        rater, item = content.rater(person), rating.item(content, request, person)
        if form.text("seen") != _digest(rater, item):
            raise StaleError(f"question {number + 1}")
        before = rater.state(item)
        edit(rater, item, content.seed)
        if all(each is not rater for each in content.raters):
            content.raters.append(rater)
        if before in ("open", "begun") and rater.state(item) in ("rated", "skipped"):
            address.append(rating.after(content, rater, number))

    change_ratings(rating.context.state, change)
    return address[-1]


def _rate(rating: _Rating, request: Request, person: str, form: FormFields) -> str:
    """Keep a rating, and all comments. `rate`: answer and level, as `2:5`; the level that stands is taken back."""
    comments, rate = form.texts("comment", _LONGEST_COMMENT), form.text("rate", 9)

    def edit(rater: Rater, item: RatedItem, seed: str) -> None:
        order = answer_order(seed, person, item)
        levels = {f"{index}:{level}": (index, level) for index in range(len(order)) for level in LEVELS}
        if len(comments) != len(order) or (rate and rate not in levels):
            raise InputError("rate", rate, "give an answer and 1 to 5, as 0:5, and a comment for each answer")
        chosen, level = levels.get(rate, (None, None))
        for index, (same, comment) in enumerate(zip(order, comments, strict=True)):
            mark = msgspec.structs.replace(rater.mark(item, same), comment=comment)
            if index == chosen:
                rating_now = None if mark.rating == level else level
                mark = msgspec.structs.replace(mark, rating=rating_now, at=utc_now())
                rater.skipped.pop(item.id, None)
            if mark != RatingMark():
                rater.marks.setdefault(item.id, {}).update({each.id: mark for each in same})

    return _change_item(rating, request, person, form, edit)


def _skip(rating: _Rating, request: Request, person: str, form: FormFields) -> str:
    """Keep that an item cannot be rated, or take that back."""
    reason = form.text("reason", _LONGEST_COMMENT)

    def edit(rater: Rater, item: RatedItem, _seed: str) -> None:
        if rater.skipped.pop(item.id, None) is None:
            rater.skipped[item.id] = RatingMark(comment=reason, at=utc_now())

    return _change_item(rating, request, person, form, edit)


def _show_results(rating: _Rating, request: Request, _person: str) -> Response:
    """Tables, once they were asked for: whoever begins later closes them again."""
    content, items, with_late = rating.content(), rating.items, request.query_params.get("late") == "1"
    ratings = [each for rater in content.raters for each in ratings_of(items, rater)]
    states = [(rater, [rater.state(item) for item in items.items]) for rater in content.raters]
    return rating.context.show(
        request,
        "results",
        title="Ratings",
        list=_ADDRESS,
        items=items,
        raters=[(rater, far.count("rated"), far.count("skipped")) for rater, far in states],
        tables=rating_tables([each for each in ratings if with_late or not each.late]) if _is_shown(content) else None,
        late=sum(each.late for each in ratings),
        with_late=with_late,
        folder=_folder(rating),
        levels=LEVELS,
        files=list(_files(rating)),
    )


def _is_shown(content: RatingsContent) -> bool:
    return bool(content.raters) and all(rater.shown for rater in content.raters)


def _show_names(rating: _Rating, _request: Request, _person: str, _form: FormFields) -> str:
    def change(content: RatingsContent) -> None:
        for rater in content.raters:
            rater.shown = rater.shown or utc_now()

    change_ratings(rating.context.state, change)
    return f"{_ADDRESS}results"


def _folder(rating: _Rating) -> Path:
    """Where files are written: beside the first answers."""
    sources = rating.context.sources
    if len(sources.runs) == 1:
        return sources.runs[0]
    return (*sources.runs, *sources.predictions, *sources.annotated)[0].parent


def _files(rating: _Rating) -> dict[str, bytes]:
    """The files of all raters, which name the models: none before names are shown."""
    content, items = rating.content(), rating.items
    raters = content.raters if _is_shown(content) else []
    counts = {f"results_from_{slug(rater.name)}.jsonl": counts_file(items, rater) for rater in raters}
    return counts | {
        f"ratings_from_{slug(each.name)}.jsonl": ratings_file(items, content.seed, each) for each in raters
    }


def _write_files(rating: _Rating, _request: Request, _person: str, form: FormFields) -> str:
    """Write all files beside the answers; over ones of other content only where the form says so."""
    files = {_folder(rating) / name: content for name, content in _files(rating).items()}
    for path, content in files.items():
        if form.text("replace") != "1" and read_record(path) not in (b"", content):
            raise InputError("file", path, "is there already, with other content: tick that files are replaced")
    for path, content in files.items():
        change_record(path, partial(lambda new, _before: new, content))
    return f"{_ADDRESS}results"
