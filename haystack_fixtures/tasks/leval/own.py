"""L-Eval tasks of one's own: any jsonl file of its form is a task, named after the file.

What scores it is in its rows: `f1` and `rouge` as they say, and of `exam` what its references are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.leval.files import files_of, has_the_form, is_hub, read
from needlework.haystack_fixtures.tasks.leval.rows import OPTION, SCORED
from needlework.haystack_fixtures.tasks.leval.sources import SOURCES, Group, Source

_LETTERS = re.compile(r"\(?[A-D]{1,4}\)?[.):]?|(?:\([A-D]\)|[A-D][.)])\s.*", re.DOTALL)
_ONE_LETTER = re.compile(r"\(?[A-D]\)?[.):]?|(?:\([A-D]\)|[A-D][.)])\s.*", re.DOTALL)
_NUMBER = re.compile(r"[-−+]?[$€£¥]?\s?[\d.,]*\d(?:\s?/\s?\d+)?\s?%?")
_NAME = re.compile(r"[^a-z0-9]+")
_CHANCE = {"leval_letter": 1 / 4, "leval_letters": 1 / 15}


def own_rule(evaluation: str, answers: Iterable[str]) -> str:
    """The scorer of a file's rows. `answers`: its references, which tell an exam's: one letter (A-D), several, numbers,
    else words, which the answer has to give as the reference does.
    """
    if evaluation != "exam":
        return "leval_rouge" if evaluation == "rouge" else "leval_f1"
    golds = [answer.strip() for answer in answers]
    for pattern, rule in ((_ONE_LETTER, "letter"), (_LETTERS, "letters"), (_NUMBER, "math")):
        if golds and all(pattern.fullmatch(gold) for gold in golds):
            return f"leval_{rule}"
    return "leval_topic"


def own_sources(given: str | None) -> tuple[Source, ...]:
    """The tasks of one's own in `--leval-data`, in the order of their files.

    A file that is named has to be of the form; in a folder others are passed over. Raises `InputError`.
    """
    if given is None or is_hub(given):
        return ()
    published = {source.file for source in SOURCES}
    files = files_of(given)
    in_folder = Path(given).is_dir()
    found: dict[str, Source] = {}
    for path in files:
        if path.name in published or (in_folder and not has_the_form(path)):
            continue
        source = _source(path, tolerant=in_folder)
        taken = found.get(source.task) or next((each for each in SOURCES if each.task == source.task), None)
        if taken:
            remedy = f"its task would be {source.task}, as that of {taken.path or taken.file}: give it another name"
            raise InputError(OPTION, path, remedy)
        found[source.task] = source
    return tuple(found.values())


def _source(path: Path, *, tolerant: bool) -> Source:
    name = _NAME.sub("_", path.name.removesuffix(".jsonl").lower()).strip("_") or "own"
    try:
        items = read(path).items.values()
    except InputError:
        if not tolerant:
            raise
        items = {}.values()  # told when it is asked
    kinds = {item.evaluation for item in items} & set(SCORED)
    evaluation = min(kinds, default="f1")
    rule = own_rule(evaluation, [item.answer for item in items if item.evaluation == evaluation])
    group: Group = "closed" if evaluation == "exam" else "open"
    about = f"L-Eval's form: {path.name}, scored as its rows say ({evaluation})"
    return Source(f"leval_{name}", name, group, about, rule, _CHANCE.get(rule, 0.0), path=path)


def own_suite(source: Source) -> dict[str, str]:
    """How a task of one's own is asked: as L-Eval's own are."""
    shape = "leval-open" if source.group == "open" else "leval-letters" if source.scorer == "leval_letters" else ""
    return {
        "task": source.task,
        "language": "en",
        "prompt": shape or "leval-letter",
        "lengths": "16k",
        "depths": "0",
        "answer_budget": "512",
    }
