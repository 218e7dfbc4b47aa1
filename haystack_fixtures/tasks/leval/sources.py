"""L-Eval's twenty tasks: the file of each, how its questions are put, and what scores the answers.

Tasks are found by this table, never by words in a path. Files of one's own: `own.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from needlework.haystack_fixtures.haystacks.document import Keep

Group = Literal["closed", "open"]

# Where a file may lie below the folder that is given: flat, a data folder, a clone, a copy of the data set.
FOLDERS: dict[Group, tuple[str, ...]] = {
    "closed": ("", "Closed-ended-tasks", "LEval-data/Closed-ended-tasks", "LEval/Exam"),
    "open": ("", "Open-ended-tasks", "LEval-data/Open-ended-tasks", "LEval/Generation"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One task. `name`: L-Eval's, which its file has too. `chance`: score of a guess among a question's options.

    `path`: the file, of a task of one's own.
    """

    task: str
    name: str
    group: Group
    about: str
    scorer: str
    chance: float = 0.0
    keep: Keep = "start"
    path: Path | None = None

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.jsonl"


def _closed(name: str, about: str, scorer: str, chance: float = 0.0, keep: Keep = "start") -> Source:
    return Source(f"leval_{name.lower()}", name, "closed", f"L-Eval: {about}", f"leval_{scorer}", chance, keep)


def _open(name: str, about: str, scorer: str) -> Source:
    return Source(f"leval_{name}", name, "open", f"L-Eval: {about}", f"leval_{scorer}")


SOURCES = (
    _closed("coursera", "multiple choice on lectures, one or several options right", "letters", 1 / 15),
    _closed("gsm100", "sums after sixteen worked ones", "math"),
    _closed("quality", "multiple choice on stories", "letter", 1 / 4),
    _closed("topic_retrieval_longchat", "the first, second and third topic of a conversation", "topic"),
    _closed("tpo", "multiple choice on lectures of TOEFL", "letter", 1 / 4),
    # The calls that are asked about stand behind the code.
    _closed("codeU", "what calls into a code base give", "code", keep="end"),
    _closed("sci_fi", "true or false in a story, and in the real world", "sci_fi", 1 / 2),
    _open("financial_qa", "questions on earnings calls", "f1"),
    _open("legal_contract_qa", "clauses of contracts", "f1"),
    _open("multidoc_qa", "questions on several documents of public offices", "f1"),
    _open("narrative_qa", "questions on books and film scripts", "f1"),
    _open("natural_question", "questions on pages of Wikipedia", "f1"),
    _open("scientific_qa", "questions on papers", "f1"),
    _open("gov_report_summ", "summaries of government reports", "rouge"),
    _open("meeting_summ", "what was said in meetings", "rouge"),
    _open("news_summ", "summaries of several news articles", "rouge"),
    _open("paper_assistant", "abstracts and other parts of papers", "rouge"),
    _open("patent_summ", "summaries of patents", "rouge"),
    _open("review_summ", "summaries of hotel reviews", "rouge"),
    _open("tv_show_summ", "summaries of scenes of television series", "rouge"),
)
