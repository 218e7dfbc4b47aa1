"""Pages on which people rate answers from 1 to 5, without knowing whose they are."""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.results.statistics.agreement import LEVELS, rating_tables
from needlework.results.style import counted
from needlework.results.web import app, ratings

_ADDRESS = "/rating/"
_STATES = ("open", "begun", "rated", "skipped")
_DOCUMENT = 500  # characters; a needle from this length on is a document, not a sentence


def open_pages(context: app.Context) -> list[app.Page]:
    """The rating page, if there are answers to rate. Raises `InputError` for a file that cannot be read."""
    items = ratings.read_items(context.sources)
    if not items.items:
        return []
    ratings.change_ratings(context.sources.ratings, lambda _: None)  # refuses a file that cannot be written
    pages = _RatingPages(context, items)
    routes = [
        context.reading("/", pages.show_list),
        context.reading("/results", pages.show_results),
        context.changing("/show", pages.show_names),
        context.changing("/write", pages.write_files),
        context.reading("/{number:int}", pages.show_item),
        context.reading("/{number:int}/document", pages.show_document),
        context.changing("/{number:int}/rate", pages.rate),
        context.changing("/{number:int}/skip", pages.skip),
    ]
    about = "Give models' answers 1 to 5, without knowing whose they are."
    return [app.Page(_ADDRESS, "Rate answers", about, routes, pages.state)]


Edit = Callable[[ratings.Rater, ratings.RatedItem, str], None]


