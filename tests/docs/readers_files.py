"""Files that a reader of the pages has: data of published benchmarks, in their layouts and of our own words."""

import json

from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS
from tests.aa_lcr_data import write_copy
from tests.published_rows import graph_row, longbench_row, mrcr_row, written

# L-Eval's documents of a task: pages name the 15th.
_DOCUMENTS = 16
_CHOICES = "\nA. Monday\nB. Tuesday\nC. Wednesday\nD. Thursday"
_NOTE = {"instructions": ["Who kept the light?"], "outputs": ["Ada Vane"], "evaluation": "f1", "source": "ours"}


def write_published(folder):
    """L-Eval's data, a file of its form, predictions in its form; rows of the other benchmarks."""
    (folder / "LEval").mkdir()
    for source in LEVAL_TASKS.values():
        evaluation = source.evaluation
        rows = [_leval_row(source.name, number, evaluation) for number in range(_DOCUMENTS)]
        written(folder / "LEval" / source.file, rows)
    notes = [{"input": f"Note {number}. Ada Vane kept the light.", **_NOTE} for number in range(3)]
    for name in ("my-notes.jsonl", "my-notes.cleaned.jsonl"):
        written(folder / name, notes)
    for name, said in (("mine", "Ada Vane"), ("turbo-16k", "nobody")):
        written(folder / f"{name}.pred.jsonl", [_prediction(number, f"{name}_pred", said) for number in range(3)])
    both = [_prediction(number, "mine_pred", "Ada Vane", turbo_pred="nobody") for number in range(3)]
    written(folder / "both.pred.jsonl", both)
    for kind, task, evaluation in (("exam", "tpo", "exam"), ("ngram", "multidoc_qa", "f1")):
        place = folder / "Predictions" / f"{kind}_eval" / "my-model"
        place.mkdir(parents=True)
        rows = [_prediction(number, "my-model_pred", "D", gt="D", evaluation=evaluation) for number in range(3)]
        written(place / f"{task}.pred.jsonl", rows)
    written(folder / "graphwalks_128k_and_shorter.parquet", [graph_row(number) for number in range(4)])
    written(folder / "mrcr.parquet", [mrcr_row(number, needles=8, rounds=20) for number in range(4)])
    written(folder / "data.json", [longbench_row(number) for number in range(12)])
    (folder / "AA-LCR").mkdir()
    write_copy(folder / "AA-LCR")
    labelled = {"question": "Who?", "answers": ["Ada Vane"], "response": "Ada Vane", "human": "right"}
    (folder / "labelled.jsonl").write_text(json.dumps(labelled), encoding="utf-8")


def _leval_row(name, number, evaluation):
    evaluation = "LLM" if number == 1 and evaluation != "exam" else evaluation
    text = f"{name} {number}. The ferry ran on Thursdays only, and Ada Vane kept the light. " * 40
    closed = evaluation == "exam"
    answer = "True [fact: False]" if name == "sci_fi" else "D" if closed else "The ferry ran on Thursdays only."
    question = f"When did ferry {number} run?{_CHOICES if closed else ''}"
    return {"input": text, "instructions": [question], "outputs": [answer], "evaluation": evaluation, "source": "ours"}


def _prediction(number, key, said, **others):
    row = {"query": f"Question {number}: who kept the light?", "gt": "Ada Vane", "evaluation": "LLM"}
    return row | {key: said} | others
