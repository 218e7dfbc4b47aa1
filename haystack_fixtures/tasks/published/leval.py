"""L-Eval tasks."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.options import HUB
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.haystacks.documents import Document
from needlework.haystack_fixtures.retrieval.search import Search
from needlework.haystack_fixtures.tasks.published.leval_files import (
    LEVAL_TASKS,
    OPTION,
    SCORED,
    LevalFile,
    LevalQuestion,
    LevalTask,
    files_of,
    find_file,
    has_leval_form,
    read_leval_file,
    read_task,
)
from needlework.haystack_fixtures.tasks.task import FollowUp, Question, Task, no_depths

# The document stands first and the question last, so that what the questions of a document share is computed once.
# Questions, documents and references are the user's copy of the data; what stands around them is ours.
FAMILY = "leval"
_IN_THE_STORY = "based on the world described in the document"
_IN_THE_WORLD = "based on what is known of the real world"
_JUDGED = "Judge this by what is known of the real world."
_TRUE_OR_FALSE = "Reply with True or False, nothing else."
_FACT = " [fact: "
_OPTION_TEXT = re.compile(r"^\W*([A-D])\W+(.+)$", re.MULTILINE)
# References that are no words of the document: results, and verdicts.
_NO_WORDS = ("gsm100", "codeU", "sci_fi")


def _data(suite: Suite) -> str:
    if suite.leval_data is None:
        raise InputError(OPTION, "", f"{suite.task} is of L-Eval: name your copy of its data with {OPTION} DIR")
    return suite.leval_data


def _file(task: LevalTask, suite: Suite) -> LevalFile:
    return read_task(_data(suite), task)


def _labels(task: LevalTask, suite: Suite) -> tuple[str, ...]:
    return tuple(item.label for item in _file(task, suite).of(suite.leval_subset))


def _corpus(task: LevalTask, suite: Suite) -> Corpus:
    file = _file(task, suite)
    return Corpus(
        name=f"L-Eval {task.name}",
        language="en",
        licence="yours" if task.path else "GPL-3.0; documents have terms of their own",
        source=str(task.path) if task.path else "https://github.com/OpenLMLab/LEval",
        documents=file.documents,
        sha256=file.sha256,
    )


def _check(suites: Sequence[Suite]) -> None:
    """Refuse, in one line, suites of a run that cannot be asked."""
    data = _data(suites[0])
    user_tasks = find_own_tasks(data)
    by_name = {task.task: task for task in (*LEVAL_TASKS.values(), *user_tasks)}
    tasks = {suite.task: by_name[suite.task] for suite in suites}
    for suite in suites:
        if suite.controls:
            remedy = "where a document of L-Eval has its answers is not known: leave it out"
            raise InputError("--controls", ",".join(suite.controls), remedy)
    absent = [task for task in tasks.values() if find_file(data, task) is None]
    if absent:
        present = [name for name, task in tasks.items() if task not in absent]
        what = ", ".join(f"{task.file} ({task.task})" for task in absent)
        present = present or [task.task for task in user_tasks]
        leave_out = f", or leave out what is absent: --preset leval --task {','.join(present)}" if present else ""
        raise InputError(OPTION, data, f"has no {what}; add it{leave_out}")
    if not any(_labels(tasks[suite.task], suite) for suite in suites):
        remedy = f"{suites[0].task} has no such rows: use --leval-subset scored, or preset leval-open"
        raise InputError("--leval-subset", suites[0].leval_subset, remedy)


def _ask(task: LevalTask, suite: Suite, cell: Cell, _seed: int) -> Question:
    file = _file(task, suite)
    item = file.items[cell.needle]
    question, reference = item.question.strip(), _reference(task, suite, file, item)
    if task.group == "open" and suite.leval_length_hint:
        # L-Eval's rule: the reference's words as blanks part them. It tells the model how long the reference is.
        words = len(item.answer.split())
        question += f"\nWrite about {words} word{'' if words == 1 else 's'}."
        reference["length_hint"] = words
    answer, then = item.answer, None
    if task.name == "sci_fi":
        answer, then = _twice(item)
        reference["follow_up"] = then.question
    truncation = "none" if suite.no_truncate else suite.leval_truncation
    return Question(
        question=question,
        answer=answer,
        reference=reference,
        context=Document(file.documents[item.document], task.keep, truncation),
        follow_up=then,
        material=f"{task.keep} {truncation}" + (f"\n{then.question}" if then else ""),
        # A retriever has the whole document, however much of it would be left.
        search=Search(
            texts=((f"doc{item.document}", file.documents[item.document]),),
            query=item.question.strip(),
            answer=_in_words(task, item),
        ),
    )


def _in_words(task: LevalTask, item: LevalQuestion) -> str:
    """The reference in words that the document may have: of letters the options that they stand for."""
    if task.name in _NO_WORDS:
        return ""
    if task.scorer not in ("leval_letter", "leval_letters"):
        return item.answer
    choices = dict(_OPTION_TEXT.findall(item.question))
    letters = item.answer.split()[0].strip("()") if task.name == "quality" else item.answer.strip()
    return "\n".join(choices[letter] for letter in letters if letter in choices)


def _reference(task: LevalTask, suite: Suite, file: LevalFile, item: LevalQuestion) -> dict[str, Any]:
    items = file.of(suite.leval_subset)
    reference: dict[str, Any] = {
        "answers": (item.answer,),
        "question": item.question,
        "language": "en",
        "evaluation": item.evaluation,
        "chance": task.chance,
    }
    if task.group == "closed":
        reference["floor"] = _floor(task.name, tuple(each.answer for each in items))
    if task.name == "topic_retrieval_longchat":
        others = (each.answer for each in items if each.document == item.document)
        reference["distractors"] = tuple(dict.fromkeys(other for other in others if other != item.answer))
    return reference


def _floor(name: str, answers: Sequence[str]) -> float:
    """The score of the best constant answer: of the reference that comes most often."""
    if name == "sci_fi":  # each part is half of the score
        parts = zip(*(answer.split(_FACT) for answer in answers), strict=True)
        return sum(_floor("", part) for part in parts) / 2
    # QuALITY's have the text of their option behind the letter.
    same = Counter(answer.split()[0] if name == "quality" else answer.strip() for answer in answers)
    return max(same.values()) / len(answers)


def _twice(item: LevalQuestion) -> tuple[str, FollowUp]:
    """The truth in the story; and the second question, without the story: the truth outside."""
    loyalty, _, fact = item.answer.partition(_FACT)
    question = item.question.strip()
    question = question.replace(_IN_THE_STORY, _IN_THE_WORLD) if _IN_THE_STORY in question else f"{question} {_JUDGED}"
    joined = f"{{first}}{_FACT}{{second}}]"
    return loyalty, FollowUp(f"{question}\n{_TRUE_OR_FALSE}", fact.removesuffix("]"), joined)


def task_of(task: LevalTask) -> Task:
    """The task of a file."""
    return Task(
        task.task,
        task.about,
        partial(_labels, task),
        no_depths,
        partial(_ask, task),
        family=FAMILY,
        scorer=task.scorer,
        version=1,
        absent=False,
        corpus=partial(_corpus, task),
        check=_check,
        retrieves=True,
    )


def find_own_tasks(data: str | None) -> tuple[LevalTask, ...]:
    """The tasks of the user's own in `--leval-data`, in the order of their files.

    A file that is named has to be of the form; in a folder others are passed over. Raises `InputError`.
    """
    if data is None or data.startswith(HUB):
        return ()
    published = {task.file for task in LEVAL_TASKS.values()}
    files: dict[str, Path | str] = {task.task: task.file for task in LEVAL_TASKS.values()}
    in_folder = Path(data).is_dir()
    tasks = []
    for path in files_of(data):
        if path.name in published or (in_folder and not has_leval_form(path)):
            continue
        task = _own_task(path, tolerant=in_folder)
        if task.task in files:
            remedy = f"its task would be {task.task}, as that of {files[task.task]}: give it another name"
            raise InputError(OPTION, path, remedy)
        files[task.task] = path
        tasks.append(task)
    return tuple(tasks)


def _own_task(path: Path, *, tolerant: bool) -> LevalTask:
    name = _OTHER.sub("_", path.name.removesuffix(".jsonl").lower()).strip("_") or "own"
    items: Iterable[LevalQuestion] = ()
    try:
        items = read_leval_file(path).items.values()
    except InputError:  # in a folder it is refused when it is asked
        if not tolerant:
            raise
    evaluation = min({item.evaluation for item in items} & set(SCORED), default="f1")
    rule = own_rule(evaluation, [item.answer for item in items if item.evaluation == evaluation])
    about = f"L-Eval's form: {path.name}, scored as its rows say ({evaluation})"
    chance = {"leval_letter": 1 / 4, "leval_letters": 1 / 15}.get(rule, 0.0)
    return LevalTask(name, about, rule, chance=chance, is_own=True, path=path)


def own_rule(evaluation: str, answers: Iterable[str]) -> str:
    """The scorer of a file's rows: `f1` and `rouge` as they say; of an exam by the references.
    These are one letter (A-D), several, numbers, else words, which the answer has to give as the reference does."""
    if evaluation != "exam":
        return "leval_rouge" if evaluation == "rouge" else "leval_f1"
    golds = [answer.strip() for answer in answers]
    for rule, pattern in _EXAM_RULES.items():
        if golds and all(pattern.fullmatch(gold) for gold in golds):
            return rule
    return "leval_topic"


_OTHER = re.compile(r"[^a-z0-9]+")
_WITH_TEXT = r"(?:\([A-D]\)|[A-D][.)])\s.*"
_EXAM_RULES = {
    "leval_letter": re.compile(rf"\(?[A-D]\)?[.):]?|{_WITH_TEXT}", re.DOTALL),
    "leval_letters": re.compile(rf"\(?[A-D]{{1,4}}\)?[.):]?|{_WITH_TEXT}", re.DOTALL),
    "leval_math": re.compile(r"[-−+]?[$€£¥]?\s?[\d.,]*\d(?:\s?/\s?\d+)?\s?%?"),
}


TASKS = tuple(map(task_of, LEVAL_TASKS.values()))


def own_tasks(data: str | None) -> tuple[Task, ...]:
    """The tasks of the user's own in `--leval-data`. Raises `InputError`."""
    return tuple(map(task_of, find_own_tasks(data)))


def own_suite(task: LevalTask) -> dict[str, str]:
    """The suite of a task of the user's own, asked as L-Eval's are."""
    shape = "leval-open" if task.group == "open" else "leval-letters" if task.scorer == "leval_letters" else ""
    return {
        "task": task.task,
        "language": "en",
        "prompt": shape or "leval-letter",
        "lengths": "16k",
        "depths": "0",
        "answer_budget": "512",
    }
