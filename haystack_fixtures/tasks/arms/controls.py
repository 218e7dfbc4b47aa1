"""Controls of a task: its questions without what they ask for, and with nothing else.

`absent`: what the answer rests on is not in the text; right is to say so. `focused`: the text is what the answer rests
on and nothing else, or the shortest list: what a model can do where length is no difficulty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needlework.haystack_fixtures.haystacks.conversation import GrowingConversation, Round
from needlework.haystack_fixtures.haystacks.given_conversation import Conversation
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.haystacks.whole_documents import OtherDocuments
from needlework.haystack_fixtures.tasks.task import Asked, Prose, bare

CONTROLS = ("absent", "focused")
NOT_FOUND = {"en": "NOT FOUND", "zh": "没有提到"}
_INSTRUCTION = {
    "en": "If the document does not say, reply exactly: NOT FOUND.",
    "zh": "如果文档中没有提到，请只回答：没有提到。",
}
_IN_TURNS = {
    "en": "If our conversation has none, reply exactly: NOT FOUND.",
    "zh": "如果我们的对话中没有，请只回答：没有提到。",
}


def control_label(label: str, control: str) -> str:
    """The needle label of a control: `code_absent`."""
    return f"{label}_{control}"


def split_label(label: str, controls: Sequence[str]) -> tuple[str, str]:
    """A needle label without its control, and which of the `controls` it is (empty for none)."""
    for control in controls:
        if label.endswith(f"_{control}"):
            return label.removesuffix(f"_{control}"), control
    return label, ""


def may_abstain(asked: Asked, language: str) -> Asked:
    """The same with the words that allow to abstain: both arms of a twin have them."""
    if asked.abstains:
        return asked
    words = _IN_TURNS if isinstance(asked.context, Conversation | GrowingConversation) else _INSTRUCTION
    question = f"{asked.question}{'' if language == 'zh' else ' '}{words[language]}"
    return replace(asked, question=question, reference=asked.reference | {"question": question})


def absent(asked: Asked, language: str, twin: str) -> Asked:
    """The trial without what its answer rests on; a list that is all of it gives way to the corpus's prose.

    Unless the list can be made without it.
    """
    context = asked.context
    if isinstance(context, Listing) and (context.resolve is not None or not asked.rests_on):
        context = Prose() if context.without is None else replace(context, units=context.without, resolve=None)
    needed = asked.rests_on
    kept = [number for number in range(len(asked.needles)) if number not in needed]
    said = NOT_FOUND[language]
    return replace(
        asked,
        needles=tuple(asked.needles[number] for number in kept),
        depths=tuple(asked.depths[number] for number in kept),
        needed=(),
        distractors=asked.all_distractors,
        answer=said,
        reference=asked.reference
        # Who always abstains is always right here.
        | {
            "answers": (said,),
            "parts": (),
            "absent": True,
            "control": "absent",
            "twin": twin,
            **({"arm": "absent"} if isinstance(context, OtherDocuments) else {}),
            "chance": 0.0,
            "floor": 1.0,
        },
        context=context,
    )


def focused(asked: Asked, twin: str) -> Asked:
    """The trial with nothing but what its answer rests on, in the order of the document; as short as it is."""
    reference = asked.reference | {"control": "focused", "twin": twin}
    if isinstance(asked.context, GrowingConversation):
        ordered = sorted(range(len(asked.needles)), key=lambda number: (asked.depths[number], number))
        rounds = [Round(asked.needles[number].ask, asked.needles[number].text) for number in ordered]
        alone_turns = GrowingConversation(lambda n: rounds[:n], None, fewest=len(rounds), most=len(rounds))
        return replace(bare(asked), reference=reference, context=alone_turns)
    listing = asked.context if isinstance(asked.context, Listing) else None
    others = asked.context if isinstance(asked.context, OtherDocuments) else None
    if listing is not None and (listing.resolve is not None or not asked.rests_on):
        return replace(asked, reference=reference, context=replace(listing, most=listing.fewest, fill=False))
    order = sorted(asked.rests_on, key=lambda number: (asked.depths[number], number))
    closes = others.separator if others else "\n"
    units = tuple(f"{asked.needles[number].text}{closes}" for number in order)
    if others:
        names = tuple(asked.needles[number].name for number in order)
        reference |= {"arm": "focused", "documents": names, "cut_document": None}
    alone = Listing(
        units=lambda _n: units,
        opening=listing.opening if listing else "",
        closing=listing.closing if listing else "",
        fewest=len(units),
        most=len(units),
        fill=False,
    )
    return replace(bare(asked), reference=reference, context=alone)
