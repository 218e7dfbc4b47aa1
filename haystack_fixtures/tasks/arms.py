"""Arms of a question: controls, retrievers; which tasks `--length-means context` is for."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from needlework.core.errors import InputError
from needlework.core.prompts import guided
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation, Round
from needlework.haystack_fixtures.haystacks.documents import OtherDocuments
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.retrieval.search import chunk_sizes, missing_packages
from needlework.haystack_fixtures.tasks.task import Chunks, Context, FollowUp, Prose, Question, Task, bare
from needlework.haystack_fixtures.tasks.words import table

# `absent`: the text lacks what the answer needs; the right answer says so. `focused`: the text is only what the answer
# needs, or the shortest list: the score without the difficulty of length. `compacted`: the model first writes a summary
# of the text, and answers from that alone.
NOT_FOUND = {"en": "NOT FOUND", "zh": "没有提到"}


def split_label(label: str, controls: Sequence[str]) -> tuple[str, str]:
    """A needle label (`code_absent`) without its control, and which of the `controls` it is (empty for none)."""
    for control in controls:
        if label.endswith(f"_{control}"):
            return label.removesuffix(f"_{control}"), control
    return label, ""


def _text_kind(question: Question) -> str:
    return "conversation" if isinstance(question.context, Conversation | GrowingConversation) else "document"


def may_abstain(asked: Question, language: str) -> Question:
    """The question with the instruction to abstain; a control and its twin both have it."""
    if asked.abstains:
        return asked
    instruction = table("controls", language, _text_kind(asked))["abstain"]
    question = f"{asked.question}{'' if language == 'zh' else ' '}{instruction}"
    return replace(asked, question=question, reference=asked.reference | {"question": question})


def absent(question: Question, language: str, twin: str) -> Question:
    """The control `absent`: the question without the needles that its answer needs.

    A list that is the answer itself is replaced: by one `without` it, else by the corpus's prose.
    """
    context = question.context
    if isinstance(context, Listing) and (context.resolve is not None or not question.rests_on):
        context = Prose() if context.without is None else replace(context, units=context.without, resolve=None)
    needed = question.rests_on
    remaining = [number for number in range(len(question.needles)) if number not in needed]
    answer = NOT_FOUND[language]
    changes: dict[str, Any] = {"answers": (answer,), "parts": (), "absent": True, "control": "absent", "twin": twin}
    changes |= {"arm": "absent"} if isinstance(context, OtherDocuments) else {}
    return replace(
        question,
        needles=tuple(question.needles[number] for number in remaining),
        depths=tuple(question.depths[number] for number in remaining),
        needed=(),
        distractors=question.all_distractors,
        answer=answer,
        reference=question.reference | changes | {"chance": 0.0, "floor": 1.0},  # abstaining is always right here
        context=context,
    )


def focused(question: Question, twin: str) -> Question:
    """The control `focused`: only the needles that the answer needs, in the order of the document."""
    reference = question.reference | {"control": "focused", "twin": twin}
    if isinstance(question.context, GrowingConversation):
        ordered = sorted(range(len(question.needles)), key=lambda number: (question.depths[number], number))
        rounds = [Round(question.needles[number].ask, question.needles[number].text) for number in ordered]
        alone_turns = GrowingConversation(lambda n: rounds[:n], None, fewest=len(rounds), most=len(rounds))
        return replace(bare(question), reference=reference, context=alone_turns)
    listing = question.context if isinstance(question.context, Listing) else None
    others = question.context if isinstance(question.context, OtherDocuments) else None
    if listing is not None and (listing.resolve is not None or not question.rests_on):
        return replace(question, reference=reference, context=replace(listing, most=listing.fewest, fill=False))
    order = sorted(question.rests_on, key=lambda number: (question.depths[number], number))
    closes = others.separator if others else "\n"
    units = tuple(f"{question.needles[number].text}{closes}" for number in order)
    if others:
        names = tuple(question.needles[number].name for number in order)
        reference |= {"arm": "focused", "documents": names, "cut_document": None}
    alone = Listing(
        units=lambda _n: units,
        opening=listing.opening if listing else "",
        closing=listing.closing if listing else "",
        fewest=len(units),
        most=len(units),
        fill=False,
    )
    return replace(bare(question), reference=reference, context=alone)


def compacted(question: Question, suite: Suite, twin: str) -> Question:
    """The control `compacted`: a request for a summary of the text, then the question on that alone."""
    language = suite.language
    forms, kind = table("controls", language), table("controls", language, _text_kind(question))["text"]
    words = max(1, int(suite.answer_budget * forms["words_per_token"]))
    text = guided(question.question, language, joint=question.joint) if suite.guide else question.question
    return replace(
        question,
        question=forms["summarise"].format(text=kind, words=words),
        reference=question.reference | {"control": "compacted", "twin": twin, "follow_up": question.question},
        answer_prefix="",
        follow_up=FollowUp(text, "", "{second}", forms["summary"].replace("{text}", kind)),
        material=f"{question.material}\n{question.question}",
    )


# Each retriever is a series of cells of its own; its baseline is the whole documents (`--retriever none`).
OPTION = "--retriever"
AS_THEY_ARE = "none"
_LIBRARY = {"bm25": "bm25s", "dense": "sentence_transformers"}


def arms_of(task: Task, suite: Suite) -> tuple[str, ...]:
    """The retrievers of a suite, `none` left out."""
    named = suite.retriever if task.retrieves else ()
    return tuple(arm for arm in named if arm != AS_THEY_ARE)


def asks_whole(task: Task, suite: Suite) -> bool:
    """Whether a suite asks on whole documents too; always true for tasks without retrieval."""
    return not task.retrieves or AS_THEY_ARE in suite.retriever


def with_retriever(question: Question, arm: str, twin: str) -> Question:
    """The question with a retrieved context; `twin`: the label of that on the whole documents.

    Needles that are whole documents stay: they are searched, too.
    """
    reference = question.reference | {"retriever": arm, "twin": twin}
    if question.search is None:
        raise ValueError(f"the task does not say what {arm} is to search")
    if isinstance(question.context, OtherDocuments):
        return replace(question, context=Chunks(arm, question.search, question.context), reference=reference)
    return replace(bare(question), context=Chunks(arm, question.search), reference=reference)


def check_arms(suites: Sequence[tuple[Task, Suite]]) -> None:
    """Refuse `--retriever` without texts to search, chunks or embedder. Raises `InputError`."""
    retrievers = (suite.retriever for _, suite in suites)
    retrieving = {arm for each in retrievers for arm in each if arm != AS_THEY_ARE}
    if retrieving and not any(task.retrieves for task, _ in suites):
        names = ", ".join(dict.fromkeys(task.name for task, _ in suites))
        remedy = f"nothing can be retrieved for {names}: use a task on documents, such as those of L-Eval"
        raise InputError(OPTION, ",".join(sorted(retrieving)), remedy)
    for task, suite in suites:
        arms = arms_of(task, suite)
        if not arms:
            continue
        chunk_sizes(suite)
        if "dense" in arms:
            from needlework.haystack_fixtures.retrieval.embedders import check_embedder

            check_embedder(suite.embedder)
        for arm in arms:
            is_served = arm == "dense" and str(suite.embedder).startswith("openai:")
            if not is_served and find_spec(_LIBRARY[arm]) is None:
                raise missing_packages(arm)


def check_length_means(suite: Suite, context: Context) -> None:
    """Refuse `--length-means context` for texts that are not filled up to a length. Raises `InputError`.

    These are documents, conversations, and texts to copy.
    """
    if suite.length_means == "total" or isinstance(context, Prose) or (isinstance(context, Listing) and context.fill):
        return
    if isinstance(context, GrowingConversation | Conversation):
        asks = "conversations, whose turns are no text by itself"
    elif isinstance(context, Listing):
        asks = "a text that is as long as it is"
    else:
        asks = "documents as they are"
    remedy = f"{suite.task} asks about {asks}: its lengths are total; give it a run of its own (--task)"
    raise InputError("--length-means", "context", remedy)
