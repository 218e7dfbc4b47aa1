"""`needlework score aa-lcr ANSWERS --data PATH --judge SPEC`: ready answers to AA-LCR, judged as their version wants.

ANSWERS: jsonl rows {"question_id": 1, "prediction": "the reply"}; several of one question are repeats.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.haystack_fixtures.documents.data_set import RowSummary, open_data
from needlework.haystack_fixtures.tasks.published.aa_lcr import LAYOUT, answers_version
from needlework.models.judge import CommandJudge
from needlework.results.files.json_files import json_bytes
from needlework.results.judging.ask import JudgeQuestion, Replied, add_judge_arguments, ask_all, open_asked, question_to
from needlework.results.statistics.panels import Rate, rate_of
from needlework.results.statistics.wording import rate_words
from needlework.results.style import one_line
from needlework.scoring.judges.judges import published_prompts
from needlework.scoring.judges.replies import parse_ruling

ABOUT = "score answers to AA-LCR that were made elsewhere, by a judge"
SCHEMA = "needlework-aa-lcr-scores-1"
_STYLES = {"1.1": "aa_lcr", "1.0": "aa_lcr_1_0"}
_NUMBER = re.compile(r"q?0*([0-9]+)")


class JudgedAnswer(Struct, frozen=True):
    """An answer to a question. `value`: 1 is right, 0 is wrong or blank; `None`: the judge said neither."""

    row: RowSummary
    value: float | None
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("answers", nargs="+", type=Path, metavar="ANSWERS", help="files, or folders of them")
    add("--data", required=True, metavar="PATH", help="your copy of the data: AA-LCR_Dataset.csv, or its folder")
    add_judge_arguments(parser, "ANSWERS.judge.jsonl")
    add("--out", type=Path, metavar="FILE", help="JSON file to write, with the verdict on every answer")


def run(options: argparse.Namespace, answers: Mapping[Path, Sequence[tuple[str, str]]]) -> None:
    """Judge each file's `answers`, (question id, text), and print their scores. Raises `InputError`."""
    data = open_data(options.data, LAYOUT)
    rows = {int(entry.row["question_id"]): entry for entry in data.entries}
    version = answers_version(data)
    objects = []
    with closing(open_asked(options, "judge")) as judge:
        for path, texts in answers.items():
            numbers = [(_NUMBER.match(name), text) for name, text in texts]
            named = [(rows[int(number[1])], text) for number, text in numbers if number and int(number[1]) in rows]
            if not named:
                raise InputError("ANSWERS", path, "has no question_id of the data (1, 2, ...): give it in each row")
            replies = options.replies or path.with_name(f"{path.name.removesuffix('.jsonl')}.judge.jsonl")
            judged = judge_answers(named, _STYLES[version], judge, replies)
            print(*_lines(path.name, version, judged, len(rows), len(texts) - len(named)), sep="\n")
            rate = _rate(judged)
            items = [{"question_id": each.row.row["question_id"], "correct": each.value} for each in judged]
            about = {"file": str(path), "version": version, "judge": options.judge, "score": rate.value}
            objects.append({**about, "low": rate.low, "high": rate.high, "n": rate.n, "items": items})
    if options.out is not None:
        write_whole(options.out, json_bytes({"schema": SCHEMA, "answers": objects}))
        print(f"written to {options.out}")


def judge_answers(
    answers: Sequence[tuple[RowSummary, str]], style: str, judge: CommandJudge, replies: Path
) -> list[JudgedAnswer]:
    """Judge answers to rows of the data by a published prompt; a blank answer is wrong without asking."""
    prompt = published_prompts()[style]

    def question(row: RowSummary, text: str) -> JudgeQuestion:
        user = prompt.filled(str(row.row["question"]), str(row.row["answer"]), text)
        return question_to(judge, prompt.system, user, {"question_id": row.row["question_id"]})

    def correct(_question: JudgeQuestion, replied: Replied) -> dict[str, Any]:
        ruling = replied.value(parse_ruling)
        return {"correct": None if ruling is None else ruling.correct}

    questions = [question(row, text) if text.strip() else None for row, text in answers]
    all_replies = ask_all(filter(None, questions), judge, parse_ruling, replies, fields=correct)
    judged = []
    for (row, _), sent in zip(answers, questions, strict=True):
        replied = all_replies.to(sent) if sent else None
        ruling = replied.value(parse_ruling) if replied else None
        value = 0.0 if replied is None else None if ruling is None else float(ruling.correct)
        judged.append(JudgedAnswer(row, value, replied.problem if replied else ""))
    return judged


def _lines(name: str, version: str, judged: Sequence[JudgedAnswer], of: int, unknown: int) -> Iterator[str]:
    """The score, and that of each category; questions on one set of documents are one sample."""
    questions = {each.row.number for each in judged}
    yield one_line(f"AA-LCR {version}, {name}: {_score(judged)}, {len(questions)} of {of} questions")
    for category in sorted({str(each.row.row["document_category"]) for each in judged}):
        part = [each for each in judged if each.row.row["document_category"] == category]
        yield one_line(f"  {category.replace('_', ' ')}: {_score(part)}")
    problems = Counter(each.problem for each in judged if each.value is None)
    yield from (one_line(f"without a verdict, {count}: {why}") for why, count in problems.most_common(3))
    if unknown:
        yield f"left out, as the data has no such question: {unknown}"


def _rate(judged: Sequence[JudgedAnswer]) -> Rate:
    known = [(each.value, each.row.row["document_set_id"]) for each in judged if each.value is not None]
    return rate_of([value for value, _ in known], [sample for _, sample in known])


def _score(judged: Sequence[JudgedAnswer]) -> str:
    rate = _rate(judged)
    return rate_words(rate, rate.n, "one set of documents: no interval")