class _RatingPages:
    """The handlers of the rating pages. An item's number is its place in the order of the person who asks."""

    def __init__(self, context: app.Context, items: ratings.RatedItems) -> None:
        drawn = ratings.sample_items(items.items, context.sources.rate_questions)
        self._context = context
        self._path = context.sources.ratings
        runs, files = context.sources.runs, (*context.sources.predictions, *context.sources.annotated)
        self._folder = runs[0] if len(runs) == 1 else (*runs, *files)[0].parent  # of exported files
        self._items = replace(items, items=drawn)
        self._left_out = len(items.items) - len(drawn)

    def state(self) -> str:
        """The line of the start page: questions, models, and who has begun."""
        models = counted(len(self._items.models), "model")
        names = ", ".join(rater.name for rater in ratings.read_ratings(self._path).raters) or "nobody"
        return f"{counted(len(self._items.items), 'question')}, answers of {models}; begun by {names}"

    def show_list(self, request: Request, person: str) -> Response:
        content = ratings.read_ratings(self._path)
        rater, order = content.rater(person), self._order(content, person)
        rows = [app.ListRow(f"{_ADDRESS}{at}", item.question, rater.state(item)) for at, item in enumerate(order)]
        rated, skipped = (sum(row.state == state for row in rows) for state in ("rated", "skipped"))
        return self._context.show_list(
            request,
            "rating",
            rows,
            _STATES,
            title="Rate answers",
            items=self._items,
            left_out=self._left_out,
            counts=f"{len(order)} questions: {rated} rated, {skipped} skipped",
            following=self._next_open(content, rater, -1),
            begun=bool(content.raters),
        )

    def show_item(self, request: Request, person: str) -> Response:
        content, number, total = ratings.read_ratings(self._path), request.path_params["number"], len(self._items.items)
        rater, item = content.rater(person), self._item(content, request, person)
        order = ratings.answer_order(content.seed, person, item)
        marks = [rater.mark(item, answer) for answer in order]
        chosen = request.query_params.get("answer", "")
        unrated = next((index for index, mark in enumerate(marks) if mark.rating is None), 0)
        return self._context.show(
            request,
            "rate",
            title=f"Question {number + 1} of {total}",
            list=_ADDRESS,
            number=number,
            total=total,
            item=item,
            answers=[(ratings.label(at), order[at].text, mark) for at, mark in enumerate(marks)],
            chosen=int(chosen) if chosen in map(str, range(len(order))) else unrated,
            levels=LEVELS,
            skipped=rater.skipped.get(item.id),
            seen=_digest(rater, item),
            next_open=self._next_open(content, rater, number),
        )

    def show_document(self, request: Request, person: str) -> Response:
        item = self._item(ratings.read_ratings(self._path), request, person)
        if item.document is not None:
            return self._context.show_document(request, item.document, "Document")
        if item.trial is None:
            raise HTTPException(404, "there is no such document")
        prompt = self._context.rebuild(*item.trial)
        documents = [needle for needle in prompt.placed if needle.end - needle.start >= _DOCUMENT]
        if not documents:
            return self._context.show_document(request, prompt.text[slice(*prompt.context)], "Context")
        text = "\n\n".join(prompt.text[needle.start : needle.end] for needle in documents)
        return self._context.show_document(request, text, ", ".join(needle.name for needle in documents))

    def rate(self, request: Request, person: str, form: app.FormFields) -> str:
        """Store a rating and all comments. `rate`: answer and level (`2:5`); the same level again removes it."""
        comments, rate = form.getlist("comment"), form.get("rate", "")

        def edit(rater: ratings.Rater, item: ratings.RatedItem, seed: str) -> None:
            order = ratings.answer_order(seed, person, item)
            levels = {f"{index}:{level}": (index, level) for index in range(len(order)) for level in LEVELS}
            if len(comments) != len(order) or (rate and rate not in levels):
                raise InputError("rate", rate, "give an answer and 1 to 5, as 0:5, and a comment for each answer")
            chosen, level = levels.get(rate, (None, None))
            for index, (answer, comment) in enumerate(zip(order, comments, strict=True)):
                mark = replace(rater.mark(item, answer), comment=comment)
                if index == chosen:
                    mark = replace(mark, rating=None if mark.rating == level else level, at=app.utc_now())
                    rater.skipped.pop(item.id, None)
                if mark != ratings.RatingMark():
                    rater.marks.setdefault(item.id, {})[answer.id] = mark

        return self._change(request, person, form, edit)

    def skip(self, request: Request, person: str, form: app.FormFields) -> str:
        """Mark an item as one that cannot be rated, or remove that mark."""
        reason = form.get("reason", "")

        def edit(rater: ratings.Rater, item: ratings.RatedItem, _seed: str) -> None:
            if rater.skipped.pop(item.id, None) is None:
                rater.skipped[item.id] = ratings.RatingMark(comment=reason, at=app.utc_now())

        return self._change(request, person, form, edit)

    def show_results(self, request: Request, _person: str) -> Response:
        """The tables, once everybody who has begun asked for them; a new person hides them again."""
        content = ratings.read_ratings(self._path)
        rated = [rating for rater in content.raters for rating in ratings.ratings_of(self._items, rater)]
        states = [(rater, [rater.state(item) for item in self._items.items]) for rater in content.raters]
        return self._context.show(
            request,
            "results",
            title="Ratings",
            list=_ADDRESS,
            items=self._items,
            raters=[(rater, item_states.count("rated"), item_states.count("skipped")) for rater, item_states in states],
            tables=rating_tables([rating for rating in rated if not rating.late]) if content.is_shown else None,
            late=sum(rating.late for rating in rated),
            folder=self._folder,
            levels=LEVELS,
            files=list(ratings.rating_files(self._items, content)),
        )

    def show_names(self, _request: Request, _person: str, _form: app.FormFields) -> str:
        """Record that everybody who has begun may see the names."""

        def change(content: ratings.RatingsContent) -> None:
            for rater in content.raters:
                rater.shown = rater.shown or app.utc_now()

        ratings.change_ratings(self._path, change)
        return f"{_ADDRESS}results"

    def write_files(self, _request: Request, _person: str, form: app.FormFields) -> str:
        """Write all files beside the answers; replaces files of other content only if the form says so."""
        files = ratings.rating_files(self._items, ratings.read_ratings(self._path))
        for name, text in files.items():
            if form.get("replace") != "1" and app.read_record(self._folder / name) not in (b"", text):
                remedy = "is there already, with other content: tick that files are replaced"
                raise InputError("file", self._folder / name, remedy)
        for name, text in files.items():
            write_whole(self._folder / name, text)
        return f"{_ADDRESS}results"

    def _order(self, content: ratings.RatingsContent, person: str) -> list[ratings.RatedItem]:
        return ratings.item_order(content.seed, person, self._items.items)

    def _item(self, content: ratings.RatingsContent, request: Request, person: str) -> ratings.RatedItem:
        number: int = request.path_params["number"]
        if number >= len(self._items.items):
            raise HTTPException(404, "there is no such question")
        return self._order(content, person)[number]

    def _next_open(self, content: ratings.RatingsContent, rater: ratings.Rater, number: int) -> str:
        """The address of the next question that is not rated or skipped, of the list where there is none."""
        states = [rater.state(item) in ("open", "begun") for item in self._order(content, rater.name)]
        following = app.first_open(states, number)
        return _ADDRESS if following is None else f"{_ADDRESS}{following}"

    def _change(self, request: Request, person: str, form: app.FormFields, edit: Edit) -> str:
        """Store a person's change of an item (`edit` also gets the seed); returns the next address."""
        number = request.path_params["number"]
        address = [f"{_ADDRESS}{number}"]

        def change(content: ratings.RatingsContent) -> None:
            rater, item = content.rater(person), self._item(content, request, person)
            if form.get("seen") != _digest(rater, item):
                raise app.StaleError(f"question {number + 1}")
            before = rater.state(item)
            edit(rater, item, content.seed)
            if all(other is not rater for other in content.raters):
                content.raters.append(rater)
            if before in ("open", "begun") and rater.state(item) in ("rated", "skipped"):
                address.append(self._next_open(content, rater, number))

        ratings.change_ratings(self._path, change)
        return address[-1]


def _digest(rater: ratings.Rater, item: ratings.RatedItem) -> str:
    return app.digest_of(msgspec.json.encode([rater.marks.get(item.id, {}), rater.skipped.get(item.id)]))
